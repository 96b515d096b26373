// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/reroute_state.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <tuple>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/route/spread/exits.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Ways that are looked at to their end before one is chosen.
constexpr std::size_t kWaysTried = 4;

Request request_of(const Request& request, const fabric::CompactGraph& graph) {
  Request own = request;
  own.graph = &graph;
  return own;
}

/// Of a switch towards target b.
std::uint32_t level_of(const tables::LeastHops& hops, SwitchIndex s, std::size_t b) {
  for (std::size_t level = 1; level < hops.at.size(); ++level)
    if (((hops.at[level][s] >> b) & 1) != 0) return static_cast<std::uint32_t>(level);
  return 0;
}

}  // namespace

LinkKind kind_of(const fabric::Fabric& fabric, fabric::NodeIndex node, std::uint8_t port) {
  const fabric::Port& p = fabric.port(node, port);
  return {p.width, p.speed};
}

bool same_ends(const fabric::CompactGraph& a, const fabric::CompactGraph& b) {
  if (a.switch_count() != b.switch_count() || a.max_ports() != b.max_ports()) return false;
  for (SwitchIndex s = 0; s < a.switch_count(); ++s)
    if (a.guid(s) != b.guid(s)) return false;
  const auto same = [](const fabric::Destination& x, const fabric::Destination& y) {
    return x.lid == y.lid && x.leaf == y.leaf && x.port == y.port;
  };
  return std::ranges::equal(a.destinations(), b.destinations(), same);
}

bool same_arc(const fabric::Arc& a, const fabric::Arc& b) {
  return a.to == b.to && a.out_port == b.out_port && a.in_port == b.in_port;
}

Rerouter::State::State(const Request& request, fabric::CompactGraph of, Routes made,
                       Targets targets)
    : routes(std::move(made)),
      links{std::move(of), {}, {}, {}, {}, {}},
      weighted_(!request.options.hop_weights.empty()),
      targets_(std::move(targets)) {
  const auto& graph = links.graph;
  const std::size_t arcs = links.graph.arc_count();
  links.alive.assign(arcs, 1);
  links.from.resize(arcs);
  links.reverse.resize(arcs);
  cost_ = route_costs(request_of(request, graph));
  load_.assign(arcs, 0);
  kinds_.resize(arcs);
  ports_ = graph.max_ports() + std::size_t{1};
  arc_by_port_.assign(graph.switch_count() * ports_, kNoArc);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    system_.push_back(request.fabric->node(graph.node_of(s)).system_image_guid);
    for (std::size_t i = 0; i < links.graph.arcs(s).size(); ++i) {
      const std::size_t index = links.graph.arc_index(s, i);
      kinds_[index] = kind_of(*request.fabric, graph.node_of(s), links.graph.arcs(s)[i].out_port);
      links.from[index] = s;
      arc_by_port_[s * ports_ + links.graph.arcs(s)[i].out_port] =
          static_cast<std::uint32_t>(index);
    }
  }
  for (std::uint32_t a = 0; a < arcs; ++a)
    links.reverse[a] = arc_by_port(arc(a).to, arc(a).in_port);
  place_.resize(graph.switch_count());
  std::iota(place_.begin(), place_.end(), SwitchIndex{0});
  up_order_ = routes.multicast.up_order;
  none_.assign(routes.lfts.lid_count(), tables::kNoPort);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) senders_.push_back(targets_.sources(s));
  floor_.begin(links, targets_, cost_);
  goals_.resize(graph.max_lid().value + std::size_t{1});
  for (std::uint32_t t = 0; t < targets_.all().size(); ++t) {
    const Target& target = targets_.all()[t];
    for (const auto& column : targets_.columns(target))
      goals_[column.lid.value] = {t, target.leaf, column.counts, column.offset};
    for (const auto& [lid, port] : targets_.switch_lids(target.leaf))
      if (goals_[lid.value].target == kNoTarget) goals_[lid.value] = {t, target.leaf, false, 0};
  }
}

