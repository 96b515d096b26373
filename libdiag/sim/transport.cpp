// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MADs on their way: they leave their sender, cross links and are forwarded by LID (IBA 18.2.4.3).
#include "libdiag/sim/impl.h"
#include "libdiag/sim/traffic.h"

namespace ib::sim {

FlightIndex Model::Impl::allocate() {
  if (free_flights_.empty()) {
    const auto first = static_cast<FlightIndex>(flight_chunks_.size() << 8);
    flight_chunks_.push_back(std::make_unique<Flight[]>(256));
    for (FlightIndex i = 256; i-- > 0;) free_flights_.push_back(first + i);
  }
  const FlightIndex f = free_flights_.back();
  free_flights_.pop_back();
  return f;
}

void Model::Impl::release(FlightIndex f) { free_flights_.push_back(f); }

void Model::Impl::run(const Event& event) {
  switch (static_cast<EventKind>(event.kind())) {
    case EventKind::Arrive:
      return arrive(event.a, event.b);
    case EventKind::Depart:
      return depart(event.a, event.b);
    case EventKind::Local:
      return accept_local(event.a, event.b);
    case EventKind::Serve:
      return serve(event.a, event.b);
    case EventKind::Land:
      return land(event.a, event.b);
    case EventKind::LinkUp:
      forget_ways();
      if (ports_[event.a].training == event.b) finish_training(event.a);
      return;
    case EventKind::LinkSet:
      forget_ways();
      return apply_phys_state(event.a, static_cast<wire::PhysState>(event.b));
    case EventKind::Trap:
      return repeat_trap(event.a, event.b);
    case EventKind::Flows:
      return traffic().follow();
    case EventKind::Lease:
      return end_lease(event.a, event.b);
    case EventKind::CongestionLease:
      return end_congestion_lease(event.a, event.b);
  }
}

// ---- leaving

void Model::Impl::send(PortRef from, bool smi, const mad::Packet& packet) {
  const PortIndex end = end_port(index_of(from));
  const SimPort& p = ports_[end];
  ++counters_.sent;
  const FlightIndex index = allocate();
  Flight& f = flight(index);
  const mad::Address& to = packet.address;
  f.begin(packet.mad);
  f.smi = smi;
  f.dlid = to.lid.value;
  f.slid = static_cast<std::uint16_t>(p.info.lid.value | (to.path_bits & ((1U << p.info.lmc) - 1)));
  if (smi && f.mad.is_directed() && f.dlid == kPermissiveLid.value) f.slid = kPermissiveLid.value;
  f.target_qp = to.qpn;
  f.source_qp = smi ? 0 : 1;
  f.q_key = to.q_key;
  f.sl = to.sl.value & 0xF;
  if (to.grh) {
    f.has_grh = true;
    f.target_gid = to.grh->gid;
    f.source_gid = Gid::from(p.info.gid_prefix, guid_at(p, to.grh->gid_index));
    f.hop_limit = to.grh->hop_limit;
    f.traffic_class = to.grh->traffic_class;
    f.flow_label = to.grh->flow_label;
  }
  if (!smi) {
    const PKey key = p_key_at(p, to.p_key_index);
    if (key.base() == 0) return drop(index, counters_.dropped_key);
    f.p_key = key.value;
  }
  tap(f);
  if (!nodes_[p.node].powered) return drop(index, counters_.dropped_link_down);
  originate(index, end);
}

void Model::Impl::originate(FlightIndex f, PortIndex from) {
  Flight& x = flight(f);
  x.ingress = from;
  if (x.smi) end_express();  // what waits at a cable counts there
  if (x.smi && x.mad.is_directed()) return originate_directed(f, from);
  // GMPs leave an Active port only (IBA 7.2.7); port 0 of a switch has no link whose state says so.
  if (!x.smi && ports_[from].info.port_state != wire::PortState::Active)
    return drop(f, counters_.dropped_link_down);
  originate_by_lid(f, from);
}

void Model::Impl::originate_by_lid(FlightIndex f, PortIndex from) {
  Flight& x = flight(f);
  if (node_of(from).is_switch()) {
    if (x.dlid >= kLidMulticastMin.value && x.dlid != kPermissiveLid.value)
      return forward_multicast(f, from);
    return forward_unicast(f, from);
  }
  if (owns_lid(ports_[from], x.dlid)) {
    return schedule(now_.ns, EventKind::Local, f, from);
  }
  if (x.smi || !send_express(f, from)) leave(f, from);
}

/// How long a MAD that leaves its node now is held back.
std::int64_t Model::Impl::hold_back() {
  const auto jitter = static_cast<std::uint64_t>(faults_.jitter.count());
  return faults_.delay.count() +
         (jitter > 0 ? static_cast<std::int64_t>(random_.next() % (jitter + 1)) : 0);
}

/// The first link of a journey: here a MAD may be lost, doubled or held back, once per direction
/// whatever the number of hops.
void Model::Impl::leave(FlightIndex f, PortIndex out) {
  Flight& x = flight(f);
  if (!x.off_sender) {
    x.off_sender = true;
    if (random_.chance(faults_.loss_percent)) return drop(f, counters_.dropped_loss);
    if (random_.chance(faults_.duplicate_percent)) {
      const FlightIndex copy = allocate();
      flight(copy) = flight(f);
      schedule(now_.ns + hold_back(), EventKind::Depart, copy, out);
    }
    if (const std::int64_t held = hold_back(); held > 0)
      return schedule(now_.ns + held, EventKind::Depart, f, out);
  }
  depart(f, out);
}

void Model::Impl::depart(FlightIndex f, PortIndex out) {
  Flight& x = flight(f);
  SimPort& p = ports_[out];
  const bool relayed = x.hops > 0;
  if (p.info.port_physical_state != wire::PhysState::LinkUp || p.peer == kNoPort ||
      p.info.port_state == wire::PortState::Down ||
      (!x.smi && p.info.port_state != wire::PortState::Active)) {
    // IBA 16.1.3.5: PortXmitDiscards counts packets for a port that is inactive.
    if (relayed) ++p.counters.xmit_discards, ++p.counters.inactive_discards;
    return drop(f, counters_.dropped_link_down);
  }
  if (!x.smi && !switch_allows(f, out, false)) return;
  x.vl = x.smi ? kManagementVl : vl_of(p, ports_[x.ingress].number, x.sl);
  if (!x.smi && x.vl == kManagementVl) return discard_by_vl(f);
  Duration held{0};
  if (p.fault != 0) {
    const LinkFault& fault = link_faults_[p.fault - 1];
    if (random_.chance(fault.loss_percent)) return drop(f, counters_.dropped_loss);
    held = fault.delay;
  }
  if (x.smi && relayed && p.in_flight >= faults_.vl15_buffer) {
    // VL15 has no flow control: what finds the buffer full is lost (IBA 7.6.4).
    ++ports_[p.peer].counters.vl15_dropped;
    return drop(f, counters_.dropped_queue);
  }
  const std::int64_t arrival = transmit(p, words_of(x), now_.ns);
  count_sent(p, 1, words_of(x), {x.sl, x.vl},
             x.dlid >= kLidMulticastMin.value && x.dlid != kPermissiveLid.value);
  ++p.in_flight;
  x.buffered = true;
  x.egress = out;
  if (held.count() > 0) {
    // A fault holds the MAD back outside of the buffer, or a slow link would also be a small one.
    --p.in_flight;
    x.buffered = false;
  }
  schedule(arrival + held.count(), EventKind::Arrive, f, p.peer);
  if (p.fault != 0 && random_.chance(link_faults_[p.fault - 1].duplicate_percent)) {
    const FlightIndex copy = allocate();
    flight(copy) = flight(f);
    flight(copy).buffered = false;
    schedule(arrival + held.count(), EventKind::Arrive, copy, p.peer);
  }
}

/// The VL that GMPs of `sl` take out of `out` when they came in by port `in` of its node, 0 being
/// the node itself. kManagementVl: they are discarded, since their SL maps to VL 15 or to a VL that
/// the link does not operate (IBA 7.6.6).
std::uint8_t Model::Impl::vl_of(const SimPort& out, std::uint8_t in, std::uint8_t sl) const {
  const std::size_t row = nodes_[out.node].is_switch() ? in : 0;
  const std::uint8_t vl = sl_to_vl_at(out, row).vl[sl];
  return vl < wire::data_vls(out.info.operational_vls) ? vl : kManagementVl;
}

/// IBA 16.1.3.5: a switch counts it among the PortRcvSwitchRelayErrors of the port it came in by.
void Model::Impl::discard_by_vl(FlightIndex f) {
  SimPort& in = ports_[flight(f).ingress];
  if (nodes_[in.node].is_switch()) ++in.counters.rcv_relay_errors, ++in.counters.vl_mapping_errors;
  drop(f, counters_.dropped_vl);
}

// ---- arriving

void Model::Impl::arrive(FlightIndex f, PortIndex in) {
  Flight& x = flight(f);
  SimPort& p = ports_[in];
  if (x.buffered) {
    --ports_[x.egress].in_flight;
    x.buffered = false;
  }
  if (p.info.port_physical_state != wire::PhysState::LinkUp || p.peer != x.egress)
    return drop(f, counters_.dropped_link_down);
  ++x.hops;
  x.ingress = in;
  count_received(p, 1, words_of(x), {x.sl, x.vl},
                 x.dlid >= kLidMulticastMin.value && x.dlid != kPermissiveLid.value);
  if (!x.smi) {
    // An Armed port receives data, and its first data packet makes it Active (IBA 7.2.7.3).
    if (p.info.port_state == wire::PortState::Armed) set_state(in, wire::PortState::Active);
    if (p.info.port_state != wire::PortState::Active) return drop(f, counters_.dropped_link_down);
    if (!switch_allows(f, in, true)) return;
  }
  if (x.hops > kHopLimit) {
    // Caught in a loop: the switch life time limit ends it (IBA 18.2.5.4).
    ++p.counters.xmit_discards, ++p.counters.lifetime_discards;
    return drop(f, counters_.dropped_no_route);
  }
  if (x.smi && x.dlid == kPermissiveLid.value) return accept_local(f, end_port(in));
  receive_by_lid(f, in);
}

void Model::Impl::receive_by_lid(FlightIndex f, PortIndex in) {
  Flight& x = flight(f);
  const bool multicast = x.dlid >= kLidMulticastMin.value;
  if (node_of(in).is_switch()) {
    if (multicast) return forward_multicast(f, in);
    return forward_unicast(f, in);
  }
  if (multicast ? !x.smi : owns_lid(ports_[in], x.dlid)) return accept_local(f, in);
  drop(f, counters_.dropped_no_route);
}

std::uint8_t Model::Impl::lft_entry(const SimSwitch& sw, std::uint16_t lid) const {
  // IBA 14.2.5.4: a unicast DLID above LinearFDBTop is discarded.
  if (lid > sw.info.linear_fdb_top || lid >= sw.lft.size()) return 255;
  return sw.lft[lid];
}

void Model::Impl::forward_unicast(FlightIndex f, PortIndex in) {
  Flight& x = flight(f);
  SimNode& node = node_of(in);
  const std::uint8_t out = exit_of(node, x.dlid, x.sl);
  if (out == 0) {
    if (owns_lid(ports_[node.first_port], x.dlid)) {
      if (x.ingress != node.first_port) return accept_local(f, node.first_port);
      return schedule(now_.ns, EventKind::Local, f, node.first_port);
    }
  } else if (out <= node.num_ports && out != ports_[in].number) {
    return leave(f, node.first_port + out);
  }
  // IBA 16.1.3.5 PortRcvSwitchRelayErrors: no mapping for the DLID, or out by the port it came in.
  Counters& c = ports_[in].counters;
  ++c.rcv_relay_errors;
  ++(out == ports_[in].number ? c.looping_errors : c.dlid_mapping_errors);
  drop(f, counters_.dropped_no_route);
}

void Model::Impl::forward_multicast(FlightIndex f, PortIndex in) {
  SimNode& node = node_of(in);
  const SimSwitch& sw = *node.sw;
  const std::uint16_t dlid = flight(f).dlid;
  const std::size_t row =
      static_cast<std::size_t>(dlid - kLidMulticastMin.value) * sw.mft_positions;
  const unsigned came = ports_[in].number;
  std::array<std::uint8_t, 256> outs{};
  std::size_t n = 0;
  if (row + sw.mft_positions <= sw.mft.size()) {
    for (unsigned pos = 0; pos < sw.mft_positions; ++pos) {
      const unsigned mask = sw.mft[row + pos];
      for (unsigned bit = 0; bit < 16; ++bit) {
        const unsigned out = pos * 16 + bit;
        if ((mask & (1U << bit)) != 0 && out != came && out <= node.num_ports)
          outs[n++] = static_cast<std::uint8_t>(out);
      }
    }
  }
  if (n == 0) {
    // Not in the table: the default multicast ports (IBA 18.2.4.3.3).
    const std::uint8_t primary = sw.info.default_multicast_primary_port;
    const std::uint8_t other = sw.info.default_multicast_not_primary_port;
    const std::uint8_t out = came == primary ? other : primary;
    if (out != 255 && out <= node.num_ports && out != came) outs[n++] = out;
  }
  if (n == 0) {
    ++ports_[in].counters.rcv_relay_errors, ++ports_[in].counters.dlid_mapping_errors;
    return drop(f, counters_.dropped_no_route);
  }
  for (std::size_t i = 0; i < n; ++i) {
    FlightIndex copy = f;
    if (i + 1 < n) {
      copy = allocate();
      flight(copy) = flight(f);
    }
    if (outs[i] == 0)
      schedule(now_.ns, EventKind::Local, copy, node.first_port);
    else
      leave(copy, node.first_port + outs[i]);
  }
}

/// Partition enforcement at a switch's external port, where the SM turned it on (IBA 10.9.6).
bool Model::Impl::is_allowed(const SimPort& p, PKey key, bool inbound) const {
  const bool enforced =
      inbound ? p.info.partition_enforcement_inbound : p.info.partition_enforcement_outbound;
  if (!enforced || p.number == 0 || !nodes_[p.node].is_switch()) return true;
  if (p.tables)
    for (const PKey allowed : p.tables->p_keys)
      if (allowed.base() == key.base() && allowed.base() != 0 &&
          (!options_.strict_enforcement || allowed.is_full() || key.is_full()))
        return true;
  return false;
}

bool Model::Impl::switch_allows(FlightIndex f, PortIndex at, bool inbound) {
  SimPort& p = ports_[at];
  if (is_allowed(p, PKey{flight(f).p_key}, inbound)) return true;
  ++(inbound ? p.counters.rcv_constraint : p.counters.xmit_constraint);
  if (p.info.p_key_violations < 0xFFFF) ++p.info.p_key_violations;
  if (inbound) trap_switch_p_key(flight(f), at);
  drop(f, counters_.dropped_key);
  return false;
}

}  // namespace ib::sim
