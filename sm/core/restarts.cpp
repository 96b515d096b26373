// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/restarts.h"

#include <algorithm>

#include "libdiag/fabric/same_port.h"
#include "sm/core/is_active.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::same_port;
using ib::wire::PortInfo;
using ib::wire::PortState;

/// A port keeps its LID as long as its node runs, whatever becomes of its link: one that rebooted
/// has none, at port 0 or at any port that had one.
bool rebooted(const Observed& before, NodeIndex was, const Observed& now, NodeIndex n) {
  const auto& node = now.fabric.node(n);
  const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
  bool lost = false;
  for (unsigned p = first; p <= std::min<unsigned>(last, before.fabric.node(was).num_ports); ++p) {
    const auto port = static_cast<std::uint8_t>(p);
    const auto* old = before.known_port({was, port});
    const auto* found = now.known_port({n, port});
    if (old == nullptr || found == nullptr || !old->get<&PortInfo::lid>().is_unicast()) continue;
    if (found->get<&PortInfo::lid>().is_unicast()) return false;
    lost = true;
  }
  return lost;
}

}  // namespace

std::shared_ptr<const Restarts> with_restarts(std::shared_ptr<const Restarts> known,
                                              const Observed& before, const Observed& now) {
  Restarts more;
  for (NodeIndex n = 0; n < now.fabric.nodes().size(); ++n) {
    const ib::Guid guid = now.fabric.node(n).guid;
    const auto was = before.fabric.find_node(guid);
    if (was && rebooted(before, *was, now, n)) more.nodes.insert(guid);
    for (unsigned p = 0; was && p <= now.fabric.node(n).num_ports; ++p) {
      const PortRef self{n, static_cast<std::uint8_t>(p)}, peer = now.fabric.port(self).peer;
      if (!peer || peer < self) continue;
      const PortRef old = same_port(now.fabric, self, before.fabric),
                    old_peer = same_port(now.fabric, peer, before.fabric);
      if (!old || !old_peer || before.fabric.port(old).peer != old_peer) continue;
      if (!is_active(before, old) || !is_active(before, old_peer)) continue;
      const auto is_down_to_begin = [&](PortRef port) {
        const auto* found = now.known_port(port);
        return found != nullptr && found->state() == PortState::Initialize;
      };
      if (is_down_to_begin(self) || is_down_to_begin(peer))
        more.links.insert({{guid, self.port}, {now.fabric.node(peer.node).guid, peer.port}});
    }
  }
  if (more.nodes.empty() && more.links.empty()) return known;
  if (known) {
    more.nodes.insert(known->nodes.begin(), known->nodes.end());
    more.links.insert(known->links.begin(), known->links.end());
  }
  return std::make_shared<const Restarts>(std::move(more));
}

}  // namespace sm::core
