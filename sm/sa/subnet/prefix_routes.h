// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The file of prefix routes: by which router port packets for another subnet leave this one. A line
// has the prefix and the router's port GUID in hex, or `*` for any:
//
//   fec0000000000001  0002c90300001234   # campus
//   *                 *
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "sm/sa/subnet/policy.h"

namespace sm::sa {

/// In the order of the lines; of those that cannot be read each adds an error to `problems`.
std::vector<PrefixRoute> read_prefix_routes(std::string_view text, std::string_view file_name,
                                            std::vector<ib::Diagnostic>& problems);

}  // namespace sm::sa
