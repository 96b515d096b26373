// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/trap_claim.h"

namespace sm::core {
namespace {

namespace trap = ib::wire::trap;
using Kind = TrapClaim::Kind;

std::uint32_t number_at(const ib::wire::Notice& notice, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | notice.details[at + i];
  return value;
}

/// Trap 144 with OtherLocalChanges: which of them. Where the change is the NodeDescription's alone
/// nothing else is to be asked (IBA 14.2.5.1).
bool is_description_alone(const ib::wire::Notice& notice, std::uint32_t known_capability_mask) {
  constexpr std::size_t kOtherLocalChanges = 5, kCapabilityMask = 6, kChangeFlags = 10;
  constexpr std::uint32_t kNodeDescription = 1;
  return (notice.details[kOtherLocalChanges] & 1) != 0 &&
         number_at(notice, kChangeFlags, 2) == kNodeDescription &&
         number_at(notice, kCapabilityMask, 4) == known_capability_mask;
}

/// Where a trap of this number names the LID that it speaks of (IBA 14.2.5.1).
std::size_t place_of_lid(std::uint16_t number) { return number == trap::kLinkStateChange ? 0 : 2; }

}  // namespace

TrapClaim claim_of(const ib::wire::Notice& notice, ib::Lid from,
                   const ib::discover::Observed& seen) {
  const std::uint16_t number = notice.trap_number;
  if (!notice.is_generic) return {};
  // Somebody tried a wrong M_Key there; the lease runs until a MAD with the right one comes, and a
  // look at the port is one (IBA 14.2.4.2).
  if (number == trap::kBadMKey) {
    const auto sender = seen.fabric.find_lid(from);
    return sender ? TrapClaim{Kind::PortInfo, *sender} : TrapClaim{};
  }
  if ((number < trap::kLinkStateChange || number > trap::kFlowControlWatchdog) &&
      number != trap::kCapabilityChange && number != trap::kSystemImageGuidChange)
    return {};
  const auto sender = seen.fabric.find_lid(from);
  if (!sender) return {Kind::Stranger, {}};

  const ib::Lid named{static_cast<std::uint16_t>(number_at(notice, place_of_lid(number), 2))};
  const bool is_switch = seen.fabric.node(sender->node).is_switch();
  if (seen.fabric.find_lid(named) != sender || seen.fabric.find_lid(notice.issuer_lid) != sender ||
      (number == trap::kLinkStateChange && !is_switch))
    return {Kind::Forged, *sender};

  if (number == trap::kSystemImageGuidChange) return {Kind::SystemImage, *sender};
  if (number == trap::kCapabilityChange) {
    const auto mask = seen.port(*sender).get<&ib::wire::PortInfo::capability_mask>();
    return {is_description_alone(notice, mask) ? Kind::Description : Kind::PortInfo, *sender};
  }
  return {is_switch ? Kind::LinkState : Kind::PortInfo, *sender};
}

}  // namespace sm::core
