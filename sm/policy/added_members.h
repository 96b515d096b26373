// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Members of partitions that were added while the subnet manager ran, over the partitions of the
// file. Values; they outlive every reading of the file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "sm/policy/partition_policy.h"

namespace sm::policy {

struct AddedMember {
  std::uint16_t p_key{};  // without the membership bit, 1 to 0x7FFF
  ib::Guid port_guid{};
  Membership membership{Membership::Full};
  std::string owner;  // who added it, as it called itself; may be empty
  friend bool operator==(const AddedMember&, const AddedMember&) = default;
};

/// A P_Key as an operator writes it: 0x1, 0x8001 or decimal; without the membership bit. An error
/// of kind Usage says what was expected.
ib::Result<std::uint16_t> read_p_key(std::string_view text);

/// `of_file` with `members`. What was added stands behind the members of the file, so it counts for
/// a port that both name. A P_Key that the file does not have makes a partition without groups;
/// without members `of_file` is returned. Keys of partitions are programmed where somebody was
/// added, whether there is a file or not.
std::shared_ptr<const PartitionPolicy> with_members(std::shared_ptr<const PartitionPolicy> of_file,
                                                    std::span<const AddedMember> members);

}  // namespace sm::policy
