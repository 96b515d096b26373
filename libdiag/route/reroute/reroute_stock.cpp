// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What Rerouter::State knows of tables as a whole: candidates, and the load of every link, when it
// begins with them or takes them over from another fabric. Links that come and go afterwards are
// reroute_state.cpp's.

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_map>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/route/reroute/reroute_state.h"

namespace ib::route {

using fabric::SwitchIndex;

void Rerouter::State::begin(CandidateRule of) {
  std::vector<SwitchIndex> leaves;
  for (const Target& target : targets_.all()) leaves.push_back(target.leaf);
  rule_ = std::move(of);
  ways_ = rule_.follow(links.graph, leaves);
  in_motion_.assign(leaves.size(), 0);
  candidates_.resize(targets_.batch_count());
  detours_.assign(candidates_.size(), {});
  may_lack_.assign(links.graph.switch_count(), 0);
}

/// Calls function(batch, stock) for all batches, in parallel, and adds up what they found.
template <class Function>
Rerouter::State::Stock Rerouter::State::take_batches(Function function) {
  Stock none;
  none.load.assign(links.graph.arc_count(), 0);
  PerWorker<Stock> stocks([&] { return Stock(none); });
  parallel_for(std::size_t{0}, targets_.batch_count(),
               [&](std::size_t i) { function(i, stocks.local()); });
  Stock all = none;
  stocks.each([&](const Stock& part) {
    for (std::size_t a = 0; a < load_.size(); ++a) all.load[a] += part.load[a];
    all.fixes.insert(all.fixes.end(), part.fixes.begin(), part.fixes.end());
    all.left_out.insert(all.left_out.end(), part.left_out.begin(), part.left_out.end());
    all.apart += part.apart;
    all.hosts_apart = all.hosts_apart || part.hosts_apart;
  });
  load_ = all.load;
  if (all.apart != 0) std::ranges::fill(may_lack_, std::uint8_t{1});
  return all;
}

bool Rerouter::State::take_stock(CandidateRule of) {
  begin(std::move(of));
  std::atomic<bool> fits{true};
  const auto parts = fabric::pieces_of(links.graph).of;
  const Stock all = take_batches([&](std::size_t i, Stock& stock) {
    tables::LeastHops hops = ways_->begin(i);
    candidates_[i] = std::move(hops.arcs);
    leave_out(i, hops, parts, stock);
    if (!take_load(i, hops, nullptr, stock)) fits = false;
  });
  if (!fits) ways_ = nullptr;
  if (fits) clear(all.left_out);
  return fits;
}

/// What take_over() and take_up() share.
std::optional<std::size_t> Rerouter::State::keep_candidates(CandidateRule of) {
  const fabric::CompactGraph& graph = links.graph;
  begin(std::move(of));
  write_own();
  const auto parts = fabric::pieces_of(graph).of;
  Stock stock = take_batches([&](std::size_t i, Stock& own) {
    const tables::LeastHops hops = ways_->begin(i);
    tables::LeastHops wider = hops;
    if (rule_.detours) rule_.detours(graph, targets_, wider);
    candidates_[i] = hops.arcs;
    leave_out(i, hops, parts, own);
    clear(std::exchange(own.left_out, {}));
    take_load(i, hops, &wider, own);
  });
  if (stock.hosts_apart) return std::nullopt;
  mend_all(stock.fixes);
  return stock.apart;
}

std::optional<std::size_t> Rerouter::State::take_up(CandidateRule of) {
  const auto apart = keep_candidates(std::move(of));
  changed_.clear();
  return apart;
}

std::optional<std::size_t> Rerouter::State::take_over(CandidateRule of, const LiveLinks& old) {
  const auto apart = keep_candidates(std::move(of));
  if (!apart) return std::nullopt;
  const fabric::CompactGraph& graph = links.graph;
  std::unordered_map<Guid, SwitchIndex> named;
  for (SwitchIndex s = 0; s < old.graph.switch_count(); ++s) named.emplace(old.graph.guid(s), s);
  std::vector<SwitchIndex> former;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto at = named.find(graph.guid(s));
    former.push_back(at != named.end() ? at->second : fabric::kNoSwitch);
  }
  const auto was_there = [&](std::uint32_t a) {
    const SwitchIndex from = former[links.from[a]];
    if (from == fabric::kNoSwitch) return false;
    const auto arcs = old.graph.arcs(from);
    const auto is = std::ranges::lower_bound(arcs, arc(a).out_port, {}, &fabric::Arc::out_port);
    return is != arcs.end() && is->out_port == arc(a).out_port && is->to == former[arc(a).to] &&
           is->in_port == arc(a).in_port &&
           old.alive[old.first(from) + static_cast<std::size_t>(is - arcs.begin())] != 0;
  };
  for (std::uint32_t a = 0; a < load_.size(); ++a)
    if (!was_there(a)) use(a);
  level_out(Moving::All);
  changed_.clear();
  return apart;
}