std::uint64_t Rerouter::State::load_max() const {
  std::uint64_t top = 0;
  for (const std::uint64_t load : load_) top = std::max(top, load);
  return top;
}

std::uint64_t Rerouter::State::most_routes() const {
  std::uint64_t top = 0;
  for (std::size_t a = 0; a < load_.size(); ++a)
    if (cost_[a] != 0) top = std::max(top, load_[a] / cost_[a]);
  return top;
}

// ---- what changed ----

/// Finds lost and found links. False: they are not all links that were there once.
bool Rerouter::State::compare(const fabric::CompactGraph& now) {
  if (!match(now)) return false;
  links.lost.clear();
  links.found.clear();
  const bool all_there = now.switch_count() == links.graph.switch_count();
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s) {
    const auto all = links.graph.arcs(s);
    const auto arcs = next_[s] != fabric::kNoSwitch ? now.arcs(next_[s]) : all.first(0);
    const auto alive = std::span(links.alive).subspan(links.first(s), all.size());
    if (all_there && std::find(alive.begin(), alive.end(), 0) == alive.end() &&
        std::ranges::equal(arcs, all, same_arc))
      continue;
    std::size_t i = 0;  // of what is there now; both are in the order of ports
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::uint32_t a = links.first(s) + static_cast<std::uint32_t>(k);
      fabric::Arc expected = arc(a);
      expected.to = next_[expected.to];
      const bool is = i < arcs.size() && same_arc(arcs[i], expected);
      if (is) ++i;
      if (is != (links.alive[a] != 0)) (is ? links.found : links.lost).push_back(a);
    }
    if (i != arcs.size()) return false;
  }
  return true;
}

/// Whether links that came back are as wide and as fast as they were; of the others it is asked
/// when nothing else happened.
bool Rerouter::State::same_kinds(const Request& request) const {
  if (!request.options.link_capacity) return true;
  const auto same = [&](std::uint32_t a) {
    const SwitchIndex s = links.from[a];
    return kind_of(*request.fabric, request.graph->node_of(next_[s]), arc(a).out_port) == kinds_[a];
  };
  if (!links.lost.empty() || !links.found.empty()) return std::ranges::all_of(links.found, same);
  for (std::uint32_t a = 0; a < kinds_.size(); ++a)
    if (links.alive[a] != 0 && !same(a)) return false;
  return true;
}

