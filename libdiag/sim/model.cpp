// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The Model's surface, and what a node looks like when power comes on.
#include "libdiag/sim/model.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "libdiag/fabric/aggregation_node.h"
#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"
#include "libdiag/sim/traffic.h"

namespace ib::sim {
namespace {

using wire::LinkSpeed;
using wire::LinkWidth;

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}
std::uint64_t rotate(std::uint64_t v, int by) { return (v << by) | (v >> (64 - by)); }

/// Capability masks as devices of the field report them: a ConnectX HCA and an unmanaged or managed
/// switch (smpquery portinfo of such), IsSM apart.
constexpr std::uint32_t kHcaCapability = 0x2651A848, kSwitchCapability = 0x42500848;
constexpr std::uint16_t kLinearFdbCap = 49152, kMulticastFdbCap = 4096;
constexpr std::uint16_t kHcaPKeys = 128, kSwitchPKeys = 32;
constexpr std::uint8_t kMtu4096 = 5, kVl0to7 = 4;

/// What hardware of a node can do, from the fastest and widest cable on it.
struct Ability {
  LinkSpeed speed{LinkSpeed::Sdr};
  std::uint8_t widths{0x03};  // 1x and 4x
};

Ability ability_of(const fabric::Fabric& fabric, NodeIndex n) {
  Ability ability;
  bool any = false;
  for (const fabric::Port& port : fabric.ports(n)) {
    if (port.speed > ability.speed) ability.speed = port.speed;
    any = any || port.speed != LinkSpeed::Unknown;
    ability.widths |= static_cast<std::uint8_t>(port.width);
  }
  if (!any) ability.speed = LinkSpeed::Qdr;
  return ability;
}

std::uint8_t legacy_speeds(LinkSpeed speed) {
  return speed >= LinkSpeed::Qdr ? 7 : speed == LinkSpeed::Ddr ? 3 : 1;
}
std::uint8_t extended_speeds(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::Fdr:
      return 1;
    case LinkSpeed::Edr:
      return 3;
    case LinkSpeed::Hdr:
      return 7;
    case LinkSpeed::Ndr:
    case LinkSpeed::Xdr:
      return 15;
    default:
      return 0;
  }
}

bool is_mellanox(const fabric::Node& node) {
  return node.vendor_id == 0x2C9 || node.vendor_id == 0x119F;
}

/// ConnectX-4 is device 4115; what came later has higher numbers.
bool tells_capabilities(const fabric::Node& node) {
  constexpr std::uint16_t kConnectX4 = 4115;
  return node.type == wire::NodeType::ChannelAdapter && is_mellanox(node) &&
         node.device_id >= kConnectX4 && !fabric::is_aggregation_node(node);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : s_) word = split_mix(seed);
}
std::uint64_t Random::next() {
  const std::uint64_t result = rotate(s_[1] * 5, 7) * 9;
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = rotate(s_[3], 45);
  return result;
}
bool Random::chance(double percent) {
  if (percent <= 0) return false;
  return static_cast<double>(next() >> 11) * 0x1.0p-53 * 100.0 < percent;
}

// ---- construction

Model::Impl::Impl(fabric::Fabric topology, const ModelOptions& model_options)
    : fabric_(std::move(topology)),
      options_(model_options),
      faults_(model_options.faults),
      random_(model_options.seed) {
  const auto nodes = fabric_.nodes();
  std::size_t port_count = 0;
  for (const fabric::Node& node : nodes) port_count += node.num_ports + std::size_t{1};
  nodes_.resize(nodes.size());
  ports_.resize(port_count);
  for (NodeIndex n = 0; n < nodes.size(); ++n) build_node(n, options_.keep_lids);
  // Every cable is plugged in and trained before anybody looks: ports start in INIT.
  for (PortIndex p = 0; p < ports_.size(); ++p)
    if (ports_[p].peer > p && ports_[p].peer != kNoPort && can_train(p)) {
      finish_training(p);
    }
  for (SimNode& node : nodes_) {
    if (node.is_switch()) node.sw->info.port_state_change = true;
    node.traps.clear();
  }
}

