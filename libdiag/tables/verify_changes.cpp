// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_changes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "libdiag/tables/growing_order.h"
#include "libdiag/tables/verify_known.h"
#include "libdiag/tables/verify_multicast.h"
#include "libdiag/tables/verify_traffic.h"

namespace ib::tables {

using namespace check;

struct Verifier::Kept : Known {};

namespace {

/// More than this many nodes looked at while sorting new turns in, and a new order is cheaper.
constexpr std::size_t kStepsMax = 200000;
/// The same for turns that are optional.
constexpr std::size_t kOptionalStepsMax = 20000;
/// So many LIDs that are new or hang elsewhere are walked like changes; more ask for everything.
constexpr std::size_t kMovedMax = 256;
/// The same for switches of which every entry is.
constexpr std::size_t kSendersMax = 16;

/// Whether switches hang together that did not: then there are pairs that nobody has looked at. A
/// new switch alone joins nothing: all it sends and gets is looked at.
bool joins_pieces(const fabric::Pieces& old, const fabric::Pieces& now) {
  if (old.count == 1) return false;
  std::vector<std::uint32_t> was(now.count, fabric::kNoSwitch);
  for (SwitchIndex s = 0; s < now.of.size(); ++s) {
    if (old.of[s] == fabric::kNoSwitch) continue;
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

/// Entries of which the ground has changed: by a link that is gone, new or leads elsewhere, of a
/// LID that is new or hangs elsewhere, of a switch that CAs did not send from. False when that is
/// too much.
bool add_changes_of_ground(const SwitchGraph& switch_graph, const LinearTables& tables,
                           const Known& known, std::vector<EntryChange>& changes) {
  for (Channel c = 0; c < switch_graph.channels(); ++c) {
    if (known.to[c] == switch_graph.to[c]) continue;
    const SwitchIndex s = switch_graph.from(c);
    const auto row = tables.row(s);
    for (std::size_t lid = 0; lid < row.size(); ++lid)
      if (row[lid] == switch_graph.port(c))
        changes.push_back({s, Lid{static_cast<std::uint16_t>(lid)}});
  }
  std::size_t moved = 0, senders = 0;
  auto old = known.destinations.begin();
  for (const auto& d : switch_graph.destinations) {
    while (old != known.destinations.end() && old->lid < d.lid) ++old;
    if (old != known.destinations.end() && same_place(*old, d)) continue;
    if (++moved > kMovedMax) return false;
    for (SwitchIndex s = 0; s < switch_graph.graph.switch_count(); ++s)
      changes.push_back({s, d.lid});
  }
  const auto followed = followed_in(switch_graph);
  for (SwitchIndex s = 0; s < followed.size(); ++s) {
    if (followed[s] <= known.followed[s]) continue;
    if (++senders > kSendersMax) return false;
    for (const auto& d : switch_graph.destinations) changes.push_back({s, d.lid});
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

/// Turns that were not known.
struct NewTurns {
  std::vector<Turn> must, should;
};

/// What the changes bring. Nothing: they are too many, or something does not arrive.
std::optional<NewTurns> look_at(const SwitchGraph& switch_graph, const LinearTables& tables,
                                std::span<const EntryChange> changes, Lid sm_lid, Known& known) {
  std::vector<EntryChange> all(changes.begin(), changes.end());
  if (!add_changes_of_ground(switch_graph, tables, known, all)) return std::nullopt;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (Channel c = 0; c < switch_graph.channels(); ++c)
    if (known.to[c] != switch_graph.to[c]) known.proof.turns.clear(c);
  ChangeWalker walker(switch_graph, tables, sm_lid, known.proof.turns);
  if (!arrive_everywhere(walker, all, switch_graph.graph.switch_count())) return std::nullopt;
  return NewTurns{walker.must(), walker.should()};
}

/// Turns of switches that are new, sorted in all at once: to find a place for one after the other
/// takes longer. False: those that must flow close a cycle.
bool sort_in(const SwitchGraph& switch_graph, const NewTurns& news, Proof& proof) {
  for (const Turn& turn : news.must) proof.turns.add(turn);
  for (const Turn& turn : news.should) proof.turns.add(turn);
  Order order = order_of(switch_graph, proof.turns);
  if (!order.left.empty()) {
    for (const Turn& turn : news.should) proof.turns.remove(turn);
    for (const Turn& turn : news.must) proof.turns.add(turn);  // some are both
    order = order_of(switch_graph, proof.turns);
  }
  if (!order.left.empty()) return false;
  proof.position = std::move(order.position);
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
    kept_ = std::make_unique<Kept>(
        Kept{{std::move(*proof), virtual_lanes, switch_graph.to, switch_graph.destinations,
              guids_of(graph), followed_in(switch_graph), switch_graph.pieces, switch_graph.sm_leaf,
              verdict.switch_sources_unreachable}});
  return verdict;
}

Verdict Verifier::verify_changes(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                 const LinearTables& tables, std::span<const EntryChange> changes,
                                 const VirtualLanes& virtual_lanes,
                                 const MulticastCheck& multicast) {
  const auto everything = [&] { return verify(fabric, graph, tables, virtual_lanes, multicast); };
  if (!kept_ || graph.switch_count() != tables.switch_count() ||
      graph.max_lid().value >= tables.lid_count() || kept_->virtual_lanes != virtual_lanes)
    return everything();
  const SwitchGraph switch_graph(graph, options_.sm_lid);
  if (kept_->guids != guids_of(graph) && !carry_over(*kept_, switch_graph)) return everything();
  if (switch_graph.to.size() != kept_->to.size() || switch_graph.sm_leaf != kept_->sm_leaf ||
      joins_pieces(kept_->pieces, switch_graph.pieces))
    return everything();

  const bool has_multicast = multicast.trees != nullptr && !multicast.trees->empty();
  const bool claimed = has_multicast && multicast.claimed;
  const VlView view(fabric, switch_graph, virtual_lanes, options_, multicast.claimed_sls());
  if (view.kind() != VlView::Kind::One ||
      !vls_hold_everywhere(fabric, switch_graph, view, virtual_lanes))
    return everything();
  const auto news = look_at(switch_graph, tables, changes, options_.sm_lid, *kept_);
  if (!news) return everything();
  if (std::ranges::count(kept_->followed, Known::Followed::Nobodys) != 0 &&
      !sort_in(switch_graph, *news, kept_->proof))
    return everything();

  GrowingOrder order(switch_graph, kept_->proof.turns, std::move(kept_->proof.position));
  bool fits = true;
  const auto add = [&](Turn turn) { fits = fits && order.steps() <= kStepsMax && order.add(turn); };
  for (const Turn& turn : news->must) add(turn);

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
  for (const Turn& turn : news->should)
    if (order.steps() > steps_max || !order.add(turn)) kept_->proof.refused.push_back(turn);
  verdict.switch_turns_refused = kept_->proof.refused.size();
  kept_->proof.position = order.take_position();
  kept_->to = switch_graph.to;
  kept_->destinations = switch_graph.destinations;
  kept_->followed = followed_in(switch_graph);
  kept_->pieces = switch_graph.pieces;
  by_difference_ = true;
  return verdict;
}

}  // namespace ib::tables
