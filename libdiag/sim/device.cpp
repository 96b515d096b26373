// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/device.h"

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/mad/describe.h"
#include "libdiag/sim/traffic.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/rates.h"

namespace ib::sim {
namespace {

using Value = std::uint64_t;

/// Where a trait is written.
struct Target {
  Model::Impl& model;
  NodeIndex node;
  PortIndex port;  // of a trait of ports
  DeviceTraits& traits;
  SimPort& at() const { return model.ports_[port]; }
};

/// Whose a trait is.
enum class Of : std::uint8_t { Node, Switch, Ca, Port, SwitchPort, CaPort, EndPort };
constexpr bool of_ports(Of of) { return of >= Of::Port; }

struct TraitRow {
  std::string_view name;
  Of of;
  const char* expected;
  std::optional<Value> (*parse)(std::string_view text);
  void (*apply)(const Target& target, Value value);
};

template <Value min, Value max>
std::optional<Value> number(std::string_view text) {
  Value value = 0;
  if (!parse_number(text, max, value) || value < min) return std::nullopt;
  return value;
}

std::optional<Value> vls(std::string_view text) {
  for (Value code = 1; code <= 5; ++code)
    if (std::to_string(wire::data_vls(static_cast<std::uint8_t>(code))) == text) return code;
  return std::nullopt;
}

std::optional<Value> mtu(std::string_view text) {
  for (Value code = 1; code <= 5; ++code)
    if (std::to_string(wire::mtu_bytes(static_cast<std::uint8_t>(code))) == text) return code;
  return std::nullopt;
}

std::optional<Value> special(std::string_view text) {
  constexpr std::string_view kTypes[] = {"none", "aggregation_node", "router", "gateway"};
  const auto type = std::ranges::find(kTypes, text);
  if (type == std::end(kTypes)) return std::nullopt;
  return static_cast<Value>(type - std::begin(kTypes));
}

std::optional<Value> fec_mode(std::string_view text) {
  constexpr std::string_view kModes[] = {"none", "firecode", "rs", "low_latency_rs"};
  const auto mode = std::ranges::find(kModes, text);
  if (mode == std::end(kModes)) return std::nullopt;
  return static_cast<Value>(mode - std::begin(kModes));
}

std::optional<Value> speed(std::string_view text) {
  const auto known = wire::parse_speed(text);
  return known && *known != wire::LinkSpeed::Unknown ? std::optional(static_cast<Value>(*known))
                                                     : std::nullopt;
}

std::optional<Value> attribute(std::string_view text) {
  Value value = 0;
  if (parse_number(text, 0xFFFF, value)) return value;
  for (Value id = 0; id <= 0xFFFF; ++id)
    if (mad::attribute_name(wire::MgmtClass::SubnLid, static_cast<std::uint16_t>(id)) == text)
      return id;
  return std::nullopt;
}

/// What takes a state, or a set of attributes, back.
constexpr Value kNone = Value{1} << 32;
std::optional<Value> state_or_none(std::string_view text) {
  return text == "none" ? kNone : number<0, 15>(text);
}
std::optional<Value> attribute_or_none(std::string_view text) {
  return text == "none" ? kNone : attribute(text);
}

constexpr const char* kAttribute =
    "an attribute of subnet management, such as PortInfo or 0xFF90, or none";

template <auto Member>
void add_attribute(const Target& t, Value id) {
  if (id == kNone) return (t.traits.*Member).clear();
  (t.traits.*Member).insert(static_cast<std::uint16_t>(id));
}

constexpr TraitRow kRows[] = {
    {"vl_cap", Of::Port, "1, 2, 4, 8 or 15 VLs", vls,
     [](const Target& t, Value code) {
       auto& info = t.at().info;
       info.vl_cap = static_cast<std::uint8_t>(code);
       info.operational_vls = std::min(info.operational_vls, info.vl_cap);
     }},
    {"mtu_cap", Of::Port, "256, 512, 1024, 2048 or 4096 bytes", mtu,
     [](const Target& t, Value code) {
       auto& info = t.at().info;
       info.mtu_cap = static_cast<std::uint8_t>(code);
       info.neighbor_mtu = std::min(info.neighbor_mtu, info.mtu_cap);
     }},
    {"neighbor_mtu", Of::Port, "256, 512, 1024, 2048 or 4096 bytes", mtu,
     [](const Target& t, Value code) {
       t.at().info.neighbor_mtu = std::min(static_cast<std::uint8_t>(code), t.at().info.mtu_cap);
     }},
    {"vl_arb_cap", Of::Port, "entries of each arbitration table, 0 to 64", number<0, 64>,
     [](const Target& t, Value entries) {
       t.at().info.vl_arbitration_high_cap = t.at().info.vl_arbitration_low_cap =
           static_cast<std::uint8_t>(entries);
     }},
    {"guid_cap", Of::Port, "GUIDs, 0 to 255", number<0, 255>,
     [](const Target& t, Value guids) { t.at().info.guid_cap = static_cast<std::uint8_t>(guids); }},
    {"lid", Of::EndPort, "a LID that it has before it gets one, 0 to 65535", number<0, 0xFFFF>,
     [](const Target& t, Value lid) { t.at().info.lid = Lid{static_cast<std::uint16_t>(lid)}; }},
    {"shows_state", Of::Port, "what PortInfo:PortState says, 0 to 15, or none", state_or_none,
     [](const Target& t, Value state) {
       t.traits.shown_state.resize(t.model.nodes_[t.node].num_ports + std::size_t{1});
       auto& shown = t.traits.shown_state[t.at().number];
       shown = state == kNone ? std::nullopt : std::optional(static_cast<std::uint8_t>(state));
     }},
    {"special", Of::SwitchPort, "none, aggregation_node, router or gateway", special,
     [](const Target& t, Value type) {
       t.traits.special.resize(t.model.nodes_[t.node].num_ports + std::size_t{1});
       t.traits.special[t.at().number] = static_cast<std::uint8_t>(type);
     }},
    {"fec", Of::Port, "none, firecode, rs or low_latency_rs", fec_mode,
     [](const Target& t, Value mode) {
       SimNode& node = t.model.nodes_[t.node];
       t.traits.fec.resize(node.num_ports + std::size_t{1});
       t.traits.fec[t.at().number] = static_cast<std::uint16_t>(mode);
       // Of a switch port 0 has the capabilities of all.
       for (unsigned p = 0; p <= node.num_ports; ++p) {
         auto& info = t.model.ports_[node.first_port + p].info;
         info.capability_mask |= wire::port_cap::kCapabilityMask2;
         info.capability_mask2 |= wire::port_cap2::kPortInfoExtended;
       }
     }},
    {"runs_at", Of::Port, "a speed, such as QDR or EDR", speed,
     [](const Target& t, Value value) {
       if (t.at().peer == kNoPort || t.at().info.port_physical_state != wire::PhysState::LinkUp)
         return;
       for (SimPort* p : {&t.at(), &t.model.ports_[t.at().peer]})
         t.model.run_at(*p, static_cast<wire::LinkSpeed>(value));
     }},
    {"forgets_speeds", Of::Port, "0 or 1", number<0, 1>,
     [](const Target& t, Value on) {
       t.traits.forgets_speeds.resize(t.model.nodes_[t.node].num_ports + std::size_t{1});
       t.traits.forgets_speeds[t.at().number] = on != 0;
     }},
    {"planes", Of::Ca, "1: all ports of a CA are planes of one", number<0, 1>,
     [](const Target& t, Value on) {
       const SimNode& node = t.model.nodes_[t.node];
       for (unsigned i = 1; i <= node.num_ports; ++i)
         t.model.ports_[node.first_port + i].guid =
             t.model.fabric_.port(t.node, on != 0 ? 1 : i).guid;
     }},
    {"vports", Of::CaPort, "virtual ports of a CA port, 0 to 1023", number<0, 1023>,
     [](const Target& t, Value count) {
       t.model.give_virtual_ports(t.port, static_cast<unsigned>(count));
     }},
    {"port_state_table", Of::Switch, "0 or 1", number<0, 1>,
     [](const Target& t, Value on) {
       auto& info = t.model.ports_[t.model.nodes_[t.node].first_port].info;
       constexpr std::uint16_t kBit = wire::port_cap2::kSwitchPortStateTable;
       info.capability_mask2 = static_cast<std::uint16_t>(on != 0 ? info.capability_mask2 | kBit
                                                                  : info.capability_mask2 & ~kBit);
       if (info.capability_mask2 != 0) info.capability_mask |= wire::port_cap::kCapabilityMask2;
     }},
    {"old_counters", Of::Node, "1: the PMA has no PortCountersExtended; 0", number<0, 1>,
     [](const Target& t, Value on) { t.traits.only_old_counters = on != 0; }},
    {"wide_errors", Of::Node, "1: the PMA has errors in PortCountersExtended, too; 0", number<0, 1>,
     [](const Target& t, Value on) { t.traits.wide_errors = on != 0; }},
    {"pma_at", Of::Node, "the LID that the PMA redirects to, 0 (it answers) to 49151",
     number<0, 0xBFFF>,
     [](const Target& t, Value lid) {
       t.traits.redirects_to = Lid{static_cast<std::uint16_t>(lid)};
     }},
    {"p_keys", Of::Node, "entries of each P_KeyTable, 1 to 65535", number<1, 65535>,
     [](const Target& t, Value keys) {
       SimNode& node = t.model.nodes_[t.node];
       node.partition_cap = static_cast<std::uint16_t>(keys);
       if (node.is_switch())
         node.sw->info.partition_enforcement_cap = static_cast<std::uint16_t>(keys);
     }},
    {"optimized_sl2vl", Of::Switch, "the mask OptimizedSLtoVLMappingProgramming, 0 to 3",
     number<0, 3>,
     [](const Target& t, Value mask) {
       t.model.nodes_[t.node].sw->info.optimized_sl_to_vl = static_cast<std::uint8_t>(mask);
     }},
    {"adaptive_routing", Of::Switch, "groups that a switch can have, 0 (it has none) to 4095",
     number<0, 4095>,
     [](const Target& t, Value groups) {
       t.model.nodes_[t.node].sw->adaptive =
           groups == 0 ? nullptr
                       : std::make_unique<AdaptiveState>(static_cast<std::uint16_t>(groups));
     }},
    {"refuse", Of::Node, kAttribute, attribute_or_none, add_attribute<&DeviceTraits::refused>},
    {"unsupported", Of::Node, kAttribute, attribute_or_none,
     add_attribute<&DeviceTraits::unsupported>},
    {"keep", Of::Node, kAttribute, attribute_or_none, add_attribute<&DeviceTraits::kept>},
    {"unanswered", Of::Node, kAttribute, attribute_or_none,
     add_attribute<&DeviceTraits::unanswered>},
    {"loses_every", Of::Node, "which SMP each time is lost, 0 (none) to 1000000",
     number<0, 1'000'000>,
     [](const Target& t, Value n) { t.traits.loses_every = static_cast<std::uint32_t>(n); }},
    {"traps_without_lid", Of::Node, "0 or 1", number<0, 1>,
     [](const Target& t, Value on) { t.traits.traps_without_lid = on != 0; }},
};

bool is_of_port(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &TraitRow::name);
  return row != std::end(kRows) && of_ports(row->of);
}

/// The row of a trait that `node`, or one port of it, can be given with this value.
Result<const TraitRow*> find_trait(const SimNode& node, std::optional<std::uint8_t> port,
                                   std::string_view name, std::string_view value) {
  const auto row = std::ranges::find(kRows, name, &TraitRow::name);
  if (row == std::end(kRows)) {
    std::string all;
    for (const TraitRow& known : kRows) all.append(all.empty() ? "" : ", ").append(known.name);
    return fail(ErrorKind::Usage,
                "unknown trait '" + printable(name) + "'; those that there are: " + all);
  }
  const auto wrong = [&](std::string_view expected, std::string_view got) {
    return fail(ErrorKind::Usage, std::string(name).append(": expected ").append(expected) +
                                      ", got " + std::string(got));
  };
  using wire::NodeType;
  constexpr std::string_view kSwitch = "a switch", kCa = "a channel adapter";
  const std::string_view is = node.type == NodeType::Switch           ? kSwitch
                              : node.type == NodeType::ChannelAdapter ? kCa
                                                                      : "a router";
  if ((row->of == Of::Switch || row->of == Of::SwitchPort) && is != kSwitch)
    return wrong(kSwitch, is);
  if ((row->of == Of::Ca || row->of == Of::CaPort) && is != kCa) return wrong(kCa, is);
  if (!row->parse(value)) return wrong(row->expected, "'" + printable(value) + "'");
  if (of_ports(row->of) && port && (*port > node.num_ports || (*port == 0 && !node.is_switch())))
    return fail(ErrorKind::NotFound, "no such port");
  if (row->of == Of::EndPort && node.is_switch() && port && *port != 0)
    return wrong("port 0 of a switch", "port " + std::to_string(*port));
  return row;
}

}  // namespace

