// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/notices.h"

#include <algorithm>

namespace sm::sa {
namespace {

constexpr std::uint8_t kTypeSubnetManagement = 3;
constexpr std::uint32_t kProducerClassManager = 4;
constexpr std::size_t kGidAt = 6;  // in the details

}  // namespace

Event gid_event(std::uint16_t trap, const ib::Gid& gid) {
  Event event;
  event.notice.type = kTypeSubnetManagement;
  event.notice.producer_type = kProducerClassManager;
  event.notice.trap_number = trap;
  std::copy(gid.bytes.begin(), gid.bytes.end(), event.notice.details.begin() + kGidAt);
  return event;
}

Event group_event(std::uint16_t trap, const store::McGroup& group) {
  auto event = gid_event(trap, group.mgid);
  event.p_key = group.p_key;
  return event;
}

ib::Gid subject_of(const ib::wire::Notice& notice) {
  ib::Gid gid;
  std::copy_n(notice.details.begin() + kGidAt, gid.bytes.size(), gid.bytes.begin());
  return gid;
}

bool is_gid_notice(const ib::wire::Notice& notice) {
  return notice.is_generic && notice.trap_number >= ib::wire::trap::kGidInService &&
         notice.trap_number <= ib::wire::trap::kMcGroupDeleted;
}

bool is_plausible(const ib::wire::Notice& notice, ib::Lid from) {
  namespace trap = ib::wire::trap;
  if (notice.issuer_lid != from || !from.is_unicast()) return false;
  if (!notice.is_generic) return true;
  const auto lid_at = [&](std::size_t i) {
    return ib::Lid{static_cast<std::uint16_t>(notice.details[i] << 8 | notice.details[i + 1])};
  };
  switch (notice.trap_number) {
    case trap::kGidInService:
    case trap::kGidOutOfService:
    case trap::kMcGroupCreated:
    case trap::kMcGroupDeleted:
      return false;  // the subnet manager's own
    case trap::kLinkStateChange:
      return lid_at(0) == from;
    case trap::kLocalLinkIntegrity:
    case trap::kExcessiveBufferOverrun:
    case trap::kFlowControlWatchdog:
    case trap::kCapabilityChange:
    case trap::kSystemImageGuidChange:
      return lid_at(2) == from;
    default:
      return true;
  }
}

std::vector<ib::Guid> ports_in_service(const Paths& paths) {
  std::vector<ib::Guid> out;
  for (const EndPort& port : paths.end_ports()) {
    // A base port 0 of a switch has no state of its own.
    const auto* seen = paths.snapshot().observed->known_port(port.port);
    const bool is_switch = paths.snapshot().fabric().node(port.port.node).is_switch();
    if (is_switch || (seen != nullptr && seen->state() == ib::wire::PortState::Active))
      out.push_back(port.guid);
  }
  for (const EndPort& port : paths.virtual_ports()) out.push_back(port.guid);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace sm::sa
