// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_changes.h"

#include <algorithm>

#include "libdiag/tables/growing_order.h"
#include "libdiag/tables/verify_multicast.h"
#include "libdiag/tables/verify_proof.h"
#include "libdiag/tables/verify_traffic.h"

namespace ib::tables {

using namespace check;

struct Verifier::Kept {
  Proof proof;
  VirtualLanes virtual_lanes;
  std::vector<SwitchIndex> to;
  std::vector<fabric::Destination> destinations;
  std::vector<Guid> guids;
  fabric::Pieces pieces;
  SwitchIndex sm_leaf{};
  std::uint64_t switch_sources_unreachable{};
};

namespace {

/// More than this many nodes looked at while sorting new turns in, and a new order is cheaper.
constexpr std::size_t kStepsMax = 200000;
/// The same for turns that are optional.
constexpr std::size_t kOptionalStepsMax = 20000;
/// So many LIDs that are new or hang elsewhere are walked like changes; more ask for everything.
constexpr std::size_t kMovedMax = 256;

std::vector<Guid> guids_of(const fabric::CompactGraph& graph) {
  std::vector<Guid> guids;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) guids.push_back(graph.guid(s));
  return guids;
}

/// Whether switches hang together that did not: then there are pairs that nobody has looked at.
bool joins_pieces(const fabric::Pieces& old, const fabric::Pieces& now) {
  if (old.count == 1) return false;
  std::vector<std::uint32_t> was(now.count, fabric::kNoSwitch);
  for (SwitchIndex s = 0; s < now.of.size(); ++s) {
    std::uint32_t& piece = was[now.of[s]];
    if (piece == fabric::kNoSwitch) piece = old.of[s];
    if (piece != old.of[s]) return true;
  }
  return false;
}

bool same_place(const fabric::Destination& a, const fabric::Destination& b) {
  return a.lid == b.lid && a.leaf == b.leaf && a.port == b.port;
}

/// Looks at changed entries: do they arrive, and which turns do they bring.
class ChangeWalker {
 public:
  ChangeWalker(const SwitchGraph& switch_graph, const LinearTables& tables, Lid sm_lid,
               const Dependencies& known)
      : switch_graph_(switch_graph),
        tables_(tables),
        known_(known),
        traffic_(switch_graph, tables, sm_lid) {}

  /// Entries of one switch, LIDs ascending. False when one of them does not arrive.
  bool arrive(SwitchIndex s, std::span<const EntryChange> entries) {
    entries_.clear();
    for (const EntryChange& change : entries) {
      const fabric::Destination* d = switch_graph_.find(change.lid);
      if (d == nullptr) continue;
      if (switch_graph_.apart(s, d->leaf)) {
        if (loops(s, d->lid)) return false;
        continue;
      }
      const bool passed = traffic_.passes(s, d->lid);
      if (!walk(s, *d, passed) && passed) return false;
      if (switch_graph_.link(s, tables_.at(s, d->lid)) != kNoChannel && s != d->leaf)
        entries_.push_back({d->lid, tables_.at(s, d->lid), traffic_.is_end(*d)});
    }
    // What comes in and goes on by these entries, neighbour by neighbour.
    for (const Channel in : switch_graph_.into(s)) {
      const SwitchIndex neighbour = switch_graph_.from(in);
      const auto row = tables_.row(neighbour);
      for (const Entry& e : entries_) {
        if (row[e.lid.value] != switch_graph_.port(in)) continue;
        const bool passed = traffic_.passes(neighbour, e.lid);
        if (passed || e.end) note({in, switch_graph_.channel(s, e.port)}, passed && e.end);
      }
    }
    return true;
  }

  /// Each once, none that is known. One VL: a node is a channel.
  std::vector<Turn> must() { return sorted(must_); }
  std::vector<Turn> should() { return sorted(should_); }

 private:
  struct Entry {
    Lid lid{};
    std::uint8_t port{};
    bool end{};
  };

