// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/pair_mender.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Switches in a row that may take other exits.
constexpr std::size_t kLongest = 3, kLongestThoroughly = 4;
/// Detours that are tried for a pair; for both of its ways at once, so many of the first.
constexpr std::size_t kTries = 200, kTriesTogether = 20;
/// Links are relieved while the most loaded one carries more than kEven times the mean, so many
/// ways for a target and in all, each of which makes it better by one part in kReliefLeast.
constexpr double kEven = 1.4;
constexpr std::size_t kReliefChoices = 6, kReliefTries = 1500;
constexpr std::int64_t kReliefLeast = 20;

}  // namespace

PairMender::PairMender(const Walker& walker, Ways& ways, PairTurns& pairs,
                       std::vector<Layer>& layers, std::vector<std::uint8_t>& layer_of)
    : walker_(walker),
      graph_(walker.graph()),
      ways_(ways),
      pairs_(pairs),
      layers_(layers),
      layer_of_(layer_of),
      load_(graph_.arc_count(), 0) {
  count_loads();
}

void PairMender::count_loads() {
  const Targets& targets = walker_.targets();
  weight_.assign(ways_.tree_count(), 0);
  for (std::size_t c = 0; c < targets.columns().size(); ++c)
    weight_[ways_.of_column[c]] += targets.columns()[c].counts;
  std::vector<SwitchIndex> all(graph_.switch_count());
  std::iota(all.begin(), all.end(), SwitchIndex{0});
  for (SwitchIndex to = 0; to < graph_.switch_count(); ++to) load(to, all, 1);
}

/// Puts routes from some switches on the links, or takes them off.
void PairMender::load(SwitchIndex to, std::span<const SwitchIndex> from, std::int64_t sign) {
  for (const std::size_t t : walker_.trees(to)) {
    const auto tree = ways_.tree(t);
    for (const SwitchIndex source : from) {
      const std::int64_t routes = sign * walker_.targets().sources(source) * weight_[t];
      for (SwitchIndex s = source; routes != 0 && s != to && tree[s] != kNoExit;
           s = graph_.arcs(s)[tree[s]].to)
        load_[graph_.arc_index(s, tree[s])] += routes;
    }
  }
}

bool PairMender::mend(std::uint32_t pair) {
  const auto [a, b, turns] = pairs_.pair(pair);
  std::vector<Detour> detours = detours_of(a, b, kLongest);
  std::ranges::move(detours_of(b, a, kLongest), std::back_inserter(detours));
  sort(detours, kTries);
  return std::ranges::any_of(detours, [&](const Detour& d) { return take(d, true).has_value(); });
}

bool PairMender::mend_both_ways(std::uint32_t pair) {
  const auto [a, b, turns] = pairs_.pair(pair);
  std::vector<Detour> there = detours_of(a, b, kLongestThoroughly);
  sort(there, kTriesTogether);
  std::vector<Detour> back = detours_of(b, a, kLongestThoroughly);
  sort(back, kTries);
  for (const Detour& first : there) {
    auto change = take(first, false);
    if (!change) continue;
    if (std::ranges::any_of(back, [&](const Detour& d) { return take(d, true).has_value(); }))
      return true;
    undo(std::move(*change));
  }
  return false;
}

void PairMender::sort(std::vector<Detour>& detours, std::size_t most) {
  std::ranges::stable_sort(
      detours, {}, [](const Detour& d) { return std::tuple(d.senders * d.exits.size(), d.load); });
  if (detours.size() > most) detours.resize(most);
}

/// How many switches with CAs send through each switch, on the first tree.
void PairMender::count_senders(SwitchIndex to) {
  senders_.assign(graph_.switch_count(), 0);
  senders_load_.assign(graph_.switch_count(), 0);
  const auto tree = ways_.tree(walker_.trees(to).front());
  for (SwitchIndex from = 0; from < graph_.switch_count(); ++from)
    if (graph_.end_ports()[from] != 0)
      for (SwitchIndex s = from; s != to && tree[s] != kNoExit; s = graph_.arcs(s)[tree[s]].to)
        ++senders_[s], senders_load_[s] += walker_.targets().sources(from);
}

