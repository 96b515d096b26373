// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Traps: what a node tells its subnet manager unasked, and how often it repeats it (IBA 13.4.9,
// 14.2.5.1). They go by LID to PortInfo:MasterSMLID on MasterSMSL, and are repeated every
// 4.096 us x 2^SubnetTimeOut until a TrapRepress with their transaction ID comes.
#include <algorithm>
#include <cstring>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"

namespace ib::sim {
namespace {

using Details = std::array<std::uint8_t, 54>;

constexpr std::uint8_t kTypeUrgent = 1, kTypeSecurity = 2, kTypeInfo = 4;

void put(Details& d, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    d[at + i] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
}
void put(Details& d, std::size_t at, const Gid& gid) {
  std::copy(gid.bytes.begin(), gid.bytes.end(), d.begin() + static_cast<std::ptrdiff_t>(at));
}

Duration repeat_after(const wire::PortInfo& info) {
  return Duration{std::int64_t{4096} << info.subnet_timeout};
}

}  // namespace

void Model::Impl::raise(PortIndex end, std::uint16_t number, std::uint8_t type,
                        const Details& details) {
  wire::Notice notice;
  notice.type = type;
  notice.producer_type = static_cast<std::uint32_t>(node_of(end).type);
  notice.trap_number = number;
  notice.details = details;
  raise(end, notice);
}

void Model::Impl::raise(PortIndex end, wire::Notice notice) {
  const NodeIndex n = ports_[end].node;
  SimNode& node = nodes_[n];
  const wire::PortInfo& info = ports_[end].info;
  // Without a LID of its own or a manager to send it to, a notice is lost.
  if (!node.powered || node.behaviour == Behaviour::Silent || !info.lid.is_unicast() ||
      !info.master_sm_lid.is_unicast())
    return;
  notice.issuer_lid = info.lid;
  for (PendingTrap& pending : node.traps)
    if (pending.port == end && pending.notice == notice) {
      // The same news again while the first is still being told: nothing to add, start over.
      pending.sent = 0;
      return;
    }
  constexpr std::size_t kPendingMax = 16;  // an SMA has little memory: the oldest notice gives way
  if (node.traps.size() >= kPendingMax) node.traps.erase(node.traps.begin());
  PendingTrap pending;
  pending.tid = Tid{(std::uint64_t{n + 1} << 32) | ++node.trap_tid};
  pending.port = end;
  pending.notice = notice;
  node.traps.push_back(pending);
  send_trap(n, node.traps.back());
}

void Model::Impl::send_trap(NodeIndex n, PendingTrap& pending) {
  const SimPort& p = ports_[pending.port];
  ++pending.sent;
  schedule(now_.ns + repeat_after(p.info).count(), EventKind::Trap, n,
           static_cast<std::uint32_t>(pending.tid.value));
  const FlightIndex index = allocate();
  Flight& f = flight(index);
  f.begin(wire::make_mad(wire::MgmtClass::SubnLid, wire::Method::Trap, wire::attr::kNotice));
  f.mad.set<&wire::MadHeader::tid>(pending.tid);
  wire::set_body(f.mad, pending.notice);
  f.smi = true;
  f.slid = p.info.lid.value;
  f.dlid = p.info.master_sm_lid.value;
  if (nodes_[n].traits && nodes_[n].traits->traps_without_lid && owns_lid(p, f.dlid)) f.slid = 0;
  f.sl = p.info.master_sm_sl.value;
  f.from_sma = true;
  tap(f);
  originate(index, pending.port);
}

void Model::Impl::repeat_trap(NodeIndex n, std::uint32_t tid_low) {
  SimNode& node = nodes_[n];
  const auto it = std::find_if(node.traps.begin(), node.traps.end(), [&](const PendingTrap& t) {
    return static_cast<std::uint32_t>(t.tid.value) == tid_low;
  });
  if (it == node.traps.end()) return;
  const wire::PortInfo& info = ports_[it->port].info;
  if (it->sent >= kTrapRepeats || !node.powered || !info.lid.is_unicast() ||
      !info.master_sm_lid.is_unicast()) {
    node.traps.erase(it);
    return;
  }
  send_trap(n, *it);
}

/// True when the TrapRepress was for one of ours.
bool Model::Impl::repress(const Flight& f, PortIndex end) {
  std::vector<PendingTrap>& traps = nodes_[ports_[end].node].traps;
  const Tid tid = f.mad.tid();
  const auto it =
      std::find_if(traps.begin(), traps.end(), [&](const PendingTrap& t) { return t.tid == tid; });
  if (it == traps.end()) return false;
  traps.erase(it);
  return true;
}

void Model::Impl::trap_link_state(NodeIndex n) {
  const PortIndex end = nodes_[n].first_port;
  Details d{};
  put(d, 0, ports_[end].info.lid.value, 2);
  raise(end, wire::trap::kLinkStateChange, kTypeUrgent, d);
}

void Model::Impl::trap_capability(PortIndex end) {
  const wire::PortInfo& info = ports_[end].info;
  Details d{};
  put(d, 2, info.lid.value, 2);
  put(d, 6, info.capability_mask, 4);
  put(d, 12, info.capability_mask2, 2);
  raise(end, wire::trap::kCapabilityChange, kTypeInfo, d);
}

/// A notice of the vendor, whose number is among its details (OpenSM 5: ntc_1144, ntc_1146).
void Model::Impl::trap_vport(PortIndex end, std::uint16_t number, std::uint16_t index) {
  wire::Notice notice;
  notice.is_generic = false;
  notice.type = kTypeInfo;
  notice.producer_type = wire::kMlnxVendorId;
  notice.trap_number = fabric_.node(ports_[end].node).device_id;
  put(notice.details, wire::kVPortTrapLid, ports_[end].info.lid.value, 2);
  if (number == wire::trap::kVPortDataChange) {
    put(notice.details, 5, 1, 1);  // OtherLocalChanges: there are change flags
    put(notice.details, 8, 1, 2);  // VNodeDescriptionChange
    put(notice.details, wire::kVPortTrapIndex, index, 2);
  }
  put(notice.details, wire::kVendorTrapNumber, number, 2);
  raise(end, notice);
}

/// Trap 144 that says of itself that the NodeDescription is all that changed (IBA 14.2.5.1).
void Model::Impl::trap_description(PortIndex end) {
  const wire::PortInfo& info = ports_[end].info;
  Details d{};
  put(d, 2, info.lid.value, 2);
  put(d, 5, 1, 1);  // OtherLocalChanges: there are change flags
  put(d, 6, info.capability_mask, 4);
  put(d, 10, 1, 2);  // NodeDescriptionChange
  put(d, 12, info.capability_mask2, 2);
  raise(end, wire::trap::kCapabilityChange, kTypeInfo, d);
}

void Model::Impl::trap_bad_m_key(const Flight& f, PortIndex end) {
  Details d{};
  put(d, 2, f.slid, 2);
  const bool directed = f.mad.is_directed();
  if (directed) put(d, 4, f.mad.get<&wire::SmpHeader::dr_slid>().value, 2);
  put(d, 6, static_cast<std::uint64_t>(f.mad.method()), 1);
  put(d, 8, f.mad.attribute_id(), 2);
  put(d, 10, f.mad.attribute_modifier(), 4);
  put(d, 14, f.mad.get<&wire::SmpHeader::m_key>(), 8);
  if (directed) {
    const auto path = f.mad.get<&wire::SmpHeader::return_path>();
    const unsigned hops = f.mad.get<&wire::SmpHeader::hop_count>();
    constexpr unsigned kRoom = 30;
    const unsigned kept = std::min(hops, kRoom);
    d[23] = static_cast<std::uint8_t>(0x80 | (hops > kRoom ? 0x40 : 0) | kept);
    for (unsigned i = 0; i < kept; ++i) d[24 + i] = path[i + 1];
  }
  raise(end, wire::trap::kBadMKey, kTypeSecurity, d);
}

/// Traps 257 and 258 share their form: who sent what to whom.
void Model::Impl::trap_bad_key(const Flight& f, PortIndex end, std::uint16_t number,
                               std::uint32_t key) {
  Details d{};
  put(d, 2, f.slid, 2);
  put(d, 4, f.dlid, 2);
  put(d, 6, key, 4);
  put(d, 10, (std::uint64_t{f.sl} << 28) | f.source_qp, 4);
  put(d, 14, f.target_qp, 4);
  if (f.has_grh) {
    put(d, 18, f.source_gid);
    put(d, 34, f.target_gid);
  }
  raise(end, number, kTypeSecurity, d);
}

void Model::Impl::trap_switch_p_key(const Flight& f, PortIndex at) {
  const PortIndex end = end_port(at);
  Details d{};
  put(d, 0, 0xC0, 2);  // LIDs and P_Key are valid
  put(d, 2, f.slid, 2);
  put(d, 4, f.dlid, 2);
  put(d, 6, f.p_key, 2);
  put(d, 8, (std::uint64_t{f.sl} << 28) | f.source_qp, 4);
  put(d, 12, f.target_qp, 4);
  put(d, 48, ports_[end].info.lid.value, 2);
  put(d, 50, ports_[at].number, 1);
  raise(end, wire::trap::kSwitchBadPKey, kTypeSecurity, d);
}

/// The M_Key lease: a violation starts it, the owner's next SMP stops it; when it runs out the
/// protect bits fall to 0, so that the key can be read (IBA 14.2.4.2).
void Model::Impl::start_lease(PortIndex end) {
  SimPort& p = ports_[end];
  if (p.info.m_key_lease_period == 0 || p.lease != 0) return;
  static_assert(sizeof p.lease == 4);
  p.lease = static_cast<std::uint32_t>(random_.next() >> 33) + 1;
  schedule(now_.ns + std::int64_t{p.info.m_key_lease_period} * 1'000'000'000, EventKind::Lease, end,
           p.lease);
}

void Model::Impl::end_lease(PortIndex index, std::uint32_t stamp) {
  SimPort& p = ports_[index];
  if (p.lease != stamp) return;
  p.lease = 0;
  p.info.m_key_protect_bits = 0;
}

void Model::report_link_errors(Instant now, PortRef ref, std::uint16_t trap_number) {
  advance(now);
  Impl& m = *impl_;
  if (!m.valid(ref)) return;
  SimPort& p = m.ports_[m.index_of(ref)];
  if (trap_number == wire::trap::kLocalLinkIntegrity) ++p.counters.link_integrity;
  if (trap_number == wire::trap::kExcessiveBufferOverrun) ++p.counters.buffer_overrun;
  const PortIndex end = m.end_port(m.index_of(ref));
  Details d{};
  put(d, 2, m.ports_[end].info.lid.value, 2);
  put(d, 4, ref.port, 1);
  m.raise(end, trap_number, kTypeUrgent, d);
}

void Model::set_description(Instant now, NodeIndex n, std::string_view text) {
  advance(now);
  Impl& m = *impl_;
  if (n >= m.nodes_.size()) return;
  SimNode& node = m.nodes_[n];
  node.description = {};
  std::memcpy(node.description.data(), text.data(), std::min(text.size(), node.description.size()));
  m.fabric_.node(n).description = text.substr(0, node.description.size());
  const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
  for (unsigned i = first; i <= last; ++i) m.trap_description(node.first_port + i);
}

void Model::set_system_image_guid(Instant now, NodeIndex n, Guid guid) {
  advance(now);
  Impl& m = *impl_;
  if (n >= m.nodes_.size()) return;
  m.fabric_.node(n).system_image_guid = guid;
  const SimNode& node = m.nodes_[n];
  const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
  for (unsigned i = first; i <= last; ++i) {
    const PortIndex end = node.first_port + i;
    Details d{};
    put(d, 2, m.ports_[end].info.lid.value, 2);
    put(d, 6, guid.value, 8);
    m.raise(end, wire::trap::kSystemImageGuidChange, kTypeInfo, d);
  }
}

}  // namespace ib::sim
