// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One umad port and its agents, by class.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "libdiag/mad/umad/umad_port.h"

namespace sm::daemon {

struct Channel {
  std::unique_ptr<ib::mad::UmadPort> port;
  std::map<ib::wire::MgmtClass, ib::mad::AgentId> agents;
  std::vector<ib::mad::AgentId> reporters;  // Reports go by these in turn; empty: as all else
  std::vector<ib::mad::Received> arrived;
  /// Sees every packet, '>' sent or '<' received; empty: nobody does.
  std::function<void(char direction, const ib::mad::Packet& packet)> watch;

  ib::Result<void> serve(const ib::mad::AgentSpec& spec) {
    auto agent = port->register_agent(spec);
    if (!agent) return tl::unexpected<ib::Error>(std::move(agent.error()));
    agents[spec.mgmt_class] = *agent;
    return {};
  }
  /// What has arrived, instead of what had.
  ib::Result<void> receive() {
    arrived.clear();
    auto got = port->receive(arrived, ib::Duration{0});
    if (watch)
      for (const auto& r : arrived)
        if (!r.timed_out) watch('<', r.packet);
    return got;
  }
  ib::Result<void> send(const ib::mad::Packet& packet, ib::Duration reply_within) {
    if (watch) watch('>', packet);
    if (!reporters.empty() && packet.mad.method() == ib::wire::Method::Report) {
      std::rotate(reporters.begin(), reporters.begin() + 1, reporters.end());
      return port->send(reporters.back(), packet, reply_within);
    }
    const auto agent = agents.find(packet.mad.mgmt_class());
    if (agent == agents.end())
      return ib::fail(ib::ErrorKind::Internal, "no agent for the class of a MAD to be sent");
    return port->send(agent->second, packet, reply_within);
  }
};

/// The port for SMPs: answers, traps, and requests from elsewhere.
ib::Result<Channel> open_smi(const ib::mad::PortChoice& choice);

struct SaChannel {
  Channel channel;
  bool kernel_rmpp{
      false};  // the kernel segments, and tables are capped: it is an old one, or ibsim
};
/// The port for subnet administration.
ib::Result<SaChannel> open_gsi(const ib::mad::PortChoice& choice);

}  // namespace sm::daemon
