// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/class_port_info.h"

#include <algorithm>

#include "libdiag/wire/mad.h"
#include "sm/sa/records.h"
#include "sm/sa/writes.h"

namespace sm::sa {
namespace {

namespace attr = ib::wire::attr;

// CapabilityMask of class 3.
constexpr std::uint16_t kOptionalRecords = 1U << 8, kUdMulticast = 1U << 9, kMultiPath = 1U << 10,
                        kPortInfoMatch = 1U << 13;
// CapabilityMask2.
constexpr std::uint32_t kAliasGuids = 1U << 5, kFullPortInfo = 1U << 6, kExtendedSpeeds = 1U << 7,
                        kMulticastServices = 1U << 8, kPortInfoMatch2 = 1U << 10,
                        kSendOnlyFullMember = 1U << 12, kWidth2x = 1U << 13, kHdr = 1U << 15,
                        kNdr = 1U << 17;

/// The records that IBA table 186 leaves to the implementation, as far as they have no bit of
/// their own.
constexpr std::uint16_t kOptional[] = {attr::kSlToVlRecord,        attr::kSwitchInfoRecord,
                                       attr::kLinearFdtRecord,     attr::kMulticastFdtRecord,
                                       attr::kSmInfoRecord,        attr::kLinkRecord,
                                       attr::kGuidInfoRecord,      attr::kPKeyTableRecord,
                                       attr::kVlArbitrationRecord, attr::kInformInfoRecord};

}  // namespace

ib::wire::ClassPortInfo class_port_info(std::uint8_t resp_time_value) {
  ib::wire::ClassPortInfo info;
  info.class_version = 2;
  info.capability_mask = kUdMulticast | kPortInfoMatch;
  if (std::ranges::all_of(kOptional, is_known_record)) info.capability_mask |= kOptionalRecords;
  if (is_known_record(attr::kMultiPathRecord)) info.capability_mask |= kMultiPath;
  info.capability_mask2 = kFullPortInfo | kExtendedSpeeds | kMulticastServices | kPortInfoMatch2 |
                          kSendOnlyFullMember | kWidth2x | kHdr | kNdr;
  if (is_writable(attr::kGuidInfoRecord)) info.capability_mask2 |= kAliasGuids;
  info.resp_time_value = resp_time_value;
  info.redirect_qp = 1;
  info.redirect_q_key = ib::wire::kQp1QKey;
  info.trap_q_key = ib::wire::kQp1QKey;
  return info;
}

}  // namespace sm::sa
