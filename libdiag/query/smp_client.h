// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SMP client: one attribute of one node, by directed route or by LID, as a blocking call.
#pragma once

#include <variant>

#include "libdiag/mad/session.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::query {

using SmpTarget = std::variant<mad::DirectedRoute, Lid>;

class SmpClient {
 public:
  explicit SmpClient(mad::Session& session, std::uint64_t m_key = 0)
      : session_(session), m_key_(m_key) {}

  /// The answer, whose status is 0. Refused: it has another status, which the error carries.
  /// TimedOut: none came, after all attempts of the session.
  Result<mad::Packet> get(const SmpTarget& target, std::uint16_t attribute, std::uint32_t modifier);

  /// The values of get(), with its errors. `port`: 0 is the management port of a switch, and on a
  /// CA the port that the request comes in by.
  Result<wire::NodeInfo> node_info(const SmpTarget& target) {
    return value<wire::NodeInfo>(target, wire::attr::kNodeInfo, 0);
  }
  Result<wire::NodeDescription> node_description(const SmpTarget& target) {
    return value<wire::NodeDescription>(target, wire::attr::kNodeDescription, 0);
  }
  Result<wire::SwitchInfo> switch_info(const SmpTarget& target) {
    return value<wire::SwitchInfo>(target, wire::attr::kSwitchInfo, 0);
  }
  Result<wire::PortInfo> port_info(const SmpTarget& target, std::uint8_t port) {
    return value<wire::PortInfo>(target, wire::attr::kPortInfo, port);
  }

 private:
  template <class T>
  Result<T> value(const SmpTarget& target, std::uint16_t attribute, std::uint32_t modifier) {
    auto answer = get(target, attribute, modifier);
    if (!answer) return tl::unexpected(answer.error());
    return wire::body<T>(answer->mad);
  }

  mad::Session& session_;
  std::uint64_t m_key_;
};

}  // namespace ib::query
