// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LinkRecord: one a direction of a cable (IBA 15.2.5.13). Both ends must be visible to who asks,
// and to each other.
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::LinkRecord;

constexpr unsigned kFromPortBit = 1, kToLidBit = 3;

class LinkSource final : public PortWalk<LinkRecord, &LinkRecord::from_lid> {
 public:
  LinkSource(const World& world, const Query& query) : PortWalk(world, query, bit(kToLidBit)) {}

 private:
  Grid grid(const EndPort& owner) const override {
    return {ports_of(owner).narrowed(is_named(kFromPortBit), wanted().from_port.value)};
  }
  bool make(const EndPort& owner, unsigned port, unsigned, LinkRecord& r) const override {
    const auto& fabric = snapshot().fabric();
    const auto far = fabric.port(owner.port.node, static_cast<std::uint8_t>(port)).peer;
    if (!far) return false;
    const bool to_switch = fabric.node(far.node).is_switch();
    const EndPort* to =
        paths().find(fabric.port(far.node, to_switch ? std::uint8_t{0} : far.port).guid);
    if (to == nullptr || !policy().share(owner, *to) || !is_shown(policy(), query().requester, *to))
      return false;
    if (is_named(kToLidBit) && !to->owns(wanted().to_lid)) return false;
    r.from_lid = owner.lid;
    r.from_port = ib::PortNum{static_cast<std::uint8_t>(port)};
    r.to_port = ib::PortNum{far.port};
    r.to_lid = to->lid;
    return true;
  }
};

}  // namespace

Opened open_links(const World& world, const Query& query) {
  return std::make_unique<LinkSource>(world, query);
}

}  // namespace sm::sa
