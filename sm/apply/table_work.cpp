// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/table_work.h"

#include <algorithm>

#include "libdiag/route/reroute/transition.h"
#include "libdiag/route/reroute/unknown_ways.h"

namespace sm::apply {

using ib::discover::Observed;
using ib::fabric::kNoSwitch;
using ib::fabric::NodeIndex;
using ib::fabric::SwitchIndex;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::Desired;

namespace {
std::uint16_t mft_block_of(std::uint16_t mlid) {
  return static_cast<std::uint16_t>((mlid - ib::kLidMulticastMin.value) /
                                    static_cast<int>(kMftBlock));
}
bool has_port(const Observed& seen, NodeIndex n, bool (*is_such)(PortState)) {
  for (unsigned p = 1; p <= seen.fabric.node(n).num_ports; ++p) {
    const auto& port = seen.port({n, static_cast<std::uint8_t>(p)});
    if (port.known && is_such(port.state())) return true;
  }
  return false;
}
bool has_link_in_use(const Observed& seen, NodeIndex n) {
  return has_port(seen, n, [](PortState state) { return state >= PortState::Armed; });
}
/// Never programmed, or rebooted since, as far as a sweep has seen. The top alone does not say so:
/// a switch that reboots between a sweep and the Sets gets its top all the same. It has lost its
/// LID too, or at least all its links wait in INIT.
bool lost_its_tables(const Observed& seen, NodeIndex n) {
  if (seen.nodes[n].switch_info->linear_fdb_top == 0) return true;
  const auto* port0 = seen.known_port({n, 0});
  if (port0 == nullptr || !port0->get<&PortInfo::lid>().is_unicast()) return true;
  return !has_link_in_use(seen, n) &&
         has_port(seen, n, [](PortState state) { return state == PortState::Initialize; });
}
}  // namespace

TableWork::TableWork(const Desired& desired, const Observed& seen, Known& known, Options options)
    : desired_(desired),
      seen_(seen),
      known_(known),
      states_(seen.nodes.size()),
      is_ours_(seen.nodes.size(), false) {
  prepare(options);
}

SwitchIndex TableWork::switch_of(NodeIndex n) const {
  return seen_.fabric.node(n).is_switch() ? desired_.routing->graph.switch_of(n) : kNoSwitch;
}

std::size_t TableWork::lft_blocks() const {
  const std::size_t lids = desired_.routing->lfts.lid_count();
  return (lids + kLftBlock - 1) / kLftBlock;
}

std::size_t TableWork::lft_blocks_held(NodeIndex n) const {
  const std::size_t below_top = seen_.nodes[n].switch_info->linear_fdb_top / kLftBlock + 1;
  return states_[n].above_top ? lft_blocks() : std::min(below_top, lft_blocks());
}

void TableWork::collect_mft_blocks() {
  std::set<std::uint16_t> blocks;
  for (const auto& [mlid, masks] : desired_.mfts) blocks.insert(mft_block_of(mlid.value));
  known_.inventory.for_each_forwarding([&](ib::Guid, const device::Forwarding& t) {
    for (const auto& [key, block] : t.mft) blocks.insert(key.first);
  });
  mft_blocks_.assign(blocks.begin(), blocks.end());
}

/// Where a switch knows MulticastFDBTop and somebody set it, all blocks up to it are in use. Else
/// nothing tells where its table ends: the first block has the IPoIB groups of any subnet manager.
std::vector<std::uint16_t> TableWork::mft_blocks_of(NodeIndex n) const {
  std::set<std::uint16_t> blocks(mft_blocks_.begin(), mft_blocks_.end());
  const auto& info = *seen_.nodes[n].switch_info;
  if (was_warm(n)) {
    const bool has_top = desired_.switches[switch_of(n)].has_multicast_top;
    const std::uint16_t top = has_top && info.multicast_fdb_top != 0 ? info.multicast_fdb_top
                                                                     : ib::kLidMulticastMin.value;
    if (top >= ib::kLidMulticastMin.value)
      for (std::uint16_t block = 0; block <= mft_block_of(top); ++block) blocks.insert(block);
  }
  std::erase_if(blocks, [&](std::uint16_t b) { return b * kMftBlock >= info.multicast_fdb_cap; });
  return {blocks.begin(), blocks.end()};
}

void TableWork::prepare(Options options) {
  collect_mft_blocks();
  for (NodeIndex n = 0; n < seen_.nodes.size(); ++n) {
    if (!desired_.node_managed[n] || switch_of(n) == kNoSwitch) continue;
    is_ours_[n] = true;
    const ib::Guid guid = seen_.fabric.node(n).guid;
    const bool lost = lost_its_tables(seen_, n);
    // One whose links were taken into use since may have been told entries since, too, by us or by
    // another master, and has them above its top.
    const bool may_hold_some = lost && options.after_sweep && has_link_in_use(seen_, n);
    const bool cold = lost && !may_hold_some;
    // A port that changed may be all that is left to see of a reboot in the middle of the last
    // Sets: what was known then is read again.
    const bool doubtful = options.after_sweep && known_.doubtful.contains(guid);
    make_room(n, lost || doubtful || options.read_back);
    if (lost) known_.inventory.forget(guid);
    // Of what is not known, what it refused before would be neither read nor written.
    if (lost && options.after_sweep) known_.refused.forget(guid);
    states_[n].doubtful = doubtful && !cold;
    states_[n].above_top = may_hold_some;
    states_[n].was_warm = !cold;
    states_[n].mft_blocks = mft_blocks_of(n);
  }
}

/// Makes room for entries of all LIDs. `forgotten`: nothing of the switch is known any more.
void TableWork::make_room(NodeIndex n, bool forgotten) {
  const auto* before = known_.inventory.forwarding(seen_.fabric.node(n).guid);
  if (!forgotten && before != nullptr && before->lft_known.size() >= lft_blocks()) return;
  device::Forwarding& t = own(n);
  if (forgotten) t = {};
  t.lft.resize(std::max(t.lft.size(), lft_blocks() * kLftBlock), ib::tables::kNoPort);
  t.lft_known.resize(std::max(t.lft_known.size(), lft_blocks()), false);
}

bool TableWork::new_ones_can_be_first() const {
  const auto is_new = [&](NodeIndex n) { return is_ours_[n] && !was_warm(n); };
  bool any_new = false, any_warm = false;
  for (NodeIndex n = 0; n < states_.size(); ++n) {
    any_new = any_new || is_new(n);
    any_warm = any_warm || was_warm(n);
  }
  if (!any_new || !any_warm) return false;
  for (NodeIndex n = 0; n < states_.size(); ++n) {
    if (!was_warm(n)) continue;
    std::array<bool, 256> leads_to_new{};
    bool any = false;
    for (unsigned p = 1; p <= seen_.fabric.node(n).num_ports; ++p) {
      const auto q = seen_.fabric.port(n, p).peer;
      leads_to_new[p] = q && is_new(q.node);
      any = any || leads_to_new[p];
    }
    const device::Forwarding& t = held(n);
    for (std::size_t lid = 0; any && lid < t.lft.size(); ++lid)
      if (t.lft_known[lid / kLftBlock] && leads_to_new[t.lft[lid]]) return false;
  }
  return true;
}

void TableWork::became_warm(NodeIndex n) { states_[n].was_warm = true; }

std::size_t TableWork::mft_positions(NodeIndex n) const {
  return (seen_.fabric.node(n).num_ports + kMftPorts) / kMftPorts;
}

TableWork::Ports TableWork::wanted_lft(SwitchIndex s, std::uint32_t block) const {
  Ports ports =
      ib::route::block_of(desired_.routing->lfts, s, static_cast<std::uint16_t>(block)).ports;
  for (std::size_t i = 0, lid = block * kLftBlock; i < kLftBlock && !kept_lids_.empty(); ++i, ++lid)
    if (is_kept(lid)) ports[i] = kept_or_safe(s, lid, ports[i]);
  return ports;
}

std::optional<TableWork::Ports> TableWork::due_lft(SwitchIndex s, std::uint32_t block) const {
  if (staged_.empty()) return wanted_lft(s, block);
  const auto at = staged_[s].find(block);
  if (at == staged_[s].end()) return wanted_lft(s, block);
  const auto later = at->second.upper_bound(round_);
  if (later == at->second.begin()) return std::nullopt;
  return std::prev(later)->second;
}

bool TableWork::is_known(SwitchIndex s, std::size_t lid) const {
  const device::Forwarding& t = held(desired_.routing->graph.node_of(s));
  return lid < t.lft.size() && t.lft_known[lid / kLftBlock];
}

std::uint8_t TableWork::kept_or(SwitchIndex s, std::size_t lid, std::uint8_t port) const {
  return is_known(s, lid) ? held(desired_.routing->graph.node_of(s)).lft[lid] : port;
}

/// Likewise, of a LID for which all others keep what they have. A switch that has nothing may close
/// a loop with that by its own entry, and gets none then.
std::uint8_t TableWork::kept_or_safe(SwitchIndex s, std::size_t lid, std::uint8_t port) const {
  if (is_known(s, lid)) return kept_or(s, lid, port);
  return comes_back(s, ib::Lid{static_cast<std::uint16_t>(lid)}) ? ib::tables::kNoPort : port;
}

/// Whether a packet to `lid` from switch s comes to one that stays with what nobody knows.
bool TableWork::leads_to_unknown(SwitchIndex s, ib::Lid lid) const {
  const auto& graph = desired_.routing->graph;
  std::optional<SwitchIndex> at = s;
  for (std::size_t hops = 0; at && hops <= graph.switch_count(); ++hops) {
    if (stay_.contains(*at) && !is_known(*at, lid.value)) return true;
    at = next_switch(*at, lid);
  }
  return false;
}

/// LIDs to which packets could go round in circles between what stays on some switches and what
/// others are to hold keep all the entries that they have.
void TableWork::keep_lids() {
  kept_lids_.clear();
  if (stay_.empty()) return;
  const auto& graph = desired_.routing->graph;
  std::vector<bool> kept(desired_.routing->lfts.lid_count(), false);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (!is_ours_[graph.node_of(s)]) continue;
    const device::Forwarding& t = held(graph.node_of(s));
    const auto wanted = desired_.routing->lfts.row(s);
    for (std::size_t i = 1; i < kept.size(); ++i) {
      const ib::Lid lid{static_cast<std::uint16_t>(i)};
      if (kept[i] || t.lft[i] == wanted[i] || !t.lft_known[i / kLftBlock]) continue;
      kept[i] = stay_.contains(s) ? comes_back(s, lid) : leads_to_unknown(s, lid);
    }
  }
  kept_lids_ = std::move(kept);
}

