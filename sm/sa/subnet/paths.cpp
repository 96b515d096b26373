// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/paths.h"

#include <algorithm>
#include <array>

#include "libdiag/wire/rates.h"

namespace sm::sa {
namespace {

using ib::Guid;
using ib::Lid;
using ib::fabric::kNoSwitch;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;
using ib::wire::PortInfo;

constexpr std::uint8_t kMtu2048 = 4;
constexpr std::uint8_t kMtu4096 = 5;
// 2.5 Gb/s: the one rate that every link can keep, for a link whose speed is not known.
constexpr std::uint8_t kRateSlowest = 2;
// 10 Gb/s: what a switch's own port counts as; it has no link to measure.
constexpr std::uint8_t kRatePort0 = 3;
constexpr std::uint8_t kVlDrops = 15;
// The last of the rate codes that came with each generation; within one, codes are in order.
constexpr std::uint8_t kRate300 = 18, kRate600 = 22, kRate1200 = 24, kRate1600 = 25;

/// What a port says it can do, and so the rates that its host has a code for.
std::uint8_t newer_rates(const ib::discover::ObservedPort& port) {
  namespace cap = ib::wire::port_cap2;
  if ((port.get<&PortInfo::capability_mask>() & ib::wire::port_cap::kCapabilityMask2) == 0)
    return kRate300;
  const auto capabilities2 = port.get<&PortInfo::capability_mask2>();
  const auto can = [&](std::uint16_t bits) { return (capabilities2 & bits) != 0; };
  if (can(cap::kXdr | cap::kExtendedSpeeds2)) return kRate1600;
  if (can(cap::kNdr)) return kRate1200;
  return can(cap::kLinkWidth2x | cap::kHdr) ? kRate600 : kRate300;
}

bool is_mtu(std::uint8_t code) { return code >= 1 && code <= kMtu4096; }

/// The SLs that lead everywhere: packets of each stay on the VLs the routes were proved for.
std::uint16_t sls_for_all(const ib::tables::VirtualLanes& virtual_lanes) {
  if (!virtual_lanes.sls.uniform()) return 0;
  std::uint16_t sls = static_cast<std::uint16_t>(1U << virtual_lanes.sls.at(0, 0).value);
  if (!virtual_lanes.sl_to_vl.uniform()) return sls;
  // One row everywhere: a packet keeps its VL all the way, and each VL has the same routes.
  for (unsigned sl = 0; sl < 16; ++sl)
    if (virtual_lanes.sl_to_vl.injection().vl[sl] != kVlDrops)
      sls = static_cast<std::uint16_t>(sls | 1U << sl);
  return sls;
}

}  // namespace

Paths::Paths(SnapshotPtr snapshot, const Paths* previous) : snapshot_(std::move(snapshot)) {
  const auto& fabric = snapshot_->fabric();
  links_.reserve(snapshot_->observed->ports.size());
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p)
      links_.push_back(link_of({n, static_cast<std::uint8_t>(p)}));
  find_end_ports();
  find_virtual_ports();
  if (!snapshot_->routing) return;
  const auto& virtual_lanes = snapshot_->routing->virtual_lanes;
  sls_ = &virtual_lanes.sls;
  free_sls_ = sls_for_all(virtual_lanes);
  if (!virtual_lanes.levels.empty()) levels_ = &virtual_lanes.levels;
  auto ground = inputs();
  const bool same = previous != nullptr && previous->table_ && previous->table_->inputs() == ground;
  table_ = same ? previous->table_ : std::make_shared<PathTable>(std::move(ground));
}