/// Detours of few switches that leave the way between two and come to one from which every tree
/// leads on without them.
std::vector<PairMender::Detour> PairMender::detours_of(SwitchIndex from, SwitchIndex to,
                                                       std::size_t longest) {
  count_senders(to);
  std::vector<Detour> detours;
  const auto tree = ways_.tree(walker_.trees(to).front());
  for (SwitchIndex s = from; s != to && tree[s] != kNoExit; s = graph_.arcs(s)[tree[s]].to) {
    std::vector<Detour> open{{from, to, {}, 0, 0}};
    for (std::size_t length = 1; length <= longest; ++length) {
      std::vector<Detour> longer;
      for (const Detour& detour : open) {
        const SwitchIndex end = detour.exits.empty() ? s : end_of(detour);
        for (std::uint8_t exit = 0; exit < graph_.arcs(end).size(); ++exit) {
          const SwitchIndex next = graph_.arcs(end)[exit].to;
          if (exit == tree[end] || next == to || leaves(detour, next)) continue;
          Detour more = detour;
          more.exits.emplace_back(end, exit);
          if (reaches_without(more))
            detours.push_back(std::move(more));
          else if (length < longest)
            longer.push_back(std::move(more));
        }
      }
      open = std::move(longer);
    }
  }
  for (Detour& detour : detours) weigh(detour);
  return detours;
}

bool PairMender::leaves(const Detour& detour, SwitchIndex s) {
  return std::ranges::any_of(detour.exits, [&](const auto& exit) { return exit.first == s; });
}

SwitchIndex PairMender::end_of(const Detour& detour) const {
  const auto& [s, exit] = detour.exits.back();
  return graph_.arcs(s)[exit].to;
}

bool PairMender::reaches_without(const Detour& detour) const {
  return std::ranges::all_of(walker_.trees(detour.to), [&](std::size_t t) {
    const auto tree = ways_.tree(t);
    SwitchIndex s = end_of(detour);
    while (s != detour.to && tree[s] != kNoExit && !leaves(detour, s))
      s = graph_.arcs(s)[tree[s]].to;
    return s == detour.to;
  });
}

bool PairMender::is_met(const Detour& detour, SwitchIndex from) const {
  return std::ranges::any_of(walker_.trees(detour.to), [&](std::size_t t) {
    const auto tree = ways_.tree(t);
    SwitchIndex s = from;
    while (s != detour.to && tree[s] != kNoExit && !leaves(detour, s))
      s = graph_.arcs(s)[tree[s]].to;
    return s != detour.to && leaves(detour, s);
  });
}

void PairMender::weigh(Detour& detour) const {
  const auto tree = ways_.tree(walker_.trees(detour.to).front());
  const auto count = [&](SwitchIndex s, std::uint8_t exit) {
    detour.load = std::max(detour.load, load_[graph_.arc_index(s, exit)]);
    return graph_.arcs(s)[exit].to;
  };
  SwitchIndex s = detour.from;
  for (const auto& [at, exit] : detour.exits) {
    detour.senders += senders_[at];
    s = count(at, exit);
  }
  while (s != detour.to) s = count(s, tree[s]);
}

std::optional<PairMender::Change> PairMender::take(const Detour& detour, bool itself) {
  Change change;
  change.to = detour.to;
  change.from.push_back(detour.from);  // first: it is the least likely to fit
  for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
    if (s != detour.to && s != detour.from && graph_.end_ports()[s] != 0 && is_met(detour, s))
      change.from.push_back(s);
  load(change.to, change.from, -1);
  for (const std::size_t t : walker_.trees(detour.to))
    for (const auto& [s, exit] : detour.exits)
      change.exits.push_back({t, s, std::exchange(ways_.tree(t)[s], exit)});
  load(change.to, change.from, 1);
  for (const SwitchIndex source : change.from) {
    if (graph_.end_ports()[source] == 0 || (source == detour.from && !itself)) continue;
    const std::uint32_t pair = pairs_.index(source, detour.to);
    // Others without a layer are no worse off than before.
    const bool must = source == detour.from || layer_of_[pair] != kNoLayer;
    if (place(source, detour.to, change) || !must) continue;
    undo(std::move(change));
    return std::nullopt;
  }
  return change;
}

/// A pair by its ways of now, into its own layer if that takes it, or else into any.
bool PairMender::place(SwitchIndex source, SwitchIndex to, Change& change) {
  std::vector<Turn> turns;
  const auto add = [&](Turn t) { turns.push_back(t); };
  walker_.walk(source, to, add);
  walker_.walk(to, source, add);
  const std::uint32_t pair = pairs_.index(source, to);
  const std::uint8_t own = layer_of_[pair];
  std::vector<std::uint8_t> order;
  if (own != kNoLayer) order.push_back(own);
  for (std::size_t l = layers_.size(); l-- > 0;)
    if (l != own && (own == kNoLayer || !keep_layers_))
      order.push_back(static_cast<std::uint8_t>(l));
  for (const std::uint8_t l : order) {
    std::vector<Turn> added;
    if (!layers_[l].try_add(turns, added)) continue;
    const auto before = pairs_.pair(pair).turns;
    change.pairs.push_back({pair, own, l, {before.begin(), before.end()}, std::move(added)});
    move(pair, own, l);
    pairs_.replace(pair, std::move(turns));
    return true;
  }
  return false;
}