/// What there is to be when all is written, on the switches that stay as well.
ib::tables::LinearTables TableWork::tables_to_be() const {
  const auto& graph = desired_.routing->graph;
  ib::tables::LinearTables tables = desired_.routing->lfts;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (!is_ours_[graph.node_of(s)]) continue;
    const device::Forwarding& t = held(graph.node_of(s));
    const auto row = tables.row(s);
    const bool stays = stay_.contains(s);
    for (std::size_t lid = 0; lid < row.size(); ++lid)
      if (stays && t.lft_known[lid / kLftBlock])
        row[lid] = t.lft[lid];
      else if (is_kept(lid) && !stays)
        row[lid] = kept_or_safe(s, lid, row[lid]);
  }
  return tables;
}

ib::route::UnknownWays TableWork::unknown_ways() const {
  const auto& graph = desired_.routing->graph;
  ib::route::UnknownWays unknown;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const NodeIndex n = graph.node_of(s);
    if (!is_ours_[n]) continue;
    const auto arcs = graph.arcs(s);
    for (unsigned p = 1; p <= seen_.fabric.node(n).num_ports; ++p) {
      const auto port = static_cast<std::uint8_t>(p);
      const auto* observed = seen_.known_port({n, port});
      if (observed != nullptr && observed->state() < PortState::Armed) continue;
      const auto peer = seen_.fabric.port(n, port).peer;
      if (peer && !seen_.fabric.node(peer.node).is_switch()) continue;
      const auto arc = std::ranges::lower_bound(arcs, port, {}, &ib::fabric::Arc::out_port);
      if (arc == arcs.end() || arc->out_port != port) unknown.emplace(s, port);
    }
  }
  return unknown;
}