void Model::Impl::build_node(NodeIndex n, bool keep_lids) {
  const fabric::Node& from = fabric_.node(n);
  SimNode& node = nodes_[n];
  node.type = from.type;
  node.tells_capabilities = tells_capabilities(from);
  node.num_ports = from.num_ports;
  node.first_port = from.first_port;
  std::memcpy(node.description.data(), from.description.data(),
              std::min(from.description.size(), node.description.size()));
  if (from.is_switch()) node.sw = std::make_unique<SimSwitch>();
  const Ability ability = ability_of(fabric_, n);
  for (unsigned i = 0; i <= from.num_ports; ++i) {
    const fabric::Port& source = fabric_.port(n, i);
    SimPort& p = ports_[from.first_port + i];
    p.node = n;
    p.number = static_cast<std::uint8_t>(i);
    p.guid = source.guid.value != 0 ? source.guid : from.guid;
    if (source.peer) p.peer = fabric_.node(source.peer.node).first_port + source.peer.port;
    p.cable_width = source.width;
    p.cable_speed = source.speed;
    wire::PortInfo& info = p.info;
    info.link_width_supported = ability.widths;
    info.link_speed_supported = legacy_speeds(ability.speed);
    info.link_speed_ext_supported = extended_speeds(ability.speed);
    info.link_speed_ext_supported2 = ability.speed == LinkSpeed::Xdr ? 1 : 0;
    info.mtu_cap = source.mtu_cap != 0 ? source.mtu_cap : kMtu4096;
    info.vl_cap = source.vl_cap != 0 ? source.vl_cap : kVl0to7;
    if (is_mellanox(from) && ability.speed >= LinkSpeed::Fdr10) p.fdr10_supported = 1;
    const bool end = !from.is_switch() || i == 0;
    if (end) {
      info.capability_mask = from.is_switch() ? kSwitchCapability : kHcaCapability;
      std::uint16_t more = 0;
      if (ability.widths & 16) more |= wire::port_cap2::kLinkWidth2x;
      if (ability.speed >= LinkSpeed::Hdr) more |= wire::port_cap2::kHdr;
      if (ability.speed >= LinkSpeed::Ndr) more |= wire::port_cap2::kNdr;
      if (ability.speed >= LinkSpeed::Xdr) more |= wire::port_cap2::kXdr;
      if (info.link_speed_ext_supported != 0)
        info.capability_mask |= wire::port_cap::kExtendedSpeeds;
      info.capability_mask2 = more;
      if (more != 0) info.capability_mask |= wire::port_cap::kCapabilityMask2;
      info.guid_cap = from.is_switch() ? 1 : 8;
      info.lid = source.lid;  // taken or forgotten by reset_port
      info.lmc = source.lmc;
    }
  }
  reset_node_state(n, keep_lids);
}

/// Everything that power-on sets: tables empty, ports down, LIDs gone unless kept.
void Model::Impl::reset_node_state(NodeIndex n, bool keep_lids) {
  SimNode& node = nodes_[n];
  node.partition_cap = node.is_switch() ? kSwitchPKeys : kHcaPKeys;
  node.sma_waiting = 0;
  node.sma_busy_until = 0;
  node.traps.clear();
  if (node.is_switch()) {
    SimSwitch& sw = *node.sw;
    sw.lft.clear();
    sw.mft.clear();
    sw.mft_positions = static_cast<std::uint8_t>(node.num_ports / 16 + 1);
    sw.info = {};
    sw.info.linear_fdb_cap = kLinearFdbCap;
    sw.info.multicast_fdb_cap = kMulticastFdbCap;
    sw.info.default_port = 255;
    sw.info.default_multicast_primary_port = 255;
    sw.info.default_multicast_not_primary_port = 255;
    sw.info.life_time_value = 18;
    sw.info.optimized_sl_to_vl = options_.optimized_sl_to_vl;
    sw.info.partition_enforcement_cap = kSwitchPKeys;
    sw.info.inbound_enforcement_cap = true;
    sw.info.outbound_enforcement_cap = true;
    sw.info.filter_raw_inbound_cap = true;
    sw.info.filter_raw_outbound_cap = true;
    sw.info.enhanced_port0 = fabric_.node(n).enhanced_port0;
    sw.info.port_state_change = true;
  }
  for (unsigned i = 0; i <= node.num_ports; ++i) reset_port(node.first_port + i, keep_lids);
  apply_traits(n);
}

