// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The performance management agent: counters of real packets (IBA 16.1.3.5, 16.1.4, A13.6.4). Data
// and packet counters count every VL, 15 included, and no link packets; data in words of 4 bytes
// from LRH to ICRC. Counters by SL leave VL 15 out, where packets have none.
#include <algorithm>
#include <cstring>
#include <limits>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"
#include "libdiag/wire/performance_attributes.h"

namespace ib::sim {

namespace attr = wire::attr;
namespace status = wire::status;

namespace {

constexpr std::uint8_t kAllPorts = 255;
// ClassPortInfo:CapabilityMask: AllPortSelect, extended width, PortXmitWait.
constexpr std::uint16_t kExtended = 0x0200, kCapabilities = 0x0100 | kExtended | 0x1000;
// CapabilityMask2: IsAdditionalPortCountersExtendedSupported.
constexpr std::uint32_t kErrorsExtended = 0x2;

template <class T>
T saturated(std::uint64_t v, std::uint64_t max = std::numeric_limits<T>::max()) {
  return static_cast<T>(std::min<std::uint64_t>(v, max));
}

/// Of one port, or of several together.
struct Totals {
  Counters counters;
  VlCounters vls;
};

template <class T, std::size_t n>
void add(std::array<T, n>& sum, const std::array<T, n>& more) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += more[i];
}

void add(Counters& s, const Counters& b) {
  s.xmit_wait += b.xmit_wait;
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
  s.rcv_remote_errors += b.rcv_remote_errors;
  s.rcv_relay_errors += b.rcv_relay_errors;
  s.xmit_discards += b.xmit_discards;
  s.xmit_constraint += b.xmit_constraint;
  s.rcv_constraint += b.rcv_constraint;
  s.link_integrity += b.link_integrity;
  s.buffer_overrun += b.buffer_overrun;
  s.qp1_dropped += b.qp1_dropped;
  s.vl15_dropped += b.vl15_dropped;
  s.rcv_vl15_pkts += b.rcv_vl15_pkts;
  s.rcv_vl15_data += b.rcv_vl15_data;
  s.dlid_mapping_errors += b.dlid_mapping_errors;
  s.vl_mapping_errors += b.vl_mapping_errors;
  s.looping_errors += b.looping_errors;
  s.inactive_discards += b.inactive_discards;
  s.lifetime_discards += b.lifetime_discards;
}

void add(VlCounters& vls, const SimPort& p) {
  if (!p.vls) return;
  add(vls.rcv_pkts, p.vls->rcv_pkts);
  add(vls.rcv_data, p.vls->rcv_data);
  add(vls.xmit_wait, p.vls->xmit_wait);
  add(vls.xmit_data_of_sl, p.vls->xmit_data_of_sl);
  add(vls.rcv_data_of_sl, p.vls->rcv_data_of_sl);
}

// ---- what is read

void read(const Totals& t, wire::PortCounters& w) {
  const Counters& c = t.counters;
  w.symbol_error_counter = saturated<std::uint16_t>(c.symbol_errors);
  w.link_error_recovery_counter = saturated<std::uint8_t>(c.link_recovery);
  w.link_downed_counter = saturated<std::uint8_t>(c.link_downed);
  w.port_rcv_errors = saturated<std::uint16_t>(c.rcv_errors);
  w.port_rcv_remote_physical_errors = saturated<std::uint16_t>(c.rcv_remote_errors);
  w.port_rcv_switch_relay_errors = saturated<std::uint16_t>(c.rcv_relay_errors);
  w.port_xmit_discards = saturated<std::uint16_t>(c.xmit_discards);
  w.port_xmit_constraint_errors = saturated<std::uint8_t>(c.xmit_constraint);
  w.port_rcv_constraint_errors = saturated<std::uint8_t>(c.rcv_constraint);
  w.local_link_integrity_errors = saturated<std::uint8_t>(c.link_integrity, 15);
  w.excessive_buffer_overrun_errors = saturated<std::uint8_t>(c.buffer_overrun, 15);
  w.qp1_dropped = saturated<std::uint16_t>(c.qp1_dropped);
  w.vl15_dropped = saturated<std::uint16_t>(c.vl15_dropped);
  w.port_xmit_wait = saturated<std::uint32_t>(c.xmit_wait);
  w.port_xmit_data = saturated<std::uint32_t>(c.xmit_data);
  w.port_rcv_data = saturated<std::uint32_t>(c.rcv_data);
  w.port_xmit_pkts = saturated<std::uint32_t>(c.xmit_pkts);
  w.port_rcv_pkts = saturated<std::uint32_t>(c.rcv_pkts);
}

void read(const Totals& t, wire::PortCountersExtended& w) {
  const Counters& c = t.counters;
  w.port_xmit_data = c.xmit_data;
  w.port_rcv_data = c.rcv_data;
  w.port_xmit_pkts = c.xmit_pkts;
  w.port_rcv_pkts = c.rcv_pkts;
  w.port_unicast_xmit_pkts = c.unicast_xmit;
  w.port_unicast_rcv_pkts = c.unicast_rcv;
  w.port_multicast_xmit_pkts = c.multicast_xmit;
  w.port_multicast_rcv_pkts = c.multicast_rcv;
}

void read(const Totals& t, wire::PortErrorsExtended& w) {
  const Counters& c = t.counters;
  w.symbol_error_counter = c.symbol_errors;
  w.link_error_recovery_counter = c.link_recovery;
  w.link_downed_counter = c.link_downed;
  w.port_rcv_errors = c.rcv_errors;
  w.port_rcv_remote_physical_errors = c.rcv_remote_errors;
  w.port_rcv_switch_relay_errors = c.rcv_relay_errors;
  w.port_xmit_discards = c.xmit_discards;
  w.port_xmit_constraint_errors = c.xmit_constraint;
  w.port_rcv_constraint_errors = c.rcv_constraint;
  w.local_link_integrity_errors = c.link_integrity;
  w.excessive_buffer_overrun_errors = c.buffer_overrun;
  w.vl15_dropped = c.vl15_dropped;
  w.port_xmit_wait = c.xmit_wait;
  w.qp1_dropped = c.qp1_dropped;
}

void read(const Totals& t, wire::PortRcvErrorDetails& w) {
  w.dlid_mapping_errors = saturated<std::uint16_t>(t.counters.dlid_mapping_errors);
  w.vl_mapping_errors = saturated<std::uint16_t>(t.counters.vl_mapping_errors);
  w.looping_errors = saturated<std::uint16_t>(t.counters.looping_errors);
}

void read(const Totals& t, wire::PortXmitDiscardDetails& w) {
  w.inactive_discards = saturated<std::uint16_t>(t.counters.inactive_discards);
  w.sw_lifetime_limit_discards = saturated<std::uint16_t>(t.counters.lifetime_discards);
}

template <class T, std::size_t n, std::size_t m>
void saturate(const std::array<std::uint64_t, n>& from, std::array<T, m>& to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = saturated<T>(from[i]);
}

// Every packet here has the same operation code, so it is the one that is counted, whichever was
// asked for; the answer says so.
void read(const Totals& t, wire::PortVlOpPackets& w) {
  w.op_code = wire::kUdSendOnly;
  saturate(t.vls.rcv_pkts, w.packets);
  w.packets[kManagementVl] = saturated<std::uint16_t>(t.counters.rcv_vl15_pkts);
}

void read(const Totals& t, wire::PortVlOpData& w) {
  w.op_code = wire::kUdSendOnly;
  saturate(t.vls.rcv_data, w.data);
  w.data[kManagementVl] = saturated<std::uint32_t>(t.counters.rcv_vl15_data);
}

void read(const Totals& t, wire::PortVlXmitWait& w) { saturate(t.vls.xmit_wait, w.ticks); }
void read(const Totals& t, wire::PortXmitDataSl& w) { saturate(t.vls.xmit_data_of_sl, w.data); }
void read(const Totals& t, wire::PortRcvDataSl& w) { saturate(t.vls.rcv_data_of_sl, w.data); }

// ---- what is written

/// Writes `value` where its CounterSelect bit is set.
template <class Field, class Value>
void write(Field& field, std::uint32_t select, unsigned bit, Value value) {
  if ((select & (1U << bit)) != 0) field = static_cast<Field>(value);
}

void write(SimPort& p, const wire::PortCounters& w) {
  Counters& c = p.counters;
  const std::uint32_t s = w.counter_select;
  write(c.symbol_errors, s, 0, w.symbol_error_counter);
  write(c.link_recovery, s, 1, w.link_error_recovery_counter);
  write(c.link_downed, s, 2, w.link_downed_counter);
  write(c.rcv_errors, s, 3, w.port_rcv_errors);
  write(c.rcv_remote_errors, s, 4, w.port_rcv_remote_physical_errors);
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
  write(c.xmit_wait, w.counter_select2, 0, w.port_xmit_wait);
  write(c.qp1_dropped, w.counter_select2, 1, w.qp1_dropped);
}

void write(SimPort& p, const wire::PortCountersExtended& w) {
  Counters& c = p.counters;
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

void write(SimPort& p, const wire::PortRcvErrorDetails& w) {
  write(p.counters.dlid_mapping_errors, w.counter_select, 3, w.dlid_mapping_errors);
  write(p.counters.vl_mapping_errors, w.counter_select, 4, w.vl_mapping_errors);
  write(p.counters.looping_errors, w.counter_select, 5, w.looping_errors);
}

void write(SimPort& p, const wire::PortXmitDiscardDetails& w) {
  write(p.counters.inactive_discards, w.counter_select, 0, w.inactive_discards);
  write(p.counters.lifetime_discards, w.counter_select, 2, w.sw_lifetime_limit_discards);
}

template <std::size_t n, class T, std::size_t m>
void write(std::array<std::uint64_t, n>& counters, std::uint32_t select,
           const std::array<T, m>& values) {
  for (unsigned i = 0; i < n; ++i) write(counters[i], select, i, values[i]);
}

void write(SimPort& p, const wire::PortVlOpPackets& w) {
  write(Model::Impl::vls(p).rcv_pkts, w.counter_select, w.packets);
  write(p.counters.rcv_vl15_pkts, w.counter_select, kManagementVl, w.packets[kManagementVl]);
}

void write(SimPort& p, const wire::PortVlOpData& w) {
  write(Model::Impl::vls(p).rcv_data, w.counter_select, w.data);
  write(p.counters.rcv_vl15_data, w.counter_select, kManagementVl, w.data[kManagementVl]);
}

void write(SimPort& p, const wire::PortVlXmitWait& w) {
  write(Model::Impl::vls(p).xmit_wait, w.counter_select, w.ticks);
}
void write(SimPort& p, const wire::PortXmitDataSl& w) {
  write(Model::Impl::vls(p).xmit_data_of_sl, w.counter_select, w.data);
}
void write(SimPort& p, const wire::PortRcvDataSl& w) {
  write(Model::Impl::vls(p).rcv_data_of_sl, w.counter_select, w.data);
}

/// How an attribute of counters is read and written. All have PortSelect and CounterSelect at the
/// same place.
struct CounterAttribute {
  std::uint16_t id;
  void (*write)(SimPort&, const wire::Mad& request);
  void (*answer)(const Totals&, wire::Mad& request);
  bool of_vls{false};  // it has counters by VL or SL, which lie elsewhere
};

template <class T>
constexpr CounterAttribute attribute(std::uint16_t id, bool of_vls = false) {
  return {id, [](SimPort& p, const wire::Mad& request) { write(p, wire::body<T>(request)); },
          [](const Totals& totals, wire::Mad& mad) {
            const auto request = wire::body<T>(mad);
            T answer;
            answer.port_select = request.port_select;
            answer.counter_select = request.counter_select;
            if constexpr (requires { answer.counter_select2; })
              answer.counter_select2 = request.counter_select2;
            read(totals, answer);
            std::memset(mad.data(), 0, wire::kGmpDataBytes);
            wire::set_body(mad, answer);
          },
          of_vls};
}

constexpr CounterAttribute kCounterAttributes[] = {
    attribute<wire::PortCounters>(attr::kPortCounters),
    attribute<wire::PortRcvErrorDetails>(attr::kPortRcvErrorDetails),
    attribute<wire::PortXmitDiscardDetails>(attr::kPortXmitDiscardDetails),
    attribute<wire::PortVlOpPackets>(attr::kPortVlOpPackets, true),
    attribute<wire::PortVlOpData>(attr::kPortVlOpData, true),
    attribute<wire::PortVlXmitWait>(attr::kPortVlXmitWait, true),
    attribute<wire::PortCountersExtended>(attr::kPortCountersExtended),
    attribute<wire::PortXmitDataSl>(attr::kPortXmitDataSl, true),
    attribute<wire::PortRcvDataSl>(attr::kPortRcvDataSl, true),
};

bool has_only_old_counters(const SimNode& node) {
  return node.traits && node.traits->only_old_counters;
}
bool has_wide_errors(const SimNode& node) {
  return node.traits && node.traits->wide_errors && !node.traits->only_old_counters;
}

/// Who is asked names another port, whatever the question (IBA 13.5.2).
void redirect(wire::Mad& mad, const SimPort& p, Lid to) {
  wire::ClassPortInfo info;
  info.resp_time_value = p.info.resp_time_value;
  info.redirect_lid = to;
  info.redirect_qp = 1;
  info.redirect_q_key = wire::kQp1QKey;
  info.redirect_p_key = PKey{0xFFFF};
  mad.set<&wire::MadHeader::attribute_id>(attr::kClassPortInfo);
  std::memset(mad.data(), 0, wire::kGmpDataBytes);
  wire::set_body(mad, info);
}

}  // namespace

std::uint16_t Model::Impl::pma_answer(Flight& f, PortIndex end) {
  wire::Mad& mad = f.mad;
  if (mad.get<&wire::MadHeader::base_version>() != 1 ||
      mad.get<&wire::MadHeader::class_version>() != 1)
    return status::kBadVersion;
  const bool set = mad.method() == wire::Method::Set;
  const std::uint16_t id = mad.attribute_id();
  const SimNode& node = node_of(end);
  const Lid elsewhere = node.traits ? node.traits->redirects_to : Lid{};
  if (elsewhere.value != 0 && !owns_lid(ports_[end], elsewhere.value)) {
    redirect(mad, ports_[end], elsewhere);
    return status::kRedirect;
  }
  if (id == attr::kClassPortInfo) {
    if (set) return status::kBadAttribute;
    wire::ClassPortInfo info;
    info.capability_mask = kCapabilities;
    if (has_only_old_counters(node)) info.capability_mask &= static_cast<std::uint16_t>(~kExtended);
    if (has_wide_errors(node)) info.capability_mask2 = kErrorsExtended;
    info.resp_time_value = ports_[end].info.resp_time_value;
    std::memset(mad.data(), 0, wire::kGmpDataBytes);
    wire::set_body(mad, info);
    return status::kOk;
  }
  const auto kind = std::ranges::find(kCounterAttributes, id, &CounterAttribute::id);
  if (kind == std::end(kCounterAttributes)) return status::kBadAttribute;
  if (id == attr::kPortCountersExtended && has_only_old_counters(node))
    return status::kBadAttribute;

  const std::uint8_t select = wire::body<wire::PortCounters>(mad).port_select.value;
  unsigned first = select, last = select;
  if (select == kAllPorts) {
    first = 1;
    last = node.num_ports;
  } else if (select > node.num_ports || (select == 0 && !node.is_switch())) {
    return status::kBadValue;
  }
  count_traffic(ports_[end].node);
  Totals totals;
  for (unsigned i = first; i <= last; ++i) {
    SimPort& p = ports_[node.first_port + i];
    if (set) kind->write(p, mad);
    add(totals.counters, p.counters);
    if (kind->of_vls) add(totals.vls, p);
  }
  kind->answer(totals, mad);
  if (id == attr::kPortCountersExtended && has_wide_errors(node)) {
    wire::PortErrorsExtended errors;
    read(totals, errors);
    wire::set_body(mad, errors);
  }
  return status::kOk;
}

}  // namespace ib::sim
