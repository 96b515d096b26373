// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/babbling_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdiag/fabric/labels.h"

namespace sm::core {
namespace {

using ib::fabric::PortRef;
using ib::wire::PhysState;
using ib::wire::PortInfo;
using ib::wire::PortState;
namespace trap = ib::wire::trap;

/// Whose link traps 129 to 131 are about: a switch names its port, and nobody else has another than
/// the one that spoke (IBA 14.2.5.1). None: there is no such port.
PortRef source_of(const ib::wire::Notice& notice, PortRef sender,
                  const ib::discover::Observed& seen) {
  constexpr std::size_t kPortNumber = 4;
  const auto& node = seen.fabric.node(sender.node);
  if (!node.is_switch()) return sender;
  const std::uint8_t port = notice.details[kPortNumber];
  return port >= 1 && port <= node.num_ports ? PortRef{sender.node, port} : PortRef{};
}

}  // namespace

void BabblingPorts::on_trap(ib::Instant now, const ib::wire::Notice& notice, const TrapClaim& claim,
                            const ib::discover::Observed& seen) {
  if (!notice.is_generic || notice.trap_number < trap::kLocalLinkIntegrity ||
      notice.trap_number > trap::kFlowControlWatchdog)
    return;
  if (claim.kind != TrapClaim::Kind::LinkState && claim.kind != TrapClaim::Kind::PortInfo) return;
  const PortRef source = source_of(notice, claim.sender, seen);
  if (!source) return;
  const Source key{seen.fabric.node(source.node).guid, source.port, notice.trap_number};
  if (!counts_.contains(key))
    std::erase_if(counts_, [&](const auto& entry) { return entry.second.is_over(now); });
  Count& count = counts_[key];
  if (count.is_over(now)) count = {};
  count.last = now;
  if (++count.traps < kFlood) return;
  counts_.erase(key);
  disable(source, notice.trap_number, seen);
}

void BabblingPorts::disable(PortRef source, std::uint16_t trap_number,
                            const ib::discover::Observed& seen) {
  const auto hops = [&](PortRef p) { return seen.nodes[p.node].route.hops.size(); };
  const PortRef peer = seen.fabric.port(source).peer;
  const std::string flood = fmt::format(
      "{} sent trap {} {} times", ib::fabric::port_name(seen.fabric, source), trap_number, kFlood);
  if (source == seen.local_port || peer == seen.local_port)
    return say(ib::LogLevel::Error, flood + ": it is the subnet manager's own link, and stays");
  const PortRef nearer = peer && hops(peer) < hops(source) ? peer : source;
  const auto guid = seen.fabric.node(nearer.node).guid;
  const bool under_way = std::ranges::any_of(orders_, [&](const auto& entry) {
    return entry.second.node == guid && entry.second.port == nearer.port;
  });
  if (under_way) return;
  ask({guid, nearer.port, false, false, ib::fabric::port_name(seen.fabric, nearer), flood}, seen);
}

void BabblingPorts::enable(PortRef at, const ib::discover::Observed& seen) {
  ask({seen.fabric.node(at.node).guid,
       at.port,
       true,
       false,
       ib::fabric::port_name(seen.fabric, at),
       {}},
      seen);
}

void BabblingPorts::ask(Order order, const ib::discover::Observed& seen, const std::byte* to_set) {
  const auto n = seen.fabric.find_node(order.node);
  if (!n)
    return say(ib::LogLevel::Error, order.name + " is not there any more: it is left as it is");
  order.is_set = to_set != nullptr;
  const ib::mad::Cookie cookie = owner_ | ++last_cookie_;
  auto& request = queue_.emplace_back(
      ib::mad::smp_request(cookie, order.node.value, seen.nodes[*n].route,
                           order.is_set ? ib::wire::Method::Set : ib::wire::Method::Get,
                           ib::wire::attr::kPortInfo, order.port));
  if (to_set != nullptr) std::copy_n(to_set, ib::wire::kSmpDataBytes, request.mad.data());
  orders_.emplace(cookie, std::move(order));
}

void BabblingPorts::on_completion(const ib::mad::Completion& completion,
                                  const ib::discover::Observed& seen) {
  auto node = orders_.extract(completion.cookie);
  if (node.empty()) return;
  Order order = std::move(node.mapped());
  const char* verb = order.enable ? "enabled" : "disabled";
  const std::string why = order.because.empty() ? "" : order.because + ": ";
  if (!completion.reply)
    return say(ib::LogLevel::Error, fmt::format("{}{} could not be {}: {}", why, order.name, verb,
                                                completion.reply.error().message));
  const auto& mad = completion.reply->mad;
  if (mad.status() != 0)
    return say(ib::LogLevel::Error, fmt::format("{}{} could not be {}: status 0x{:04x}", why,
                                                order.name, verb, mad.status()));
  if (order.is_set)
    return say(order.enable ? ib::LogLevel::Info : ib::LogLevel::Warning,
               order.enable ? order.name + " is enabled"
                            : fmt::format("{}{} is disabled until `ibsm ctl enable {}:{}`", why,
                                          order.name, to_string(order.node), order.port));
  const auto state = ib::wire::body<PortInfo>(mad).port_physical_state;
  if ((state == PhysState::Disabled) != order.enable)
    return say(ib::LogLevel::Info, fmt::format("{} is {} already", order.name, verb));
  std::array<std::byte, ib::wire::kSmpDataBytes> bytes;
  std::copy_n(mad.data(), bytes.size(), bytes.begin());
  ib::wire::View<PortInfo> view(bytes.data());
  view.set<&PortInfo::port_state>(PortState::Down);
  view.set<&PortInfo::port_physical_state>(order.enable ? PhysState::Polling : PhysState::Disabled);
  ask(std::move(order), seen, bytes.data());
}

void BabblingPorts::say(ib::LogLevel level, std::string message) {
  logs_.push_back({level, "trap", std::move(message)});
}

std::optional<ib::LogEvent> BabblingPorts::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