  /// From s to the end, since what goes on from here may be new to switches that have not changed.
  bool walk(SwitchIndex s, const fabric::Destination& d, bool passed) {
    const bool end = traffic_.is_end(d);
    Channel before = kNoChannel;
    for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
      const std::uint8_t port = tables_.at(s, d.lid);
      if (s == d.leaf) return port == d.port;
      const Channel c = switch_graph_.link(s, port);
      if (c == kNoChannel) return false;
      if (before != kNoChannel && (passed || end)) note({before, c}, passed && end);
      before = c;
      s = switch_graph_.to[c];
    }
    return false;
  }

  /// Of a LID in another piece, which nothing is sent to.
  bool loops(SwitchIndex s, Lid lid) const {
    for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
      const Channel c = switch_graph_.link(s, tables_.at(s, lid));
      if (c == kNoChannel) return false;
      s = switch_graph_.to[c];
    }
    return true;
  }

  void note(Turn turn, bool must) {
    if (!known_.has(turn)) (must ? must_ : should_).push_back(turn);
  }

  static std::vector<Turn> sorted(std::vector<Turn>& turns) {
    std::sort(turns.begin(), turns.end());
    turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
    return std::move(turns);
  }

  const SwitchGraph& switch_graph_;
  const LinearTables& tables_;
  const Dependencies& known_;
  Traffic traffic_;
  std::vector<Entry> entries_;
  std::vector<Turn> must_, should_;
};

/// Entries of which the ground has changed: by a link that is gone or leads elsewhere, of a LID
/// that is new or hangs elsewhere. False when that is too much.
bool add_changes_of_ground(const SwitchGraph& switch_graph, const LinearTables& tables,
                           const std::vector<SwitchIndex>& old_to,
                           const std::vector<fabric::Destination>& old_destinations,
                           std::vector<EntryChange>& changes) {
  for (Channel c = 0; c < switch_graph.channels(); ++c) {
    if (old_to[c] == switch_graph.to[c] || old_to[c] == fabric::kNoSwitch) continue;
    const SwitchIndex s = switch_graph.from(c);
    const auto row = tables.row(s);
    for (std::size_t lid = 0; lid < row.size(); ++lid)
      if (row[lid] == switch_graph.port(c))
        changes.push_back({s, Lid{static_cast<std::uint16_t>(lid)}});
  }
  std::size_t moved = 0;
  auto old = old_destinations.begin();
  for (const auto& d : switch_graph.destinations) {
    while (old != old_destinations.end() && old->lid < d.lid) ++old;
    if (old != old_destinations.end() && same_place(*old, d)) continue;
    if (++moved > kMovedMax) return false;
    for (SwitchIndex s = 0; s < switch_graph.graph.switch_count(); ++s)
      changes.push_back({s, d.lid});
  }
  return true;
}

/// Looks at the changes of one switch after the other. False: one is not in the graph, or the
/// walker cannot say.
bool arrive_everywhere(ChangeWalker& walker, std::span<const EntryChange> changes,
                       std::size_t switches) {
  for (std::size_t i = 0; i < changes.size();) {
    std::size_t end = i;
    while (end < changes.size() && changes[end].at == changes[i].at) ++end;
    if (changes[i].at >= switches || !walker.arrive(changes[i].at, changes.subspan(i, end - i)))
      return false;
    i = end;
  }
  return true;
}

}  // namespace

Verifier::Verifier(VerifyOptions options) : options_(options) {}
Verifier::~Verifier() = default;
Verifier::Verifier(Verifier&&) noexcept = default;
Verifier& Verifier::operator=(Verifier&&) noexcept = default;

Verdict Verifier::verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                         const LinearTables& tables, const VirtualLanes& virtual_lanes,
                         const MulticastCheck& multicast) {
  by_difference_ = false;
  kept_.reset();
  const SwitchGraph switch_graph(graph, options_.sm_lid);
  std::optional<Proof> proof;
  Verdict verdict =
      verify_keeping(fabric, switch_graph, tables, virtual_lanes, multicast, options_, proof);
  if (proof && verdict.must_ok() && verdict.unreachable == 0)
    kept_ =
        std::make_unique<Kept>(Kept{std::move(*proof), virtual_lanes, switch_graph.to,
                                    switch_graph.destinations, guids_of(graph), switch_graph.pieces,
                                    switch_graph.sm_leaf, verdict.switch_sources_unreachable});
  return verdict;
}

