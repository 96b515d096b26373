// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/qos.h"

#include "sm/sa/policy.h"

namespace sm::sa {
namespace {

policy::EndPortKind kind_of(ib::wire::NodeType type) {
  switch (type) {
    case ib::wire::NodeType::Switch:
      return policy::EndPortKind::Switch;
    case ib::wire::NodeType::Router:
      return policy::EndPortKind::Router;
    default:
      return policy::EndPortKind::Ca;
  }
}

}  // namespace

Qos::Qos(std::shared_ptr<const policy::QosPolicy> rules, const Paths& paths,
         const Policy& partitions) {
  if (rules == nullptr || rules->is_empty()) return;
  rules_ = std::move(rules);
  unknown_ = rules_->rules_of({}, {});
  const Snapshot& snapshot = paths.snapshot();
  ports_.reserve(paths.end_ports().size());
  std::vector<std::uint16_t> p_keys;
  for (const EndPort& port : paths.end_ports()) {
    const auto& node = snapshot.fabric().node(port.port.node);
    policy::EndPortFacts facts;
    facts.guid = port.guid;
    facts.kind = kind_of(node.type);
    facts.node_description = node.description;
    facts.port = port.port.port;
    facts.is_sm = port.guid == snapshot.sm_port_guid;
    p_keys.clear();
    for (const Partition& partition : partitions.partitions)
      if (partition.of(port) != Standing::None) p_keys.push_back(partition.base);
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
