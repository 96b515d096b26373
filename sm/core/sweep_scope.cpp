// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/sweep_scope.h"

#include <algorithm>
#include <utility>

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::PartialSweep;
using ib::discover::Trouble;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;

/// What is known by it alone no part of the fabric can be judged by.
bool is_of_the_whole(const Trouble& t) {
  return t.kind == Trouble::Kind::DuplicateGuid || t.kind == Trouble::Kind::Moved;
}

}  // namespace

void SweepScope::want(const Place& place) {
  bool& read_ports = places_[place.node];
  read_ports = read_ports || place.read_ports;
}

std::optional<PartialSweep> SweepScope::take(const std::shared_ptr<const Observed>& seen) {
  const auto places = std::exchange(places_, {});
  const bool came_to_nothing = std::exchange(awaits_outcome_, true);
  if (std::exchange(whole_, false) || came_to_nothing || places.empty() || !seen->complete ||
      std::ranges::any_of(troubles_, is_of_the_whole))
    return std::nullopt;
  // Behind our own port is everything.
  if (places.contains(seen->nodes[seen->local_port.node].info.node_guid)) return std::nullopt;
  PartialSweep partial;
  partial.known = seen;
  partial.troubles = troubles_;
  for (const auto& [node, read_ports] : places) partial.places.push_back({node, read_ports});
  partial.is_unsure = [this](ib::Guid guid) { return is_unsure(guid); };
  return partial;
}

void SweepScope::forget() { *this = {}; }

void SweepScope::on_whole_swept(const Observed& found, bool cleared) {
  troubles_ = found.troubles;
  if (cleared) unsure_.clear();
}

void SweepScope::on_part_swept(const Observed& found, const std::vector<ib::Guid>& asked_anew) {
  troubles_ = found.troubles;
  for (const ib::Guid guid : asked_anew) unsure_.erase(guid);
  std::erase_if(unsure_, [&](const auto& entry) { return !found.fabric.find_node(entry.first); });
}

void SweepScope::on_apply(const Observed& seen) {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    const auto& node = seen.nodes[n];
    if (!node.switch_info) continue;
    if (node.switch_info->port_state_change) {
      unsure_[node.info.node_guid] = Doubt::Uncleared;
      continue;
    }
    for (unsigned p = 1; p <= node.info.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto state = seen.port(at).state();
      if (!seen.fabric.port(at).peer ||
          (state != PortState::Initialize && state != PortState::Armed))
        continue;
      unsure_.try_emplace(node.info.node_guid, Doubt::Activated);
      break;
    }
  }
}

void SweepScope::on_unchanged(ib::Guid switch_guid) {
  const auto it = unsure_.find(switch_guid);
  if (it != unsure_.end() && it->second == Doubt::Activated) unsure_.erase(it);
}

bool SweepScope::cannot_have_rebooted(ib::Guid switch_guid, const Observed& before,
                                      const Observed& found) const {
  const auto was = before.fabric.find_node(switch_guid), is = found.fabric.find_node(switch_guid);
  if (is_unsure(switch_guid) || !was || !is) return false;
  const unsigned last =
      std::min(before.fabric.node(*was).num_ports, found.fabric.node(*is).num_ports);
  const auto is_active = [](const Observed& in, NodeIndex n, unsigned p) {
    const auto* port = in.known_port({n, static_cast<std::uint8_t>(p)});
    return port != nullptr && port->state() == PortState::Active;
  };
  for (unsigned p = 1; p <= last; ++p)
    if (is_active(before, *was, p) && is_active(found, *is, p)) return true;
  return false;
}

std::vector<SweepScope::Place> places_of(const std::vector<ib::Guid>& nodes) {
  std::vector<SweepScope::Place> places;
  for (const ib::Guid node : nodes) places.push_back({node, false});
  return places;
}

std::vector<SweepScope::Place> places_on_the_way(const Observed& seen, NodeIndex to) {
  std::vector<SweepScope::Place> places;
  PortRef at = seen.local_port;
  for (const std::uint8_t hop : seen.nodes[to].route.hops) {
    if (!at || hop > seen.fabric.node(at.node).num_ports) break;
    if (seen.fabric.node(at.node).is_switch())
      places.push_back({seen.fabric.node(at.node).guid, false});
    at = seen.fabric.port(at.node, hop).peer;
  }
  places.push_back({seen.fabric.node(to).guid, false});
  return places;
}

}  // namespace sm::core
