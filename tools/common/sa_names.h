// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Nodes by name, where they are known from the SA: libdiag/fabric/names.h on NodeRecords.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/names.h"
#include "libdiag/wire/sa_records.h"

namespace ib::tools {

/// Asks the SA for NodeRecords; that there are none is an empty table.
using NodeTable = std::function<Result<std::vector<wire::NodeRecord>>(
    const wire::NodeRecord& wanted, std::uint64_t mask)>;

/// The records, one a port, of the node that `text` means; of NODE:PORT that of the port. The whole
/// table is fetched only where no NodeDescription is `text`. Errors are those of find_named().
Result<std::vector<wire::NodeRecord>> find_node_records(const NodeTable& table,
                                                        const std::string& text,
                                                        const fabric::NodeNames& names);

/// The same of a table that was fetched.
Result<std::vector<wire::NodeRecord>> find_among_node_records(
    const std::vector<wire::NodeRecord>& all, const std::string& text,
    const fabric::NodeNames& names);

}  // namespace ib::tools
