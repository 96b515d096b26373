// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/spread.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "libdiag/base/parallel.h"
#include "libdiag/route/spread/demand.h"
#include "libdiag/route/spread/exit_classes.h"
#include "libdiag/route/spread/kept_exits.h"
#include "libdiag/route/spread/neighbourhoods.h"
#include "libdiag/route/spread/passing.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// An array that is written before it is read, so nobody clears it first.
template <class T>
class Scratch {
 public:
  void make(std::size_t size) {
    if (size > size_) values_.reset(new T[size]), size_ = size;
  }
  T* data() { return values_.get(); }

 private:
  std::unique_ptr<T[]> values_;
  std::size_t size_{0};
};

/// Targets for which `sources` send to the exits in `turns`, one LID after the other, from a switch
/// of `group`.
struct Asking {
  std::uint64_t targets;
  SwitchIndex from;
  std::uint32_t group;
  std::uint32_t sources;  // 0: each target for itself, see choice_
  std::span<const std::uint8_t> turns;
};

class Spreader {
 public:
  Spreader(const Request& request, const Targets& targets, std::span<const tables::LeastHops> hops)
      : graph_(*request.graph),
        fabric_(*request.fabric),
        targets_(targets),
        hops_(hops),
        exits_(request),
        kept_(request.options.honour_previous ? request.previous : nullptr, graph_, exits_),
        neighbourhoods_(graph_, exits_),
        tables_(tables::LinearTables::unwritten(graph_.switch_count(), graph_.max_lid())),
        load_(graph_.arc_count(), 0),
        turns_(graph_.arc_count()),
        here_(graph_.switch_count()),
        demand_(graph_, targets, hops),
        classes_(graph_.switch_count()),
        passing_(targets, graph_.switch_count()) {
    find_gaps();
    make_queues();
  }

  void run_batch(std::size_t index) {
    begin(index);
    const auto& at = hops_[index].at;
    std::size_t level = with_columns_ == 0 ? 0 : at.size() - 1;
    for (bool first = true;; first = false) {
      // Switches need not wait for each other before the next level from which sources are handed
      // on.
      std::size_t last = level;
      while (last > 0 && demand_.asked_at(index, last) == 0) --last;
      over_parts([&](SwitchIndex s) {
        if (first) begin_row(s, index);
        for (std::size_t l = level; l > 0 && l >= last; --l)
          if (const std::uint64_t targets = at[l][s] & with_columns_; targets != 0)
            choose(s, targets);
        if (last == 0) leave_others(s);
      });
      if (last == 0) break;
      hand_on(at[last], demand_.asked_at(index, last));
      level = last - 1;
    }
    for (const Target& target : batch_) here_[target.leaf].own = 0;
  }

  tables::LinearTables take() { return std::move(tables_); }

 private:
  static constexpr std::size_t kPart = Passing::kAtOnce;

  /// Calls function(s) for every switch, in parallel, when it is known what was passed on to it.
  template <class Function>
  void over_parts(Function function) {
    const std::size_t switches = graph_.switch_count();
    parallel_for(std::size_t{0}, (switches + kPart - 1) / kPart, [&](std::size_t part) {
      const auto first = static_cast<SwitchIndex>(part * kPart);
      const auto end = static_cast<SwitchIndex>(std::min(switches, (part + 1) * kPart));
      if (handed_on_) {
        const auto written = passing_.written_of(first);
        for (SwitchIndex s = first; s < end; ++s) here_[s].written = written[s - first];
      }
      for (SwitchIndex s = first; s < end; ++s) function(s);
    });
  }

  /// LIDs that nobody has.
  void find_gaps() {
    std::size_t next = 0;
    for (const auto& destination : graph_.destinations()) {
      if (destination.lid.value > next) gaps_.push_back({next, destination.lid.value});
      next = destination.lid.value + std::size_t{1};
    }
    if (next < tables_.lid_count()) gaps_.push_back({next, tables_.lid_count()});
  }

