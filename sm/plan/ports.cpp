// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/desired.h"

namespace sm::plan {

using ib::wire::PortInfo;

PortWant held(const PortWant& want, const PortInfo& info) {
  PortWant h = want;
  h.reregister = false;  // an event, not a state
  if (want.end_port) {
    h.lid = info.lid;
    h.lmc = info.lmc;
    h.sm_lid = info.master_sm_lid;
    h.sm_sl = info.master_sm_sl;
    h.gid_prefix = info.gid_prefix;
    h.m_key = info.m_key;
    h.m_key_lease = info.m_key_lease_period;
    h.m_key_protect = info.m_key_protect_bits;
    h.subnet_timeout = info.subnet_timeout;
    if (want.trap_suppression) h.trap_suppression = info.multicast_p_key_trap_suppression;
  }
  if (want.neighbor_mtu != 0) h.neighbor_mtu = info.neighbor_mtu;
  if (want.operational_vls != 0) h.operational_vls = info.operational_vls;
  if (want.phy_errors != 0) h.phy_errors = info.local_phy_errors;
  if (want.overrun_errors != 0) h.overrun_errors = info.overrun_errors;
  if (want.hoq_life != 255) h.hoq_life = info.hoq_life;
  if (want.vl_stall_count != 255) h.vl_stall_count = info.vl_stall_count;
  if (want.vl_high_limit) h.vl_high_limit = info.vl_high_limit;
  if (want.speed_enabled) h.speed_enabled = info.link_speed_enabled;
  if (want.speed_ext_enabled) h.speed_ext_enabled = info.link_speed_ext_enabled;
  if (want.width_enabled) h.width_enabled = info.link_width_enabled;
  if (want.enforce_inbound) h.enforce_inbound = info.partition_enforcement_inbound;
  if (want.enforce_outbound) h.enforce_outbound = info.partition_enforcement_outbound;
  return h;
}

bool satisfied(const PortWant& want, const PortInfo& info) {
  return !want.managed || held(want, info) == want;
}

PortWant training(const PortWant& want) {
  PortWant all;
  all.managed = want.managed;
  all.speed_enabled = want.speed_enabled;
  all.speed_ext_enabled = want.speed_ext_enabled;
  all.width_enabled = want.width_enabled;
  return all;
}

Training training_of(const PortWant& want, const PortInfo& info) {
  return {want.speed_enabled,     want.speed_ext_enabled,     want.width_enabled,
          info.link_speed_active, info.link_speed_ext_active, info.link_speed_ext_active2,
          info.link_width_active};
}

void write_wanted(const PortWant& want, std::byte* port_info) {
  ib::wire::View<PortInfo> view(port_info);
  // 0 in these means "leave it as it is" (IBA 14.2.5.6).
  view.set<&PortInfo::port_state>(ib::wire::PortState::NoChange);
  view.set<&PortInfo::port_physical_state>(ib::wire::PhysState::NoChange);
  view.set<&PortInfo::link_down_default_state>(0);
  view.set<&PortInfo::link_width_enabled>(0);
  view.set<&PortInfo::link_speed_enabled>(0);
  view.set<&PortInfo::link_speed_ext_enabled>(0);
  view.set<&PortInfo::client_reregister>(want.reregister);
  if (want.end_port) {
    view.set<&PortInfo::lid>(want.lid);
    view.set<&PortInfo::lmc>(want.lmc);
    view.set<&PortInfo::master_sm_lid>(want.sm_lid);
    view.set<&PortInfo::master_sm_sl>(want.sm_sl);
    view.set<&PortInfo::gid_prefix>(want.gid_prefix);
    view.set<&PortInfo::m_key>(want.m_key);
    view.set<&PortInfo::m_key_lease_period>(want.m_key_lease);
    view.set<&PortInfo::m_key_protect_bits>(want.m_key_protect);
    view.set<&PortInfo::subnet_timeout>(want.subnet_timeout);
    if (want.trap_suppression)
      view.set<&PortInfo::multicast_p_key_trap_suppression>(*want.trap_suppression);
  }
  if (want.neighbor_mtu != 0) view.set<&PortInfo::neighbor_mtu>(want.neighbor_mtu);
  if (want.operational_vls != 0) view.set<&PortInfo::operational_vls>(want.operational_vls);
  if (want.phy_errors != 0) view.set<&PortInfo::local_phy_errors>(want.phy_errors);
  if (want.overrun_errors != 0) view.set<&PortInfo::overrun_errors>(want.overrun_errors);
  if (want.hoq_life != 255) view.set<&PortInfo::hoq_life>(want.hoq_life);
  if (want.vl_stall_count != 255) view.set<&PortInfo::vl_stall_count>(want.vl_stall_count);
  if (want.vl_high_limit) view.set<&PortInfo::vl_high_limit>(*want.vl_high_limit);
  if (want.speed_enabled) view.set<&PortInfo::link_speed_enabled>(*want.speed_enabled);
  if (want.speed_ext_enabled)
    view.set<&PortInfo::link_speed_ext_enabled>(
        *want.speed_ext_enabled != 0 ? *want.speed_ext_enabled : kNoExtendedSpeed);
  if (want.width_enabled) view.set<&PortInfo::link_width_enabled>(*want.width_enabled);
  if (want.enforce_inbound)
    view.set<&PortInfo::partition_enforcement_inbound>(*want.enforce_inbound);
  if (want.enforce_outbound)
    view.set<&PortInfo::partition_enforcement_outbound>(*want.enforce_outbound);
}

}  // namespace sm::plan