void Model::Impl::reset_port(PortIndex index, bool keep_lid) {
  SimPort& p = ports_[index];
  const SimNode& node = nodes_[p.node];
  const wire::PortInfo old = p.info;
  const bool end = !node.is_switch() || p.number == 0;
  wire::PortInfo& info = p.info;
  info = {};
  info.capability_mask = old.capability_mask;
  info.capability_mask2 = old.capability_mask2;
  info.guid_cap = old.guid_cap;
  info.link_width_supported = info.link_width_enabled = old.link_width_supported;
  info.link_speed_supported = info.link_speed_enabled = old.link_speed_supported;
  info.link_speed_ext_supported = info.link_speed_ext_enabled = old.link_speed_ext_supported;
  info.link_speed_ext_supported2 = info.link_speed_ext_enabled2 = old.link_speed_ext_supported2;
  p.fdr10_enabled = p.fdr10_supported;
  p.fdr10_active = 0;
  info.mtu_cap = old.mtu_cap;
  info.vl_cap = old.vl_cap;
  // Devices come up with all they have (as Linux qib initializes its ports); a lower start would
  // make opensm take every link down once, to change it.
  info.neighbor_mtu = old.mtu_cap;
  info.operational_vls = old.vl_cap;
  info.vl_arbitration_high_cap = info.vl_arbitration_low_cap = 8;
  info.vl_stall_count = 7;
  info.hoq_life = 18;
  info.link_down_default_state = 2;
  info.local_phy_errors = 8;
  info.overrun_errors = 8;
  info.port_state = wire::PortState::Down;
  info.port_physical_state = wire::PhysState::Polling;
  if (end) {
    info.gid_prefix = kDefaultSubnetPrefix;
    info.subnet_timeout = 18;
    info.resp_time_value = 16;
    if (keep_lid) {
      info.lid = old.lid;
      info.lmc = old.lmc;
    } else if (!node.is_switch()) {
      info.lid = options_.no_lid_of_cas;
    }
  }
  if (node.is_switch() && p.number == 0) {
    // Port 0 has no link. A base port 0 is always Active; an enhanced one has the logical states of
    // an end port, and its link is always up (IBA 18.2.4.1).
    info.port_physical_state = wire::PhysState::LinkUp;
    info.port_state =
        node.sw->info.enhanced_port0 ? wire::PortState::Initialize : wire::PortState::Active;
    info.link_width_active = 2;
    info.link_speed_active = 1;
  }
  if (p.is_sm) info.capability_mask |= wire::port_cap::kIsSm;
  p.tables.reset();
  p.counters = {};
  p.vls.reset();
  p.lease = 0;
  ++p.training;
}

bool Model::Impl::valid(PortRef ref) const {
  return ref.node < nodes_.size() && ref.port <= nodes_[ref.node].num_ports &&
         (ref.port != 0 || nodes_[ref.node].is_switch());
}

PortTables& Model::Impl::tables(PortIndex p) {
  if (!ports_[p].tables) ports_[p].tables = std::make_unique<PortTables>();
  return *ports_[p].tables;
}

std::size_t Model::Impl::p_key_slots(PortIndex p) const {
  const SimNode& node = nodes_[ports_[p].node];
  if (node.is_switch() && ports_[p].number != 0) return node.sw->info.partition_enforcement_cap;
  return node.partition_cap;
}

