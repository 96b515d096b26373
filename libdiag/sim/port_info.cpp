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

namespace {

/// What a Set of PortInfo may write depends on these.
struct PortKind {
  bool end;    // has a LID: a port of an end node, or port 0
  bool base0;  // a base switch port 0
  bool link;
  bool of_switch;
  bool extended;  // the Set speaks of extended speeds
};

bool are_lids_legal(const PortInfo& info, const PortInfo& wanted, const PortKind& kind) {
  if (!lid_valid(wanted.lid, info.lid)) return false;
  if (!lid_valid(wanted.master_sm_lid, info.master_sm_lid)) return false;
  if (kind.base0) return wanted.lmc == 0;
  const unsigned last = wanted.lid.value + (1U << wanted.lmc) - 1;
  return wanted.lid.value == 0 ||
         ((wanted.lid.value & ((1U << wanted.lmc) - 1)) == 0 && last <= kLidUnicastMax.value);
}

bool is_link_legal(const PortInfo& info, const PortInfo& wanted, const PortKind& kind) {
  if (!mask_valid(wanted.link_width_enabled, info.link_width_supported, 0xFF) ||
      !mask_valid(wanted.link_speed_enabled, info.link_speed_supported, 0xF) ||
      (kind.extended &&
       ((wanted.link_speed_ext_enabled != kNoExtendedSpeed &&
         !mask_valid(wanted.link_speed_ext_enabled, info.link_speed_ext_supported, 0x1F)) ||
        !mask_valid(wanted.link_speed_ext_enabled2, info.link_speed_ext_supported2, 0x7))))
    return false;
  return wanted.link_down_default_state <= 2;
}

bool is_legal(const PortInfo& info, const PortInfo& wanted, const PortKind& kind) {
  if (kind.end && !are_lids_legal(info, wanted, kind)) return false;
  if (kind.link && !is_link_legal(info, wanted, kind)) return false;
  if (kind.base0) return true;
  if (wanted.neighbor_mtu != info.neighbor_mtu &&
      (wanted.neighbor_mtu == 0 || wanted.neighbor_mtu > info.mtu_cap))
    return false;
  if (wanted.operational_vls > info.vl_cap) return false;
  if (!state_allowed(info.port_state, wanted.port_state)) return false;
  // IBA 14.2.5.6: the physical state can be set only along with Down or no change.
  return wanted.port_physical_state <= PhysState::Disabled &&
         (wanted.port_physical_state == PhysState::NoChange ||
          wanted.port_state == PortState::NoChange || wanted.port_state == PortState::Down);
}

void write_end(PortInfo& info, const PortInfo& wanted) {
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

void write_link(PortInfo& info, const PortInfo& wanted, const PortKind& kind) {
  apply_mask(info.link_width_enabled, wanted.link_width_enabled, info.link_width_supported, 0xFF);
  apply_mask(info.link_speed_enabled, wanted.link_speed_enabled, info.link_speed_supported, 0xF);
  if (kind.extended) {
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
  if (!kind.of_switch) return;
  info.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
  info.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
  info.filter_raw_inbound = wanted.filter_raw_inbound;
  info.filter_raw_outbound = wanted.filter_raw_outbound;
}

/// All but the states.
void write(PortInfo& info, const PortInfo& wanted, const PortKind& kind) {
  if (kind.end) write_end(info, wanted);
  if (wanted.m_key_violations == 0) info.m_key_violations = 0;
  if (wanted.p_key_violations == 0) info.p_key_violations = 0;
  if (wanted.q_key_violations == 0) info.q_key_violations = 0;
  if (kind.link) write_link(info, wanted, kind);
  if (kind.base0) return;
  info.vl_high_limit = wanted.vl_high_limit;
  info.neighbor_mtu = wanted.neighbor_mtu;
  if (wanted.operational_vls != 0) info.operational_vls = wanted.operational_vls;
}

}  // namespace

std::uint16_t Model::Impl::set_port_info(PortIndex at, const PortInfo& wanted, bool extended) {
  SimPort& p = ports_[at];
  const SimNode& node = nodes_[p.node];
  const bool port0 = node.is_switch() && p.number == 0;
  const PortKind kind{!node.is_switch() || port0, port0 && !node.sw->info.enhanced_port0, !port0,
                      node.is_switch(), extended};
  PortInfo& info = p.info;
  if (!is_legal(info, wanted, kind)) return status::kBadValue;
  const PortInfo before = info;
  write(info, wanted, kind);
  if (info.m_key != before.m_key || info.m_key_protect_bits != before.m_key_protect_bits)
    p.lease = 0;
  if (!kind.base0) set_port_states(at, wanted);
  return status::kOk;
}

/// State last, with everything else in place. What takes the link down waits until the answer has
/// left: it may have to cross that very link.
void Model::Impl::set_port_states(PortIndex at, const PortInfo& wanted) {
  const PortInfo& info = ports_[at].info;
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
}

}  // namespace ib::sim