/// Switches that are new or were rebooted hold no entry, and get theirs in the order, too, where
/// others hold some: links that are ACTIVE may lead there by old entries and back by new ones.
/// Other blocks that nobody knows (a Set without an answer) have no place in an order and go out at
/// once.
void TableWork::stage(const std::vector<bool>& silent) {
  staged_.clear();
  round_ = 0;
  rounds_ = 1;
  const Desired& d = desired_;
  // Only where the wanted tables have no loops themselves is there an order.
  if (!d.program_lfts || d.verdict.loops > 0) return;
  for (NodeIndex n = 0; n < silent.size(); ++n)
    if (silent[n] && is_ours_[n]) stay_.insert(switch_of(n));
  keep_lids();
  const auto& graph = d.routing->graph;
  const std::size_t lids = d.routing->lfts.lid_count();
  const auto with_those = stay_.empty() ? ib::tables::LinearTables() : tables_to_be();
  const auto& wanted = stay_.empty() ? d.routing->lfts : with_those;
  const bool any_warm = std::ranges::any_of(states_, &State::was_warm);
  std::vector<ib::route::Transition::Write> differing;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const NodeIndex n = graph.node_of(s);
    if (!is_ours_[n]) continue;
    const device::Forwarding& t = held(n);
    const auto row = wanted.row(s);
    const bool is_empty = any_warm && !was_warm(n) && !stay_.contains(s);
    for (std::size_t block = 0; block < lft_blocks(); ++block) {
      if (!t.lft_known[block] && !is_empty) continue;
      const auto first = static_cast<std::ptrdiff_t>(block * kLftBlock);
      const auto size = std::min(kLftBlock, lids - block * kLftBlock);
      const auto entries = std::span(t.lft).subspan(block * kLftBlock, size);
      if (std::equal(entries.begin(), entries.end(), row.begin() + first)) continue;
      auto& write =
          differing.emplace_back(ib::route::block_of(wanted, s, static_cast<std::uint16_t>(block)));
      std::copy(entries.begin(), entries.end(), write.ports.begin());
    }
  }
  if (differing.empty()) return;
  auto before_all = ib::route::leave_unknown_ways(graph, unknown_ways(), wanted, differing);
  auto transition = ib::route::plan_transition(graph, differing, wanted);
  if (!before_all.empty())
    transition.rounds.insert(transition.rounds.begin(), std::move(before_all));
  if (transition.rounds.size() < 2) return;
  rounds_ = static_cast<std::uint32_t>(transition.rounds.size());
  staged_.resize(graph.switch_count());
  for (std::uint32_t r = 0; r < rounds_; ++r)
    for (const auto& write : transition.rounds[r]) staged_[write.at][write.block][r] = write.ports;
}

