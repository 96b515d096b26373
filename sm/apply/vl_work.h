// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL and VL arbitration of one node: what must be read of it and what must be set. Tables of
// ports that come up are set without being read: behind the link there may be another device, or
// the same after a reset. Inside sm/apply only.
#pragma once

#include <optional>
#include <vector>

#include "sm/apply/block_work.h"

namespace sm::apply {

/// What is known of tables of ports that come up is forgotten; not of rows of who takes none, which
/// stay what they are.
void forget_new_ports(const Holder& holder, const plan::WantedTables& wanted,
                      device::Inventory& inventory);

/// Rows of SL2VL that nothing is known of.
std::vector<Ask> unknown_rows(const Holder& holder, const plan::WantedTables& wanted);

/// What can only be known by asking. A switch can be told a row for many pairs of ports at once,
/// but is asked one pair at a time.
std::vector<Ask> vl_reads(const Holder& holder, const plan::WantedTables& wanted);

/// What the node still needs; rows of SL2VL of the ports `later` stay as they are.
std::vector<Ask> vl_sets(const Holder& holder, const plan::WantedTables& wanted,
                         const PortSet& later);

/// The tables are many: one of arbitration, unlike any that a switch begins with, says whether they
/// are still what they were.
std::optional<Ask> vl_probe(const Holder& holder, const plan::WantedTables& wanted);

}  // namespace sm::apply
