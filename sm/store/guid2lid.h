// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// opensm's guid2lid: which port has which LIDs, as text, a line each:
//   0x0002c90300000001 0x0010 0x0013        (port GUID, first LID, last LID)
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/store/store.h"

namespace sm::store {

std::string write_guid2lid(std::span<const LidClaim> lids);

/// Another program's, or one that an administrator wrote: whole or not at all; by port GUID. The
/// error names line and column.
ib::Result<std::vector<LidClaim>> import_guid2lid(std::string_view text);

struct ReadGuid2Lid {
  std::vector<LidClaim> lids;     // by port GUID; of two with one GUID the later
  std::size_t lines_not_read{0};  // and skipped
};
/// Our own after a loss: what can still be read is better than nothing.
ReadGuid2Lid salvage_guid2lid(std::string_view text);

/// Those of `backup` whose GUID `lids` do not have, and whose LIDs nobody of `lids` has.
std::vector<LidClaim> lids_missing_from(std::span<const LidClaim> lids,
                                        std::span<const LidClaim> backup);

}  // namespace sm::store
