// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/sl_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/base/text.h"
#include "libdiag/fabric/aggregation_node.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/fabric/makers.h"
#include "sm/device/end_port_facts.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

/// 20 bits of QosConfigSL.
constexpr std::uint32_t kRateMax = (1U << 20) - 1;

bool limits_rates(const device::Block& capabilities) {
  const auto info = ib::wire::decode<ib::wire::MlnxGeneralInfo>(capabilities.data());
  return (info.capability_mask[0] & ib::wire::mlnx_cap::kSlRateLimit) != 0;
}

device::Block block_of(const ib::wire::MlnxQosConfigSl& limits) {
  device::Block block{};
  ib::wire::encode(limits, block.data());
  return block;
}

/// Devices of one kind that cannot limit.
struct Unable {
  std::string first;
  std::size_t count{0};
};

}  // namespace

ib::wire::MlnxQosConfigSl rate_limits_of(const policy::EndPortFacts& port,
                                         const policy::RatePolicy& policy) {
  const policy::SlRates& rates = policy.rates_of(port);
  ib::wire::MlnxQosConfigSl config;
  for (std::size_t sl = 0; sl < rates.size(); ++sl) config.sl[sl] = std::min(rates[sl], kRateMax);
  return config;
}

SlRatePlan plan_sl_rates(const ib::discover::Observed& observed, const std::vector<bool>& managed,
                         PortRef sm_port, const policy::RatePolicy& policy,
                         const device::Inventory& held, const std::set<ib::Guid>& refused) {
  SlRatePlan plan;
  const auto& fabric = observed.fabric;
  const auto built_in = ib::discover::special_nodes(observed);
  std::map<std::pair<std::uint32_t, std::uint16_t>, Unable> unable;
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    const auto& node = fabric.node(n);
    if (!managed[n] || node.type != ib::wire::NodeType::ChannelAdapter ||
        ib::fabric::is_aggregation_node(node) || std::ranges::binary_search(built_in, node.guid))
      continue;
    const device::Block* capabilities = held.held(device::kGeneralInfo, node.guid, {});
    if (capabilities == nullptr && !refused.contains(node.guid)) {
      plan.to_read.push_back({n, &device::kGeneralInfo, {}, {}});
      continue;
    }
    bool is_limited = false;
    const bool can = capabilities != nullptr && limits_rates(*capabilities);
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const PortRef port{n, static_cast<std::uint8_t>(p)};
      if (observed.known_port(port) == nullptr || !fabric.port(port).peer) continue;
      const auto limits = rate_limits_of(end_port_facts(fabric, port, port == sm_port), policy);
      is_limited = is_limited || limits != ib::wire::MlnxQosConfigSl{};
      if (can)
        plan.blocks.push_back({n, &device::kQosConfigSl, {port.port, 0, 0}, block_of(limits)});
    }
    if (can || !is_limited) continue;
    Unable& kind = unable[{node.vendor_id, node.device_id}];
    if (kind.count++ == 0) kind.first = ib::fabric::node_label(node);
  }
  for (const auto& [kind, devices] : unable)
    plan.alarms.push_back(
        fmt::format("rate limits of SLs: {} of {} cannot limit: {}{}",
                    devices.count == 1 ? "1 node" : fmt::format("{} nodes", devices.count),
                    ib::fabric::device_label(kind.first, kind.second), devices.first,
                    devices.count == 1 ? "" : " and others"));
  return plan;
}

}  // namespace sm::plan
