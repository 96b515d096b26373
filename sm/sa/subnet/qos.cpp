// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/qos.h"

#include "sm/device/end_port_facts.h"
#include "sm/sa/subnet/policy.h"

namespace sm::sa {
Qos::Qos(std::shared_ptr<const policy::QosPolicy> rules, const Paths& paths,
         const Policy& partitions) {
  if (rules == nullptr || rules->is_empty()) return;
  rules_ = std::move(rules);
  unknown_ = rules_->rules_of({}, {});
  const Snapshot& snapshot = paths.snapshot();
  std::vector<std::uint16_t> of_all;
  std::unordered_map<ib::Guid, std::vector<std::uint16_t>> of_members;
  for (const Partition& partition : partitions.partitions) {
    if (partition.others != Membership::None) of_all.push_back(partition.base);
    for (const auto& [guid, membership] : partition.members)
      if (membership != Membership::None) of_members[guid].push_back(partition.base);
  }
  ports_.reserve(paths.end_ports().size());
  const auto keys_of = [&](ib::Guid guid) -> const std::vector<std::uint16_t>& {
    std::vector<std::uint16_t>& p_keys = of_members[guid];
    p_keys.insert(p_keys.end(), of_all.begin(), of_all.end());
    return p_keys;
  };
  for_each_virtual_port(snapshot.virtual_ports.get(), snapshot.fabric(),
                        [&](ib::fabric::PortRef at, const VirtualPort& vport) {
                          ports_.emplace(
                              vport.guid,
                              rules_->rules_of(virtual_port_facts(vport, snapshot.fabric(), at),
                                               keys_of(vport.guid)));
                        });
  for (const EndPort& port : paths.end_ports()) {
    const auto& p_keys = keys_of(port.guid);
    const bool is_sm = port.guid == snapshot.sm_port_guid;
    const auto facts = end_port_facts(snapshot.fabric(), port.port, is_sm);
    ports_.emplace(port.guid, rules_->rules_of(facts, p_keys));
  }
}

const policy::QosGrant* Qos::grant(const policy::QosRequest& request, const EndPort& from,
                                   const EndPort& to) const {
  if (rules_ == nullptr) return nullptr;
  const auto of = [&](const EndPort& port) -> const policy::QosPolicy::PortRules& {
    const auto known = ports_.find(port.guid);
    return known == ports_.end() ? unknown_ : known->second;
  };
  return rules_->match(request, of(from), of(to));
}

}  // namespace sm::sa
