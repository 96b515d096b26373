// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths.h"

#include <algorithm>

#include "libdiag/wire/rates.h"

namespace sm::sa {
namespace {

using ib::Guid;
using ib::Lid;
using ib::fabric::PortRef;

constexpr std::uint8_t kMtu2048 = 4;
constexpr std::uint8_t kMtu4096 = 5;
// 2.5 Gb/s: the one rate that every link can keep, for a link whose speed is not known.
constexpr std::uint8_t kRateSlowest = 2;
// 10 Gb/s: what a switch's own port counts as; it has no link to measure.
constexpr std::uint8_t kRatePort0 = 3;
// No route is longer than a directed one can be; also what ends a loop in the tables.
constexpr unsigned kHopsMax = 64;

bool is_mtu(std::uint8_t code) { return code >= 1 && code <= kMtu4096; }
std::uint8_t slower(std::uint8_t a, std::uint8_t b) {
  return ib::wire::compare_rates(a, b) <= 0 ? a : b;
}

}  // namespace

Paths::Paths(SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {
  const auto& fabric = snapshot_->fabric();
  const auto add = [&](PortRef at) {
    const auto& port = fabric.port(at);
    if (!port.lid.is_unicast()) return;
    end_ports_.push_back({at, port.guid, port.lid, port.lmc});
  };
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    if (node.is_switch()) {
      add({n, 0});
    } else {
      for (unsigned p = 1; p <= node.num_ports; ++p) add({n, static_cast<std::uint8_t>(p)});
    }
    for (unsigned p = 0; p <= node.num_ports; ++p)
      links_.push_back(link_of({n, static_cast<std::uint8_t>(p)}));
  }
  unsigned lids = 0;  // one past the last
  for (const EndPort& e : end_ports_) lids = std::max(lids, e.lid.value + e.lid_count());
  by_lid_.assign(std::min(lids, ib::kLidUnicastMax.value + 1U), 0);
  for (std::uint32_t i = 0; i < end_ports_.size(); ++i) {
    const auto& e = end_ports_[i];
    for (unsigned l = e.lid.value; l < e.lid.value + e.lid_count() && l < by_lid_.size(); ++l)
      if (by_lid_[l] == 0) by_lid_[l] = i + 1;
    by_guid_.emplace(e.guid, i);
  }
}

const EndPort* Paths::find(Lid lid) const {
  if (lid.value >= by_lid_.size() || by_lid_[lid.value] == 0) return nullptr;
  return &end_ports_[by_lid_[lid.value] - 1];
}

const EndPort* Paths::find(Guid guid) const {
  const auto at = by_guid_.find(guid);
  return at == by_guid_.end() ? nullptr : &end_ports_[at->second];
}

Paths::Link Paths::link_of(PortRef at) const {
  const auto& fabric = snapshot_->fabric();
  const auto* info = snapshot_->observed->port_info(at);
  Link link{kMtu2048, kRateSlowest};
  if (info != nullptr) {
    if (is_mtu(info->mtu_cap)) link.mtu = info->mtu_cap;
    // Port 0 of a switch has no neighbour; elsewhere the SM programmed the lesser of two caps.
    if (at.port != 0 && is_mtu(info->neighbor_mtu))
      link.mtu = std::min(link.mtu, info->neighbor_mtu);
  }
  const auto& port = fabric.port(at);
  if (const auto code = ib::wire::rate_code(port.width, port.speed)) {
    link.rate = *code;
  } else if (at.port == 0) {
    link.rate = kRatePort0;
  }
  return link;
}

PathQuality Paths::own(const EndPort& port) const {
  const auto& link = links_[snapshot_->observed->port_index(port.port)];
  return {link.mtu, link.rate, 0};
}

ib::Sl Paths::sl(const EndPort& from, const EndPort& to) const {
  if (!snapshot_->routing) return {};
  return path_sl(snapshot_->fabric(), *snapshot_->routing, from.port, to.port);
}

std::optional<ib::Sl> Paths::common_sl() const {
  if (!snapshot_->routing) return ib::Sl{};
  const auto& sls = snapshot_->routing->lanes.sls;
  return sls.uniform() ? std::optional(sls.at(0, 0)) : std::nullopt;
}

bool Paths::delivered(PortRef at, Lid dlid) const {
  const auto* owner = find(dlid);
  return owner != nullptr && owner->port == at;
}

std::optional<PathQuality> Paths::follow(const EndPort& from, Lid dlid) const {
  const auto& fabric = snapshot_->fabric();
  if (from.owns(dlid)) return own(from);
  if (!snapshot_->routing) return std::nullopt;

  PathQuality quality{kMtu4096, 0, 0};
  bool any_link = false;
  // Leaves by `out`; the far end of the cable, or nothing.
  const auto cross = [&](PortRef out) -> PortRef {
    const PortRef far = fabric.port(out).peer;
    if (!far) return {};
    for (const PortRef end : {out, far}) {
      const auto& link = links_[snapshot_->observed->port_index(end)];
      quality.mtu = std::min(quality.mtu, link.mtu);
      quality.rate = any_link ? slower(quality.rate, link.rate) : link.rate;
      any_link = true;
    }
    return far;
  };

  const auto& routing = *snapshot_->routing;
  PortRef at = from.port;
  if (!fabric.node(at.node).is_switch()) {
    at = cross(at);
    if (!at) return std::nullopt;
  }
  // Switch after switch; `at.port` is where the packet came in, which the tables do not ask.
  while (fabric.node(at.node).is_switch()) {
    const auto s = routing.graph.switch_of(at.node);
    if (s == ib::fabric::kNoSwitch || quality.hops == kHopsMax) return std::nullopt;
    ++quality.hops;
    const auto out = routing.lfts.at(s, dlid);
    if (out > fabric.node(at.node).num_ports) return std::nullopt;
    if (out == 0) {
      const PortRef port0{at.node, 0};
      if (!delivered(port0, dlid)) return std::nullopt;
      quality.mtu = std::min(quality.mtu, links_[snapshot_->observed->port_index(port0)].mtu);
      return quality;
    }
    at = cross({at.node, out});
    if (!at) return std::nullopt;
  }
  if (!delivered(at, dlid)) return std::nullopt;
  if (fabric.node(from.port.node).is_switch()) quality.mtu = std::min(quality.mtu, own(from).mtu);
  return quality;
}

}  // namespace sm::sa
