// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/other_managers.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/mad/request.h"

namespace sm::core {

using ib::LogEvent;
using ib::LogLevel;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

std::vector<ib::mad::Request> OtherManagers::questions(const ib::discover::Observed& seen,
                                                       ib::mad::Cookie cookie_base) {
  std::vector<ib::mad::Request> out;
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    for (unsigned i = 0; i <= seen.fabric.node(n).num_ports; ++i) {
      const PortRef p{n, static_cast<std::uint8_t>(i)};
      const auto* port = seen.known_port(p);
      if (port == nullptr || p == seen.local_port) continue;
      if (seen.fabric.node(n).is_switch() && i != 0) break;
      if ((port->get<&ib::wire::PortInfo::capability_mask>() & ib::wire::port_cap::kIsSm) == 0)
        continue;
      const ib::mad::Cookie cookie = cookie_base + (static_cast<ib::mad::Cookie>(i) << 32) + n;
      out.push_back(ib::mad::smp_request(cookie, seen.nodes[n].info.node_guid.value ^ 0x5151,
                                         seen.nodes[n].route, ib::wire::Method::Get,
                                         ib::wire::attr::kSmInfo, 0));
    }
  }
  return out;
}

std::optional<LogEvent> OtherManagers::on_answer(const ib::wire::SmInfo& info) {
  const auto [it, fresh] = known_.emplace(info.guid, info);
  const bool news = fresh || it->second.sm_state != info.sm_state;
  it->second = info;
  if (!news) return std::nullopt;
  if (info.sm_state == ib::wire::SmState::Master)
    return LogEvent{
        LogLevel::Error, "sm",
        fmt::format("another master subnet manager is at port {} (priority {}); two masters on "
                    "one subnet undo each other's work, stop one of them",
                    to_string(info.guid), info.priority)};
  return LogEvent{LogLevel::Info, "sm",
                  fmt::format("another subnet manager is at port {} (priority {}, not master)",
                              to_string(info.guid), info.priority)};
}

std::string OtherManagers::master(const ib::fabric::Fabric& fabric) const {
  for (const auto& [guid, info] : known_) {
    if (info.sm_state != ib::wire::SmState::Master) continue;
    const auto port = fabric.find_port_guid(guid);
    if (!port) return fmt::format("{} (priority {})", to_string(guid), info.priority);
    return fmt::format("\"{}\" port {}, GUID {}, LID {}, priority {}",
                       ib::printable(fabric.node(port->node).description), port->port,
                       to_string(guid), fabric.port(*port).lid.value, info.priority);
  }
  return {};
}

std::vector<ib::wire::SmInfo> OtherManagers::known() const {
  std::vector<ib::wire::SmInfo> out;
  for (const auto& [guid, info] : known_) {
    out.push_back(info);
    out.back().sm_key = 0;
  }
  return out;
}

}  // namespace sm::core
