// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables and power: what trains with what, which width and speed comes out, and what both ends see
// when a link goes down. The logical states are those of IBA 7.2.7 (table in doc/sim.md).
#include <algorithm>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"

namespace ib::sim {
namespace {

using wire::LinkSpeed;
using wire::LinkWidth;
using wire::PhysState;

/// Speeds enabled at a port as a mask by LinkSpeed.
unsigned speeds_enabled(const SimPort& p) {
  const wire::PortInfo& i = p.info;
  const unsigned legacy = i.link_speed_enabled & i.link_speed_supported;
  const unsigned ext = i.link_speed_ext_enabled & i.link_speed_ext_supported;
  unsigned mask = 0;
  const auto add = [&](bool on, LinkSpeed s) {
    if (on) mask |= 1U << static_cast<unsigned>(s);
  };
  add(legacy & 1, LinkSpeed::Sdr);
  add(legacy & 2, LinkSpeed::Ddr);
  add(legacy & 4, LinkSpeed::Qdr);
  add((p.fdr10_enabled & p.fdr10_supported & 1) != 0 && (legacy & 4) != 0, LinkSpeed::Fdr10);
  add(ext & 1, LinkSpeed::Fdr);
  add(ext & 2, LinkSpeed::Edr);
  add(ext & 4, LinkSpeed::Hdr);
  add(ext & 8, LinkSpeed::Ndr);
  add((i.link_speed_ext_enabled2 & i.link_speed_ext_supported2 & 1) != 0, LinkSpeed::Xdr);
  return mask;
}

constexpr std::array kWidthsDown{LinkWidth::W12x, LinkWidth::W8x, LinkWidth::W4x, LinkWidth::W2x,
                                 LinkWidth::W1x};

std::string name_of(const fabric::Fabric& fabric, PortRef ref) {
  return "\"" + fabric.node(ref.node).description + "\" port " + std::to_string(ref.port);
}

}  // namespace

void Model::Impl::set_state(PortIndex index, wire::PortState state) {
  SimPort& p = ports_[index];
  if (p.info.port_state == state) return;
  p.info.port_state = state;
  if (nodes_[p.node].traits) virtual_ports_follow(index);
}

bool Model::Impl::can_train(PortIndex index) const {
  const SimPort& a = ports_[index];
  if (a.peer == kNoPort || a.cut) return false;
  const SimPort& b = ports_[a.peer];
  if (b.cut || !nodes_[a.node].powered || !nodes_[b.node].powered) return false;
  const auto ready = [](PhysState s) {
    return s == PhysState::Polling || s == PhysState::Training;
  };
  // A sleeping port answers a peer that polls; two sleepers never meet (IBA vol. 2, 5.6.4).
  const auto asleep = [](PhysState s) { return s == PhysState::Sleep; };
  const PhysState x = a.info.port_physical_state, y = b.info.port_physical_state;
  return (ready(x) && (ready(y) || asleep(y))) || (asleep(x) && ready(y));
}

void Model::Impl::start_training(PortIndex index) {
  if (!can_train(index)) return;
  SimPort& p = ports_[index];
  ++p.training;
  schedule(now_.ns + kTraining.count(), EventKind::LinkUp, index, p.training);
}

void Model::Impl::finish_training(PortIndex index) {
  if (!can_train(index)) return;
  const PortIndex both[2] = {index, ports_[index].peer};
  for (const PortIndex i : both) forget_speeds(i);
  negotiate(index);
  if (ports_[index].info.link_speed_active == 0) return;  // nothing in common: keeps polling
  for (const PortIndex i : both) {
    ports_[i].info.port_physical_state = PhysState::LinkUp;
    set_state(i, wire::PortState::Initialize);
  }
  for (const PortIndex i : both) note_link_change(i);
}

void Model::Impl::forget_speeds(PortIndex index) {
  SimPort& p = ports_[index];
  const DeviceTraits* traits = nodes_[p.node].traits.get();
  if (traits == nullptr || p.number >= traits->forgets_speeds.size() ||
      !traits->forgets_speeds[p.number])
    return;
  p.info.link_width_enabled = p.info.link_width_supported;
  p.info.link_speed_enabled = p.info.link_speed_supported;
  p.info.link_speed_ext_enabled = p.info.link_speed_ext_supported;
  p.info.link_speed_ext_enabled2 = p.info.link_speed_ext_supported2;
}

/// Best speed and width that both ends have enabled and the cable carries (IBA vol. 2, 5.6.4).
void Model::Impl::negotiate(PortIndex index) {
  SimPort& a = ports_[index];
  SimPort& b = ports_[a.peer];
  const unsigned common = speeds_enabled(a) & speeds_enabled(b);
  const LinkSpeed top = a.cable_speed == LinkSpeed::Unknown ? LinkSpeed::Xdr : a.cable_speed;
  LinkSpeed speed = LinkSpeed::Unknown;
  for (auto s = static_cast<unsigned>(top); s >= 1; --s)
    if (common & (1U << s)) {
      speed = static_cast<LinkSpeed>(s);
      break;
    }
  const unsigned widest = a.cable_width == LinkWidth::Unknown ? 12 : wire::lanes(a.cable_width);
  const unsigned widths = a.info.link_width_enabled & a.info.link_width_supported &
                          b.info.link_width_enabled & b.info.link_width_supported;
  LinkWidth width = LinkWidth::Unknown;
  for (const LinkWidth w : kWidthsDown)
    if ((widths & static_cast<unsigned>(w)) != 0 && wire::lanes(w) <= widest) {
      width = w;
      break;
    }
  if (width == LinkWidth::Unknown) speed = LinkSpeed::Unknown;
  for (SimPort* p : {&a, &b}) {
    wire::set_active_width(p->info, width);
    run_at(*p, speed);
  }
}

/// The link has this speed from now on, as this end tells it.
void Model::Impl::run_at(SimPort& p, LinkSpeed speed) {
  const double gbps = wire::gbps_per_lane(speed) * wire::lanes(wire::active_width(p.info));
  wire::set_active_speed(p.info, speed);
  p.fdr10_active = speed == LinkSpeed::Fdr10 ? 1 : 0;
  p.word_time_ps = gbps > 0 ? static_cast<std::uint32_t>(32000.0 / gbps) : 0;
}

void Model::Impl::drop_link(PortIndex index, PhysState phys) {
  SimPort& p = ports_[index];
  const bool was_up = p.info.port_physical_state == PhysState::LinkUp;
  p.info.port_physical_state = phys;
  ++p.training;
  set_state(index, wire::PortState::Down);
  if (!was_up) return;
  note_link_change(index);
  p.counters.link_downed++;
  if (p.peer == kNoPort) return;
  SimPort& q = ports_[p.peer];
  if (q.info.port_physical_state != PhysState::LinkUp) return;
  q.info.port_physical_state =
      q.info.link_down_default_state == 1 ? PhysState::Sleep : PhysState::Polling;
  ++q.training;
  q.counters.link_downed++;
  set_state(p.peer, wire::PortState::Down);
  note_link_change(p.peer);
}

void Model::Impl::apply_phys_state(PortIndex index, PhysState phys) {
  SimPort& p = ports_[index];
  if (p.number == 0) {
    // An enhanced port 0 has no link to lose: Down brings it back to Initialize.
    set_state(index, wire::PortState::Initialize);
    return;
  }
  drop_link(index, phys);
  start_training(index);
}

/// A switch tells its SM of every link that came or went: SwitchInfo:PortStateChange and trap 128
/// (IBA 14.2.5.4, 14.2.5.1). Changes that a Set makes above INIT are the SM's own and do not count.
void Model::Impl::note_link_change(PortIndex index) {
  const NodeIndex n = ports_[index].node;
  SimNode& node = nodes_[n];
  if (!node.is_switch() || ports_[index].number == 0 || !node.powered) return;
  node.sw->info.port_state_change = true;
  trap_link_state(n);
}

void Model::Impl::unplug(PortIndex index) {
  const PortIndex other = ports_[index].peer;
  if (other == kNoPort) return;
  drop_link(index, PhysState::Polling);
  fabric_.port(ref_of(index)).peer = {};
  fabric_.port(ref_of(other)).peer = {};
  for (const PortIndex i : {index, other}) {
    ports_[i].peer = kNoPort;
    ports_[i].cut = false;
    ports_[i].fault = 0;
  }
}

void Model::Impl::plug(PortIndex a, PortIndex b, LinkWidth width, LinkSpeed speed) {
  ports_[a].peer = b;
  ports_[b].peer = a;
  for (const PortIndex i : {a, b}) {
    ports_[i].cable_width = width;
    ports_[i].cable_speed = speed;
    fabric::Port& port = fabric_.port(ref_of(i));
    port.present = true;
    port.peer = ref_of(ports_[i].peer);
    port.width = width;
    port.speed = speed;
  }
  start_training(a);
}

// ---- ctl

/// The port, if there is a cable in it.
Result<PortIndex> Model::Impl::cabled(PortRef ref) const {
  if (!valid(ref)) return fail(ErrorKind::NotFound, "no such port");
  const PortIndex p = index_of(ref);
  if (ports_[p].peer == kNoPort)
    return fail(ErrorKind::NotFound, name_of(fabric_, ref) + " has no cable");
  return p;
}

Result<void> Model::link_down(Instant now, PortRef ref) {
  advance(now);
  Impl& m = *impl_;
  m.forget_ways();
  const auto port = m.cabled(ref);
  if (!port) return tl::unexpected(port.error());
  const PortIndex p = *port;
  m.ports_[p].cut = m.ports_[m.ports_[p].peer].cut = true;
  m.drop_link(p, PhysState::Polling);
  return {};
}

Result<void> Model::link_up(Instant now, PortRef ref) {
  advance(now);
  Impl& m = *impl_;
  m.forget_ways();
  const auto port = m.cabled(ref);
  if (!port) return tl::unexpected(port.error());
  const PortIndex p = *port;
  m.ports_[p].cut = m.ports_[m.ports_[p].peer].cut = false;
  m.start_training(p);
  return {};
}

Result<void> Model::move_cable(Instant now, PortRef from, PortRef to) {
  advance(now);
  Impl& m = *impl_;
  m.forget_ways();
  if (!m.valid(from) || !m.valid(to) || from.port == 0 || to.port == 0)
    return fail(ErrorKind::NotFound, "no such port");
  const PortIndex a = m.index_of(from), b = m.index_of(to);
  const PortIndex far = m.ports_[a].peer;
  if (far == kNoPort) return fail(ErrorKind::NotFound, name_of(m.fabric_, from) + " has no cable");
  if (a == b) return {};
  if (m.ports_[b].peer != kNoPort)
    return fail(ErrorKind::Usage, name_of(m.fabric_, to) + " already has a cable");
  const LinkWidth width = m.ports_[a].cable_width;
  const LinkSpeed speed = m.ports_[a].cable_speed;
  m.unplug(a);
  m.plug(b, far, width, speed);
  return {};
}

Result<void> Model::remove(Instant now, NodeIndex n) {
  advance(now);
  Impl& m = *impl_;
  m.forget_ways();
  if (n >= m.nodes_.size()) return fail(ErrorKind::NotFound, "no such node");
  SimNode& node = m.nodes_[n];
  if (!node.powered) return fail(ErrorKind::Usage, "the node is not there");
  node.powered = false;
  for (unsigned i = 1; i <= node.num_ports; ++i)
    m.drop_link(node.first_port + i, PhysState::Polling);
  m.reset_node_state(n, false);
  return {};
}

Result<void> Model::bring_back(Instant now, NodeIndex n) {
  advance(now);
  Impl& m = *impl_;
  m.forget_ways();
  if (n >= m.nodes_.size()) return fail(ErrorKind::NotFound, "no such node");
  SimNode& node = m.nodes_[n];
  if (node.powered) return fail(ErrorKind::Usage, "the node is there already");
  node.powered = true;
  m.reset_node_state(n, false);
  for (unsigned i = 1; i <= node.num_ports; ++i) m.start_training(node.first_port + i);
  return {};
}

Result<void> Model::reboot(Instant now, NodeIndex n) {
  if (auto gone = remove(now, n); !gone) return gone;
  return bring_back(now, n);
}

}  // namespace ib::sim
