// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/added_members.h"

#include <map>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::policy {

ib::Result<std::uint16_t> read_p_key(std::string_view text) {
  std::uint64_t value = 0;
  if (!ib::parse_number(text, 0xFFFF, value) || (value & 0x7FFF) == 0)
    return ib::fail(ib::ErrorKind::Usage,
                    "expected a P_Key from 0x1 to 0x7fff, with or without the "
                    "membership bit 0x8000, got '" +
                        ib::printable(text) + "'");
  return static_cast<std::uint16_t>(value & 0x7FFF);
}

std::shared_ptr<const PartitionPolicy> with_members(std::shared_ptr<const PartitionPolicy> of_file,
                                                    std::span<const AddedMember> members) {
  if (members.empty()) return of_file;
  auto policy = std::make_shared<PartitionPolicy>(*of_file);
  policy->from_file = true;
  auto& all = policy->partitions.all;
  std::map<std::uint16_t, std::size_t> by_key;
  for (std::size_t i = 0; i < all.size(); ++i) by_key.emplace(all[i].p_key, i);
  for (const AddedMember& member : members) {
    const auto [at, is_new] = by_key.emplace(member.p_key, all.size());
    if (is_new) {
      Partition partition;
      partition.p_key = member.p_key;
      all.push_back(std::move(partition));
    }
    PartitionMember entry;
    entry.who.kind = Selector::Kind::Guids;
    entry.who.first = entry.who.last = member.port_guid;
    entry.membership = member.membership;
    all[at->second].members.push_back(std::move(entry));
  }
  return policy;
}

}  // namespace sm::policy