/// At power-on an end port holds the default P_Key at index 0 (IBA 10.9.2, C10-123) and a switch's
/// enforcement tables are empty.
PKey Model::Impl::p_key_at(const SimPort& p, std::size_t index) const {
  if (p.tables && !p.tables->p_keys.empty())
    return index < p.tables->p_keys.size() ? p.tables->p_keys[index] : PKey{0};
  const bool end = !nodes_[p.node].is_switch() || p.number == 0;
  return end && index == 0 ? kDefaultPKey : PKey{0};
}

Guid Model::Impl::guid_at(const SimPort& p, std::size_t index) const {
  if (index == 0) return p.guid;
  if (p.tables && index < p.tables->guids.size()) return p.tables->guids[index];
  return Guid{};
}

// ---- the Model itself

Model::Model(fabric::Fabric topology, const ModelOptions& options)
    : impl_(std::make_unique<Impl>(std::move(topology), options)) {}
Model::~Model() = default;

const fabric::Fabric& Model::topology() const { return impl_->fabric_; }

void Model::send(Instant now, PortRef from, bool smi, const mad::Packet& packet) {
  advance(now);
  if (impl_->valid(from)) impl_->send(from, smi, packet);
}

void Model::advance(Instant now) {
  Impl& m = *impl_;
  while (!m.events_.empty() && m.events_.top().at <= now.ns) {
    const Event event = m.events_.pop();
    if (event.at > m.now_.ns) m.now_.ns = event.at;
    m.run(event);
  }
  if (now > m.now_) m.now_ = now;
}

Instant Model::next_event() const {
  return impl_->events_.empty() ? kNever : Instant{impl_->events_.top().at};
}

Delivery* Model::next_delivery() { return impl_->take_delivery(); }

void Model::set_is_sm(Instant now, PortRef ref, bool on) {
  advance(now);
  Impl& m = *impl_;
  if (!m.valid(ref)) return;
  const PortIndex end = m.end_port(m.index_of(ref));
  SimPort& p = m.ports_[end];
  if (p.is_sm == on) return;
  p.is_sm = on;
  if (on)
    p.info.capability_mask |= wire::port_cap::kIsSm;
  else
    p.info.capability_mask &= ~wire::port_cap::kIsSm;
  m.trap_capability(end);
}

wire::PortInfo Model::port_info(PortRef ref) const {
  wire::PortInfo info = impl_->ports_[impl_->index_of(ref)].info;
  info.local_port_num = PortNum{ref.port};
  return info;
}
wire::NodeInfo Model::node_info(NodeIndex node) const {
  const SimNode& n = impl_->nodes_[node];
  return impl_->make_node_info(node, n.is_switch() ? n.first_port : n.first_port + 1);
}
wire::SwitchInfo Model::switch_info(NodeIndex node) const {
  const SimNode& n = impl_->nodes_[node];
  return n.is_switch() ? n.sw->info : wire::SwitchInfo{};
}
std::vector<PKey> Model::p_keys(PortRef ref) const {
  const PortIndex index = impl_->index_of(ref);
  std::vector<PKey> keys(impl_->p_key_slots(index));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = impl_->p_key_at(impl_->ports_[index], i);
  return keys;
}
std::vector<Guid> Model::guids(PortRef ref) const {
  const SimPort& p = impl_->ports_[impl_->index_of(ref)];
  std::vector<Guid> guids(std::max<std::size_t>(1, p.info.guid_cap));
  for (std::size_t i = 0; i < guids.size(); ++i) guids[i] = impl_->guid_at(p, i);
  return guids;
}
std::uint8_t Model::lft(NodeIndex node, Lid lid) const {
  const SimNode& n = impl_->nodes_[node];
  return n.is_switch() && lid.value < n.sw->lft.size() ? n.sw->lft[lid.value] : 255;
}
std::vector<std::uint8_t> Model::multicast_ports(NodeIndex node, Lid mlid) const {
  const SimNode& n = impl_->nodes_[node];
  std::vector<std::uint8_t> ports;
  if (!n.is_switch() || mlid.value < kLidMulticastMin.value) return ports;
  const std::size_t row = std::size_t{mlid.value} - kLidMulticastMin.value;
  for (std::size_t position = 0; position < n.sw->mft_positions; ++position) {
    const std::size_t at = row * n.sw->mft_positions + position;
    if (at >= n.sw->mft.size()) break;
    for (unsigned bit = 0; bit < 16; ++bit)
      if ((n.sw->mft[at] >> bit & 1U) != 0)
        ports.push_back(static_cast<std::uint8_t>(position * 16 + bit));
  }
  return ports;
}