void PairMender::move(std::uint32_t pair, std::uint8_t from, std::uint8_t to) {
  if (from != kNoLayer) --layers_[from].pairs;
  if (to != kNoLayer) ++layers_[to].pairs;
  layer_of_[pair] = to;
}

void PairMender::undo(Change change) {
  for (auto at = change.pairs.rbegin(); at != change.pairs.rend(); ++at) {
    layers_[at->layer].take_out(at->added);
    move(at->pair, at->layer, at->former_layer);
    pairs_.replace(at->pair, std::move(at->former_turns));
  }
  load(change.to, change.from, -1);
  for (const auto& [tree, s, exit] : change.exits) ways_.tree(tree)[s] = exit;
  load(change.to, change.from, 1);
}

void PairMender::relieve(bool keep_layers) {
  keep_layers_ = keep_layers;
  std::size_t tries = 0;
  SwitchIndex turn = 0;
  for (;;) {
    const auto most_loaded = std::ranges::max_element(load_);
    const std::int64_t most = *most_loaded;
    const std::int64_t sum = std::accumulate(load_.begin(), load_.end(), std::int64_t{0});
    const auto used = std::ranges::count_if(load_, [](std::int64_t l) { return l != 0; });
    if (static_cast<double>(most) * static_cast<double>(used) <= kEven * static_cast<double>(sum))
      return;
    const auto arc = static_cast<std::size_t>(most_loaded - load_.begin());
    SwitchIndex s = 0;
    while (graph_.arc_index(s, 0) + graph_.arcs(s).size() <= arc) ++s;
    const auto exit = static_cast<std::uint8_t>(arc - graph_.arc_index(s, 0));
    bool relieved = false;
    for (SwitchIndex i = 0; i < graph_.switch_count() && !relieved; ++i) {
      turn = (turn + 1) % static_cast<SwitchIndex>(graph_.switch_count());
      if (turn != s && graph_.end_ports()[turn] != 0)
        relieved = relieve(s, exit, turn, most, tries);
      if (tries > kReliefTries) return;
    }
    if (!relieved) return;
  }
}

/// Leads what goes to one target over an exit of s another way, on which less than `most` will be:
/// all of it, or else what one of the switches before s sends.
bool PairMender::relieve(SwitchIndex s, std::uint8_t exit, SwitchIndex to, std::int64_t most,
                         std::size_t& tries) {
  const auto tree = ways_.tree(walker_.trees(to).front());
  if (tree[s] != exit) return false;
  std::vector<SwitchIndex> starts{s};
  for (const auto& arc : graph_.arcs(s))
    if (arc.to != to && tree[arc.to] != kNoExit && graph_.arcs(arc.to)[tree[arc.to]].to == s)
      starts.push_back(arc.to);
  for (const SwitchIndex start : starts) {
    struct Choice {
      Detour detour;
      std::int64_t after;
    };
    std::vector<Choice> choices;
    for (Detour& detour : detours_of(start, to, kLongest)) {
      if (detour.exits.front().first != start || passes(detour, s, exit)) continue;
      const std::int64_t after = detour.load + moved_by(detour);
      if (after < most - most / kReliefLeast) choices.push_back({std::move(detour), after});
    }
    std::ranges::stable_sort(
        choices, {}, [](const Choice& c) { return std::tuple(c.detour.exits.size(), c.after); });
    if (choices.size() > kReliefChoices) choices.resize(kReliefChoices);
    for (const Choice& choice : choices) {
      ++tries;
      if (take(choice.detour, true)) return true;
    }
  }
  return false;
}

/// Whether a detour, or the way on from its end, uses an exit.
bool PairMender::passes(const Detour& detour, SwitchIndex s, std::uint8_t exit) const {
  const auto tree = ways_.tree(walker_.trees(detour.to).front());
  for (const auto& step : detour.exits)
    if (step == std::pair(s, exit)) return true;
  for (SwitchIndex at = end_of(detour); at != detour.to; at = graph_.arcs(at)[tree[at]].to)
    if (at == s && tree[at] == exit) return true;
  return false;
}

/// Routes that would come to the links of a detour, at most.
std::int64_t PairMender::moved_by(const Detour& detour) const {
  std::int64_t routes = 0;
  for (const std::size_t t : walker_.trees(detour.to))
    for (const auto& [at, exit] : detour.exits) {
      (void)exit;
      routes += senders_load_[at] * weight_[t];
    }
  return routes;
}

}  // namespace ib::route
