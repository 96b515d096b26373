// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortInfo: which fields a Set may change, which values are legal, and the state transitions
// (IBA 14.2.5.6). A Set with one illegal value changes nothing and is answered 0x001C.
#include <cstring>

#include "libdiag/sim/impl.h"

namespace ib::sim {

namespace status = wire::status;
using wire::PhysState;
using wire::PortInfo;
using wire::PortState;

namespace {

/// Speed and width masks: 0 leaves them, all ones means everything supported (IBA 14.2.5.6).
bool mask_valid(unsigned wanted, unsigned supported, unsigned all_ones) {
  return wanted == 0 || wanted == all_ones || (wanted & ~supported) == 0;
}
void apply_mask(std::uint8_t& enabled, std::uint8_t wanted, std::uint8_t supported,
                unsigned all_ones) {
  if (wanted == 0) return;
  enabled = wanted == all_ones ? supported : wanted;
}

/// A LID that may be written: unicast, or what the port has already.
bool lid_valid(Lid wanted, Lid current) { return wanted == current || wanted.is_unicast(); }

/// Written as LinkSpeedExtEnabled it means none (IBA 14.2.5.6).
constexpr std::uint8_t kNoExtendedSpeed = 30;

/// Logical state transitions that a Set may ask for. The same state again changes nothing, so that
/// a repeated request whose answer was lost is not an error (as in Linux hfi1's table).
bool state_allowed(PortState from, PortState to) {
  switch (to) {
    case PortState::NoChange:
    case PortState::Down:
      return true;
    case PortState::Armed:
      return from == PortState::Initialize || from == PortState::Armed;
    case PortState::Active:
      return from == PortState::Armed || from == PortState::Active;
    case PortState::Initialize:
      break;
  }
  return false;
}

}  // namespace

std::uint16_t Model::Impl::sma_port_info(Flight& f, PortIndex end, bool set) {
  const std::uint32_t modifier = f.mad.attribute_modifier();
  const PortIndex at = addressed_port(f, end, modifier & 0xFF);
  if (at == kNoPort) return status::kBadValue;
  std::uint16_t result = status::kOk;
  bool reregister = false;
  if (set) {
    const auto wanted = wire::body<PortInfo>(f.mad);
    result = set_port_info(at, wanted, (modifier & wire::kPortInfoSmSupportsExtendedSpeeds) != 0);
    reregister = wanted.client_reregister;  // comes back as it was sent (IBA o14-12.2.1)
    std::memset(f.mad.bytes.data() + wire::kSmpDataOffset, 0, wire::kSmpDataBytes);
  }
  const SimPort& p = ports_[at];
  std::byte* data = f.mad.bytes.data() + wire::kSmpDataOffset;
  wire::encode(p.info, data);
  wire::View<PortInfo> view(data);
  view.set<&PortInfo::local_port_num>(PortNum{ports_[f.ingress].number});
  if (reregister) view.set<&PortInfo::client_reregister>(true);
  // IBA 14.2.4.1: with protection on, the key is shown only to who has it.
  if (p.info.m_key != 0 && p.info.m_key_protect_bits != 0 &&
      f.mad.get<&wire::SmpHeader::m_key>() != p.info.m_key)
    view.set<&PortInfo::m_key>(0);
  return result;
}

std::uint16_t Model::Impl::set_port_info(PortIndex at, const PortInfo& wanted, bool extended) {
  SimPort& p = ports_[at];
  const SimNode& node = nodes_[p.node];
  const bool end = !node.is_switch() || p.number == 0;
  const bool port0 = node.is_switch() && p.number == 0;
  const bool base0 = port0 && !node.sw->info.enhanced_port0;
  const bool link = !port0;
  PortInfo& info = p.info;

  // First look, then write.
  if (end) {
    if (!lid_valid(wanted.lid, info.lid)) return status::kBadValue;
    if (!lid_valid(wanted.master_sm_lid, info.master_sm_lid)) return status::kBadValue;
    const unsigned last = wanted.lid.value + (1U << wanted.lmc) - 1;
    if (wanted.lid.value != 0 && !base0 &&
        ((wanted.lid.value & ((1U << wanted.lmc) - 1)) != 0 || last > kLidUnicastMax.value))
      return status::kBadValue;
    if (base0 && wanted.lmc != 0) return status::kBadValue;
  }
  if (link) {
    if (!mask_valid(wanted.link_width_enabled, info.link_width_supported, 0xFF) ||
        !mask_valid(wanted.link_speed_enabled, info.link_speed_supported, 0xF) ||
        (extended &&
         ((wanted.link_speed_ext_enabled != kNoExtendedSpeed &&
           !mask_valid(wanted.link_speed_ext_enabled, info.link_speed_ext_supported, 0x1F)) ||
          !mask_valid(wanted.link_speed_ext_enabled2, info.link_speed_ext_supported2, 0x7))))
      return status::kBadValue;
    if (wanted.link_down_default_state > 2) return status::kBadValue;
  }
  if (!base0) {
    if (wanted.neighbor_mtu != info.neighbor_mtu &&
        (wanted.neighbor_mtu == 0 || wanted.neighbor_mtu > info.mtu_cap))
      return status::kBadValue;
    if (wanted.operational_vls > info.vl_cap) return status::kBadValue;
    if (!state_allowed(info.port_state, wanted.port_state)) return status::kBadValue;
    // IBA 14.2.5.6: the physical state can be set only along with Down or no change.
    const bool phys_ok =
        wanted.port_physical_state <= PhysState::Disabled &&
        (wanted.port_physical_state == PhysState::NoChange ||
         wanted.port_state == PortState::NoChange || wanted.port_state == PortState::Down);
    if (!phys_ok) return status::kBadValue;
  }

  const PortInfo before = info;
  if (end) {
    info.m_key = wanted.m_key;
    info.gid_prefix = wanted.gid_prefix;
    info.lid = wanted.lid;
    info.master_sm_lid = wanted.master_sm_lid;
    info.m_key_lease_period = wanted.m_key_lease_period;
    info.m_key_protect_bits = wanted.m_key_protect_bits;
    info.lmc = wanted.lmc;
    info.master_sm_sl = wanted.master_sm_sl;
    info.subnet_timeout = wanted.subnet_timeout;
    info.multicast_p_key_trap_suppression = wanted.multicast_p_key_trap_suppression & 1;
    info.init_type = wanted.init_type;
  }
  if (wanted.m_key_violations == 0) info.m_key_violations = 0;
  if (wanted.p_key_violations == 0) info.p_key_violations = 0;
  if (wanted.q_key_violations == 0) info.q_key_violations = 0;
  if (!base0) info.vl_high_limit = wanted.vl_high_limit;
  if (link) {
    apply_mask(info.link_width_enabled, wanted.link_width_enabled, info.link_width_supported, 0xFF);
    apply_mask(info.link_speed_enabled, wanted.link_speed_enabled, info.link_speed_supported, 0xF);
    if (extended) {
      if (wanted.link_speed_ext_enabled == kNoExtendedSpeed)
        info.link_speed_ext_enabled = 0;
      else
        apply_mask(info.link_speed_ext_enabled, wanted.link_speed_ext_enabled,
                   info.link_speed_ext_supported, 0x1F);
      apply_mask(info.link_speed_ext_enabled2, wanted.link_speed_ext_enabled2,
                 info.link_speed_ext_supported2, 0x7);
    }
    if (wanted.link_down_default_state != 0)
      info.link_down_default_state = wanted.link_down_default_state;
    info.vl_stall_count = wanted.vl_stall_count;
    info.hoq_life = wanted.hoq_life;
    info.local_phy_errors = wanted.local_phy_errors;
    info.overrun_errors = wanted.overrun_errors;
    if (node.is_switch()) {
      info.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
      info.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
      info.filter_raw_inbound = wanted.filter_raw_inbound;
      info.filter_raw_outbound = wanted.filter_raw_outbound;
    }
  }
  if (!base0) {
    info.neighbor_mtu = wanted.neighbor_mtu;
    if (wanted.operational_vls != 0) info.operational_vls = wanted.operational_vls;
  }
  if (info.m_key != before.m_key || info.m_key_protect_bits != before.m_key_protect_bits)
    p.lease = 0;
  if (base0) return status::kOk;

  // State last, with everything else in place. What takes the link down waits until the answer has
  // left: it may have to cross that very link.
  PhysState next = PhysState::NoChange;
  if (wanted.port_physical_state != PhysState::NoChange)
    next = wanted.port_physical_state;
  else if (wanted.port_state == PortState::Down)
    next = info.link_down_default_state == 1 ? PhysState::Sleep : PhysState::Polling;
  if (next != PhysState::NoChange) {
    const bool already_there =
        next == info.port_physical_state ||
        (next == PhysState::Polling && info.port_physical_state == PhysState::Training);
    if (!already_there)
      schedule(now_.ns + kLinkAction.count(), EventKind::LinkSet, at,
               static_cast<std::uint32_t>(next));
  } else if (wanted.port_state != PortState::NoChange) {
    set_state(at, wanted.port_state);
  }
  return status::kOk;
}

}  // namespace ib::sim
