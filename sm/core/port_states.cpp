// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/port_states.h"

#include <algorithm>

namespace sm::core {

using ib::wire::PortInfo;
using ib::wire::PortState;

namespace {
constexpr unsigned kSweepsMost = 3;  // for one and the same difference

PortState used_as(std::uint8_t state) {
  constexpr std::uint8_t kActiveDefer = 5;
  return state == kActiveDefer ? PortState::Active : PortState{state};
}
}  // namespace

unsigned port_state_blocks(const ib::discover::Observed& seen, ib::fabric::NodeIndex n) {
  const auto& node = seen.fabric.node(n);
  if (!node.is_switch()) return 0;
  const auto* port = seen.known_port({n, 0});
  if (port == nullptr ||
      (port->get<&PortInfo::capability_mask>() & ib::wire::port_cap::kCapabilityMask2) == 0 ||
      (port->get<&PortInfo::capability_mask2>() & ib::wire::port_cap2::kSwitchPortStateTable) == 0)
    return 0;
  return node.num_ports / ib::wire::kPortStatesInBlock + 1;
}

std::optional<std::uint8_t> port_with_other_state(const ib::discover::Observed& seen,
                                                  ib::fabric::NodeIndex n, unsigned block,
                                                  const ib::wire::Mad& answer,
                                                  const Flapping& flapping) {
  const auto& node = seen.fabric.node(n);
  const auto told = ib::wire::body<ib::wire::SwitchPortStateTable>(answer).state;
  for (unsigned i = block == 0 ? 1 : 0; i < ib::wire::kPortStatesInBlock; ++i) {
    const unsigned p = block * ib::wire::kPortStatesInBlock + i;
    if (p > node.num_ports) break;
    const auto port = static_cast<std::uint8_t>(p);
    const auto* was = seen.known_port({n, port});
    if (was == nullptr || flapping.is_held(node.guid, port)) continue;
    if (used_as(told[i]) != used_as(static_cast<std::uint8_t>(was->state()))) return port;
  }
  return std::nullopt;
}

bool PortStates::calls_for_sweep(ib::Guid node, unsigned block, const ib::wire::Mad& answer) {
  Bytes table;
  std::copy_n(answer.data(), table.size(), table.begin());
  Told& told = told_[{node, block}];
  if (told.times == 0 || told.table != table) told = {table, 0};
  if (told.times >= kSweepsMost) return false;
  ++told.times;
  return true;
}

}  // namespace sm::core