bool Rerouter::State::choose_again(const fabric::CompactGraph& now, std::vector<Fix>& fixes) {
  struct Batch {
    LiveWays::Followed followed;
    std::vector<LiveWays::Change> changes;
  };
  std::vector<Batch> batches(candidates_.size());
  parallel_for(std::size_t{0}, batches.size(), [&](std::size_t i) {
    batches[i].followed = ways_->follow(i, links, candidates_[i], batches[i].changes);
  });
  std::vector<std::uint32_t> again, reviewed;  // for these the rule is asked, by our indexes
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(i * tables::kTargetsPerBatch);
    const auto [whole, redrawn] = batches[i].followed;
    drop_lost_detours(i, ~(whole | redrawn), fixes);
    for (std::uint64_t bits = redrawn & detoured(i); bits != 0; bits &= bits - 1)
      reviewed.push_back(first + static_cast<std::uint32_t>(std::countr_zero(bits)));
    for (const auto& change : batches[i].changes) {
      const std::uint32_t t = first + change.target;
      if (!change.way && must_reach(change.at, targets_.all()[t])) return false;
      check(change.at, t, change.way, change.level, fixes);
    }
    for (std::uint64_t bits = whole; bits != 0; bits &= bits - 1)
      again.push_back(first + static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  if (now.switch_count() != links.graph.switch_count() && !(again.empty() && reviewed.empty()))
    return false;
  for (std::size_t at = 0; at < reviewed.size(); at += tables::kTargetsPerBatch) {
    const auto these =
        std::span(reviewed).subspan(at, std::min(tables::kTargetsPerBatch, reviewed.size() - at));
    const tables::LeastHops hops = rule_.of(now, leaves_of(these));
    review(now, these, hops, fixes);
  }
  return ask_again(now, again, fixes);
}

std::vector<SwitchIndex> Rerouter::State::leaves_of(std::span<const std::uint32_t> targets) const {
  std::vector<SwitchIndex> leaves;
  for (const std::uint32_t t : targets) leaves.push_back(targets_.all()[t].leaf);
  return leaves;
}

void Rerouter::State::review(const fabric::CompactGraph& now,
                             std::span<const std::uint32_t> targets, const tables::LeastHops& hops,
                             std::vector<Fix>& fixes) {
  tables::LeastHops wider = hops;
  if (rule_.detours) rule_.detours(now, targets_, wider);
  for (std::size_t b = 0; b < targets.size(); ++b)
    review_detours(now, targets[b], hops, wider, b, fixes);
}

std::uint64_t Rerouter::State::detoured(std::size_t batch) const {
  std::uint64_t targets = 0;
  for (const std::uint32_t a : detours_[batch].arcs) targets |= detours_[batch].words[a];
  return targets;
}

void Rerouter::State::review_detours(const fabric::CompactGraph& now, std::uint32_t target,
                                     const tables::LeastHops& hops, const tables::LeastHops& wider,
                                     std::size_t place, std::vector<Fix>& fixes) {
  Detours& those = detours_[target / tables::kTargetsPerBatch];
  const std::uint64_t bit = std::uint64_t{1} << (target % tables::kTargetsPerBatch);
  for (const std::uint32_t a : those.arcs) {
    if ((those.words[a] & bit) == 0) continue;
    const SwitchIndex s = links.from[a];
    const auto arcs = now.arcs(s);
    const auto is = std::ranges::find(arcs, arc(a).out_port, &fabric::Arc::out_port);
    const bool stays =
        links.alive[a] != 0 && is != arcs.end() &&
        ((wider.arcs[now.arc_index(s, static_cast<std::size_t>(is - arcs.begin()))] >> place) &
         1) != 0;
    if (stays) continue;
    those.words[a] &= ~bit;
    const std::uint32_t level = level_of(hops, s, place);
    check(s, target, level != 0 || targets_.all()[target].leaf == s, level, fixes);
  }
}

void Rerouter::State::drop_lost_detours(std::size_t batch, std::uint64_t targets,
                                        std::vector<Fix>& fixes) {
  for (const std::uint32_t a : detours_[batch].arcs) {
    std::uint64_t& word = detours_[batch].words[a];
    const std::uint64_t dropped = links.alive[a] != 0 ? 0 : word & targets;
    word &= ~dropped;
    for (std::uint64_t bits = dropped; bits != 0; bits &= bits - 1) {
      const auto b = static_cast<std::uint32_t>(std::countr_zero(bits));
      const std::uint32_t at = ways_->level(batch, b, links.from[a]);
      check(links.from[a], static_cast<std::uint32_t>(batch * tables::kTargetsPerBatch) + b,
            at != LiveWays::kFar, at, fixes);
    }
  }
}

bool Rerouter::State::ask_again(const fabric::CompactGraph& now,
                                const std::vector<std::uint32_t>& targets,
                                std::vector<Fix>& fixes) {
  for (std::size_t first = 0; first < targets.size(); first += tables::kTargetsPerBatch) {
    const auto these = std::span(targets).subspan(
        first, std::min(tables::kTargetsPerBatch, targets.size() - first));
    const tables::LeastHops hops = rule_.of(now, leaves_of(these));
    for (SwitchIndex s = 0; s < now.switch_count(); ++s) {
      std::uint64_t had = 0, has = 0, lost = 0;
      for (std::size_t i = 0, k = 0; k < links.graph.arcs(s).size(); ++k) {
        const std::uint32_t a = links.first(s) + static_cast<std::uint32_t>(k);
        const std::uint64_t present =
            links.alive[a] != 0 ? hops.arcs[now.arc_index(s, i++)] : std::uint64_t{0};
        std::uint64_t old = 0;
        for (std::size_t b = 0; b < these.size(); ++b) {
          std::uint64_t& word = candidates_[these[b] / tables::kTargetsPerBatch][a];
          const std::size_t place = these[b] % tables::kTargetsPerBatch;
          const std::uint64_t changes = ((word >> place) ^ (present >> b)) & 1;
          old |= ((word >> place) & 1) << b;
          word ^= changes << place;
        }
        had |= old, has |= present, lost |= old & ~present;
      }
      for (std::uint64_t bits = lost | (has & ~had); bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::size_t>(std::countr_zero(bits));
        const bool way = ((has >> b) & 1) != 0;
        if (!way && must_reach(s, targets_.all()[these[b]])) return false;
        check(s, these[b], way, level_of(hops, s, b), fixes);
      }
    }
    review(now, these, hops, fixes);
  }
  return true;
}

/// Finds the entries of a switch for a target that are no candidates any more.
void Rerouter::State::check(SwitchIndex s, std::uint32_t target, bool way, std::uint32_t level,
                            std::vector<Fix>& fixes) const {
  std::array<bool, 256> fits;  // by port
  fits.fill(!way);
  const auto arcs = links.graph.arcs(s);
  for (std::size_t i = 0; i < arcs.size(); ++i)
    fits[arcs[i].out_port] = is_candidate(links.first(s) + static_cast<std::uint32_t>(i), target);
  const auto entries = row(s);
  for_lids(target, [&](Lid lid) {
    if (!fits[entries[lid.value]]) fixes.push_back({lid, level, s});
  });
}

/// Whether end ports at s send to end ports at the target, and cables lead there.
bool Rerouter::State::must_reach(SwitchIndex s, const Target& target) const {
  const auto ends = links.graph.end_ports();
  return ends[s] != 0 && ends[target.leaf] != 0 && floor_.joined(s, target.leaf);
}

/// Whether somebody has no way that cables would give him; nobody changes who never had one.
bool Rerouter::State::leaves_hosts_apart() const {
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s)
    for (std::size_t i = 0; i < candidates_.size() && links.graph.end_ports()[s] != 0; ++i) {
      std::uint64_t ways = 0;
      for (std::size_t k = 0; k < links.graph.arcs(s).size(); ++k)
        ways |= candidates_[i][links.first(s) + k];
      const auto targets = targets_.batch(i);
      for (std::size_t b = 0; b < targets.size(); ++b)
        if (((ways >> b) & 1) == 0 && targets[b].leaf != s && must_reach(s, targets[b]))
          return true;
    }
  return false;
}

