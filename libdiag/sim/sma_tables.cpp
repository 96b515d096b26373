// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The SMA's tables: GUIDs, P_Keys, SL to VL, VL arbitration, forwarding. A block that a device does
// not have is an invalid attribute modifier, 0x001C (IBA 13.4.7).
#include <algorithm>
#include <cstring>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/virtualization_attributes.h"

namespace ib::sim {

namespace status = wire::status;

namespace {

/// What a port maps before anybody programmed it.
wire::SlToVlTable standard_mapping(const SimPort& port) {
  wire::SlToVlTable table;
  const unsigned vls = std::max(1U, wire::data_vls(port.info.vl_cap));
  for (unsigned sl = 0; sl < 16; ++sl) table.vl[sl] = static_cast<std::uint8_t>(sl % vls);
  return table;
}

}  // namespace

std::uint16_t Model::Impl::sma_guid_info(Flight& f, PortIndex end, bool set) {
  SimPort& p = ports_[end];
  const std::size_t block = f.mad.attribute_modifier();
  const std::size_t capacity = p.info.guid_cap;
  if (block * 8 >= capacity) return status::kBadValue;
  if (set) {
    const auto wanted = wire::body<wire::GuidInfo>(f.mad);
    std::vector<Guid>& guids = tables(end).guids;
    guids.resize(capacity);
    guids[0] = p.guid;
    for (std::size_t i = 0; i < 8 && block * 8 + i < capacity; ++i)
      if (block * 8 + i != 0) guids[block * 8 + i] = wanted.guid[i];  // entry 0 is read-only
  }
  wire::GuidInfo info;
  for (std::size_t i = 0; i < 8 && block * 8 + i < capacity; ++i)
    info.guid[i] = guid_at(p, block * 8 + i);
  wire::set_body(f.mad, info);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_p_keys(Flight& f, PortIndex end, bool set) {
  const std::uint32_t modifier = f.mad.attribute_modifier();
  PortIndex at = end;
  if (node_of(end).is_switch()) {
    at = addressed_port(f, end, modifier >> 16);
    if (at == kNoPort) return status::kBadValue;
  }
  const std::size_t block = modifier & 0xFFFF;
  const std::size_t slots = p_key_slots(at);
  if (block * 32 >= slots) return status::kBadValue;
  if (set) {
    const auto wanted = wire::body<wire::PKeyTable>(f.mad);
    std::vector<PKey>& keys = tables(at).p_keys;
    if (keys.empty()) {
      std::vector<PKey> now(slots);
      for (std::size_t i = 0; i < slots; ++i) now[i] = p_key_at(ports_[at], i);
      keys = std::move(now);
    }
    keys.resize(std::max(keys.size(), slots));  // the device may be one that has more since
    for (std::size_t i = 0; i < 32 && block * 32 + i < slots; ++i)
      keys[block * 32 + i] = wanted.p_keys[i];
  }
  wire::PKeyTable table;
  for (std::size_t i = 0; i < 32 && block * 32 + i < slots; ++i)
    table.p_keys[i] = p_key_at(ports_[at], block * 32 + i);
  wire::set_body(f.mad, table);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_sl_to_vl(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (ports_[end].info.vl_cap <= 1 && !node.is_switch()) return status::kBadAttribute;
  const std::uint32_t modifier = f.mad.attribute_modifier();
  std::uint32_t in = 0;
  PortIndex out = end;
  bool all_out = false, all_in = false;
  if (node.is_switch()) {
    in = (modifier >> 8) & 0xFF;
    all_out = (modifier & (1U << 16)) != 0;
    all_in = (modifier & (1U << 17)) != 0;
    if ((all_out || all_in) && (!set || (node.sw->info.optimized_sl_to_vl & 1U) == 0))
      return status::kBadValue;
    if (!all_out) out = addressed_port(f, end, modifier & 0xFF);
    if (out == kNoPort || (!all_in && in > node.num_ports)) return status::kBadValue;
  }
  const std::size_t inputs = node.is_switch() ? node.num_ports + std::size_t{1} : 1;
  if (set) {
    const auto wanted = wire::body<wire::SlToVlTable>(f.mad);
    const auto write = [&](PortIndex p) {
      auto& rows = tables(p).sl_to_vl;
      if (rows.empty()) rows.assign(inputs, standard_mapping(ports_[p]));
      if (all_in)
        std::fill(rows.begin(), rows.end(), wanted);
      else
        rows[in] = wanted;
    };
    if (all_out)
      for (unsigned i = 1; i <= node.num_ports; ++i) write(node.first_port + i);
    else
      write(out);
    if (all_out) out = node.first_port + 1;
  }
  wire::set_body(f.mad, sl_to_vl_at(ports_[out], all_in ? 0 : in));
  return status::kOk;
}

wire::SlToVlTable Model::Impl::sl_to_vl_at(const SimPort& out, std::size_t in) const {
  const bool stored = out.tables && in < out.tables->sl_to_vl.size();
  return stored ? out.tables->sl_to_vl[in] : standard_mapping(out);
}

std::uint16_t Model::Impl::sma_vl_arbitration(Flight& f, PortIndex end, bool set) {
  const std::uint32_t modifier = f.mad.attribute_modifier();
  const std::uint32_t block = modifier >> 16;
  const PortIndex at = node_of(end).is_switch() ? addressed_port(f, end, modifier & 0xFF) : end;
  if (at == kNoPort || block < 1 || block > 4) return status::kBadValue;
  SimPort& p = ports_[at];
  if (p.info.vl_cap <= 1) return status::kBadAttribute;
  const unsigned capacity =
      block <= 2 ? p.info.vl_arbitration_low_cap : p.info.vl_arbitration_high_cap;
  if (capacity <= (block % 2 == 0 ? 32U : 0U)) return status::kBadValue;
  if (set) {
    auto& table = tables(at).vl_arbitration[block - 1];
    if (!table) table = std::make_unique<wire::VlArbitrationTable>();
    *table = wire::body<wire::VlArbitrationTable>(f.mad);
    for (std::size_t i = capacity; i < 32; ++i) table->vl[i] = table->weight[i] = 0;
  }
  std::memset(f.mad.bytes.data() + wire::kSmpDataOffset, 0, wire::kSmpDataBytes);
  wire::set_body(f.mad, vl_arbitration_at(p, block));
  return status::kOk;
}

wire::VlArbitrationTable Model::Impl::vl_arbitration_at(const SimPort& port,
                                                        std::size_t block) const {
  if (port.tables && port.tables->vl_arbitration[block - 1])
    return *port.tables->vl_arbitration[block - 1];
  wire::VlArbitrationTable table;
  if (block != 1) return table;
  const unsigned vls =
      std::min<unsigned>(wire::data_vls(port.info.vl_cap), port.info.vl_arbitration_low_cap);
  for (unsigned i = 0; i < vls; ++i) {
    table.vl[i] = static_cast<std::uint8_t>(i);
    table.weight[i] = 1;
  }
  return table;
}

std::uint16_t Model::Impl::sma_linear_forwarding(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch()) return status::kBadAttribute;
  std::vector<std::uint8_t>& lft = node.sw->lft;
  const std::size_t block = f.mad.attribute_modifier();
  if (block >= (node.sw->info.linear_fdb_cap + std::size_t{63}) / 64) return status::kBadValue;
  std::byte* data = f.mad.bytes.data() + wire::kSmpDataOffset;
  if (set) {
    if (lft.size() < block * 64 + 64) lft.resize(block * 64 + 64, 255);
    std::memcpy(lft.data() + block * 64, data, 64);
    if (node.sw->adaptive) node.sw->adaptive->info.enabled = false;
  } else if (lft.size() >= block * 64 + 64) {
    std::memcpy(data, lft.data() + block * 64, 64);
  } else {
    std::memset(data, 255, 64);
  }
  return status::kOk;
}

std::uint16_t Model::Impl::sma_multicast_forwarding(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch()) return status::kBadAttribute;
  SimSwitch& sw = *node.sw;
  const std::uint32_t modifier = f.mad.attribute_modifier();
  const std::size_t block = modifier & 0x1FF, position = modifier >> 28;
  if (block * 32 >= sw.info.multicast_fdb_cap || position >= sw.mft_positions)
    return status::kBadValue;
  const std::size_t first = block * 32 * sw.mft_positions, rows = 32;
  if (set) {
    const auto wanted = wire::body<wire::MulticastForwardingTable>(f.mad);
    if (sw.mft.size() < first + rows * sw.mft_positions)
      sw.mft.resize(first + rows * sw.mft_positions, 0);
    for (std::size_t i = 0; i < rows; ++i)
      sw.mft[first + i * sw.mft_positions + position] = wanted.port_mask[i];
  }
  wire::MulticastForwardingTable answer;
  if (sw.mft.size() >= first + rows * sw.mft_positions)
    for (std::size_t i = 0; i < rows; ++i)
      answer.port_mask[i] = sw.mft[first + i * sw.mft_positions + position];
  wire::set_body(f.mad, answer);
  return status::kOk;
}

/// FEC modes are found by training: a Set changes nothing here.
std::uint16_t Model::Impl::sma_port_info_extended(Flight& f, PortIndex end, bool set) const {
  const auto& traits = nodes_[ports_[end].node].traits;
  if (set || !traits || traits->fec.empty()) return status::kBadAttribute;
  const PortIndex at = addressed_port(f, end, f.mad.attribute_modifier() & 0xFF);
  if (at == kNoPort) return status::kBadValue;
  wire::PortInfoExtended info;
  info.capability_mask = wire::kIsFecModeSupported;
  info.fec_mode_active = traits->fec[ports_[at].number];
  wire::set_body(f.mad, info);
  return status::kOk;
}

/// IBA: of switches that say so in CapabilityMask2.
std::uint16_t Model::Impl::sma_port_states(Flight& f, PortIndex end, bool set) const {
  const SimNode& node = nodes_[ports_[end].node];
  if (set || !node.is_switch() ||
      (ports_[node.first_port].info.capability_mask2 & wire::port_cap2::kSwitchPortStateTable) == 0)
    return status::kBadAttribute;
  const unsigned first = (f.mad.attribute_modifier() & 1) * wire::kPortStatesInBlock;
  if (first > node.num_ports) return status::kBadValue;
  wire::SwitchPortStateTable table;
  for (unsigned i = 0; i < wire::kPortStatesInBlock && first + i <= node.num_ports; ++i) {
    const SimPort& p = ports_[node.first_port + first + i];
    table.state[i] = static_cast<std::uint8_t>(p.info.port_state);
    if (node.traits && p.number < node.traits->shown_state.size())
      table.state[i] = node.traits->shown_state[p.number].value_or(table.state[i]);
  }
  wire::set_body(f.mad, table);
  return status::kOk;
}

/// Mellanox devices from FDR on, and switches with something built in; everything else does not
/// know the attribute.
std::uint16_t Model::Impl::sma_extended_port_info(Flight& f, PortIndex end, bool set) {
  const PortIndex at = addressed_port(f, end, f.mad.attribute_modifier() & 0xFF);
  if (at == kNoPort) return status::kBadValue;
  SimPort& p = ports_[at];
  const auto& traits = node_of(at).traits;
  const bool has_special = traits && !traits->special.empty();
  if (p.fdr10_supported == 0 && !has_special) return status::kBadAttribute;
  std::uint16_t result = status::kOk;
  if (set) {
    const auto wanted = wire::body<wire::MlnxExtendedPortInfo>(f.mad);
    if ((wanted.state_change_enable & 1) != 0) {
      if ((wanted.link_speed_enabled & ~p.fdr10_supported) != 0)
        result = status::kBadValue;
      else
        p.fdr10_enabled = wanted.link_speed_enabled;
    }
    std::memset(f.mad.bytes.data() + wire::kSmpDataOffset, 0, wire::kSmpDataBytes);
  }
  wire::MlnxExtendedPortInfo info;
  info.link_speed_supported = p.fdr10_supported;
  info.link_speed_enabled = p.fdr10_enabled;
  info.link_speed_active = p.fdr10_active;
  wire::set_body(f.mad, info);
  if (has_special && traits->special[p.number] != 0) {
    wire::View<wire::MlnxSpecialPort> view(f.mad.data());
    view.set<&wire::MlnxSpecialPort::is_special>(true);
    view.set<&wire::MlnxSpecialPort::type>(traits->special[p.number]);
  }
  return result;
}

/// Mellanox CAs from ConnectX-4 on tell what they can do; the model's can limit rates by SL. So do
/// switches that know adaptive routing.
std::uint16_t Model::Impl::sma_general_info(Flight& f, PortIndex end, bool set) {
  const SimNode& node = node_of(end);
  const bool adaptive = node.is_switch() && node.sw->adaptive;
  if (set || (!node.tells_capabilities && !adaptive)) return status::kBadAttribute;
  if (f.mad.attribute_modifier() != 4) return status::kBadValue;
  wire::MlnxGeneralInfo info;
  if (node.tells_capabilities) info.capability_mask[0] |= wire::mlnx_cap::kSlRateLimit;
  if (adaptive) info.capability_mask[0] |= wire::mlnx_cap::kAdaptiveRouting;
  if (virtual_ports(end) != nullptr)
    info.capability_mask[0] |= wire::mlnx_cap::kVirtualization | wire::mlnx_cap::kVPortSlRateLimit;
  wire::set_body(f.mad, info);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_qos_config_sl(Flight& f, PortIndex end, bool set) {
  if (!node_of(end).tells_capabilities) return status::kBadAttribute;
  if ((f.mad.attribute_modifier() & wire::kQosConfigSlOfVPort) != 0)
    return sma_vport_rates(f, end, set);
  const PortIndex at = addressed_port(f, end, f.mad.attribute_modifier() & 0xFF);
  if (at == kNoPort) return status::kBadValue;
  SimPort& p = ports_[at];
  if (set) {
    auto& config = tables(at).sl_rates;
    if (!config) config = std::make_unique<wire::MlnxQosConfigSl>();
    *config = wire::body<wire::MlnxQosConfigSl>(f.mad);
  }
  wire::set_body(f.mad,
                 p.tables && p.tables->sl_rates ? *p.tables->sl_rates : wire::MlnxQosConfigSl{});
  return status::kOk;
}

}  // namespace ib::sim