wire::SlToVlTable Model::sl_to_vl(PortRef out, std::uint8_t in) const {
  return impl_->sl_to_vl_at(impl_->ports_[impl_->index_of(out)], in);
}
wire::VlArbitrationTable Model::vl_arbitration(PortRef port, unsigned block) const {
  return impl_->vl_arbitration_at(impl_->ports_[impl_->index_of(port)], block);
}
wire::MlnxQosConfigSl Model::sl_rates(PortRef port) const {
  const auto& tables = impl_->ports_[impl_->index_of(port)].tables;
  return tables && tables->sl_rates ? *tables->sl_rates : wire::MlnxQosConfigSl{};
}

CongestionState Model::congestion(PortRef port) const {
  if (!impl_->valid(port)) return {};
  const auto& tables = impl_->ports_[impl_->index_of(port)].tables;
  return tables && tables->congestion ? *tables->congestion : CongestionState{};
}

void Model::set_behaviour(NodeIndex node, Behaviour behaviour) {
  if (node < impl_->nodes_.size()) impl_->nodes_[node].behaviour = behaviour;
}
void Model::set_faults(const Faults& faults) { impl_->faults_ = faults; }
void Model::set_link_faults(PortRef ref, const Faults& faults) {
  if (!impl_->valid(ref)) return;
  Impl& m = *impl_;
  m.forget_ways();
  SimPort& p = m.ports_[m.index_of(ref)];
  const LinkFault fault{faults.loss_percent, faults.duplicate_percent, faults.delay};
  if (p.fault == 0) {
    m.link_faults_.push_back(fault);
    p.fault = static_cast<std::uint32_t>(m.link_faults_.size());
  } else {
    m.link_faults_[p.fault - 1] = fault;
  }
  if (p.peer != kNoPort) m.ports_[p.peer].fault = p.fault;
}
const Faults& Model::faults() const { return impl_->faults_; }
Faults Model::link_faults(PortRef ref) const {
  Faults faults = impl_->faults_;
  LinkFault own;
  if (impl_->valid(ref)) {
    if (const auto index = impl_->ports_[impl_->index_of(ref)].fault) {
      own = impl_->link_faults_[index - 1];
    }
  }
  faults.loss_percent = own.loss_percent;
  faults.duplicate_percent = own.duplicate_percent;
  faults.delay = own.delay;
  return faults;
}
void Model::reseed(std::uint64_t seed) { impl_->random_ = Random(seed); }

const ModelCounters& Model::counters() const { return impl_->counters_; }
VlCounters Model::vl_counters(PortRef ref) {
  impl_->count_traffic(ref.node);
  impl_->end_express();
  impl_->count_all_arrived();
  const auto& vls = impl_->ports_[impl_->index_of(ref)].vls;
  return vls ? *vls : VlCounters{};
}
std::vector<Model::StatRow> Model::stats() const {
  std::vector<StatRow> rows = impl_->stats_;
  std::sort(rows.begin(), rows.end(), [](const StatRow& a, const StatRow& b) {
    return std::tie(a.mgmt_class, a.method, a.attribute) <
           std::tie(b.mgmt_class, b.method, b.attribute);
  });
  return rows;
}
void Model::set_tap(Tap tap, void* context) {
  impl_->tap_ = tap;
  impl_->tap_context_ = context;
}
void Model::set_watch(Watch watch, void* context) {
  impl_->watch_ = watch;
  impl_->watch_context_ = context;
}

}  // namespace ib::sim