/// What is known without candidates: LIDs of a switch and of what hangs on it, and that nothing
/// leads to a LID that nobody has.
void Rerouter::State::write_own() {
  for (std::uint32_t t = 0; t < targets_.all().size(); ++t) {
    const SwitchIndex leaf = targets_.all()[t].leaf;
    for (const auto& column : targets_.columns(targets_.all()[t]))
      routes.lfts.set(leaf, column.lid, column.port);
    for (const auto& [lid, port] : targets_.switch_lids(leaf)) routes.lfts.set(leaf, lid, port);
  }
  std::vector<Lid> nobodys;
  for (std::size_t lid = 0; lid < goals_.size(); ++lid)
    if (goals_[lid].target == kNoTarget) nobodys.push_back(Lid{static_cast<std::uint16_t>(lid)});
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s)
    for (const Lid lid : nobodys) routes.lfts.set(s, lid, tables::kNoPort);
}

/// Lists the entries of switches that have no way to a target, and counts those that cables join
/// with it.
void Rerouter::State::leave_out(std::size_t batch, const tables::LeastHops& hops,
                                std::span<const std::uint32_t> parts, Stock& stock) const {
  const auto targets = targets_.batch(batch);
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s) {
    std::uint64_t ways = 0;
    for (const auto& level : hops.at) ways |= level[s];
    std::uint64_t none = ~ways & (~std::uint64_t{0} >> (tables::kTargetsPerBatch - targets.size()));
    for (; none != 0; none &= none - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(none));
      const Target& to = targets[b];
      if (s == to.leaf) continue;
      const auto ends = links.graph.end_ports();
      if (parts[s] == parts[to.leaf]) {
        if (ends[s] != 0 || ends[to.leaf] != 0) ++stock.apart;
        if (ends[s] != 0 && ends[to.leaf] != 0) stock.hosts_apart = true;
      }
      for_lids(static_cast<std::uint32_t>(batch * tables::kTargetsPerBatch + b), [&](Lid lid) {
        if (const std::uint8_t port = routes.lfts.at(s, lid); port != tables::kNoPort)
          stock.left_out.push_back({s, lid, port});
      });
    }
  }
}

void Rerouter::State::clear(const std::vector<OwnWay>& entries) {
  for (const OwnWay& entry : entries) routes.lfts.set(entry.at, entry.lid, tables::kNoPort);
}

/// Adds the routes to the LIDs of a batch to the load of the links. False: an entry is no
/// candidate, and no detour either. `keeping`: entries that are among these arcs stay, the others
/// are to be mended.
bool Rerouter::State::take_load(std::size_t batch, const tables::LeastHops& hops,
                                const tables::LeastHops* keeping, Stock& stock) {
  // So many that what is known of them and of the links stays within the cache, and so many that
  // most of a line of the tables is used when it is there.
  constexpr std::size_t kAtOnce = 8;
  bool fits = true;
  const std::size_t targets = targets_.batch(batch).size();
  for (std::size_t b = 0; b < targets; b += kAtOnce)
    fits &= take_load(batch, b, std::min(targets, b + kAtOnce), hops, keeping, stock);
  return fits;
}