  void begin(std::size_t index) {
    batch_ = targets_.batch(index);
    first_column_ = batch_.front().first_column;
    with_columns_ = one_lid_ = in_turn_ = ignored_ = in_a_row_ = joined_ = 0;
    columns_each_ = batch_.front().columns();
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      const Target& target = batch_[b];
      const std::uint64_t bit = std::uint64_t{1} << b;
      here_[target.leaf].own |= bit;
      const auto lids = targets_.switch_lids(target.leaf);
      if (lids.size() == 1) lid_[b] = lids[0].lid, one_lid_ |= bit;
      if (target.columns() == 0) continue;
      with_columns_ |= bit;
      if (target.columns() != columns_each_) columns_each_ = 0;
      if (!target.has_siblings && !kept_.any()) in_turn_ |= bit;
      if (target.has_ignored) ignored_ |= bit;
      if (!target.lids_in_a_row) continue;
      in_a_row_ |= bit;
      row_[b] = {targets_.columns(target)[0].lid.value, target.columns()};
      if (b > 0 && (in_a_row_ >> (b - 1) & 1) != 0 &&
          row_[b].first == row_[b - 1].first + row_[b - 1].count)
        joined_ |= bit;
    }
    handed_on_ = false;
    if (with_columns_ == 0) return;
    passes_ = demand_.passes_on(index);
    choice_.make(graph_.switch_count() * (batch_.back().last_column - first_column_));
    passing_.begin(batch_);
  }

  /// What does not hang on loads.
  void begin_row(SwitchIndex s, std::size_t index) {
    const auto& hops = hops_[index];
    const std::size_t first = graph_.arc_index(s, 0), count = graph_.arcs(s).size();
    std::array<std::uint64_t, 256> arcs;
    for (std::size_t i = 0; i < count; ++i) arcs[i] = hops.arcs[exits_.arc[first + i]];
    // Where nothing is chosen later those of a part use one, which stays within the cache.
    ExitClasses& classes = classes_[with_columns_ != 0 ? s : s - s % kPart];
    classes.sort({arcs.data(), count});

    std::uint8_t* row = tables_.row(s).data();
    if (index == 0)
      for (const auto& gap : gaps_) std::fill(row + gap.first, row + gap.second, tables::kNoPort);
    AtSwitch& here = here_[s];
    here.written = here.settled = 0;
    for_bits(here.own, [&](std::size_t b) {
      for (const auto& column : targets_.columns(batch_[b])) row[column.lid.value] = column.port;
      for (const auto& [lid, port] : targets_.switch_lids(s)) row[lid.value] = port;
    });
    for_bits(others_of(s) & ~classes.reached(), [&](std::size_t b) {
      for (const auto& own : targets_.switch_lids(batch_[b].leaf))
        row[own.lid.value] = tables::kNoPort;
    });
    route_switch_lids(s, classes);
  }

  /// Targets of the batch that are other switches.
  std::uint64_t others_of(SwitchIndex s) const {
    return (~std::uint64_t{0} >> (tables::kTargetsPerBatch - batch_.size())) & ~here_[s].own;
  }

  /// There is no way to what has not been chosen for by now.
  void leave_others(SwitchIndex s) {
    std::uint8_t* row = tables_.row(s).data();
    for_bits(others_of(s) & with_columns_ & ~here_[s].settled, [&](std::size_t b) {
      for (const auto& column : targets_.columns(batch_[b]))
        row[column.lid.value] = tables::kNoPort;
    });
  }

  void make_queues() {
    const std::size_t arcs = graph_.arc_count();
    keys_.make(2 * arcs);
    bytes_.make(6 * arcs);
    queues_.reserve(graph_.switch_count());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const std::size_t first = graph_.arc_index(s, 0), n = graph_.arcs(s).size();
      std::uint8_t* bytes = bytes_.data() + 6 * first;
      queues_.emplace_back(exits_.all.data() + first, load_.data() + first,
                           ExitQueue::Room{keys_.data() + 2 * first, bytes, bytes + 2 * n,
                                           bytes + 4 * n, bytes + 5 * n});
    }
  }

  /// Where the columns of a target begin in choice_: targets one after the other, so that what is
  /// handed on stays within the cache, and in a target switches one after the other.
  std::size_t cell(SwitchIndex s, const Target& target) const {
    return (target.first_column - first_column_) * graph_.switch_count() + s * target.columns();
  }

  /// The LIDs of the target switches, which carry no load and are dealt in turn.
  void route_switch_lids(SwitchIndex s, const ExitClasses& classes) {
    const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
    std::uint8_t* row = tables_.row(s).data();
    std::array<std::uint8_t, 256> list;
    std::array<std::uint8_t, 256> ports;
    for (const ExitClass& c : classes.all()) {
      if (c.single()) {
        const std::uint8_t only = exits[c.first].port;
        for_bits(c.targets & one_lid_, [&](std::size_t b) { row[lid_[b].value] = only; });
        for_bits(c.targets & ~one_lid_, [&](std::size_t b) {
          for (const auto& own : targets_.switch_lids(batch_[b].leaf)) row[own.lid.value] = only;
        });
        continue;
      }
      const ExitMask mask = classes.mask(c);
      const std::size_t n = c.count;
      if (!c.in_a_row) list_exits(mask, list.data());
      for (std::size_t i = 0; i < n; ++i) ports[i] = exits[c.in_a_row ? c.first + i : list[i]].port;
      std::size_t turn = here_[s].turn;
      const auto route = [&](Lid lid) {
        if (turn >= n) turn = 0;
        row[lid.value] = ports[turn++];
        if (const auto kept = kept_.of(s, lid, mask)) row[lid.value] = exits[*kept].port;
      };
      for_bits(c.targets, [&](std::size_t b) {
        if (((one_lid_ >> b) & 1) != 0) return route(lid_[b]);
        for (const auto& own : targets_.switch_lids(batch_[b].leaf)) route(own.lid);
      });
      here_[s].turn = static_cast<std::uint8_t>(turn);
    }
  }

  bool is_written(SwitchIndex s, std::size_t b) const { return ((here_[s].written >> b) & 1) != 0; }
  bool passes(SwitchIndex s, std::size_t b) const { return ((passes_[s] >> b) & 1) != 0; }

  /// Chooses the exit of switch s for every LID behind the targets given.
  void choose(SwitchIndex s, std::uint64_t targets) {
    // Columns that do not count make a difference from the start.
    for_bits(targets & ignored_ & ~here_[s].written, [&](std::size_t b) {
      passing_.write_own(s, b);
      here_[s].written |= std::uint64_t{1} << b;
    });
    const ExitClasses& classes = classes_[s];
    for (const ExitClass& c : classes.all()) {
      const std::uint64_t those = c.targets & targets;
      if (those == 0) continue;
      here_[s].settled |= those;
      if (c.single())
        choose_the_only(s, those, c.first);
      else
        choose_one_of(s, those, classes.mask(c));
    }
  }

  void choose_the_only(SwitchIndex s, std::uint64_t targets, std::size_t rank) {
    const std::size_t exit = graph_.arc_index(s, rank);
    const std::uint8_t port = exits_.all[exit].port;
    std::uint8_t* row = tables_.row(s).data();
    for_rows(targets & in_a_row_,
             [&](std::size_t first, std::size_t count) { std::memset(row + first, port, count); });
    for_bits(targets & ~in_a_row_, [&](std::size_t b) {
      for (const auto& column : targets_.columns(batch_[b])) row[column.lid.value] = port;
    });
    for_bits(targets & passes_[s], [&](std::size_t b) {
      fill_bytes(choice_.data() + cell(s, batch_[b]), static_cast<std::uint8_t>(rank),
                 batch_[b].columns());
    });
    if (!demand_.contested(exits_.arc[exit])) return;
    std::uint64_t sum = 0;
    for_bits(targets & here_[s].written, [&](std::size_t b) {
      passing_.for_columns(s, b, [&](std::size_t, std::uint16_t sources) { sum += sources; });
    });
    if (const std::uint64_t own = targets_.sources(s); own != 0)
      for_bits(targets & ~here_[s].written,
               [&](std::size_t b) { sum += own * batch_[b].columns(); });
    if (sum == 0) return;
    queues_[s].leave();
    load_[exit] += sum * exits_.all[exit].cost;
  }

  /// Calls visit(first LID, number) for the columns of targets whose LIDs are in a row, those that
  /// follow each other together.
  template <class Visit>
  void for_rows(std::uint64_t targets, Visit visit) const {
    while (targets != 0) {
      const auto b = static_cast<std::size_t>(std::countr_zero(targets));
      const auto joined =
          static_cast<std::size_t>(std::countr_one((targets >> b) & (joined_ >> b | 1)));
      const Row& last = row_[b + joined - 1];
      visit(row_[b].first, last.first + last.count - row_[b].first);
      targets = joined == 64 ? 0 : targets & ~(((std::uint64_t{1} << joined) - 1) << b);
    }
  }

  void choose_one_of(SwitchIndex s, std::uint64_t targets, ExitMask mask) {
    std::uint8_t* row = tables_.row(s).data();
    if ((targets & ~(in_turn_ & in_a_row_)) == 0) {
      queues_[s].enter(mask);
      choose_in_turn(s, targets);
      return;
    }
    std::vector<std::uint8_t> ports;
    for_bits(targets, [&](std::size_t b) {
      const std::uint64_t bit = std::uint64_t{1} << b;
      const auto columns = targets_.columns(batch_[b]);
      ports.resize(columns.size());
      if ((in_turn_ & bit) != 0) {
        queues_[s].enter(mask);
        choose_in_turn(s, b, ports.data());
      } else {
        queues_[s].leave();
        choose_one_by_one(s, b, mask, ports.data());
      }
      for (std::size_t c = 0; c < columns.size(); ++c) row[columns[c].lid.value] = ports[c];
    });
  }

  /// Each LID that somebody sends through s goes to the least loaded exit of the queue, others in
  /// turn. These are in a row.
  void choose_in_turn(SwitchIndex s, std::uint64_t targets) {
    ExitQueue& queue = queues_[s];
    const std::size_t n = queue.size();
    const std::uint32_t own = targets_.sources(s);
    const std::uint64_t written = targets & here_[s].written;
    const bool rounds = columns_each_ % n == 0 && columns_each_ != 0;
    std::uint8_t* row = tables_.row(s).data();
    for_bits(written, [&](std::size_t b) { passing_.prefetch(s, b); });
    if (rounds && (own == 0 || written == targets)) {
      for_rows(targets, [&](std::size_t first, std::size_t count) {
        repeat_bytes(row + first, queue.dealt(), n, count);
      });
      for_bits(written, [&](std::size_t b) { choose_for_passing(s, b, row + row_[b].first); });
    } else if (rounds && written == 0 && queue.is_even(own)) {
      for_rows(targets, [&](std::size_t first, std::size_t count) {
        repeat_bytes(row + first, queue.port_turns(), n, count);
      });
      const auto times = static_cast<std::size_t>(std::popcount(targets)) * columns_each_ / n;
      queue.take_turns(own, times);
      note_turns(s, targets & passes_[s]);
    } else {
      for_bits(targets, [&](std::size_t b) { choose_in_turn(s, b, row + row_[b].first); });
    }
  }

  void choose_in_turn(SwitchIndex s, std::size_t b, std::uint8_t* ports) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    ExitQueue& queue = queues_[s];
    const std::size_t n = queue.size();
    const std::uint32_t own = targets_.sources(s);
    const bool written = is_written(s, b);
    if (written || own == 0) {
      for (std::size_t c = 0; c < count; c += n)
        copy_bytes(ports + c, queue.dealt(), std::min(n, count - c));
      if (written) choose_for_passing(s, b, ports);
    } else if (count % n == 0 && queue.is_even(own)) {
      for (std::size_t c = 0; c < count; c += n) copy_bytes(ports + c, queue.port_turns(), n);
      queue.take_turns(own, count / n);
      note_turns(s, passes_[s] & std::uint64_t{1} << b);
    } else {
      std::array<std::uint8_t, 256> nobody_asks;  // a leaf has 254 LIDs at most without siblings
      queue.take_each(own, count, ports,
                      passes(s, b) ? choice_.data() + cell(s, target) : nobody_asks.data());
    }
  }

  void choose_for_passing(SwitchIndex s, std::size_t b, std::uint8_t* ports) {
    ExitQueue& queue = queues_[s];
    const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
    std::uint8_t* choice = passes(s, b) ? choice_.data() + cell(s, batch_[b]) : nullptr;
    passing_.for_columns(s, b, [&](std::size_t c, std::uint16_t sources) {
      const std::uint8_t rank = queue.take(sources);
      ports[c] = exits[rank].port;
      if (choice != nullptr) choice[c] = rank;
    });
  }

  /// The columns of these went to all exits of the queue in turn. That is written down once for all
  /// targets of which it is so.
  void note_turns(SwitchIndex s, std::uint64_t targets) {
    if (targets == 0) return;
    const ExitQueue& queue = queues_[s];
    const std::size_t n = queue.size();
    std::uint8_t* turns = turns_.data() + graph_.arc_index(s, 0);
    AtSwitch& here = here_[s];
    if (here.in_turns == 0) {
      copy_bytes(turns, queue.turns(), n);
      here.exits = static_cast<std::uint8_t>(n);
    }
    if (here.exits == n && equal_bytes(turns, queue.turns(), n)) {
      here.in_turns |= targets;
      return;
    }
    for_bits(targets, [&](std::size_t b) {  // they had other turns than those before
      const Target& target = batch_[b];
      repeat_bytes(choice_.data() + cell(s, target), queue.turns(), n, target.columns());
    });
  }

  /// One LID after the other, with all the rules: entries of before are kept if asked for; the
  /// further LIDs of one end port prefer a system, then a switch that its earlier ones do not use.
  void choose_one_by_one(SwitchIndex s, std::size_t b, ExitMask mask, std::uint8_t* ports) {
    const Target& target = batch_[b];
    const Targets::Column* columns = targets_.columns(target).data();
    std::vector<std::uint16_t> weight(target.columns(), 0);
    if (is_written(s, b))
      passing_.for_columns(s, b, [&](std::size_t c, std::uint16_t w) { weight[c] = w; });
    else
      std::ranges::fill(weight, static_cast<std::uint16_t>(targets_.sources(s)));
    std::uint8_t* choices = choice_.data() + cell(s, target);
    const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
    std::uint64_t* load = load_.data() + graph_.arc_index(s, 0);
    std::array<std::uint8_t, 256> list;
    const std::size_t n = list_exits(mask, list.data());
    std::vector<SwitchIndex> used;
    for (std::size_t c = 0, turn = 0; c < target.columns(); ++c) {
      if (columns[c].offset == 0) used.clear();
      std::size_t choice = list[turn];
      turn = turn + 1 == n ? 0 : turn + 1;
      if (const auto kept = kept_.of(s, columns[c].lid, mask)) {
        choice = *kept;
      } else if (target.has_siblings) {
        std::tuple<int, std::uint64_t, std::size_t> best{3, 0, 0};
        for (std::size_t i = 0; i < n; ++i)
          best = std::min(best,
                          {overlap(exits[list[i]].to, used), load[list[i]], std::size_t{list[i]}});
        choice = std::get<2>(best);
      } else if (weight[c] != 0) {
        choice = *std::min_element(list.begin(), list.begin() + n, [&](auto x, auto y) {
          return load[x] < load[y];  // the first of equals, which is the preferred one
        });
      }
      if (target.has_siblings) used.push_back(exits[choice].to);
      ports[c] = exits[choice].port;
      choices[c] = static_cast<std::uint8_t>(choice);
      load[choice] += std::uint64_t{weight[c]} * exits[choice].cost;
    }
  }

  /// 0: neither switch nor its system is used; 1: the system is; 2: the switch is.
  int overlap(SwitchIndex to, const std::vector<SwitchIndex>& used) const {
    if (std::find(used.begin(), used.end(), to) != used.end()) return 2;
    const Guid system = fabric_.node(graph_.node_of(to)).system_image_guid;
    const bool shared = system.value != 0 && std::any_of(used.begin(), used.end(), [&](auto u) {
                          return fabric_.node(graph_.node_of(u)).system_image_guid == system;
                        });
    return shared ? 1 : 0;
  }

  /// Adds the sources of the switches of a level to the switches they were sent to.
  void hand_on(const std::vector<std::uint64_t>& at, std::uint64_t asked) {
    asking_.clear();
    const auto& order = neighbourhoods_.order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const SwitchIndex s = order[i];
      const std::uint64_t targets = at[s] & passes_[s];
      if (targets == 0) continue;
      const std::uint64_t together = targets & here_[s].in_turns;
      if (together != 0) ask_in_turns(s, neighbourhoods_.of[i], together);
      if (together != targets)
        asking_.push_back({targets & ~together, s, neighbourhoods_.of[i], 0, {}});
      here_[s].in_turns = 0;
    }
    parallel_for(std::size_t{0}, batch_.size(), [&](std::size_t b) {
      if (((asked >> b) & 1) != 0) hand_on(b);
    });
    handed_on_ = true;
  }

  /// Switches with the same neighbours that chose the same for the same targets are added up first.
  void ask_in_turns(SwitchIndex s, std::uint32_t group, std::uint64_t targets) {
    const std::span<const std::uint8_t> turns(turns_.data() + graph_.arc_index(s, 0),
                                              here_[s].exits);
    const auto like_these = [&](const Asking& asking) {
      return asking.group == group && asking.targets == targets &&
             std::ranges::equal(asking.turns, turns);
    };
    if (!asking_.empty() && like_these(asking_.back()))
      asking_.back().sources += targets_.sources(s);
    else
      asking_.push_back({targets, s, group, targets_.sources(s), turns});
  }

  void hand_on(std::size_t b) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    // Here, too, those that chose the same.
    const std::uint8_t* common = nullptr;
    SwitchIndex of = 0;
    std::uint32_t group = 0;
    std::size_t sum = 0;
    const auto flush = [&] {
      const Exit* exits = exits_.all.data() + graph_.arc_index(of, 0);
      for (std::size_t c = 0; sum != 0 && c < count; ++c)
        passing_.add(exits[common[c]].to, b, c, sum);
    };
    for (const Asking& asking : asking_) {
      if (((asking.targets >> b) & 1) == 0) continue;
      const SwitchIndex s = asking.from;
      const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
      if (asking.sources != 0) {
        const std::size_t n = asking.turns.size();
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t c = i; c < count; c += n)
            passing_.add(exits[asking.turns[i]].to, b, c, asking.sources);
        continue;
      }
      const std::uint8_t* choice = choice_.data() + cell(s, target);
      if (passing_.is_written(s, b)) {
        passing_.for_columns(s, b, [&](std::size_t c, std::uint16_t sources) {
          passing_.add(exits[choice[c]].to, b, c, sources);
        });
        continue;
      }
      const std::uint32_t own = targets_.sources(s);
      if (own == 0) continue;  // nobody sends through it, so choice was not written
      if (common == nullptr || group != asking.group || !equal_bytes(choice, common, count)) {
        flush();
        common = choice, of = s, group = asking.group, sum = 0;
      }
      sum += own;
    }
    flush();
  }

  const fabric::CompactGraph& graph_;
  const fabric::Fabric& fabric_;
  const Targets& targets_;
  std::span<const tables::LeastHops> hops_;
  const Exits exits_;
  const KeptExits kept_;
  const Neighbourhoods neighbourhoods_;
  tables::LinearTables tables_;
  std::vector<std::uint64_t> load_;  // of exits_.all[i], times cost
  std::vector<ExitQueue> queues_;    // by switch
  Scratch<std::uint64_t> keys_;      // of queues_
  Scratch<std::uint8_t> bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> gaps_;  // LIDs of nobody: from, to before

  /// What is known of a switch. Targets of the batch are bits.
  struct AtSwitch {
    std::uint64_t own{0};       // targets that it is itself
    std::uint64_t written{0};   // Passing::is_written()
    std::uint64_t settled{0};   // LIDs of their columns have exits
    std::uint64_t in_turns{0};  // see note_turns()
    std::uint8_t exits{0};      // in turns_, then
    std::uint8_t turn{0};       // of the exit that gets the next switch LID
  };

  // The batch at hand. Targets are bits.
  std::span<const Target> batch_;
  std::uint64_t with_columns_{}, one_lid_{}, in_turn_{}, ignored_{};
  std::uint64_t in_a_row_{};    // Target::lids_in_a_row: from row_[b].first on
  std::uint64_t joined_{};      // those, if they follow the LIDs of the target before
  std::size_t columns_each_{};  // of all with_columns_; 0: they differ
  struct Row {
    std::size_t first, count;
  };
  std::array<Row, tables::kTargetsPerBatch> row_{};
  std::array<Lid, tables::kTargetsPerBatch> lid_{};  // of one_lid_: target switches with just one
  const std::uint64_t* passes_{};
  std::size_t first_column_{};
  bool handed_on_{false};
  std::vector<std::uint8_t> turns_;  // by switch, as arcs are
  std::vector<AtSwitch> here_;       // by switch
  const Demand demand_;
  std::vector<ExitClasses> classes_;  // by switch
  Scratch<std::uint8_t> choice_;      // the exit, by column and switch, where passes_ says so
  Passing passing_;
  std::vector<Asking> asking_;  // for the level at hand
};

}  // namespace

tables::LinearTables spread(const Request& request, const Targets& targets,
                            std::span<const tables::LeastHops> hops) {
  Spreader spreader(request, targets, hops);
  for (std::size_t i = 0; i < hops.size(); ++i) spreader.run_batch(i);
  return spreader.take();
}

}  // namespace ib::route