void Paths::find_end_ports() {
  const auto& fabric = snapshot_->fabric();
  const auto* routing = snapshot_->routing.get();
  const auto add = [&](PortRef at) {
    const auto& port = fabric.port(at);
    if (!port.lid.is_unicast()) return;
    EndPort e{at, port.guid, port.lid, port.lmc};
    if (const auto* seen = snapshot_->observed->known_port(at)) e.knows_rates = newer_rates(*seen);
    const auto dropped = snapshot_->dropped_by_hosts.find(at);
    if (dropped != snapshot_->dropped_by_hosts.end()) e.drops = dropped->second;
    if (routing != nullptr) e.leaf = leaf_of(fabric, routing->graph, at);
    e.link = fabric.node(at.node).is_switch()
                 ? Allowed{links_[snapshot_->observed->port_index(at)].mtu, kNoRank}
                 : cable_of(at);
    if (fabric.node(at.node).type == ib::wire::NodeType::Router)
      routers_.push_back(static_cast<std::uint32_t>(end_ports_.size()));
    lid_count_ += e.lid_count();
    end_ports_.push_back(e);
  };
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    if (node.is_switch()) {
      add({n, 0});
    } else {
      for (unsigned p = 1; p <= node.num_ports; ++p) add({n, static_cast<std::uint8_t>(p)});
    }
  }
  unsigned lids = 0;  // one past the last
  for (const EndPort& e : end_ports_) lids = std::max(lids, e.lid.value + e.lid_count());
  by_lid_.assign(std::min(lids, ib::kLidUnicastMax.value + 1U), 0);
  while ((std::size_t{1} << (64 - guid_shift_)) < 2 * end_ports_.size()) --guid_shift_;
  by_guid_.assign(std::size_t{1} << (64 - guid_shift_), {});
  for (std::uint32_t i = 0; i < end_ports_.size(); ++i) {
    auto& e = end_ports_[i];
    for (unsigned l = e.lid.value; l < e.lid.value + e.lid_count(); ++l) {
      if (l < by_lid_.size() && by_lid_[l] == 0) {
        by_lid_[l] = i + 1;
      } else if (l < by_lid_.size() && is_routed_to(e.port, Lid{static_cast<std::uint16_t>(l)})) {
        // The other is not managed, say, or has not been told another LID yet.
        end_ports_[by_lid_[l] - 1].has_rivals = true;
        by_lid_[l] = i + 1;
      } else {
        e.has_rivals = true;
      }
    }
    auto& place = by_guid_[find_place(e.guid)];
    if (place.port == 0) place = {(i + 1) & 0xFFFFFF, tag_of(hash_of(e.guid))};
  }
}

bool Paths::is_routed_to(PortRef port, Lid lid) const {
  if (snapshot_->routing == nullptr) return false;
  const auto to = snapshot_->routing->graph.destinations();
  const auto at = std::ranges::lower_bound(to, lid, {}, &ib::fabric::Destination::lid);
  return at != to.end() && at->lid == lid && at->end_port == port;
}

void Paths::find_virtual_ports() {
  for_each_virtual_port(snapshot_->virtual_ports.get(), snapshot_->fabric(),
                        [&](PortRef at, const VirtualPort& vport) {
                          const EndPort* port = find(snapshot_->fabric().port(at).guid);
                          if (port == nullptr || !vport.is_reached()) return;
                          EndPort& e = virtual_ports_.emplace_back(*port);
                          e.guid = vport.guid;
                          e.is_virtual = true;
                        });
  std::ranges::sort(virtual_ports_, {}, &EndPort::guid);
}

PathTable::Inputs Paths::inputs() const {
  const auto& fabric = snapshot_->fabric();
  const auto& graph = snapshot_->routing->graph;
  PathTable::Inputs ground;
  ground.routing = snapshot_->routing;
  ground.stride = graph.max_ports() + std::size_t{1};
  ground.exits.resize(graph.switch_count() * ground.stride);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto n = graph.node_of(s);
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const PortRef far = fabric.port(at).peer;
      if (far && fabric.node(far.node).is_switch())
        ground.exits[s * ground.stride + p] = {graph.switch_of(far.node), cable_of(at)};
    }
  }
  ground.targets.resize(by_lid_.size());
  for (std::size_t lid = 0; lid < by_lid_.size(); ++lid) {
    if (by_lid_[lid] == 0) continue;
    const EndPort& e = end_ports_[by_lid_[lid] - 1];
    const bool is_switch = fabric.node(e.port.node).is_switch();
    ground.targets[lid] = {e.leaf, is_switch ? std::uint8_t{0} : fabric.port(e.port).peer.port};
  }
  return ground;
}

const EndPort* Paths::find(Lid lid) const {
  if (lid.value >= by_lid_.size() || by_lid_[lid.value] == 0) return nullptr;
  return &end_ports_[by_lid_[lid.value] - 1];
}

std::size_t Paths::find_place(Guid guid) const {
  const auto hash = hash_of(guid);
  std::size_t i = place_of(hash);
  while (by_guid_[i].port != 0 &&
         (by_guid_[i].tag != tag_of(hash) || end_ports_[by_guid_[i].port - 1].guid != guid))
    i = (i + 1) & (by_guid_.size() - 1);
  return i;
}

const EndPort* Paths::find(Guid guid) const {
  const auto port = by_guid_[find_place(guid)].port;
  return port == 0 ? nullptr : &end_ports_[port - 1];
}

const EndPort* Paths::find_virtual(Guid guid) const {
  const auto at = std::ranges::lower_bound(virtual_ports_, guid, {}, &EndPort::guid);
  return at != virtual_ports_.end() && at->guid == guid ? &*at : nullptr;
}

