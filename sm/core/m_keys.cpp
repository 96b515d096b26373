// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/m_keys.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::SmpHeader;

/// Where a directed route ends: port 0 of a switch, else the port it comes in by.
std::optional<PortRef> end_of_route(const ib::wire::Mad& mad, const Observed& seen) {
  PortRef at = seen.local_port;
  const std::size_t hops = std::min<std::size_t>(mad.get<&SmpHeader::hop_count>(), 63);
  const auto path = mad.get<&SmpHeader::initial_path>();
  for (std::size_t i = 1; i <= hops; ++i) {
    const std::uint8_t out = path[i];
    if (out == 0 || out > seen.fabric.node(at.node).num_ports) return std::nullopt;
    const PortRef next = seen.fabric.port({at.node, out}).peer;
    if (!next) return std::nullopt;
    at = next;
  }
  if (seen.fabric.node(at.node).is_switch()) at.port = 0;
  return at;
}

/// A key that some port had, not the one of the options.
std::optional<std::uint64_t> another_of(const MKeyOptions& options) {
  const auto other = std::ranges::find_if(
      options.of_ports, [&](const auto& port) { return port.second != options.key; });
  if (other == options.of_ports.end()) return std::nullopt;
  return other->second;
}

}  // namespace

std::uint64_t MKeys::of(ib::Guid port_guid) const {
  // Of a port that is not known yet the other key is one that some port had.
  if (port_guid.value == 0 && doubted_.contains(port_guid)) {
    const auto other = another_of(options_);
    return other ? *other : options_.key;
  }
  const auto known = options_.of_ports.find(port_guid);
  if (known == options_.of_ports.end() || doubted_.contains(port_guid)) return options_.key;
  return known->second;
}

bool MKeys::try_other(ib::Guid port_guid) {
  const auto known = options_.of_ports.find(port_guid);
  const bool has_other = port_guid.value == 0
                             ? another_of(options_).has_value()
                             : known != options_.of_ports.end() && known->second != options_.key;
  if (!has_other) return false;
  if (!doubted_.insert(port_guid).second) doubted_.erase(port_guid);
  return true;
}

std::uint64_t MKeys::of_target(const ib::mad::Address& address, const ib::wire::Mad& mad,
                               const Observed& seen) const {
  if (options_.key == 0 && options_.of_ports.empty()) return 0;
  if (seen.nodes.empty()) return of(ib::Guid{});
  const auto at = mad.is_directed() ? end_of_route(mad, seen) : seen.fabric.find_lid(address.lid);
  if (!at) return options_.key;
  // What the port showed last counts before what it showed earlier: a Set may just have changed it.
  if (const auto* port = seen.known_port(*at))
    if (const auto key = port->get<&PortInfo::m_key>(); key != 0) return key;
  return of(seen.fabric.port(*at).guid);
}

void MKeys::stamp(ib::mad::Request& request, const Observed& seen) const {
  if (request.mad.get<&SmpHeader::m_key>() != 0) return;
  if (const auto key = of_target(request.address, request.mad, seen); key != 0)
    request.mad.set<&SmpHeader::m_key>(key);
}

void MKeys::learn(const Observed& seen) {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    const bool is_switch = seen.fabric.node(n).is_switch();
    const unsigned last = is_switch ? 0 : seen.fabric.node(n).num_ports;
    for (unsigned p = is_switch ? 0 : 1; p <= last; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto* port = seen.known_port(at);
      const ib::Guid guid = seen.fabric.port(at).guid;
      if (port == nullptr || guid.value == 0) continue;
      const auto key = port->get<&PortInfo::m_key>();
      if (key != 0) {
        if (std::exchange(options_.of_ports[guid], key) != key) ++revision_;
        doubted_.erase(guid);
      } else if (port->get<&PortInfo::m_key_protect_bits>() == 0) {
        revision_ += options_.of_ports.erase(guid);
        doubted_.erase(guid);
      } else {
        try_other(guid);
      }
    }
  }
}

}  // namespace sm::core
