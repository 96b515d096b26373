// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// GUIDInfoRecord: one a block of eight GUIDs of an end port (IBA 15.2.5.18). The first GUID is the
// port's own, the others are aliases that clients registered, or what the device held before.
#include "sm/device/tables/kinds.h"
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::GuidInfoRecord;

using device::kGuidsInBlock;

class GuidSource final : public PortWalk<GuidInfoRecord, &GuidInfoRecord::lid> {
 public:
  GuidSource(const World& world, const Query& query)
      : PortWalk(world, query), aliases_(world.state.aliases) {}

 private:
  static constexpr unsigned kBlockBit = 1;

  Grid grid(const EndPort& owner) const override {
    const auto* port = seen(owner, owner.port.port);
    if (port == nullptr) return {};
    const unsigned capacity = port->get<&ib::wire::PortInfo::guid_cap>();
    const Range blocks{0, device::blocks_for(capacity, kGuidsInBlock)};
    return {blocks.narrowed(is_named(kBlockBit), wanted().block)};
  }
  bool make(const EndPort& owner, unsigned block, unsigned, GuidInfoRecord& r) const override {
    const device::Slot slot{owner.port.port, 0, static_cast<std::uint16_t>(block)};
    const auto* guids = held(owner, device::kGuidInfo, slot);
    if (guids != nullptr) r.guid_info = ib::wire::decode<ib::wire::GuidInfo>(guids->data());
    const auto first = static_cast<std::uint16_t>(block * kGuidsInBlock);
    const Aliases::Key from{owner.guid, first}, end{owner.guid, first + kGuidsInBlock};
    const auto& given_back = aliases_.given_back();  // the device may not have heard of it
    for (auto at = given_back.lower_bound(from); at != given_back.end() && *at < end; ++at)
      r.guid_info.guid[at->second - first] = {};
    const auto& all = aliases_.all();
    bool any_alias = false;
    for (auto at = all.lower_bound(from); at != all.end() && at->first < end; ++at) {
      r.guid_info.guid[at->first.second - first] = at->second;
      any_alias = true;
    }
    if (guids == nullptr && !any_alias) return false;
    if (block == 0) r.guid_info.guid[0] = owner.guid;
    r.lid = owner.lid;
    r.block = static_cast<std::uint8_t>(block);
    return true;
  }

  const Aliases& aliases_;  // as they are when a record is made
};

}  // namespace

Opened open_guids(const World& world, const Query& query) {
  return std::make_unique<GuidSource>(world, query);
}

}  // namespace sm::sa