bool Rerouter::State::take_load(std::size_t batch, std::size_t begin, std::size_t end,
                                const tables::LeastHops& hops, const tables::LeastHops* keeping,
                                Stock& stock) {
  const std::size_t switches = links.graph.switch_count();
  const auto& candidates = candidates_[batch];
  auto& columns = stock.columns;
  std::array<std::size_t, tables::kTargetsPerBatch + 1> first{};  // column of each target
  std::uint64_t these = 0;
  columns.clear();
  for (std::size_t b = begin; b < end; ++b) {
    first[b] = columns.size();
    these |= std::uint64_t{1} << b;
    for_lids(static_cast<std::uint32_t>(batch * tables::kTargetsPerBatch + b),
             [&](Lid lid) { columns.emplace_back(lid, goals_[lid.value].counts); });
  }
  first[end] = columns.size();
  // Sources that come by, by switch and column; a switch that has handed them on has none left.
  // LIDs limit their number to 49,151.
  auto& arriving = stock.arriving;
  if (arriving.size() < switches * columns.size()) arriving.resize(switches * columns.size(), 0);
  const auto unfit = [&] {
    std::ranges::fill(arriving, std::uint16_t{0});
    return false;
  };
  stock.longer.clear();
  for (std::size_t level = hops.at.size() - 1; level > 0; --level)
    for (SwitchIndex s = 0; s < switches; ++s) {
      const std::uint64_t here = hops.at[level][s] & these;
      if (here == 0) continue;
      std::uint8_t* row = routes.lfts.row(s).data();
      const std::uint32_t own = targets_.sources(s);
      std::uint16_t* sums = arriving.data() + s * columns.size();
      for (std::uint64_t bits = here; bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::size_t>(std::countr_zero(bits));
        for (std::size_t i = first[b]; i < first[b + 1]; ++i) {
          const auto [lid, counts] = columns[i];
          std::uint32_t a = arc_by_port(s, row[lid.value]);
          if (keeping != nullptr && a != kNoArc && ((keeping->arcs[a] >> b) & 1) == 0) a = kNoArc;
          const std::uint32_t sum = sums[i] + own;
          sums[i] = 0;
          if (a == kNoArc) {
            if (keeping == nullptr) return unfit();
            row[lid.value] = tables::kNoPort;
            stock.fixes.push_back({lid, static_cast<std::uint32_t>(level), s});
          } else if (((candidates[a] >> b) & 1) == 0) {
            stock.longer.push_back({s, lid, sum});
          } else if (sum != 0 && counts) {
            stock.load[a] += std::uint64_t{sum} * cost_[a];
            std::uint16_t& next = arriving[arc(a).to * columns.size() + i];
            next = static_cast<std::uint16_t>(next + sum);
          }
        }
      }
    }
  for (std::size_t b = begin; b < end; ++b)
    std::fill_n(arriving.data() + targets_.batch(batch)[b].leaf * columns.size(), columns.size(),
                std::uint16_t{0});
  if (!stock.longer.empty() && !rule_.detours) return false;
  // These do not go down by levels, so what they carry is followed to the end.
  for (const auto& [from, lid, sum] : stock.longer) {
    const Goal& goal = goals_[lid.value];
    std::size_t hop = 0;
    for (SwitchIndex s = from; s != goal.leaf;) {
      const std::uint32_t a = arc_of(s, lid);
      if (keeping != nullptr && a == kNoArc) break;
      if (a == kNoArc || ++hop > switches) return unfit();
      if (goal.counts) stock.load[a] += std::uint64_t{sum} * cost_[a];
      s = arc(a).to;
    }
    Detours& those = detours_[batch];
    if (those.words.empty()) those.words.assign(load_.size(), 0);
    const std::uint32_t a = arc_of(from, lid);
    if (those.words[a] == 0) those.arcs.push_back(a);
    those.words[a] |= std::uint64_t{1} << (goal.target % tables::kTargetsPerBatch);
  }
  return true;
}

}  // namespace ib::route
