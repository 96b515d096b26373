// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What switches were programmed with: SwitchInfoRecord, LinearFDTRecord, MulticastFDTRecord
// (IBA 15.2.5.5 to 15.2.5.7).
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::fabric::kNoSwitch;
using ib::fabric::SwitchIndex;
using ib::wire::LinearFdtRecord;
using ib::wire::MulticastFdtRecord;
using ib::wire::SwitchInfoRecord;

constexpr unsigned kLidsInBlock = 64, kMlidsInBlock = 32, kPortsInPosition = 16;

class SwitchInfoSource final : public PortWalk<SwitchInfoRecord, &SwitchInfoRecord::lid> {
 public:
  SwitchInfoSource(const World& world, const Query& query) : PortWalk(world, query) {}

 private:
  Grid grid(const EndPort&) const override { return {kOne}; }
  bool make(const EndPort& owner, unsigned, unsigned, SwitchInfoRecord& r) const override {
    const auto& info = snapshot().observed->nodes[owner.port.node].switch_info;
    if (!info) return false;
    r.lid = owner.lid;
    r.switch_info = *info;
    return true;
  }
};

class LinearTableSource final : public PortWalk<LinearFdtRecord, &LinearFdtRecord::lid> {
 public:
  LinearTableSource(const World& world, const Query& query) : PortWalk(world, query) {}

 private:
  static constexpr unsigned kBlockBit = 1;

  /// Blocks up to that of the highest LID in use.
  Grid grid(const EndPort& owner) const override {
    const auto& routing = snapshot().routing;
    if (!routing || !node_of(owner).is_switch()) return {};
    const auto lids = static_cast<unsigned>(routing->lfts.lid_count());
    const Range blocks{0, (lids + kLidsInBlock - 1) / kLidsInBlock};
    return {kOne, blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned, unsigned block, LinearFdtRecord& r) const override {
    const auto& routing = *snapshot().routing;
    const SwitchIndex s = routing.graph.switch_of(owner.port.node);
    if (s == kNoSwitch) return false;
    r.lid = owner.lid;
    r.block = static_cast<std::uint16_t>(block);
    for (unsigned i = 0; i < kLidsInBlock; ++i)
      r.table.port[i] =
          routing.lfts.at(s, ib::Lid{static_cast<std::uint16_t>(block * kLidsInBlock + i)});
    return true;
  }
};

class MulticastTableSource final : public PortWalk<MulticastFdtRecord, &MulticastFdtRecord::lid> {
 public:
  MulticastTableSource(const World& world, const Query& query) : PortWalk(world, query) {}

 private:
  static constexpr unsigned kPositionBit = 1, kBlockBit = 3;

  /// Blocks up to that of the highest MLID in use.
  Grid grid(const EndPort& owner) const override {
    const auto& node = node_of(owner);
    const auto& info = snapshot().observed->nodes[owner.port.node].switch_info;
    if (!holdings().multicast || holdings().multicast->empty() || !node.is_switch() || !info)
      return {};
    const unsigned last = holdings().multicast->rbegin()->first.value;
    const unsigned in_use = (last - ib::kLidMulticastMin.value) / kMlidsInBlock + 1;
    const Range blocks{0, std::min(in_use, info->multicast_fdb_cap / kMlidsInBlock)};
    const Range positions{0, node.num_ports / kPortsInPosition + 1U};
    return {positions.narrowed(is_named(kPositionBit), wanted().position),
            blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned position, unsigned block,
            MulticastFdtRecord& r) const override {
    const SwitchIndex s = holdings().graph->switch_of(owner.port.node);
    if (s == kNoSwitch) return false;
    r.lid = owner.lid;
    r.position = static_cast<std::uint8_t>(position);
    r.block = static_cast<std::uint16_t>(block);
    const unsigned first = ib::kLidMulticastMin.value + block * kMlidsInBlock;
    const auto& tables = *holdings().multicast;
    for (auto at = tables.lower_bound(ib::Lid{static_cast<std::uint16_t>(first)});
         at != tables.end() && at->first.value < first + kMlidsInBlock; ++at) {
      const auto mask = at->second.find(s);
      if (mask == at->second.end()) continue;
      auto& bits = r.table.port_mask[at->first.value - first];
      for (unsigned i = 0; i < kPortsInPosition; ++i)
        if (mask->second.test(position * kPortsInPosition + i))
          bits = static_cast<std::uint16_t>(bits | 1U << i);
    }
    return true;
  }
};

}  // namespace

Opened open_switches(const World& world, const Query& query) {
  return std::make_unique<SwitchInfoSource>(world, query);
}
Opened open_linear_tables(const World& world, const Query& query) {
  return std::make_unique<LinearTableSource>(world, query);
}
Opened open_multicast_tables(const World& world, const Query& query) {
  return std::make_unique<MulticastTableSource>(world, query);
}

}  // namespace sm::sa