bool Rerouter::State::follow(const Request& request) {
  const fabric::CompactGraph& now = *request.graph;
  if (astray_ || !compare(now) || !same_kinds(request)) return false;
  changed_.clear();
  returned_ = false;
  if (!follows()) return !has_moved();
  begin_step();
  for (const std::uint32_t a : links.lost) links.alive[a] = 0;
  for (const std::uint32_t a : links.found) links.alive[a] = 1;
  follow_dead();
  std::vector<Fix> fixes;
  const bool joins = floor_.follow(links, cost_);
  if (has_moved() && (!choose_again(now, fixes) || (joins && leaves_hosts_apart()))) {
    astray_ = true;  // candidates are neither the old ones nor the new
    ways_ = nullptr;
    return false;
  }
  if (!came_.empty()) admit(now);
  if (!go_back()) {
    withdraw(fixes);
    mend_all(fixes);
    if (!links.found.empty()) go_home();
    for (const std::uint32_t a : links.found)
      if (load_[a] == 0) use(a);
  }
  if (!came_.empty()) note_lacks_of_what_came();
  if (!went_.empty()) dismiss(now);
  return true;
}

// ---- moves ----

/// Sources whose packets to `lid` pass s. Ways lead nearer with every hop, so it ends. Looking at
/// candidates first spares most rows of the neighbours, which are far apart.
std::uint64_t Rerouter::State::sources(SwitchIndex s, Lid lid) const {
  const std::uint32_t target = goals_[lid.value].target;
  const auto arcs = links.graph.arcs(s);
  std::uint64_t sum = senders_[s];
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const std::uint32_t in = links.reverse[links.first(s) + i];
    if ((is_candidate(in, target) || in_motion_[target] != 0) &&
        row(arcs[i].to)[lid.value] == arcs[i].in_port)
      sum += sources(arcs[i].to, lid);
  }
  return sum;
}

