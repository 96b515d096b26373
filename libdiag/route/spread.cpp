// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstring>
#include <memory>
#include <numeric>

#include "libdiag/route/exit_queue.h"

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

template <class Function>
void over(std::size_t count, Function function) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 8), [&](const auto& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) function(i);
  });
}

template <class Function>
void for_bits(std::uint64_t bits, Function function) {
  for (; bits != 0; bits &= bits - 1) function(static_cast<std::size_t>(std::countr_zero(bits)));
}

/// Targets of a batch that have the same candidates at a switch.
struct Class {
  std::uint64_t targets;
  std::uint8_t first;  // candidate, by rank
  bool single;         // the only one
};

struct Classes {
  std::vector<Class> all;
  std::vector<std::uint64_t> masks;
  std::size_t words{1};

  ExitMask mask(std::size_t i) const { return {masks.data() + i * words, words}; }
  Class& add(std::uint64_t targets, std::size_t first, std::size_t words_each) {
    words = words_each;
    masks.resize(masks.size() + words, 0);
    return all.emplace_back(Class{targets, static_cast<std::uint8_t>(first), false});
  }
};

/// Targets for which a switch passes on what it sends.
struct Asking {
  std::uint64_t targets;
  SwitchIndex from;
  std::uint32_t group;
};

class Spreader {
 public:
  Spreader(const Request& request, const Targets& targets, std::span<const routes::LeastHops> hops)
      : graph_(*request.graph),
        fabric_(*request.fabric),
        targets_(targets),
        hops_(hops),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        exits_(request),
        words_(std::max<std::size_t>(1, (exits_.most + 63) / 64)),
        tables_(routes::LinearTables::unwritten(graph_.switch_count(), graph_.max_lid())),
        load_(graph_.arc_count(), 0),
        turn_(graph_.switch_count(), 0),
        classes_(graph_.switch_count()) {
    over(graph_.switch_count(), [&](std::size_t s) {
      std::ranges::fill(tables_.row(static_cast<SwitchIndex>(s)), routes::kNoPort);
    });
    make_queues();
    group_switches();
    if (previous_ != nullptr) index_ports();
    find_contested();
    passes_on_.resize(hops.size());
    over(hops.size(), [&](std::size_t i) { find_what_passes_on(i); });
  }

