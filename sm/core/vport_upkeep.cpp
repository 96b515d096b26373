// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/vport_upkeep.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/fabric/labels.h"
#include "libdiag/mad/describe.h"
#include "sm/device/tables/kinds.h"

namespace sm::core {
namespace {

using ib::Guid;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::PortInfo;
using ib::wire::PortState;
namespace attr = ib::wire::attr;

/// The port itself.
constexpr std::uint16_t kOwnIndex = 0;
constexpr std::size_t kSaidMax = 1000;

std::string label(const ib::fabric::Fabric& fabric, PortRef at, std::uint32_t index) {
  return fmt::format("virtual port {} of {}", index, ib::fabric::port_label(fabric, at));
}

}  // namespace

// ---- what calls for a visit

void VPortUpkeep::set_options(const VPortOptions& options) {
  if (options.mode != options_.mode && known_) {
    known_.reset();
    held_.clear();
    news_ = true;
  }
  options_ = options;
}

void VPortUpkeep::retry() {
  due_.merge(std::exchange(failed_, {}));
  due_.merge(std::exchange(twins_, {}));
}

std::vector<ib::mad::Cookie> VPortUpkeep::on_sweep_begun() {
  std::vector<ib::mad::Cookie> left;
  left.reserve(asked_.size());
  for (const auto& [cookie, asked] : asked_) left.push_back(cookie);
  // Their visits begin again when it has ended.
  for (const auto& [guid, visit] : visits_) due_.insert(guid);
  asked_.clear();
  visits_.clear();
  queue_.clear();
  return left;
}

void VPortUpkeep::call_for_ports(const VPortSubnet& subnet, bool all,
                                 const std::vector<PortRef>& restarted) {
  const auto& fabric = subnet.seen.fabric;
  swept_ = true;
  std::erase_if(due_, [&](Guid guid) { return !fabric.find_port_guid(guid); });
  std::erase_if(failed_, [&](Guid guid) { return !fabric.find_port_guid(guid); });
  if (known_) {
    std::vector<Guid> gone;
    for (const auto& [guid, of_port] : *known_)
      if (!fabric.find_port_guid(guid)) gone.push_back(guid);
    for (const Guid guid : gone) publish(guid, std::nullopt);
  }
  if (options_.mode == VPortOptions::Mode::Leave) return;
  retry();
  for (const PortRef at : restarted) due_.insert(fabric.port(at).guid);
  for (const ib::route::LidAssignment& a : subnet.desired.lids) {
    if (fabric.node(a.port.node).type != ib::wire::NodeType::ChannelAdapter) continue;
    const auto& port = subnet.seen.port(a.port);
    if (!has_virtual_ports(port)) continue;
    if (all || !known_ || !known_->contains(a.guid)) due_.insert(a.guid);
  }
}

void VPortUpkeep::on_trap(const ib::wire::VPortTrap& trap, ib::Lid from,
                          const ib::discover::Observed& seen) {
  if (options_.mode == VPortOptions::Mode::Leave || trap.lid != from) return;
  const auto at = seen.fabric.find_lid(from);
  // A port speaks of its own.
  if (!at || !has_virtual_ports(seen.port(*at))) return;
  const Guid guid = seen.fabric.port(*at).guid;
  due_.insert(guid);
  if (trap.number == ib::wire::trap::kVPortDataChange) changed_[guid].insert(trap.index);
}

// ---- visits

std::vector<ib::mad::Request> VPortUpkeep::take_requests(const VPortSubnet& subnet) {
  if (!due_.empty()) begin_visits(subnet);
  return std::exchange(queue_, {});
}

void VPortUpkeep::begin_visits(const VPortSubnet& subnet) {
  for (auto it = due_.begin(); it != due_.end();) {
    if (options_.ports_max != 0 && visits_.size() >= options_.ports_max) return;
    const Guid guid = *it;
    if (visits_.contains(guid)) {  // that goes by what was there before
      ++it;
      continue;
    }
    it = due_.erase(it);
    const auto at = subnet.seen.fabric.find_port_guid(guid);
    if (!at || subnet.seen.fabric.node(at->node).is_switch()) continue;
    // One that is not up has none that are.
    if (subnet.seen.port(*at).state() != PortState::Active) {
      failed_.insert(guid);
      continue;
    }
    const auto visit = visits_.emplace(guid, Visit{}).first;
    visit->second.at = *at;
    ask(guid, visit->second, subnet, Method::Get, attr::kVirtualizationInfo, 0);
    if (visit->second.under_way == 0) visits_.erase(visit);  // no way leads there
  }
}

void VPortUpkeep::ask(Guid port, Visit& visit, const VPortSubnet& subnet, Method method,
                      std::uint16_t attribute, std::uint32_t modifier, const Data* data) {
  // By the port itself: a CA answers for the one that the SMP comes in by.
  const auto route =
      device::route_to(subnet.seen, visit.at.node, device::kPKeyTable, {visit.at.port, 0, 0});
  if (!route) return;
  const ib::mad::Cookie cookie = owner_ | ++last_cookie_;
  auto& request = queue_.emplace_back(
      ib::mad::smp_request(cookie, subnet.seen.nodes[visit.at.node].info.node_guid.value, *route,
                           method, attribute, modifier));
  if (data != nullptr) std::copy(data->begin(), data->end(), request.mad.data());
  asked_.emplace(cookie, Ask{port, method, attribute, modifier});
  ++visit.under_way;
}

void VPortUpkeep::on_completion(const ib::mad::Completion& completion, const VPortSubnet& subnet) {
  const auto asked = asked_.extract(completion.cookie);
  if (asked.empty()) return;
  const auto at = visits_.find(asked.mapped().port);
  if (at == visits_.end()) return;
  Visit& visit = at->second;
  --visit.under_way;
  if (!completion.reply) {
    visit.failed = true;
  } else if (const std::uint16_t status = completion.reply->mad.status(); status != 0) {
    on_refusal(asked.mapped(), visit, status, subnet);
  } else {
    on_answer(asked.mapped(), visit, completion.reply->mad, subnet);
  }
  if (visit.under_way == 0) advance(at, subnet);
}

/// Steps that have nothing to ask are over at once.
void VPortUpkeep::advance(Visits::iterator at, const VPortSubnet& subnet) {
  using Begin = void (VPortUpkeep::*)(Guid, Visit&, const VPortSubnet&);
  static constexpr Begin kBegin[] = {
      nullptr,
      &VPortUpkeep::begin_enable,
      &VPortUpkeep::begin_states,
      &VPortUpkeep::begin_details,
      &VPortUpkeep::begin_keys,
      &VPortUpkeep::begin_set_keys,
      &VPortUpkeep::begin_rates,
      &VPortUpkeep::begin_set_rates,
      &VPortUpkeep::begin_activate,
  };
  Visit& visit = at->second;
  while (visit.under_way == 0) {
    if (visit.failed) visit.step = Step::Activate;  // what is known is told, and it is asked again
    visit.step = static_cast<Step>(static_cast<std::uint8_t>(visit.step) + 1);
    if (visit.step == Step::Done) return end(at);
    const Begin begin = kBegin[static_cast<std::size_t>(visit.step)];
    (this->*begin)(at->first, visit, subnet);
  }
}

void VPortUpkeep::end(Visits::iterator at) {
  const Guid guid = at->first;
  Visit& visit = at->second;
  if (visit.failed) {
    failed_.insert(guid);
  } else {
    changed_.erase(guid);
    // Whose GUID another one had may have it for itself now.
    if (publish(guid, std::move(visit.found))) due_.merge(std::exchange(twins_, {}));
  }
  visits_.erase(at);
}

bool VPortUpkeep::publish(Guid port, std::optional<PortVirtualization> found) {
  const auto* before = known_ && known_->contains(port) ? &known_->at(port) : nullptr;
  if (found ? before != nullptr && *before == *found : before == nullptr) return false;
  auto next = known_ ? std::make_shared<VirtualPorts>(*known_) : std::make_shared<VirtualPorts>();
  if (found) {
    (*next)[port] = *std::move(found);
  } else {
    next->erase(port);
    changed_.erase(port);
    std::erase_if(held_, [&](const auto& entry) { return entry.first.first == port; });
  }
  known_ = std::move(next);
  news_ = true;
  return true;
}

bool VPortUpkeep::take_news() {
  if (!at_rest()) return false;
  if (swept_ && !std::exchange(looked_, true) && options_.mode == VPortOptions::Mode::Enable)
    news_ = true;
  return std::exchange(news_, false);
}

// ---- steps

void VPortUpkeep::begin_enable(Guid port, Visit& visit, const VPortSubnet& subnet) {
  const bool wanted = options_.mode == VPortOptions::Mode::Enable;
  const bool asks = subnet.desired.ports[subnet.seen.port_index(visit.at)].reregister;
  const bool is_new = !known_ || !known_->contains(port);
  if (visit.found.enabled == wanted && !(wanted && asks && is_new)) return;
  Data data = visit.info;
  ib::wire::View<ib::wire::VirtualizationInfo> view(data.data());
  view.set<&ib::wire::VirtualizationInfo::enable>(wanted);
  // Whom the sweep asked to register again: so are those behind its virtual ports.
  view.set<&ib::wire::VirtualizationInfo::client_reregister>(wanted && asks);
  ask(port, visit, subnet, Method::Set, attr::kVirtualizationInfo, 0, &data);
}

void VPortUpkeep::begin_states(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (!visit.found.enabled) return;
  for (std::uint32_t block = 0; block <= visit.found.top_index / ib::wire::kVPortsInBlock; ++block)
    ask(port, visit, subnet, Method::Get, attr::kVPortState, block);
}

void VPortUpkeep::begin_details(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (!visit.found.enabled) return;
  // The port itself waits for the subnet manager, too, once it has virtual ports.
  const auto waits = [](PortState state) {
    return state == PortState::Initialize || state == PortState::Armed;
  };
  if (visit.own_state && waits(*visit.own_state))
    ask(port, visit, subnet, Method::Get, attr::kVPortInfo, kOwnIndex);
  const auto changed = changed_.find(port);
  for (VirtualPort& vport : visit.found.ports) {
    if (vport.state < PortState::Initialize) continue;
    const VirtualPort* before = known_of(port, vport.index);
    const bool same = before != nullptr && before->state == vport.state &&
                      vport.state == PortState::Active &&
                      (changed == changed_.end() || !changed->second.contains(vport.index));
    if (same) continue;
    if (waits(vport.state)) held_.erase({port, vport.index});
    ask(port, visit, subnet, Method::Get, attr::kVPortInfo, vport.index);
    ask(port, visit, subnet, Method::Get, attr::kVNodeInfo, vport.index);
  }
}

void VPortUpkeep::begin_keys(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (!subnet.desired.partitions->from_file) return;
  for (const VirtualPort& vport : visit.found.ports) {
    if (vport.state < PortState::Initialize || vport.guid == Guid{}) continue;
    Held& held = held_[{port, vport.index}];
    held.p_keys.resize(vport.partition_cap, ib::PKey{0});
    const unsigned blocks = device::blocks_for(vport.partition_cap, device::kPKeysInBlock);
    for (unsigned b = 0; b < blocks; ++b)
      if (const auto block = static_cast<std::uint16_t>(b); !held.blocks.contains(block))
        ask(port, visit, subnet, Method::Get, attr::kVPortPKeyTable,
            ib::wire::vport_block(vport.index, block));
  }
}

void VPortUpkeep::begin_set_keys(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (!subnet.desired.partitions->from_file) return;
  for (const VirtualPort& vport : visit.found.ports) {
    const auto at = held_.find({port, vport.index});
    if (vport.state < PortState::Initialize || vport.guid == Guid{} || at == held_.end()) continue;
    const Held& held = at->second;
    const unsigned blocks = device::blocks_for(vport.partition_cap, device::kPKeysInBlock);
    if (held.blocks.size() < blocks) continue;
    const auto& fabric = subnet.seen.fabric;
    // Every table has a key from the beginning (IBA 10.9.2). One without may be no table of P_Keys:
    // the order of index and block in the modifier is in no public source.
    if (std::ranges::all_of(held.p_keys, [](ib::PKey key) { return key.base() == 0; })) {
      say_once(ib::LogLevel::Warning,
               label(fabric, visit.at, vport.index) +
                   " shows a P_KeyTable without any key: it is left as it is");
      continue;
    }
    const auto facts = virtual_port_facts(vport, fabric, visit.at);
    const auto wanted = subnet.desired.partitions->keys_of({&facts, 1}).front();
    const auto placed = plan::place_keys(wanted, held.p_keys, subnet.keeps_p_key_indexes);
    if (!placed.left_out.empty())
      say_once(ib::LogLevel::Warning,
               fmt::format("{}: its table holds {} P_Keys, and {} more did not fit",
                           label(fabric, visit.at, vport.index), held.p_keys.size(),
                           placed.left_out.size()));
    for (unsigned b = 0; b < blocks; ++b) {
      ib::wire::PKeyTable table, now;
      const std::size_t first = std::size_t{b} * device::kPKeysInBlock;
      for (std::size_t i = first; i < std::min(held.p_keys.size(), first + device::kPKeysInBlock);
           ++i) {
        table.p_keys[i - first] = placed.table[i];
        now.p_keys[i - first] = held.p_keys[i];
      }
      if (table == now) continue;
      Data data{};
      ib::wire::encode(table, data.data());
      ask(port, visit, subnet, Method::Set, attr::kVPortPKeyTable,
          ib::wire::vport_block(vport.index, static_cast<std::uint16_t>(b)), &data);
    }
  }
}

bool VPortUpkeep::may_limit(const Visit& visit, const VPortSubnet& subnet) const {
  const Guid node = subnet.seen.fabric.node(visit.at.node).guid;
  const device::Block* capabilities = subnet.held.held(device::kGeneralInfo, node, {});
  if (capabilities == nullptr) return false;
  const auto info = ib::wire::decode<ib::wire::MlnxGeneralInfo>(capabilities->data());
  return (info.capability_mask[0] & ib::wire::mlnx_cap::kVPortSlRateLimit) != 0;
}

void VPortUpkeep::begin_rates(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (subnet.rates == nullptr || !may_limit(visit, subnet)) return;
  for (const VirtualPort& vport : visit.found.ports)
    if (vport.state >= PortState::Initialize && vport.guid != Guid{} &&
        !held_[{port, vport.index}].rates)
      ask(port, visit, subnet, Method::Get, attr::kMlnxQosConfigSl,
          ib::wire::kQosConfigSlOfVPort | vport.index);
}

void VPortUpkeep::begin_set_rates(Guid port, Visit& visit, const VPortSubnet& subnet) {
  if (subnet.rates == nullptr) return;
  const auto& fabric = subnet.seen.fabric;
  const bool can = may_limit(visit, subnet);
  for (const VirtualPort& vport : visit.found.ports) {
    if (vport.state < PortState::Initialize || vport.guid == Guid{}) continue;
    const auto wanted =
        plan::rate_limits_of(virtual_port_facts(vport, fabric, visit.at), *subnet.rates);
    if (!can) {
      if (wanted != ib::wire::MlnxQosConfigSl{})
        say_once(ib::LogLevel::Warning,
                 fmt::format("rate limits of SLs: virtual ports of {} cannot be limited",
                             ib::fabric::port_label(fabric, visit.at)));
      continue;
    }
    const auto at = held_.find({port, vport.index});
    if (at == held_.end() || !at->second.rates) continue;
    Data data = *at->second.rates;
    const auto before = ib::wire::decode<ib::wire::MlnxQosConfigSl>(data.data());
    if (before == wanted) continue;
    ib::wire::encode(wanted, data.data());
    ask(port, visit, subnet, Method::Set, attr::kMlnxQosConfigSl,
        ib::wire::kQosConfigSlOfVPort | vport.index, &data);
  }
}

void VPortUpkeep::begin_activate(Guid port, Visit& visit, const VPortSubnet& subnet) {
  for (const auto& [index, info] : visit.vport_info) {
    const VirtualPort* vport = index == kOwnIndex ? nullptr : find(visit.found, index);
    const PortState state =
        vport != nullptr ? vport->state : visit.own_state.value_or(PortState::Active);
    if (state != PortState::Initialize && state != PortState::Armed) continue;
    if (vport != nullptr && (vport->guid == Guid{} || vport->lid_required)) continue;
    if (vport != nullptr && has_twin(vport->guid, port, index, subnet)) {
      say_once(ib::LogLevel::Warning,
               fmt::format("{} has the GUID {} of another port: it is left as it is",
                           label(subnet.seen.fabric, visit.at, index), to_string(vport->guid)));
      twins_.insert(port);
      continue;
    }
    Data data = info;
    ib::wire::View<ib::wire::VPortInfo> view(data.data());
    view.set<&ib::wire::VPortInfo::state>(PortState::Active);
    view.set<&ib::wire::VPortInfo::client_reregister>(false);
    ask(port, visit, subnet, Method::Set, attr::kVPortInfo, index, &data);
  }
}

// ---- answers

void VPortUpkeep::on_answer(const Ask& asked, Visit& visit, const ib::wire::Mad& mad,
                            const VPortSubnet& subnet) {
  switch (asked.attribute) {
    case attr::kVirtualizationInfo: {
      const auto info = ib::wire::body<ib::wire::VirtualizationInfo>(mad);
      std::copy_n(mad.data(), visit.info.size(), visit.info.begin());
      visit.found.enabled = info.enable;
      visit.found.top_index = info.enable ? info.vport_index_top : std::uint16_t{0};
      const bool wanted = options_.mode == VPortOptions::Mode::Enable;
      if (asked.method == Method::Set && info.enable != wanted)
        say_once(ib::LogLevel::Warning,
                 fmt::format("{} answers a Set of VirtualizationInfo and leaves virtualization {}",
                             ib::fabric::port_label(subnet.seen.fabric, visit.at),
                             info.enable ? "enabled" : "disabled"));
      return;
    }
    case attr::kVPortState:
      return on_states(asked, visit, mad);
    case attr::kVPortInfo:
      return on_vport_info(asked, visit, mad, subnet);
    case attr::kVNodeInfo: {
      const auto info = ib::wire::body<ib::wire::VNodeInfo>(mad);
      if (auto* vport = find(visit.found, static_cast<std::uint16_t>(asked.modifier))) {
        vport->node_guid = info.node_guid;
        vport->partition_cap = info.partition_cap;
      }
      return;
    }
    case attr::kVPortPKeyTable:
      return on_keys(asked, visit, mad);
    case attr::kMlnxQosConfigSl: {
      const auto index =
          static_cast<std::uint16_t>(asked.modifier & ~ib::wire::kQosConfigSlOfVPort);
      Data& data = held_[{asked.port, index}].rates.emplace();
      std::copy_n(mad.data(), data.size(), data.begin());
      return;
    }
    default:
      return;
  }
}

/// Those that are up, and of those that are not what is known from before.
void VPortUpkeep::on_states(const Ask& asked, Visit& visit, const ib::wire::Mad& mad) {
  const auto states = ib::wire::body<ib::wire::VPortStates>(mad);
  const std::uint32_t first = asked.modifier * ib::wire::kVPortsInBlock;
  for (std::uint32_t i = 0; i < ib::wire::kVPortsInBlock; ++i) {
    const std::uint32_t index = first + i;
    if (index > visit.found.top_index) break;
    const auto state = static_cast<PortState>(states.state[i]);
    if (index == kOwnIndex) {
      visit.own_state = state;
      continue;
    }
    const auto* before = known_of(asked.port, static_cast<std::uint16_t>(index));
    if (state < PortState::Initialize && before == nullptr) continue;
    VirtualPort vport = before != nullptr ? *before : VirtualPort{};
    vport.index = static_cast<std::uint16_t>(index);
    vport.state = state < PortState::Initialize ? PortState::Down : state;
    const auto place =
        std::ranges::lower_bound(visit.found.ports, vport.index, {}, &VirtualPort::index);
    visit.found.ports.insert(place, vport);
  }
}

void VPortUpkeep::on_vport_info(const Ask& asked, Visit& visit, const ib::wire::Mad& mad,
                                const VPortSubnet& subnet) {
  const auto index = static_cast<std::uint16_t>(asked.modifier);
  const auto info = ib::wire::body<ib::wire::VPortInfo>(mad);
  std::copy_n(mad.data(), ib::wire::kSmpDataBytes, visit.vport_info[index].begin());
  if (asked.method == Method::Set && info.state != PortState::Active)
    say_once(ib::LogLevel::Warning, fmt::format("{} answers a Set to Active and stays {}",
                                                label(subnet.seen.fabric, visit.at, index),
                                                static_cast<unsigned>(info.state)));
  VirtualPort* vport = find(visit.found, index);
  if (vport == nullptr) return;
  vport->state = info.state;
  vport->guid = info.port_guid;
  vport->lid_required = info.lid_required;
  if (vport->lid_required)
    say_once(ib::LogLevel::Warning,
             label(subnet.seen.fabric, visit.at, index) +
                 " requires a LID of its own, which virtual ports are not given: it is left as it "
                 "is");
}

void VPortUpkeep::on_keys(const Ask& asked, Visit& visit, const ib::wire::Mad& mad) {
  const auto index = static_cast<std::uint16_t>(asked.modifier >> 16);
  const auto block = static_cast<std::uint16_t>(asked.modifier & 0xFFFF);
  if (find(visit.found, index) == nullptr) return;
  Held& held = held_[{asked.port, index}];
  const auto table = ib::wire::body<ib::wire::PKeyTable>(mad);
  const std::size_t first = std::size_t{block} * device::kPKeysInBlock;
  for (std::size_t i = 0; i < device::kPKeysInBlock && first + i < held.p_keys.size(); ++i)
    held.p_keys[first + i] = table.p_keys[i];
  held.blocks.insert(block);
}

/// Of one virtual port it keeps nobody else from coming up.
void VPortUpkeep::on_refusal(const Ask& asked, Visit& visit, std::uint16_t status,
                             const VPortSubnet& subnet) {
  say_once(
      ib::LogLevel::Warning,
      fmt::format("{}({}) to {} with modifier 0x{:x}: status 0x{:04x}",
                  asked.method == Method::Set ? "Set" : "Get",
                  ib::mad::attribute_name(ib::wire::MgmtClass::SubnLid, asked.attribute),
                  ib::fabric::port_label(subnet.seen.fabric, visit.at), asked.modifier, status));
  if (asked.attribute == attr::kVirtualizationInfo && asked.method == Method::Get)
    visit.step = Step::Activate;  // there is nothing more to ask
  // What it is to hold it may not: asked once more at the next visit.
  if (asked.method == Method::Set && asked.attribute == attr::kVPortPKeyTable)
    held_.erase({asked.port, static_cast<std::uint16_t>(asked.modifier >> 16)});
}

VirtualPort* VPortUpkeep::find(PortVirtualization& of_port, std::uint16_t index) {
  const auto at = std::ranges::lower_bound(of_port.ports, index, {}, &VirtualPort::index);
  return at != of_port.ports.end() && at->index == index ? &*at : nullptr;
}

const VirtualPort* VPortUpkeep::known_of(Guid port, std::uint16_t index) const {
  if (!known_) return nullptr;
  const auto of_port = known_->find(port);
  if (of_port == known_->end()) return nullptr;
  const auto& ports = of_port->second.ports;
  const auto at = std::ranges::lower_bound(ports, index, {}, &VirtualPort::index);
  return at != ports.end() && at->index == index ? &*at : nullptr;
}

bool VPortUpkeep::has_twin(Guid guid, Guid port, std::uint16_t index,
                           const VPortSubnet& subnet) const {
  if (subnet.seen.fabric.find_port_guid(guid)) return true;
  const auto has = [&](Guid of, const PortVirtualization& all) {
    return std::ranges::any_of(all.ports, [&](const VirtualPort& other) {
      return other.guid == guid && other.state >= PortState::Initialize &&
             (of != port || other.index < index);
    });
  };
  for (const auto& [of, visit] : visits_)
    if (has(of, visit.found) && of <= port) return true;
  return known_ && std::ranges::any_of(*known_, [&](const auto& entry) {
           return entry.first != port && !visits_.contains(entry.first) &&
                  has(entry.first, entry.second);
         });
}

void VPortUpkeep::say_once(ib::LogLevel level, const std::string& message) {
  if (said_.size() >= kSaidMax || !said_.insert(message).second) return;
  logs_.push_back({level, "vports", message});
}

std::optional<ib::LogEvent> VPortUpkeep::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