Allowed Paths::link_of(PortRef at) const {
  const auto& fabric = snapshot_->fabric();
  std::uint8_t mtu = kMtu2048, rate = kRateSlowest;
  if (const auto* seen = snapshot_->observed->known_port(at)) {
    const std::uint8_t cap = seen->get<&PortInfo::mtu_cap>();
    if (is_mtu(cap)) mtu = cap;
    // Port 0 of a switch has no neighbour; elsewhere the SM programmed the lesser of two caps.
    const std::uint8_t of_link = seen->get<&PortInfo::neighbor_mtu>();
    if (at.port != 0 && is_mtu(of_link)) mtu = std::min(mtu, of_link);
  }
  const auto& port = fabric.port(at);
  if (const auto code = ib::wire::rate_code(port.width, port.speed)) {
    rate = *code;
  } else if (at.port == 0) {
    rate = kRatePort0;
  }
  return {mtu, rank_of_rate(rate)};
}

Allowed Paths::cable_of(PortRef at) const {
  const auto& observed = *snapshot_->observed;
  const Allowed here = links_[observed.port_index(at)];
  const PortRef far = observed.fabric.port(at).peer;
  return far ? least(here, links_[observed.port_index(far)]) : here;
}

PathQuality Paths::own(const EndPort& port) const {
  const auto& link = links_[snapshot_->observed->port_index(port.port)];
  return {link.mtu, rate_of_rank(link.rank), 0};
}

PathQuality Paths::cable(PortRef at) const {
  const Allowed both = cable_of(at);
  return {both.mtu, rate_of_rank(both.rank), 0};
}

/// What lies between the two switches; of another port than `from` itself.
std::optional<Trunk> Paths::trunk(const EndPort& from, const EndPort& to, Lid dlid) const {
  if (!table_ || !is_for(to, dlid)) return std::nullopt;
  if (from.leaf != kNoSwitch) {
    const Trunk trunk = table_->at(from.leaf, to.leaf, dlid);
    return trunk.switches == 0 ? std::nullopt : std::optional(trunk);
  }
  // Neither a switch nor, else, the other end of its cable.
  if (snapshot_->fabric().port(from.port).peer != to.port) return std::nullopt;
  return Trunk{};
}

std::optional<PathQuality> Paths::between(const EndPort& from, const EndPort& to, Lid dlid) const {
  if (from.port == to.port) return own(from);
  const auto way = trunk(from, to, dlid);
  if (!way) return std::nullopt;
  const Allowed all = least(way->allowed, least(from.link, to.link));
  return PathQuality{all.mtu, rate_of_rank(all.rank), way->switches};
}

bool Paths::drops(const EndPort& from, const EndPort& to, ib::Sl sl) const {
  using policy::QosKind;
  if (from.port == to.port || snapshot_->routing == nullptr) return false;
  if ((from.drops >> sl.value & 1) != 0) return true;
  const policy::DroppedSls& dropped = snapshot_->routing->dropped_sls;
  if (dropped == policy::DroppedSls{}) return false;
  const auto drops_at = [&](QosKind kind) {
    return (dropped[static_cast<std::size_t>(kind)] >> sl.value & 1) != 0;
  };
  const auto type_of = [&](const EndPort& port) {
    return snapshot_->fabric().node(port.port.node).type;
  };
  using ib::wire::NodeType;
  // A switch maps by the port that packets leave by.
  if (type_of(from) == NodeType::Router && drops_at(QosKind::Router)) return true;
  if (type_of(from) == NodeType::ChannelAdapter && drops_at(QosKind::Ca)) return true;
  if (from.leaf == kNoSwitch || to.leaf == kNoSwitch) return false;
  if (from.leaf != to.leaf && drops_at(QosKind::SwitchToSwitch)) return true;
  return drops_at(type_of(to) == NodeType::Switch ? QosKind::SwitchPort0 : QosKind::SwitchExternal);
}

std::vector<Paths::Step> Paths::trace(const EndPort& from, const EndPort& to, Lid dlid) const {
  if (from.port == to.port) return {{from.port.node, 0, 0}};
  if (!between(from, to, dlid)) return {};
  const auto& fabric = snapshot_->fabric();
  const auto& routing = *snapshot_->routing;
  const bool from_switch = fabric.node(from.port.node).is_switch();
  std::vector<Step> steps;
  PortRef at{from.port.node, 0};
  std::uint8_t exit = from_switch ? routing.lfts.at(from.leaf, dlid) : from.port.port;
  while (true) {
    steps.push_back({at.node, at.port, exit});
    if (exit == 0) return steps;
    at = fabric.port(at.node, exit).peer;
    // The table says that packets arrive: what is no switch is the end.
    exit = fabric.node(at.node).is_switch() && at.node != to.port.node
               ? routing.lfts.at(routing.graph.switch_of(at.node), dlid)
               : std::uint8_t{0};
  }
}

}  // namespace sm::sa