void Rerouter::State::add_load(SwitchIndex s, Lid lid, std::uint64_t sources) {
  along(s, lid, goals_[lid.value].leaf, [&](std::uint32_t a) { load_[a] += sources * cost_[a]; });
}
void Rerouter::State::drop_load(SwitchIndex s, Lid lid, std::uint64_t sources) {
  along(s, lid, goals_[lid.value].leaf, [&](std::uint32_t a) { load_[a] -= sources * cost_[a]; });
}

/// The highest load on the way that begins with an arc, with so many sources more.
std::uint64_t Rerouter::State::crest(std::uint32_t a, Lid lid, std::uint64_t more) const {
  std::uint64_t top = load_[a] + more * cost_[a];
  along(arc(a).to, lid, goals_[lid.value].leaf,
        [&](std::uint32_t next) { top = std::max(top, load_[next] + more * cost_[next]); });
  return top;
}

void Rerouter::State::set(SwitchIndex s, Lid lid, std::uint8_t port) {
  if (is_gone(s)) return;
  if (port == tables::kNoPort) note_lack(s, lid);
  changed_.push_back({s, lid, row(s)[lid.value], port});
  routes.lfts.set(place_[s], lid, port);
}

/// How many of the other LIDs of the same end port go the same way at s: to that switch, or else
/// to its system.
int Rerouter::State::overlap(SwitchIndex s, Lid lid, SwitchIndex to) const {
  const Goal& goal = goals_[lid.value];
  const std::size_t base = lid.value - std::size_t{goal.offset};
  int worst = 0;
  for (std::size_t other = base; other < goals_.size() && worst < 2; ++other) {
    const Goal& sibling = goals_[other];
    if (sibling.target != goal.target || sibling.offset != other - base || !goal.counts) break;
    const std::uint32_t a =
        other == lid.value ? kNoArc : arc_of(s, Lid{static_cast<std::uint16_t>(other)});
    if (a == kNoArc || links.alive[a] == 0) continue;
    if (arc(a).to == to) worst = 2;
    if (system_[to].value != 0 && system_[arc(a).to] == system_[to]) worst = std::max(worst, 1);
  }
  return worst;
}

/// The candidate on whose way the highest load stays lowest; kNoArc when there is none.
std::uint32_t Rerouter::State::best(SwitchIndex s, Lid lid, std::uint64_t more) const {
  using Key = std::tuple<int, std::uint64_t, std::size_t, std::uint32_t>;
  const Goal& goal = goals_[lid.value];
  const bool siblings = targets_.all()[goal.target].has_siblings;
  std::array<std::uint32_t, 256> list;
  std::size_t n = 0;
  for (std::size_t i = 0; i < links.graph.arcs(s).size(); ++i) {
    const auto a = static_cast<std::uint32_t>(links.graph.arc_index(s, i));
    if (is_candidate(a, goal.target)) list[n++] = a;
  }
  if (n == 0) return kNoArc;
  if (n == 1) return list[0];
  // Equals take turns by switch and LID, or all switches would send a LID that lost its way over
  // the same link.
  const std::size_t turn = (s + lid.value) % n;
  if (more == 0 && !siblings) return list[turn];
  std::array<Key, kWaysTried> shortlist;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t a = list[i];
    const Key key{siblings ? overlap(s, lid, arc(a).to) : 0, load_[a], (i + n - turn) % n, a};
    if (kept == kWaysTried && !(key < shortlist.back())) continue;
    std::size_t at = kept < kWaysTried ? kept++ : kWaysTried - 1;
    for (; at > 0 && key < shortlist[at - 1]; --at) shortlist[at] = shortlist[at - 1];
    shortlist[at] = key;
  }
  Key choice{3, 0, 0, 0};
  for (std::size_t i = 0; i < kept; ++i) {
    const std::uint32_t a = std::get<3>(shortlist[i]);
    choice = std::min(choice, {std::get<0>(shortlist[i]), crest(a, lid, more), i, a});
  }
  return std::get<3>(choice);
}

