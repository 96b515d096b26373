// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sets of SL2VL rows of a switch. One that knows optimised programming (SwitchInfo) takes a row for
// all pairs of ports, or for all inputs of an output, in one Set; the rows that differ from it
// follow. Inside sm/apply only.
#pragma once

#include <vector>

#include "sm/apply/block_work.h"

namespace sm::apply {

/// In the order in which they have to arrive: those for many pairs of ports before those for fewer.
/// Rows of the ports `later` stay as they are.
std::vector<Ask> row_sets(const Holder& holder, const plan::WantedTables& wanted,
                          const PortSet& later);

/// What the answer to a Set of a row, of one pair or of many, says that the node holds.
void put_row(device::Inventory& inventory, ib::Guid node, unsigned num_ports, const Ask& ask,
             const device::Block& answered);

}  // namespace sm::apply
