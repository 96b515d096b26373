// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// opensm-subnet.lst: one line per direction of a link, both ends in full. ibdmchk and other
// checkers read it beside opensm.fdbs.
#pragma once

#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ib::tables {

/// Appends the whole file. The end port that holds `sm_lid` is marked as the SM's. A state that is
/// not known is written as that of a link in use, since the file has no word for it.
void append_subnet_lst(std::string& out, const fabric::Fabric& fabric, Lid sm_lid = kNoLid);

/// Reads what OpenSM or append_subnet_lst() wrote; OpenSM's odd peer VenID and DevID are taken from
/// the line where the node comes first. An error is `FILE:LINE:COL: expected X, got Y`.
Result<fabric::Fabric> read_subnet_lst(std::string_view text, std::string_view file_name);
bool looks_like_subnet_lst(std::string_view text);

}  // namespace ib::tables
