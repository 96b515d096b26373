// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortInfoRecord: one a port, a switch's external ports under the switch's LID (IBA 15.2.5.3).
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::PortInfo;
using ib::wire::PortInfoRecord;

constexpr unsigned kPortBit = 1, kOptionsBit = 2, kBaseLidBit = 5, kCapMaskBit = 7,
                   kCapMask2Bit = 53;
constexpr std::uint8_t kOptionExtendedSpeeds = 0x80;
constexpr std::uint8_t kQdr = 4;
/// AttributeModifier: the capability masks name bits that must be set (IBA 15.2.5.3).
constexpr std::uint32_t kByCapabilityBits = 0x80000000U;

class PortInfoSource final : public PortWalk<PortInfoRecord, &PortInfoRecord::end_port_lid> {
 public:
  PortInfoSource(const World& world, const Query& query)
      : PortWalk(world, query,
                 bit(kOptionsBit) | (is_by_bits(query) ? bit(kCapMaskBit) | bit(kCapMask2Bit) : 0)),
        by_bits_(is_by_bits(query)) {
    // BaseLID is the end port's; external ports of a switch show none.
    if (is_named(kBaseLidBit) && wanted().port_info.lid != ib::kNoLid)
      narrow_to(paths().find(wanted().port_info.lid));
  }

 private:
  static bool is_by_bits(const Query& query) { return (query.modifier & kByCapabilityBits) != 0; }

  Grid grid(const EndPort& owner) const override {
    return {ports_of(owner).narrowed(is_named(kPortBit), wanted().port_num.value)};
  }

  bool make(const EndPort& owner, unsigned port, unsigned, PortInfoRecord& r) const override {
    const auto* at = seen(owner, port);
    if (at == nullptr) return false;
    r.port_info = at->info();
    if (!has_capabilities(r.port_info)) return false;
    r.end_port_lid = owner.lid;
    r.port_num = ib::PortNum{static_cast<std::uint8_t>(port)};
    r.options = is_named(kOptionsBit) ? wanted().options : std::uint8_t{0};
    // Neither shown nor compared unless trusted: a masked compare would be an oracle.
    if (!query().requester.trusted) r.port_info.m_key = 0;
    // A client that does not know extended speeds sees a fast link as QDR, not as no link.
    if ((r.options & kOptionExtendedSpeeds) == 0 && r.port_info.link_speed_ext_active != 0) {
      r.port_info.link_speed_active |= kQdr;
      r.port_info.link_speed_enabled |= kQdr;
      r.port_info.link_speed_supported |= kQdr;
    }
    return true;
  }
  bool has_capabilities(const PortInfo& info) const {
    if (!by_bits_) return true;
    const auto lacks = [](auto has, auto want) { return (has & want) != want; };
    const PortInfo& want = wanted().port_info;
    return !(is_named(kCapMaskBit) && lacks(info.capability_mask, want.capability_mask)) &&
           !(is_named(kCapMask2Bit) && lacks(info.capability_mask2, want.capability_mask2));
  }

  bool by_bits_;
};

}  // namespace

Opened open_ports(const World& world, const Query& query) {
  return std::make_unique<PortInfoSource>(world, query);
}

}  // namespace sm::sa
