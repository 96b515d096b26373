// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/guid_blocks.h"

#include <algorithm>

namespace sm::apply {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

void KnownGuids::forget_restarted(const Observed& observed) {
  const auto is_restarted = [&](const auto& entry) {
    const auto port = observed.fabric.find_port_guid(entry.first.first);
    if (!port) return true;
    const ib::discover::ObservedPort* seen = observed.known_port(*port);
    if (seen == nullptr || !seen->get<&ib::wire::PortInfo::lid>().is_unicast()) return true;
    // Port 0 of a switch has no state that would say so; it loses its LID.
    return !observed.fabric.node(port->node).is_switch() &&
           seen->state() < ib::wire::PortState::Armed;
  };
  std::erase_if(held, is_restarted);
  std::erase_if(refused, is_restarted);
}

std::vector<GuidBlockWant> guid_blocks(const plan::Desired& desired, const Observed& observed,
                                       const KnownGuids& known, NodeIndex node) {
  std::vector<GuidBlockWant> out;
  const auto guid_of = [&](std::uint8_t port) {
    return observed.fabric.port(PortRef{node, port}).guid;
  };
  for (auto at = desired.guids.lower_bound({PortRef{node, 0}, std::uint8_t{0}});
       at != desired.guids.end() && at->first.first.node == node; ++at) {
    const auto [port, block] = at->first;
    out.push_back({port.port, block, at->second, {guid_of(port.port), block}});
  }
  const auto& fabric_node = observed.fabric.node(node);
  const unsigned first = fabric_node.is_switch() ? 0 : 1;
  const unsigned last = fabric_node.is_switch() ? 0 : fabric_node.num_ports;
  for (unsigned p = first; p <= last && !known.ours.empty(); ++p) {
    const PortRef port{node, static_cast<std::uint8_t>(p)};
    const auto guid = guid_of(port.port);
    for (auto at = known.ours.lower_bound({guid, std::uint8_t{0}});
         at != known.ours.end() && at->first == guid; ++at) {
      const auto block = at->second;
      if (desired.guids.contains({port, block})) continue;
      out.push_back({port.port, block, plan::empty_block(observed, port, block), *at});
    }
  }
  return out;
}

namespace {
bool is_refused(const KnownGuids& known, const GuidBlockWant& want) {
  const auto at = known.refused.find(want.key);
  return at != known.refused.end() && at->second == want.entries;
}
}  // namespace

bool must_read(const KnownGuids& known, const GuidBlockWant& want) {
  return !known.held.contains(want.key) && !is_refused(known, want);
}

bool must_write(const KnownGuids& known, const GuidBlockWant& want) {
  const auto at = known.held.find(want.key);
  return at != known.held.end() && at->second != want.entries && !is_refused(known, want);
}

void note_guids(KnownGuids& known, const GuidBlockWant& want, const device::GuidBlock& held,
                bool was_set) {
  known.held[want.key] = held;
  known.ours.insert(want.key);
  if (!was_set) return;
  if (held == want.entries) {
    known.refused.erase(want.key);
  } else {
    known.refused[want.key] = want.entries;
  }
}

void note_guids_failed(KnownGuids& known, const GuidBlockWant& want, bool refused) {
  if (refused) {
    known.refused[want.key] = want.entries;
  } else {
    known.held.erase(want.key);
  }
}

}  // namespace sm::apply
