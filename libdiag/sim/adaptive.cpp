// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/adaptive.h"

#include <algorithm>

#include "libdiag/sim/impl.h"

namespace ib::sim {

namespace status = wire::status;

namespace {

constexpr std::size_t kBlock = wire::MlnxArLft::kLids;
constexpr std::uint8_t kNoExit = 255;

/// Before anybody set it.
wire::MlnxArLft empty_block() {
  wire::MlnxArLft block;
  block.state.fill(wire::ArLidState::Static);
  block.port.fill(kNoExit);
  return block;
}

}  // namespace

AdaptiveState::AdaptiveState(std::uint16_t cap) {
  info.group_cap = cap;
  info.group_table_cap = 1;
  info.sub_groups_supported = 2;
  info.global_groups = true;
  info.by_sl_cap = true;
  info.fr_supported = true;
  info.ar_version = 2;
}

void AdaptiveState::set(const wire::MlnxArInfo& wanted) {
  info.enabled = wanted.enabled;
  info.fr_enabled = wanted.fr_enabled;
  info.by_sl_enabled = wanted.by_sl_enabled;
  info.enabled_sls = wanted.enabled_sls;
  info.ageing_time = wanted.ageing_time;
  if (wanted.group_top < info.group_cap) info.group_top = wanted.group_top;
  if (wanted.sub_groups_active <= info.sub_groups_supported)
    info.sub_groups_active = wanted.sub_groups_active;
}

const wire::MlnxArGroup* AdaptiveState::group_of(std::uint16_t lid, std::uint8_t sl) const {
  const bool of_sl = !info.by_sl_enabled || (info.enabled_sls >> sl & 1U) != 0;
  if (!info.enabled || !of_sl || lid / kBlock >= lft.size()) return nullptr;
  const wire::MlnxArLft& block = lft[lid / kBlock];
  const std::uint16_t group = block.group[lid % kBlock];
  if (block.state[lid % kBlock] == wire::ArLidState::Static || group > info.group_top)
    return nullptr;
  static constexpr wire::MlnxArGroup kEmpty;
  return group < groups.size() ? &groups[group] : &kEmpty;
}

std::uint8_t AdaptiveState::static_port(std::uint16_t lid) const {
  return lid / kBlock < lft.size() ? lft[lid / kBlock].port[lid % kBlock] : kNoExit;
}

/// Of the ports of its group the one that is free soonest, with fast recovery of those that are up.
std::uint8_t Model::Impl::exit_of(const SimNode& node, std::uint16_t lid, std::uint8_t sl) const {
  const SimSwitch& sw = *node.sw;
  if (!sw.adaptive || !sw.adaptive->info.enabled || lid > sw.info.linear_fdb_top)
    return lft_entry(sw, lid);
  const std::uint8_t by_itself = sw.adaptive->static_port(lid);
  const wire::MlnxArGroup* group = sw.adaptive->group_of(lid, sl);
  if (group == nullptr) return by_itself;
  std::uint8_t best = by_itself;
  const auto is_free = [&](unsigned port) {
    return !sw.adaptive->info.fr_enabled || carries_gmps(ports_[node.first_port + port]);
  };
  bool found =
      by_itself >= 1 && by_itself <= node.num_ports && group->has(by_itself) && is_free(by_itself);
  for (unsigned port = 1; port <= node.num_ports; ++port) {
    if (!group->has(port) || !is_free(port)) continue;
    const auto busy_until = [&](unsigned p) { return ports_[node.first_port + p].busy_until; };
    if (found && std::max(busy_until(port), now_.ns) >= std::max(busy_until(best), now_.ns))
      continue;
    best = static_cast<std::uint8_t>(port);
    found = true;
  }
  return best;
}

bool Model::Impl::chooses_exit(const SimNode& node, std::uint16_t lid, std::uint8_t sl) const {
  return node.sw->adaptive && node.sw->adaptive->group_of(lid, sl) != nullptr;
}

// ---- what the agent of a switch answers

std::uint16_t Model::Impl::sma_ar_info(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch() || !node.sw->adaptive) return status::kBadAttribute;
  if (f.mad.attribute_modifier() != 0) return status::kBadValue;
  if (set) node.sw->adaptive->set(wire::body<wire::MlnxArInfo>(f.mad));
  wire::set_body(f.mad, node.sw->adaptive->info);
  return status::kOk;
}

/// How a block is laid out where groups have one part is not public, so the model has none.
std::uint16_t Model::Impl::sma_ar_group(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch() || !node.sw->adaptive) return status::kBadAttribute;
  AdaptiveState& adaptive = *node.sw->adaptive;
  const std::size_t group = f.mad.attribute_modifier();
  if (group >= adaptive.info.group_cap || adaptive.info.sub_groups_active != 2)
    return status::kBadValue;
  if (set) {
    if (adaptive.groups.size() <= group) adaptive.groups.resize(group + 1);
    adaptive.groups[group] = wire::body<wire::MlnxArGroup>(f.mad);
  }
  wire::set_body(f.mad,
                 group < adaptive.groups.size() ? adaptive.groups[group] : wire::MlnxArGroup{});
  return status::kOk;
}

std::uint16_t Model::Impl::sma_ar_lft(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch() || !node.sw->adaptive) return status::kBadAttribute;
  std::vector<wire::MlnxArLft>& lft = node.sw->adaptive->lft;
  const std::size_t block = f.mad.attribute_modifier();
  if (block * kBlock >= node.sw->info.linear_fdb_cap) return status::kBadValue;
  if (set) {
    if (lft.size() <= block) lft.resize(block + 1, empty_block());
    lft[block] = wire::body<wire::MlnxArLft>(f.mad);
  }
  wire::set_body(f.mad, block < lft.size() ? lft[block] : empty_block());
  return status::kOk;
}

// ---- as ctl and tests see it

wire::MlnxArInfo Model::adaptive_routing(NodeIndex node) const {
  const SimNode& n = impl_->nodes_[node];
  return n.is_switch() && n.sw->adaptive ? n.sw->adaptive->info : wire::MlnxArInfo{};
}

std::vector<std::uint8_t> Model::choices(NodeIndex node, Lid lid, Sl sl) const {
  const SimNode& n = impl_->nodes_[node];
  std::vector<std::uint8_t> ports;
  if (!n.is_switch()) return ports;
  if (!impl_->chooses_exit(n, lid.value, sl.value)) {
    ports.push_back(impl_->exit_of(n, lid.value, sl.value));
    return ports;
  }
  const wire::MlnxArGroup& group = *n.sw->adaptive->group_of(lid.value, sl.value);
  for (unsigned port = 1; port <= n.num_ports; ++port)
    if (group.has(port)) ports.push_back(static_cast<std::uint8_t>(port));
  return ports;
}

}  // namespace ib::sim
