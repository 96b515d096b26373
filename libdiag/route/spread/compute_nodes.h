// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Loads of compute nodes among themselves, as if nothing else were attached.
#pragma once

#include <optional>

#include "libdiag/route/engine.h"

namespace ib::route {

/// The graph of the request, but hosts are only the end ports that Options::compute_nodes lists:
/// all others are reached and carry no load, as aggregation nodes are. Nothing where none of the
/// hosts is listed.
std::optional<fabric::CompactGraph> graph_of_compute_nodes(const Request& request);

}  // namespace ib::route
