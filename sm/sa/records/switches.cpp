// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What switches hold, as they answered: SwitchInfoRecord, LinearFDTRecord, MulticastFDTRecord
// (IBA 15.2.5.5 to 15.2.5.7). A block that no answer reported has no record.
#include <algorithm>
#include <iterator>

#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using device::kLidsInBlock;
using device::kMlidsInBlock;
using device::kPortsInPosition;
using ib::wire::LinearFdtRecord;
using ib::wire::MulticastFdtRecord;
using ib::wire::SwitchInfoRecord;

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
    const std::size_t lids = routing->lfts.lid_count();
    const Range blocks{0, static_cast<unsigned>((lids + kLidsInBlock - 1) / kLidsInBlock)};
    return {kOne, blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned, unsigned block, LinearFdtRecord& r) const override {
    const auto* held = device_state().tables->forwarding(node_of(owner).guid);
    if (held == nullptr || !held->knows_lft_block(block)) return false;
    r.lid = owner.lid;
    r.block = static_cast<std::uint16_t>(block);
    const auto first = held->lft.begin() + static_cast<std::ptrdiff_t>(block * kLidsInBlock);
    std::copy_n(first, kLidsInBlock, std::begin(r.table.port));
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
    if (!device_state().multicast || device_state().multicast->empty() || !node.is_switch() ||
        !info)
      return {};
    const unsigned last = device_state().multicast->rbegin()->first.value;
    const std::size_t in_use = (last - ib::kLidMulticastMin.value) / kMlidsInBlock + 1;
    const std::size_t most = info->multicast_fdb_cap / kMlidsInBlock;
    const Range blocks{0, static_cast<unsigned>(std::min(in_use, most))};
    const Range positions{0, static_cast<unsigned>(node.num_ports / kPortsInPosition + 1)};
    return {positions.narrowed(is_named(kPositionBit), wanted().position),
            blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned position, unsigned block,
            MulticastFdtRecord& r) const override {
    const auto* held = device_state().tables->forwarding(node_of(owner).guid);
    if (held == nullptr) return false;
    const auto at =
        held->mft.find({static_cast<std::uint16_t>(block), static_cast<std::uint8_t>(position)});
    if (at == held->mft.end()) return false;
    r.lid = owner.lid;
    r.position = static_cast<std::uint8_t>(position);
    r.block = static_cast<std::uint16_t>(block);
    std::ranges::copy(at->second, std::begin(r.table.port_mask));
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