void Rerouter::State::mend_all(std::vector<Fix>& fixes) {
  std::sort(fixes.begin(), fixes.end());
  std::vector<SwitchIndex> first(targets_.all().size(), fabric::kNoSwitch);
  in_motion_.assign(first.size(), 0);
  for (const Fix& fix : fixes) {
    const std::uint32_t target = goals_[fix.lid.value].target;
    if (first[target] == fabric::kNoSwitch) first[target] = fix.at;
    if (first[target] != fix.at) in_motion_[target] = 1;
  }
  for (const Fix& fix : fixes) mend(fix);
  std::fill(in_motion_.begin(), in_motion_.end(), std::uint8_t{0});
}

void Rerouter::State::mend(const Fix& fix) {
  if (const std::uint32_t now = arc_of(fix.at, fix.lid);
      now != kNoArc && is_candidate(now, goals_[fix.lid.value].target))
    return;  // it was listed twice
  const std::uint64_t moved = sources_of(fix.at, fix.lid);
  drop_load(fix.at, fix.lid, moved);
  const std::uint32_t a = best(fix.at, fix.lid, moved);
  set(fix.at, fix.lid, a == kNoArc ? tables::kNoPort : arc(a).out_port);
  add_load(fix.at, fix.lid, moved);
}

/// Moves LIDs of a switch to a link it got (back) until that carries its share.
void Rerouter::State::use(std::uint32_t found) {
  const SwitchIndex s = links.from[found];
  for (std::uint32_t t = 0; t < targets_.all().size(); ++t) {
    if (!is_candidate(found, t)) continue;
    for_lids(t, [&](Lid lid) {
      const std::uint32_t now = arc_of(s, lid);
      if (!goals_[lid.value].counts || now == found || now == kNoArc) return;
      if (load_[now] <= load_[found]) return;
      const std::uint64_t moved = sources(s, lid);
      if (moved == 0) return;
      const std::uint64_t before = crest(now, lid, 0);
      drop_load(s, lid, moved);
      const bool better =
          load_[found] + moved * cost_[found] <= load_[now] && crest(found, lid, moved) <= before;
      if (better) set(s, lid, arc(found).out_port);
      add_load(s, lid, moved);
    });
  }
}

std::vector<Difference::Entry> net_changes(std::vector<Difference::Entry> changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.at, a.lid) < std::tuple(b.at, b.lid);
  });
  std::vector<Difference::Entry> entries;
  for (const auto& change : changes) {
    if (!entries.empty() && entries.back().at == change.at && entries.back().lid == change.lid)
      entries.back().after = change.after;
    else
      entries.push_back(change);
  }
  std::erase_if(entries, [](const auto& entry) { return entry.before == entry.after; });
  return entries;
}

Difference with_blocks(std::vector<Difference::Entry> entries) {
  Difference result;
  result.entries = std::move(entries);
  for (const auto& entry : result.entries) {
    const Difference::Block block{entry.at, static_cast<std::uint16_t>(entry.lid.value / 64)};
    if (result.blocks.empty() || result.blocks.back() != block) result.blocks.push_back(block);
  }
  return result;
}

Difference Rerouter::State::take_changes() {
  auto entries = net_changes(std::exchange(changed_, {}));
  end_step(entries);
  std::erase_if(entries, [this](const auto& entry) { return is_gone(entry.at); });
  for (auto& entry : entries) entry.at = place_[entry.at];
  return with_blocks(std::move(entries));
}

}  // namespace ib::route