SimNode::SimNode() = default;
SimNode::SimNode(SimNode&&) noexcept = default;
SimNode::~SimNode() = default;

bool DeviceTraits::loses(std::uint16_t attribute) {
  if (unanswered.contains(attribute)) return true;
  return loses_every != 0 && ++served % loses_every == 0;
}

void Model::Impl::apply_traits(NodeIndex n) {
  if (!nodes_[n].traits) return;
  DeviceTraits& traits = *nodes_[n].traits;
  for (const DeviceTraits::Given& given : traits.given) {
    const auto row = std::ranges::find(kRows, std::string_view(given.name), &TraitRow::name);
    row->apply({*this, n, nodes_[n].first_port + given.port, traits}, *row->parse(given.value));
  }
}

Result<void> Model::check_trait(NodeIndex node, std::optional<std::uint8_t> port,
                                std::string_view name, std::string_view value) const {
  if (node >= impl_->nodes_.size()) return fail(ErrorKind::NotFound, "no such node");
  const auto row = find_trait(impl_->nodes_[node], port, name, value);
  if (!row) return tl::unexpected(row.error());
  return {};
}

Result<void> Model::set_trait(Instant now, NodeIndex node, std::optional<std::uint8_t> port,
                              std::string_view name, std::string_view value) {
  if (auto checked = check_trait(node, port, name, value); !checked) return checked;
  const auto row = *find_trait(impl_->nodes_[node], port, name, value);
  const SimNode& at = impl_->nodes_[node];
  advance(now);
  impl_->forget_ways();
  auto& traits = impl_->nodes_[node].traits;
  if (!traits) traits = std::make_unique<DeviceTraits>();
  unsigned first = 0, last = 0;
  if (of_ports(row->of)) {
    first = port ? *port : at.is_switch() ? 0 : 1;
    last = port ? *port : row->of == Of::EndPort && at.is_switch() ? 0 : at.num_ports;
  }
  for (unsigned p = first; p <= last; ++p) {
    const auto number = static_cast<std::uint8_t>(p);
    // Attributes are added until there are to be none; of what has one value the last counts.
    const bool adds = row->parse == attribute_or_none && value != "none";
    std::erase_if(traits->given, [&](const DeviceTraits::Given& given) {
      return given.name == name && given.port == number && (!adds || given.value == value);
    });
    if (row->parse != attribute_or_none || adds)
      traits->given.push_back({std::string(name), std::string(value), number});
    row->apply({*impl_, node, at.first_port + number, *traits}, *row->parse(value));
  }
  return {};
}

std::vector<TraitText> Model::traits(NodeIndex node) const {
  std::vector<TraitText> all;
  if (node >= impl_->nodes_.size() || !impl_->nodes_[node].traits) return all;
  for (const DeviceTraits::Given& given : impl_->nodes_[node].traits->given)
    all.push_back({given.name, given.value,
                   is_of_port(given.name) ? std::optional(given.port) : std::nullopt});
  return all;
}

}  // namespace ib::sim
