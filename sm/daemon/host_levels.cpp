// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/host_levels.h"

#include <fmt/format.h>

#include "libdiag/fabric/labels.h"

namespace sm::daemon {
namespace {

using ib::Sl;

constexpr std::uint8_t kSls = 16;

std::uint16_t bit(Sl sl) { return static_cast<std::uint16_t>(1U << sl.value); }

/// The SLs, a bit each, that packets of a level have, by the pair of hosts.
std::uint16_t sls_of(Sl level, const Routing* routing) {
  if (routing == nullptr || routing->virtual_lanes.levels.empty()) return bit(level);
  std::uint16_t sls = 0;
  for (std::uint8_t routed = 0; routed < kSls; ++routed)
    if (const auto sl = routing->virtual_lanes.levels.at(level, Sl{routed}))
      sls = static_cast<std::uint16_t>(sls | bit(*sl));
  return sls;
}

std::string hosts_that_drop(std::uint16_t sls, const Snapshot& subnet) {
  std::string first;
  std::size_t more = 0;
  for (const auto& [port, dropped] : subnet.dropped_by_hosts) {
    if ((dropped & sls) == 0) continue;
    if (first.empty())
      first = ib::fabric::port_name(subnet.fabric(), port);
    else
      ++more;
  }
  if (first.empty()) return {};
  return fmt::format("{}{}, by the SLtoVLMappingTable that is kept there", first,
                     more == 0   ? std::string()
                     : more == 1 ? " and 1 other port"
                                 : fmt::format(" and {} other ports", more));
}

}  // namespace

std::vector<policy::DroppedLevel> levels_dropped_by_hosts(const policy::QosPolicy* rules,
                                                          const Snapshot& subnet) {
  if (subnet.dropped_by_hosts.empty()) return {};
  const Routing* routing = subnet.routing.get();
  const auto where = [&](Sl level) { return hosts_that_drop(sls_of(level, routing), subnet); };
  auto levels = policy::dropped_levels(rules, subnet.partitions->partitions, where);
  if (rules != nullptr) return levels;
  const bool one_sl = routing != nullptr && routing->virtual_lanes.sls.uniform();
  const Sl sl = one_sl ? routing->virtual_lanes.sls.at(0, 0) : Sl{0};
  if (std::string hosts = where(sl); !hosts.empty())
    levels.push_back({"paths without a level of service", sl, std::move(hosts)});
  return levels;
}

std::string line_of(const policy::DroppedLevel& by_hosts) {
  return fmt::format("{}: SL {} is dropped at {}, and requests for such paths get no record",
                     by_hosts.rule, by_hosts.sl.value, by_hosts.where);
}

}  // namespace sm::daemon
