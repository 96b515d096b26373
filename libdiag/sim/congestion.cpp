// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The congestion control agent of a node, class 0x21 (IBA annex A10): settings are kept and can be
// read back, under a key with a lease.
#include "libdiag/sim/congestion.h"

#include <algorithm>
#include <cstring>

#include "libdiag/sim/impl.h"

namespace ib::sim {

namespace attr = wire::attr;
namespace status = wire::status;

namespace {

constexpr std::size_t kPortsOfBlock = wire::SwitchPortCongestionSetting{}.ports.size();
constexpr std::size_t kEntriesOfBlock = wire::CongestionControlTable::kEntries;

void set_switch(wire::SwitchCongestionSetting& to, const wire::SwitchCongestionSetting& from) {
  namespace map = wire::congestion_map;
  to.control_map = from.control_map;
  if ((from.control_map & map::kVictimMask) != 0) to.victim_mask = from.victim_mask;
  if ((from.control_map & map::kCreditMask) != 0) to.credit_mask = from.credit_mask;
  if ((from.control_map & map::kThreshold) != 0) {
    to.threshold = from.threshold;
    to.packet_size = from.packet_size;
  }
  if ((from.control_map & map::kCreditStarvation) != 0) {
    to.cs_threshold = from.cs_threshold;
    to.cs_return_delay = from.cs_return_delay;
  }
  if ((from.control_map & map::kMarkingRate) != 0) to.marking_rate = from.marking_rate;
}

void set_ca(wire::CaCongestionSetting& to, const wire::CaCongestionSetting& from) {
  to.port_control = from.port_control;
  to.control_map = from.control_map;
  for (std::size_t sl = 0; sl < to.entries.size(); ++sl)
    if (((from.control_map >> sl) & 1U) != 0) to.entries[sl] = from.entries[sl];
}

}  // namespace

CongestionState& Model::Impl::congestion(PortIndex end) {
  auto& state = tables(end).congestion;
  if (!state) state = std::make_unique<CongestionState>();
  return *state;
}

/// As the M_Key's: who knows the key stops the lease, a violation starts it. Gets need no key; one
/// without it does not see a key that is protected.
bool Model::Impl::cc_key_allows(const Flight& f, PortIndex end) {
  SimPort& p = ports_[end];
  if (!p.tables || !p.tables->congestion) return true;
  CongestionState& state = *p.tables->congestion;
  if (state.key.cc_key == 0) return true;
  if (f.mad.get<&wire::CongestionHeader::cc_key>() == state.key.cc_key) {
    p.tables->congestion_lease = 0;
    return true;
  }
  if (f.mad.method() == wire::Method::Get) return true;
  if (state.key.violations < 0xFFFF) ++state.key.violations;
  if (state.key.lease_period != 0 && p.tables->congestion_lease == 0) {
    p.tables->congestion_lease = static_cast<std::uint32_t>(random_.next() >> 33) + 1;
    schedule(now_.ns + std::int64_t{state.key.lease_period} * 1'000'000'000,
             EventKind::CongestionLease, end, p.tables->congestion_lease);
  }
  return false;
}

void Model::Impl::end_congestion_lease(PortIndex end, std::uint32_t stamp) {
  const auto& tables = ports_[end].tables;
  if (!tables || !tables->congestion || tables->congestion_lease != stamp) return;
  tables->congestion_lease = 0;
  tables->congestion->key.protect = false;
}

bool Model::Impl::congestion_answer(Flight& f, PortIndex end) {
  if (!cc_key_allows(f, end)) return false;
  std::uint16_t result = status::kBadVersion;
  if (f.mad.get<&wire::MadHeader::base_version>() == 1 &&
      f.mad.get<&wire::MadHeader::class_version>() == 2) {
    const bool set = f.mad.method() == wire::Method::Set;
    if (!set)
      std::memset(f.mad.bytes.data() + wire::kCongestionLogOffset, 0, wire::kCongestionLogBytes);
    result = congestion_attribute(f, end, set);
  }
  f.mad.set<&wire::MadHeader::status>(result);
  return true;
}

std::uint16_t Model::Impl::congestion_attribute(Flight& f, PortIndex end, bool set) {
  const bool is_switch = node_of(end).is_switch();
  switch (f.mad.attribute_id()) {
    case attr::kClassPortInfo: {
      if (set) return status::kBadAttribute;
      wire::ClassPortInfo info;
      info.class_version = 2;
      info.resp_time_value = ports_[end].info.resp_time_value;
      wire::set_body(f.mad, info);
      return status::kOk;
    }
    case attr::kCongestionInfo:
      if (set) return status::kBadAttribute;
      wire::set_body(f.mad,
                     wire::CongestionInfo{is_switch ? wire::kCreditStarvation : std::uint16_t{0},
                                          is_switch ? std::uint8_t{0} : kControlTableCap});
      return status::kOk;
    case attr::kCongestionKeyInfo:
      return congestion_key_info(f, end, set);
    case attr::kCongestionLog:
      return set ? status::kBadAttribute : congestion_log(f, end);
    case attr::kSwitchCongestionSetting:
      if (!is_switch) return status::kBadAttribute;
      if (set)
        set_switch(congestion(end).of_switch, wire::body<wire::SwitchCongestionSetting>(f.mad));
      wire::set_body(f.mad, congestion(end).of_switch);
      return status::kOk;
    case attr::kSwitchPortCongestionSetting:
      return is_switch ? switch_port_congestion(f, end, set) : status::kBadAttribute;
    case attr::kCaCongestionSetting:
      if (is_switch) return status::kBadAttribute;
      if (set) set_ca(congestion(end).of_ca, wire::body<wire::CaCongestionSetting>(f.mad));
      wire::set_body(f.mad, congestion(end).of_ca);
      return status::kOk;
    case attr::kCongestionControlTable:
      return is_switch ? status::kBadAttribute : congestion_table(f, end, set);
    case attr::kTimeStamp:
      if (set) return status::kBadAttribute;
      wire::set_body(f.mad, wire::CongestionTimeStamp{congestion_time()});
      return status::kOk;
    default:
      return status::kBadAttribute;
  }
}

std::uint16_t Model::Impl::congestion_key_info(Flight& f, PortIndex end, bool set) {
  CongestionState& state = congestion(end);
  if (set) {
    const auto wanted = wire::body<wire::CongestionKeyInfo>(f.mad);
    const std::uint16_t violations = wanted.violations == 0 ? 0 : state.key.violations;
    state.key = wanted;
    state.key.violations = violations;
  }
  wire::CongestionKeyInfo shown = state.key;
  const bool knows = f.mad.get<&wire::CongestionHeader::cc_key>() == state.key.cc_key;
  if (!set && state.key.protect && !knows) shown.cc_key = 0;
  wire::set_body(f.mad, shown);
  return status::kOk;
}

/// No packet has been marked yet.
std::uint16_t Model::Impl::congestion_log(Flight& f, PortIndex end) {
  std::byte* log = f.mad.bytes.data() + wire::kCongestionLogOffset;
  if (node_of(end).is_switch()) {
    wire::SwitchCongestionLog empty;
    empty.current_timestamp = congestion_time();
    wire::encode(empty, log);
  } else {
    wire::CaCongestionLog empty;
    empty.current_timestamp = congestion_time();
    wire::encode(empty, log);
  }
  return status::kOk;
}

std::uint16_t Model::Impl::switch_port_congestion(Flight& f, PortIndex end, bool set) {
  const std::size_t ports = std::size_t{node_of(end).num_ports} + 1;
  const std::size_t first = f.mad.attribute_modifier() * kPortsOfBlock;
  if (f.mad.attribute_modifier() > 5 || first >= ports) return status::kBadValue;
  auto& all = congestion(end).of_ports;
  const std::size_t count = std::min(kPortsOfBlock, ports - first);
  if (set) {
    all.resize(ports);
    const auto wanted = wire::body<wire::SwitchPortCongestionSetting>(f.mad);
    std::copy_n(wanted.ports.begin(), count, all.begin() + static_cast<std::ptrdiff_t>(first));
  }
  wire::SwitchPortCongestionSetting block;
  if (!all.empty())
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), count, block.ports.begin());
  wire::set_body(f.mad, block);
  return status::kOk;
}

std::uint16_t Model::Impl::congestion_table(Flight& f, PortIndex end, bool set) {
  const std::uint32_t block = f.mad.attribute_modifier();
  if (block >= kControlTableCap) return status::kBadValue;
  CongestionState& state = congestion(end);
  const auto at = static_cast<std::ptrdiff_t>(block * kEntriesOfBlock);
  if (set) {
    const auto wanted = wire::body<wire::CongestionControlTable>(f.mad);
    if (wanted.ccti_limit >= kControlTableCap * kEntriesOfBlock) return status::kBadValue;
    state.table.resize(kControlTableCap * kEntriesOfBlock);
    std::ranges::copy(wanted.entries, state.table.begin() + at);
    state.ccti_limit = wanted.ccti_limit;
  }
  wire::CongestionControlTable answer;
  answer.ccti_limit = state.ccti_limit;
  if (!state.table.empty())
    std::copy_n(state.table.begin() + at, kEntriesOfBlock, answer.entries.begin());
  wire::set_body(f.mad, answer);
  return status::kOk;
}

}  // namespace ib::sim
