// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/stubborn_ports.h"

namespace sm::apply {

/// Without the LID when that is not what it refuses: else no two ports would be alike.
StubbornPorts::Refusal StubbornPorts::refusal(plan::PortWant want, plan::PortWant held) {
  if (want.lid == held.lid) want.lid = held.lid = ib::Lid{};
  return {want, held};
}

const StubbornPorts::Refusal* StubbornPorts::find(ib::Guid node, std::uint8_t port) const {
  const auto at = by_node_.find(node);
  return at != by_node_.end() && port < at->second.size() ? at->second[port] : nullptr;
}

void StubbornPorts::note(ib::Guid node, std::uint8_t port, const plan::PortWant& want,
                         const plan::PortWant& held) {
  if (want == held) {
    const auto at = by_node_.find(node);
    if (at != by_node_.end() && port < at->second.size()) at->second[port] = nullptr;
    return;
  }
  auto& ports = by_node_[node];
  if (ports.size() <= port) ports.resize(port + std::size_t{1}, nullptr);
  ports[port] = &*refusals_.insert(refusal(want, held)).first;
}

bool StubbornPorts::contains(ib::Guid node, std::uint8_t port, const plan::PortWant& want,
                             const plan::PortWant& held) const {
  if (want.lid != held.lid || want.sm_lid != held.sm_lid) return false;
  const Refusal* known = find(node, port);
  return known != nullptr && *known == refusal(want, held);
}

bool StubbornPorts::keeps_manager(ib::Guid node, std::uint8_t port, ib::Lid want,
                                  ib::Lid held) const {
  const Refusal* known = find(node, port);
  return known != nullptr && want != held && known->want.sm_lid == want &&
         known->held.sm_lid == held;
}

}  // namespace sm::apply
