// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The performance management agent: counters of real packets (IBA 16.1.3.5, 16.1.4.11). Data and
// packet counters count every VL, 15 included, and no link packets; data in words of 4 bytes from
// LRH to ICRC.
#include <algorithm>
#include <cstring>
#include <limits>

#include "libdiag/sim/impl.h"

namespace ib::sim {

namespace attr = wire::attr;
namespace status = wire::status;

namespace {

constexpr std::uint8_t kAllPorts = 255;
// ClassPortInfo:CapabilityMask: AllPortSelect, extended width, PortXmitWait.
constexpr std::uint16_t kCapabilities = 0x0100 | 0x0200 | 0x1000;

template <class T>
T saturated(std::uint64_t v, std::uint64_t max = std::numeric_limits<T>::max()) {
  return static_cast<T>(std::min<std::uint64_t>(v, max));
}

Counters sum(const Counters& a, const Counters& b) {
  Counters s = a;
  s.xmit_data += b.xmit_data;
  s.rcv_data += b.rcv_data;
  s.xmit_pkts += b.xmit_pkts;
  s.rcv_pkts += b.rcv_pkts;
  s.unicast_xmit += b.unicast_xmit;
  s.unicast_rcv += b.unicast_rcv;
  s.multicast_xmit += b.multicast_xmit;
  s.multicast_rcv += b.multicast_rcv;
  s.symbol_errors += b.symbol_errors;
  s.link_recovery += b.link_recovery;
  s.link_downed += b.link_downed;
  s.rcv_errors += b.rcv_errors;
  s.rcv_relay_errors += b.rcv_relay_errors;
  s.xmit_discards += b.xmit_discards;
  s.xmit_constraint += b.xmit_constraint;
  s.rcv_constraint += b.rcv_constraint;
  s.link_integrity += b.link_integrity;
  s.buffer_overrun += b.buffer_overrun;
  s.qp1_dropped += b.qp1_dropped;
  s.vl15_dropped += b.vl15_dropped;
  return s;
}

wire::PortCounters to_wire(const Counters& c) {
  wire::PortCounters w;
  w.symbol_error_counter = saturated<std::uint16_t>(c.symbol_errors);
  w.link_error_recovery_counter = saturated<std::uint8_t>(c.link_recovery);
  w.link_downed_counter = saturated<std::uint8_t>(c.link_downed);
  w.port_rcv_errors = saturated<std::uint16_t>(c.rcv_errors);
  w.port_rcv_switch_relay_errors = saturated<std::uint16_t>(c.rcv_relay_errors);
  w.port_xmit_discards = saturated<std::uint16_t>(c.xmit_discards);
  w.port_xmit_constraint_errors = saturated<std::uint8_t>(c.xmit_constraint);
  w.port_rcv_constraint_errors = saturated<std::uint8_t>(c.rcv_constraint);
  w.local_link_integrity_errors = saturated<std::uint8_t>(c.link_integrity, 15);
  w.excessive_buffer_overrun_errors = saturated<std::uint8_t>(c.buffer_overrun, 15);
  w.qp1_dropped = saturated<std::uint16_t>(c.qp1_dropped);
  w.vl15_dropped = saturated<std::uint16_t>(c.vl15_dropped);
  w.port_xmit_data = saturated<std::uint32_t>(c.xmit_data);
  w.port_rcv_data = saturated<std::uint32_t>(c.rcv_data);
  w.port_xmit_pkts = saturated<std::uint32_t>(c.xmit_pkts);
  w.port_rcv_pkts = saturated<std::uint32_t>(c.rcv_pkts);
  return w;
}

wire::PortCountersExtended to_wire_extended(const Counters& c) {
  wire::PortCountersExtended w;
  w.port_xmit_data = c.xmit_data;
  w.port_rcv_data = c.rcv_data;
  w.port_xmit_pkts = c.xmit_pkts;
  w.port_rcv_pkts = c.rcv_pkts;
  w.port_unicast_xmit_pkts = c.unicast_xmit;
  w.port_unicast_rcv_pkts = c.unicast_rcv;
  w.port_multicast_xmit_pkts = c.multicast_xmit;
  w.port_multicast_rcv_pkts = c.multicast_rcv;
  return w;
}

/// Writes `value` where its CounterSelect bit is set.
template <class Field, class Value>
void write(Field& field, std::uint32_t select, unsigned bit, Value value) {
  if ((select & (1U << bit)) != 0) field = static_cast<Field>(value);
}

void set_counters(Counters& c, const wire::PortCounters& w) {
  const std::uint32_t s = w.counter_select;
  write(c.symbol_errors, s, 0, w.symbol_error_counter);
  write(c.link_recovery, s, 1, w.link_error_recovery_counter);
  write(c.link_downed, s, 2, w.link_downed_counter);
  write(c.rcv_errors, s, 3, w.port_rcv_errors);
  write(c.rcv_relay_errors, s, 5, w.port_rcv_switch_relay_errors);
  write(c.xmit_discards, s, 6, w.port_xmit_discards);
  write(c.xmit_constraint, s, 7, w.port_xmit_constraint_errors);
  write(c.rcv_constraint, s, 8, w.port_rcv_constraint_errors);
  write(c.link_integrity, s, 9, w.local_link_integrity_errors);
  write(c.buffer_overrun, s, 10, w.excessive_buffer_overrun_errors);
  write(c.vl15_dropped, s, 11, w.vl15_dropped);
  write(c.xmit_data, s, 12, w.port_xmit_data);
  write(c.rcv_data, s, 13, w.port_rcv_data);
  write(c.xmit_pkts, s, 14, w.port_xmit_pkts);
  write(c.rcv_pkts, s, 15, w.port_rcv_pkts);
  write(c.qp1_dropped, w.counter_select2, 1, w.qp1_dropped);
}

void set_counters(Counters& c, const wire::PortCountersExtended& w) {
  const std::uint32_t s = w.counter_select;
  write(c.xmit_data, s, 0, w.port_xmit_data);
  write(c.rcv_data, s, 1, w.port_rcv_data);
  write(c.xmit_pkts, s, 2, w.port_xmit_pkts);
  write(c.rcv_pkts, s, 3, w.port_rcv_pkts);
  write(c.unicast_xmit, s, 4, w.port_unicast_xmit_pkts);
  write(c.unicast_rcv, s, 5, w.port_unicast_rcv_pkts);
  write(c.multicast_xmit, s, 6, w.port_multicast_xmit_pkts);
  write(c.multicast_rcv, s, 7, w.port_multicast_rcv_pkts);
}

}  // namespace

std::uint16_t Model::Impl::pma_answer(Flight& f, PortIndex end) {
  wire::Mad& mad = f.mad;
  if (mad.get<&wire::MadHeader::base_version>() != 1 ||
      mad.get<&wire::MadHeader::class_version>() != 1)
    return status::kBadVersion;
  const bool set = mad.method() == wire::Method::Set;
  const std::uint16_t attribute = mad.attribute_id();
  std::byte* data = mad.data();
  const SimNode& node = node_of(end);
  if (attribute == attr::kClassPortInfo) {
    if (set) return status::kBadAttribute;
    wire::ClassPortInfo info;
    info.capability_mask = kCapabilities;
    info.resp_time_value = ports_[end].info.resp_time_value;
    std::memset(data, 0, wire::kGmpDataBytes);
    wire::set_body(mad, info);
    return status::kOk;
  }
  if (attribute != attr::kPortCounters && attribute != attr::kPortCountersExtended)
    return status::kBadAttribute;

  // PortSelect and CounterSelect stand at the same place in both (IBA 16.1.3.5, 16.1.4.11).
  const auto request = wire::body<wire::PortCounters>(mad);
  const std::uint8_t select = request.port_select.value;
  unsigned first = select, last = select;
  if (select == kAllPorts) {
    first = 1;
    last = node.num_ports;
  } else if (select > node.num_ports || (select == 0 && !node.is_switch())) {
    return status::kBadValue;
  }
  Counters total;
  for (unsigned i = first; i <= last; ++i) {
    Counters& c = ports_[node.first_port + i].counters;
    if (set && attribute == attr::kPortCounters) set_counters(c, request);
    if (set && attribute == attr::kPortCountersExtended)
      set_counters(c, wire::body<wire::PortCountersExtended>(mad));
    total = sum(total, c);
  }
  std::memset(data, 0, wire::kGmpDataBytes);
  if (attribute == attr::kPortCounters) {
    wire::PortCounters answer = to_wire(total);
    answer.port_select = request.port_select;
    answer.counter_select = request.counter_select;
    answer.counter_select2 = request.counter_select2;
    wire::set_body(mad, answer);
  } else {
    wire::PortCountersExtended answer = to_wire_extended(total);
    answer.port_select = request.port_select;
    answer.counter_select = request.counter_select;
    wire::set_body(mad, answer);
  }
  return status::kOk;
}

}  // namespace ib::sim