Verdict Verifier::verify_changes(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                 const LinearTables& tables, std::span<const EntryChange> changes,
                                 const VirtualLanes& virtual_lanes,
                                 const MulticastCheck& multicast) {
  const auto everything = [&] { return verify(fabric, graph, tables, virtual_lanes, multicast); };
  if (!kept_ || graph.switch_count() != tables.switch_count() ||
      graph.max_lid().value >= tables.lid_count() || kept_->virtual_lanes != virtual_lanes ||
      kept_->guids != guids_of(graph))
    return everything();
  const SwitchGraph switch_graph(graph, options_.sm_lid);
  if (switch_graph.to.size() != kept_->to.size() || switch_graph.sm_leaf != kept_->sm_leaf ||
      joins_pieces(kept_->pieces, switch_graph.pieces))
    return everything();

  const bool has_multicast = multicast.trees != nullptr && !multicast.trees->empty();
  const bool claimed = has_multicast && multicast.claimed;
  const VlView view(fabric, switch_graph, virtual_lanes, options_, multicast.claimed_sls());
  if (view.kind() != VlView::Kind::One ||
      !vls_hold_everywhere(fabric, switch_graph, view, virtual_lanes))
    return everything();

  std::vector<EntryChange> looked_at(changes.begin(), changes.end());
  if (!add_changes_of_ground(switch_graph, tables, kept_->to, kept_->destinations, looked_at))
    return everything();
  std::sort(looked_at.begin(), looked_at.end());
  looked_at.erase(std::unique(looked_at.begin(), looked_at.end()), looked_at.end());
  Dependencies& turns = kept_->proof.turns;
  for (Channel c = 0; c < switch_graph.channels(); ++c)
    if (kept_->to[c] != switch_graph.to[c]) turns.clear(c);
  ChangeWalker walker(switch_graph, tables, options_.sm_lid, turns);
  if (!arrive_everywhere(walker, looked_at, graph.switch_count())) return everything();

  GrowingOrder order(switch_graph, turns, std::move(kept_->proof.position));
  bool fits = true;
  const auto add = [&](Turn turn) { fits = fits && order.steps() <= kStepsMax && order.add(turn); };
  for (const Turn& turn : walker.must()) add(turn);

  Verdict verdict;
  verdict.pairs = switch_graph.pairs();
  verdict.pairs_apart = switch_graph.pairs_apart();
  verdict.switch_sources_unreachable = kept_->switch_sources_unreachable;
  if (has_multicast) {
    verdict.multicast = claimed ? MulticastVerdict::Proved : MulticastVerdict::NotProved;
    fits = fits && check_trees(fabric, switch_graph, multicast, options_, verdict);
  }
  if (claimed) {
    Dependencies of_trees(switch_graph, 1);
    std::vector<std::uint16_t> carried(switch_graph.channels(), 0);
    add_multicast_turns(switch_graph, view, multicast, of_trees, carried);
    for (Node n = 0; n < of_trees.nodes(); ++n)
      of_trees.for_next(switch_graph, n, [&](Node m) { add({n, m}); });
  }
  if (!fits) return everything();
  // What is not looked at within the price counts as refused: a full check may find room for it.
  const std::size_t steps_max = order.steps() + kOptionalStepsMax;
  for (const Turn& turn : walker.should())
    if (order.steps() > steps_max || !order.add(turn)) kept_->proof.refused.push_back(turn);
  verdict.switch_turns_refused = kept_->proof.refused.size();
  kept_->proof.position = order.take_position();
  kept_->to = switch_graph.to;
  kept_->destinations = switch_graph.destinations;
  kept_->pieces = switch_graph.pieces;
  by_difference_ = true;
  return verdict;
}

}  // namespace ib::tables
