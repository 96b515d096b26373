// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// opensm's guid2mkey: which port has which M_Key, as text, a line each:
//   0x0002c90300000001 0x1122334455667788        (port GUID, M_Key)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libdiag/base/ids.h"
#include "libdiag/base/result.h"

namespace sm::store {

std::string write_guid2mkey(const std::map<ib::Guid, std::uint64_t>& keys);

/// Whole or not at all; the error names line and column.
ib::Result<std::map<ib::Guid, std::uint64_t>> read_guid2mkey(std::string_view text);

}  // namespace sm::store