bool TableWork::any_lft_is_due() const {
  if (!desired_.program_lfts) return false;
  const auto& graph = desired_.routing->graph;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const NodeIndex n = graph.node_of(s);
    if (!is_ours_[n]) continue;
    const device::Forwarding& t = held(n);
    for (std::uint32_t block = 0; block < lft_blocks(); ++block) {
      const Ports wanted = wanted_lft(s, block);
      if (!t.lft_known[block] ||
          !std::ranges::equal(wanted, std::span(t.lft).subspan(block * kLftBlock, kLftBlock)))
        return true;
    }
  }
  return false;
}

bool TableWork::lfts_stand() const {
  if (!desired_.program_lfts || failed_ || !stay_.empty()) return false;
  const auto& routing = *desired_.routing;
  for (SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const NodeIndex n = routing.graph.node_of(s);
    if (!is_ours_[n]) continue;
    const device::Forwarding& t = held(n);
    const auto row = routing.lfts.row(s);
    for (std::size_t lid = 0; lid < row.size(); ++lid)
      if (row[lid] != ib::tables::kNoPort &&
          (!t.lft_known[lid / kLftBlock] || t.lft[lid] != row[lid]))
        return false;
  }
  return true;
}

bool TableWork::next_round() {
  if (last_round() || failed_) return false;
  ++round_;
  return true;
}

