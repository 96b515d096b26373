// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/class_port_info.h"

#include "libdiag/wire/mad.h"
#include "sm/sa/queries.h"
#include "sm/sa/registry/writes.h"

namespace sm::sa {
namespace {

namespace attr = ib::wire::attr;

// CapabilityMask of class 3. Not bit 8: it promises every optional record, and neither
// RandomForwardingTableRecord nor ServiceAssociationRecord is served.
constexpr std::uint16_t kUdMulticast = 1U << 9, kMultiPath = 1U << 10, kPortInfoMatch = 1U << 13;
// CapabilityMask2.
constexpr std::uint32_t kMulticastTop = 1U << 3, kAliasGuids = 1U << 5, kFullPortInfo = 1U << 6,
                        kExtendedSpeeds = 1U << 7, kMulticastServices = 1U << 8,
                        kPortInfoMatch2 = 1U << 10, kSendOnlyFullMember = 1U << 12,
                        kWidth2x = 1U << 13, kHdr = 1U << 15, kNdr = 1U << 17;

}  // namespace

ib::wire::ClassPortInfo class_port_info(std::uint8_t resp_time_value, bool multicast) {
  ib::wire::ClassPortInfo info;
  info.class_version = 2;
  info.capability_mask = kPortInfoMatch;
  if (multicast) info.capability_mask |= kUdMulticast;
  if (is_known_record(attr::kMultiPathRecord)) info.capability_mask |= kMultiPath;
  info.capability_mask2 = kMulticastTop | kFullPortInfo | kExtendedSpeeds | kMulticastServices |
                          kPortInfoMatch2 | kSendOnlyFullMember | kWidth2x | kHdr | kNdr;
  if (find_kind(attr::kGuidInfoRecord) != nullptr) info.capability_mask2 |= kAliasGuids;
  info.resp_time_value = resp_time_value;
  info.redirect_qp = 1;
  info.redirect_q_key = ib::wire::kQp1QKey;
  info.trap_q_key = ib::wire::kQp1QKey;
  return info;
}

}  // namespace sm::sa
