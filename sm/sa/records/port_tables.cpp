// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables of ports as the devices answered them: P_KeyTableRecord, SLtoVLMappingTableRecord,
// VLArbitrationTableRecord (IBA 15.2.5.4, 15.2.5.9, 15.2.5.11). What was not read has no record;
// what a port cannot have, by its capabilities, is empty.
//
// A CA's or router's port is named by its LID; port numbers in the request say nothing there.
#include "sm/device/tables/kinds.h"
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using device::kArbitrationInBlock;
using device::kPKeysInBlock;
using ib::wire::PKeyTableRecord;
using ib::wire::PortInfo;
using ib::wire::SlToVlRecord;
using ib::wire::VlArbitrationRecord;

/// Numbers of the grid are bounded by what the node has.
device::Slot slot_of(unsigned port, unsigned input, unsigned block) {
  return {static_cast<std::uint8_t>(port), static_cast<std::uint8_t>(input),
          static_cast<std::uint16_t>(block)};
}

class PKeySource final : public PortWalk<PKeyTableRecord, &PKeyTableRecord::lid> {
 public:
  PKeySource(const World& world, const Query& query) : PortWalk(world, query, bit(kPortBit)) {}

 private:
  static constexpr unsigned kBlockBit = 1, kPortBit = 2;

  Grid grid(const EndPort& owner) const override {
    const auto& node = snapshot().observed->nodes[owner.port.node];
    unsigned keys = node.info.partition_cap;
    if (node.switch_info)
      keys = std::max<unsigned>(keys, node.switch_info->partition_enforcement_cap);
    const Range blocks{0, device::blocks_for(keys, kPKeysInBlock)};
    return {narrowed_on_switch(owner, kPortBit, wanted().port),
            blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned port, unsigned block,
            PKeyTableRecord& r) const override {
    const auto* keys = held(owner, device::kPKeyTable, slot_of(port, 0, block));
    if (keys == nullptr) return false;
    r.lid = owner.lid;
    r.block = static_cast<std::uint16_t>(block);
    r.port = ib::PortNum{static_cast<std::uint8_t>(port)};
    r.table = ib::wire::decode<ib::wire::PKeyTable>(keys->data());
    return true;
  }
};

class SlToVlSource final : public PortWalk<SlToVlRecord, &SlToVlRecord::lid> {
 public:
  SlToVlSource(const World& world, const Query& query)
      : PortWalk(world, query, bit(kInputBit) | bit(kOutputBit)) {}

 private:
  static constexpr unsigned kInputBit = 1, kOutputBit = 2;

  /// A switch has a row for each pair of ports; an end port has one, without numbers.
  Grid grid(const EndPort& owner) const override {
    if (!node_of(owner).is_switch()) return {kOne};
    return {narrowed_on_switch(owner, kOutputBit, wanted().output_port),
            narrowed_on_switch(owner, kInputBit, wanted().input_port)};
  }
  bool make(const EndPort& owner, unsigned output, unsigned input, SlToVlRecord& r) const override {
    const unsigned port = node_of(owner).is_switch() ? output : owner.port.port;
    const auto* row = held(owner, device::kSlToVl, slot_of(port, input, 0));
    // With one data VL every SL goes there, and there may be no table to say so.
    const auto* at = seen(owner, port);
    if (row == nullptr && (at == nullptr || at->get<&PortInfo::vl_cap>() > 1)) return false;
    r.lid = owner.lid;
    r.input_port = ib::PortNum{static_cast<std::uint8_t>(input)};
    r.output_port = ib::PortNum{static_cast<std::uint8_t>(output)};
    if (row != nullptr) r.table = ib::wire::decode<ib::wire::SlToVlTable>(row->data());
    return true;
  }
};

class ArbitrationSource final : public PortWalk<VlArbitrationRecord, &VlArbitrationRecord::lid> {
 public:
  ArbitrationSource(const World& world, const Query& query)
      : PortWalk(world, query, bit(kPortBit)) {}

 private:
  static constexpr unsigned kPortBit = 1, kBlockBit = 2;
  static constexpr Range kBlocks{1, 5};  // low priority 1 and 2, high priority 3 and 4

  Grid grid(const EndPort& owner) const override {
    return {narrowed_on_switch(owner, kPortBit, wanted().output_port),
            kBlocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned port, unsigned block,
            VlArbitrationRecord& r) const override {
    const auto* entries = held(owner, device::kVlArbitration, slot_of(port, 0, block));
    if (entries == nullptr && has_entries(owner, port, block)) return false;
    r.lid = owner.lid;
    r.output_port = ib::PortNum{static_cast<std::uint8_t>(port)};
    r.block = static_cast<std::uint8_t>(block);
    if (entries != nullptr)
      r.table = ib::wire::decode<ib::wire::VlArbitrationTable>(entries->data());
    return true;
  }
  bool has_entries(const EndPort& owner, unsigned port, unsigned block) const {
    const auto* at = seen(owner, port);
    if (at == nullptr) return true;  // nobody knows
    const unsigned entries = block <= 2 ? at->get<&PortInfo::vl_arbitration_low_cap>()
                                        : at->get<&PortInfo::vl_arbitration_high_cap>();
    return at->get<&PortInfo::vl_cap>() > 1 && entries > (block % 2 == 0 ? kArbitrationInBlock : 0);
  }
};

}  // namespace

/// The keys of others' partitions are the SA key's holders' to see (IBA 15.4.1.2).
Opened open_p_keys(const World& world, const Query& query) {
  if (!query.requester.trusted) return ib::wire::status::kSaReqInvalid;
  return std::make_unique<PKeySource>(world, query);
}
Opened open_sl_to_vl(const World& world, const Query& query) {
  return std::make_unique<SlToVlSource>(world, query);
}
Opened open_vl_arbitration(const World& world, const Query& query) {
  return std::make_unique<ArbitrationSource>(world, query);
}

}  // namespace sm::sa