  void run_batch(std::size_t index) {
    const std::size_t switches = graph_.switch_count();
    batch_ = targets_.batch(index);
    const auto& at = hops_[index].at;
    first_column_ = batch_.front().first_column;
    const std::size_t width = batch_.back().last_column - first_column_;
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      const auto lids = targets_.switch_lids(batch_[b].leaf);
      one_lid_[b] = lids.size() == 1 ? lids[0] : Lid{};
    }
    passes_ = width != 0 ? passes_on_[index].data() : nullptr;
    if (width != 0) {
      weight_.make(switches * width);
      choice_.make(switches * width);
      pushed_.assign(switches * batch_.size(), 0);
    }
    over(switches, [&](std::size_t s) {
      classify(static_cast<SwitchIndex>(s), hops_[index]);
      route_switch_lids(static_cast<SwitchIndex>(s));
    });
    for (std::size_t level = at.size() - 1; width != 0 && level > 0; --level) {
      over(switches, [&](std::size_t s) {
        if (at[level][s] != 0) choose(static_cast<SwitchIndex>(s), at[level][s]);
      });
      std::uint64_t asked = 0;
      asking_.clear();
      for (std::size_t i = 0; i < switches; ++i) {
        const SwitchIndex s = order_[i];
        if (const std::uint64_t targets = at[level][s] & passes_[s]; targets != 0)
          asking_.push_back({targets, s, group_[i]}), asked |= targets;
      }
      tbb::parallel_for(std::size_t{0}, batch_.size(), [&](std::size_t b) {
        if (((asked >> b) & 1) != 0) hand_on(b);
      });
    }
  }

  routes::LinearTables take() { return std::move(tables_); }

 private:
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

  /// Switches with the same neighbours stand together: they often choose the same.
  void group_switches() {
    order_.resize(graph_.switch_count());
    std::iota(order_.begin(), order_.end(), SwitchIndex{0});
    const auto compare = [&](SwitchIndex a, SwitchIndex b) {
      const auto x = exits_.of(graph_, a), y = exits_.of(graph_, b);
      return std::lexicographical_compare_three_way(
          x.begin(), x.end(), y.begin(), y.end(),
          [](const Exit& m, const Exit& n) { return m.to <=> n.to; });
    };
    const auto before = [&](SwitchIndex a, SwitchIndex b) { return std::is_lt(compare(a, b)); };
    std::stable_sort(order_.begin(), order_.end(), before);
    group_.assign(order_.size(), 0);
    for (std::size_t i = 1; i < order_.size(); ++i)
      group_[i] = group_[i - 1] + (std::is_neq(compare(order_[i - 1], order_[i])) ? 1U : 0U);
  }

  void index_ports() {
    ports_ = graph_.max_ports() + std::size_t{1};
    rank_of_port_.assign(graph_.switch_count() * ports_, kNoRank);
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const auto exits = exits_.of(graph_, s);
      for (std::size_t rank = 0; rank < exits.size(); ++rank)
        rank_of_port_[s * ports_ + exits[rank].port] = static_cast<std::uint8_t>(rank);
    }
  }

  /// Arcs that are one of several candidates for anything: only their loads ever decide.
  void find_contested() {
    contested_.assign(graph_.arc_count(), 0);
    over(graph_.switch_count(), [&](std::size_t s) {
      const std::size_t first = graph_.arc_index(static_cast<SwitchIndex>(s), 0);
      const std::size_t end = first + graph_.arcs(static_cast<SwitchIndex>(s)).size();
      for (std::size_t i = 0; i < hops_.size(); ++i) {
        if (targets_.batch(i).front().columns() == 0) break;  // nor have the batches behind it
        const auto& arcs = hops_[i].arcs;
        std::uint64_t once = 0, again = 0;
        for (std::size_t a = first; a < end; ++a) again |= once & arcs[a], once |= arcs[a];
        for (std::size_t a = first; a < end; ++a) contested_[a] |= (arcs[a] & again) != 0;
      }
    });
  }

  /// For which targets of a batch somebody behind a switch wants to know how much it sends there:
  /// whoever has a choice, or a load that decides another choice.
  void find_what_passes_on(std::size_t index) {
    if (targets_.batch(index).front().columns() == 0) return;
    const auto& hops = hops_[index];
    auto& passes = passes_on_[index];
    passes.assign(graph_.switch_count(), 0);
    std::vector<std::uint64_t> wants(graph_.switch_count(), 0);
    for (std::size_t level = 1; level < hops.at.size(); ++level)
      for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
        const std::uint64_t here = hops.at[level][s];
        if (here == 0) continue;
        const auto arcs = graph_.arcs(s);
        const std::size_t first = graph_.arc_index(s, 0);
        std::uint64_t once = 0, decides = 0, behind = 0;
        for (std::size_t i = 0; i < arcs.size(); ++i) {
          const std::uint64_t mine = hops.arcs[first + i] & here;
          decides |= contested_[first + i] != 0 ? mine : once & mine;
          once |= mine;
          behind |= mine & wants[arcs[i].to];
        }
        passes[s] |= behind;
        wants[s] |= behind | decides;
      }
  }

  /// Where the columns of a target begin in weight_ and choice_: targets one after the other, so
  /// that hand_on() stays within the cache, and in a target switches one after the other.
  std::size_t cell(SwitchIndex s, const Target& target) const {
    return (target.first_column - first_column_) * graph_.switch_count() + s * target.columns();
  }
  std::size_t slot(SwitchIndex s, std::size_t b) const { return b * graph_.switch_count() + s; }

  /// Sorts the targets of the batch into classes of the same candidates. In a tree there are few:
  /// one for all that lies above, and one for each exit down.
  void classify(SwitchIndex s, const routes::LeastHops& hops) {
    Classes& classes = classes_[s];
    classes.all.clear();
    classes.masks.clear();
    const std::size_t first = graph_.arc_index(s, 0);
    const std::size_t count = graph_.arcs(s).size();
    std::array<std::uint64_t, 256> arcs;
    std::uint64_t once = 0, again = 0;
    for (std::size_t i = 0; i < count; ++i) {
      arcs[i] = hops.arcs[exits_.arc[first + i]];
      again |= once & arcs[i];
      once |= arcs[i];
    }
    for (std::size_t i = 0; i < count; ++i)
      if (const std::uint64_t alone = arcs[i] & ~again; alone != 0)
        classes.add(alone, i, words_).single = true;
    for (std::uint64_t left = again; left != 0;) {
      const auto b = static_cast<unsigned>(std::countr_zero(left));
      std::uint64_t same = left;
      Class& made = classes.add(0, count, words_);
      std::uint64_t* mask = classes.masks.data() + classes.masks.size() - words_;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t in = (arcs[i] >> b) & 1;
        same &= ~(arcs[i] ^ (0 - in));
        mask[i / 64] |= in << (i % 64);
        if (in != 0 && made.first == count) made.first = static_cast<std::uint8_t>(i);
      }
      made.targets = same;
      left &= ~same;
    }
  }

  /// The LIDs of s, of what hangs on it, and of the target switches, which carry no load and are
  /// dealt in turn.
  void route_switch_lids(SwitchIndex s) {
    const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
    std::uint8_t* row = tables_.row(s).data();
    for (const Target& target : batch_) {
      if (target.leaf != s) continue;
      for (const auto& column : targets_.columns(target)) row[column.lid.value] = column.port;
      for (Lid lid : targets_.switch_lids(s)) row[lid.value] = 0;
    }
    std::array<std::uint8_t, 256> list;
    for (std::size_t k = 0; k < classes_[s].all.size(); ++k) {
      const Class& c = classes_[s].all[k];
      const ExitMask mask = classes_[s].mask(k);
      const std::size_t n = c.single ? 1 : list_exits(mask, list.data());
      const std::uint8_t only = exits[c.first].port;
      std::size_t turn = turn_[s];
      const auto route = [&](Lid lid) {
        if (c.single) {
          row[lid.value] = only;
          return;
        }
        if (turn >= n) turn = 0;
        std::size_t rank = list[turn++];
        if (previous_ != nullptr)
          if (const auto kept = previous_choice(s, lid, mask)) rank = *kept;
        row[lid.value] = exits[rank].port;
      };
      for_bits(c.targets, [&](std::size_t b) {
        if (one_lid_[b] != Lid{})
          route(one_lid_[b]);
        else
          for (Lid lid : targets_.switch_lids(batch_[b].leaf)) route(lid);
      });
      turn_[s] = static_cast<std::uint8_t>(turn);
    }
  }

  /// The candidate that the previous tables use for this LID, if there is one.
  std::optional<std::size_t> previous_choice(SwitchIndex s, Lid lid, ExitMask mask) const {
    if (previous_ == nullptr || s >= previous_->switch_count()) return std::nullopt;
    const std::uint8_t port = previous_->at(s, lid);
    if (port >= ports_) return std::nullopt;
    const std::uint8_t rank = rank_of_port_[s * ports_ + port];
    if (rank == kNoRank || ((mask[rank / 64] >> (rank % 64)) & 1) == 0) return std::nullopt;
    return rank;
  }

  /// Sources that s sends to each column of target b: written down when somebody adds to them, or
  /// when they are not all the same.
  std::uint16_t* weights(SwitchIndex s, std::size_t b) {
    const Target& target = batch_[b];
    std::uint16_t* weight = weight_.data() + cell(s, target);
    std::uint8_t& pushed = pushed_[slot(s, b)];
    if (pushed != 0) return weight;
    pushed = 1;
    const auto own = static_cast<std::uint16_t>(targets_.sources(s));
    const auto columns = targets_.columns(target);
    std::fill_n(weight, columns.size(), own);
    for (std::size_t c = 0; target.has_ignored && c < columns.size(); ++c)
      if (!columns[c].counts) weight[c] = 0;
    return weight;
  }
  bool all_weigh_the_same(SwitchIndex s, std::size_t b) const {
    return pushed_[slot(s, b)] == 0 && !batch_[b].has_ignored;
  }

  /// Chooses the exit of switch s for every LID behind the targets given.
  void choose(SwitchIndex s, std::uint64_t targets) {
    const Classes& classes = classes_[s];
    for (std::size_t k = 0; k < classes.all.size(); ++k) {
      const std::uint64_t bits = classes.all[k].targets & targets;
      if (classes.all[k].single)
        for_bits(bits, [&](std::size_t b) { choose_the_only(s, b, classes.all[k].first); });
      else
        for_bits(bits, [&](std::size_t b) { choose_one_of(s, b, classes.mask(k)); });
    }
  }

  void choose_the_only(SwitchIndex s, std::size_t b, std::size_t rank) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    if (count == 0) return;
    const std::size_t exit = graph_.arc_index(s, rank);
    const std::uint8_t port = exits_.all[exit].port;
    const Targets::Column* columns = targets_.columns(target).data();
    std::uint8_t* row = tables_.row(s).data();
    if (target.lids_in_a_row)
      fill_bytes(row + columns[0].lid.value, port, count);
    else
      for (std::size_t c = 0; c < count; ++c) row[columns[c].lid.value] = port;
    if (((passes_[s] >> b) & 1) != 0)
      fill_bytes(choice_.data() + cell(s, target), static_cast<std::uint8_t>(rank), count);
    if (contested_[exits_.arc[exit]] == 0) return;
    std::uint64_t sum = 0;
    if (all_weigh_the_same(s, b)) {
      sum = std::uint64_t{targets_.sources(s)} * count;
    } else {
      const std::uint16_t* weight = weights(s, b);
      for (std::size_t c = 0; c < count; ++c) sum += weight[c];
    }
    if (sum == 0) return;
    queues_[s].leave();
    load_[exit] += sum * exits_.all[exit].cost;
  }

  void choose_one_of(SwitchIndex s, std::size_t b, ExitMask mask) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    if (count == 0) return;
    std::uint8_t* row = tables_.row(s).data();
    const Targets::Column* columns = targets_.columns(target).data();
    std::array<std::uint8_t, 256> buffer;
    Scratch<std::uint8_t> large;  // 254 end ports may have more than one LID each
    std::uint8_t* ports = buffer.data();
    if (target.lids_in_a_row)
      ports = row + columns[0].lid.value;
    else if (count > buffer.size())
      large.make(count), ports = large.data();
    if (target.has_siblings || previous_ != nullptr) {
      queues_[s].leave();
      choose_one_by_one(s, b, mask, ports);
    } else {
      choose_in_turn(s, b, mask, ports);
    }
    if (!target.lids_in_a_row)
      for (std::size_t c = 0; c < count; ++c) row[columns[c].lid.value] = ports[c];
  }

  /// Each LID that somebody sends through s goes to the least loaded exit, others in turn.
  void choose_in_turn(SwitchIndex s, std::size_t b, ExitMask mask, std::uint8_t* ports) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    std::uint8_t* choice = choice_.data() + cell(s, target);
    ExitQueue& queue = queues_[s];
    queue.enter(mask);
    if (all_weigh_the_same(s, b) && targets_.sources(s) != 0) {
      queue.take_each(targets_.sources(s), count, ports, choice);
      return;
    }
    const std::size_t n = queue.size();
    for (std::size_t c = 0; c < count; c += n)
      copy_bytes(ports + c, queue.dealt(), std::min(n, count - c));
    if (all_weigh_the_same(s, b)) return;
    const std::uint16_t* weight = weights(s, b);
    const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
    for (std::size_t c = 0; c < count; ++c)
      if (weight[c] != 0) {
        choice[c] = queue.take(weight[c]);
        ports[c] = exits[choice[c]].port;
      }
  }

  /// One LID after the other, with all the rules: what stands is kept if asked for; the further
  /// LIDs of one end port prefer a system, then a switch that its earlier ones do not use.
  void choose_one_by_one(SwitchIndex s, std::size_t b, ExitMask mask, std::uint8_t* ports) {
    const Target& target = batch_[b];
    const Targets::Column* columns = targets_.columns(target).data();
    const std::uint16_t* weight = weights(s, b);
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
      if (const auto kept = previous_choice(s, columns[c].lid, mask)) {
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

  /// Adds the sources of the switches that are asked for target b to the switches they were sent
  /// to. Sums never exceed the number of end ports, which LIDs limit to 49,151.
  void hand_on(std::size_t b) {
    const Target& target = batch_[b];
    const std::size_t count = target.columns();
    // Switches with the same neighbours that chose the same are added up first.
    const std::uint8_t* common = nullptr;
    SwitchIndex of = 0;
    std::uint32_t group = 0;
    std::size_t sum = 0;
    const auto flush = [&] {
      const Exit* exits = exits_.all.data() + graph_.arc_index(of, 0);
      for (std::size_t c = 0; sum != 0 && c < count; ++c) add(exits[common[c]].to, b, c, sum);
    };
    for (const Asking& asking : asking_) {
      if (((asking.targets >> b) & 1) == 0) continue;
      const SwitchIndex s = asking.from;
      const bool same = all_weigh_the_same(s, b);
      const std::uint8_t* choice = choice_.data() + cell(s, target);
      if (same) {
        if (common == nullptr || group != asking.group || !equal_bytes(choice, common, count)) {
          flush();
          common = choice, of = s, group = asking.group, sum = 0;
        }
        sum += targets_.sources(s);
        continue;
      }
      const Exit* exits = exits_.all.data() + graph_.arc_index(s, 0);
      const std::uint16_t* weight = weights(s, b);
      for (std::size_t c = 0; c < count; ++c)
        if (weight[c] != 0) add(exits[choice[c]].to, b, c, weight[c]);
    }
    flush();
  }
  void add(SwitchIndex to, std::size_t b, std::size_t column, std::size_t sources) {
    std::uint16_t& weight = weights(to, b)[column];
    weight = static_cast<std::uint16_t>(weight + sources);
  }

  static constexpr std::uint8_t kNoRank = 255;  // a switch has at most 254 exits

  const fabric::CompactGraph& graph_;
  const fabric::Fabric& fabric_;
  const Targets& targets_;
  std::span<const routes::LeastHops> hops_;
  const routes::LinearTables* previous_;
  const Exits exits_;
  const std::size_t words_;  // of a mask of exits
  routes::LinearTables tables_;
  std::vector<std::uint64_t> load_;  // of exits_.all[i], times cost
  std::vector<std::uint8_t> turn_;   // by switch: whose turn it is to get a switch LID
  std::vector<ExitQueue> queues_;    // by switch
  Scratch<std::uint64_t> keys_;      // of queues_
  Scratch<std::uint8_t> bytes_;
  std::size_t ports_{0};
  std::vector<std::uint8_t> rank_of_port_;             // [s * ports_ + port]
  std::vector<std::uint8_t> contested_;                // by arc
  std::vector<std::vector<std::uint64_t>> passes_on_;  // by batch and switch

  std::vector<SwitchIndex> order_;    // switches with the same neighbours together
  std::vector<std::uint32_t> group_;  // by position in order_: number of their neighbourhood

  // The batch at hand.
  std::span<const Target> batch_;
  const std::uint64_t* passes_{};
  std::size_t first_column_{};
  std::vector<Classes> classes_;      // by switch
  Scratch<std::uint8_t> class_of_;    // by target and switch, where passes_ says so
  Scratch<std::uint16_t> weight_;     // sources that pass a switch for a column
  Scratch<std::uint8_t> choice_;      // the exit it takes there, where there is a choice
  std::vector<std::uint8_t> pushed_;  // by target and switch: weight_ is written
  std::array<Lid, routes::kTargetsPerBatch> one_lid_{};  // of a target switch that has just one
  std::vector<Asking> asking_;                           // for the level at hand
};

}  // namespace

std::vector<routes::LeastHops> candidates_of(const CandidatesOf& rule,
                                             const fabric::CompactGraph& graph,
                                             const Targets& targets) {
  std::vector<routes::LeastHops> hops(targets.batch_count());
  tbb::parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = rule(graph, leaves);
  });
  return hops;
}

routes::LinearTables spread(const Request& request, const Targets& targets,
                            std::span<const routes::LeastHops> hops) {
  Spreader spreader(request, targets, hops);
  for (std::size_t i = 0; i < hops.size(); ++i) spreader.run_batch(i);
  return spreader.take();
}

}  // namespace ib::route
