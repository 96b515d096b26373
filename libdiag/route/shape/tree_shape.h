// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a fabric has of a tree: whether ftree fits it at all, and whether it is complete.
#pragma once

#include <span>

#include "libdiag/route/shape/ranks.h"

namespace ib::route {

/// An error, naming a switch, when links or hosts are not where a tree has them: more than a tenth
/// of the links between switches of one rank or skipping a rank, or, unless the operator listed the
/// roots, most CAs above other CAs.
Result<void> check_tree(const Request& request, const Ranks& ranks);

/// Whether hosts hang above others: on a switch that has another below it.
bool has_hosts_above(const fabric::CompactGraph& graph, const Ranks& ranks);

/// True when nothing is missing between the switches: within a rank all have as many links up and
/// as many down, links are equally wide, every way up leads to every leaf that is not below, and
/// only parallel links lead down to it.
bool is_complete_tree(const Request& request, const Ranks& ranks, const Targets& targets,
                      std::span<const tables::LeastHops> hops);

}  // namespace ib::route