void TableWork::lft_failed(NodeIndex n, std::uint32_t block) {
  own(n).lft_known[block] = false;
  failed_ = true;
}

/// The switch that a packet to `lid` comes to next; nothing: it leaves the switches.
std::optional<SwitchIndex> TableWork::next_switch(SwitchIndex s, ib::Lid lid) const {
  const auto& routing = *desired_.routing;
  const std::uint8_t wanted = routing.lfts.at(s, lid);
  const bool stays = stay_.contains(s) || is_kept(lid.value);
  const std::uint8_t port =
      stays && is_ours_[routing.graph.node_of(s)] ? kept_or(s, lid.value, wanted) : wanted;
  const auto arcs = routing.graph.arcs(s);
  const auto arc = std::ranges::lower_bound(arcs, port, {}, &ib::fabric::Arc::out_port);
  if (arc == arcs.end() || arc->out_port != port) return std::nullopt;
  return arc->to;
}

/// Whether a packet to `lid` that leaves switch s meets it again. The others' wanted tables have no
/// loop, so every loop leads over somebody who stays as he is.
bool TableWork::comes_back(SwitchIndex s, ib::Lid lid) const {
  std::optional<SwitchIndex> at = s;
  for (std::size_t hops = 0; hops <= desired_.routing->graph.switch_count(); ++hops) {
    at = next_switch(*at, lid);
    if (!at) return false;
    if (*at == s) return true;
  }
  return true;
}

void TableWork::lft_stays(NodeIndex n) {
  const SwitchIndex s = switch_of(n);
  const device::Forwarding& t = held(n);
  if (!stay_.insert(s).second) return;
  const auto& wanted = desired_.routing->lfts;
  for (std::size_t i = 1; i < wanted.lid_count() && !failed_; ++i) {
    const ib::Lid lid{static_cast<std::uint16_t>(i)};
    failed_ = !t.lft_known[i / kLftBlock] || (t.lft[i] != wanted.at(s, lid) && comes_back(s, lid));
  }
}

/// Trees that are kept lie below it, too.
std::uint16_t TableWork::wanted_multicast_top(NodeIndex n) const {
  const std::uint16_t wanted = desired_.switches[switch_of(n)].multicast_fdb_top;
  if (!desired_.keep_unknown_groups) return wanted;
  return std::max(wanted, seen_.nodes[n].switch_info->multicast_fdb_top);
}

std::array<std::uint16_t, kMftBlock> TableWork::wanted_mft(SwitchIndex s, std::uint16_t block,
                                                           unsigned position) const {
  std::array<std::uint16_t, kMftBlock> out{};
  const auto first = static_cast<std::uint16_t>(ib::kLidMulticastMin.value + block * kMftBlock);
  if (desired_.keep_unknown_groups) {
    const auto& mft = held(desired_.routing->graph.node_of(s)).mft;
    const auto at = mft.find({block, static_cast<std::uint8_t>(position)});
    for (std::uint16_t i = 0; at != mft.end() && i < kMftBlock; ++i)
      if (!desired_.mfts.contains(ib::Lid{static_cast<std::uint16_t>(first + i)}))
        out[i] = at->second[i];
  }
  for (auto it = desired_.mfts.lower_bound(ib::Lid{first});
       it != desired_.mfts.end() && it->first.value < first + kMftBlock; ++it) {
    const auto mask = it->second.find(s);
    if (mask == it->second.end()) continue;
    for (unsigned i = 0; i < kMftPorts; ++i)
      if (mask->second.test(static_cast<unsigned>(position * kMftPorts) + i))
        out[it->first.value - first] |= static_cast<std::uint16_t>(1U << i);
  }
  return out;
}

/// What nobody knows, because it was not read, is as it should be only where nobody uses it.
bool TableWork::mft_differs(NodeIndex n, std::uint16_t block, std::uint8_t position) {
  const auto& mft = held(n).mft;
  if (const auto it = mft.find({block, position}); it != mft.end())
    return it->second != wanted_mft(switch_of(n), block, position);
  return std::ranges::binary_search(mft_blocks_, block);
}

}  // namespace sm::apply
