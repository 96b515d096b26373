// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Longer ways for those who have few short ones. Two leaves that share one switch over one cable
// have a single shortest path for all their hosts, while the rest of their cables lead around it.
#pragma once

#include <span>

#include "libdiag/route/up_down/up_down.h"

namespace ib::route {

/// Where a switch with CAs has a shortest way to a target over less than half of its links, and
/// nobody sends to that target through it, adds the arcs whose ways are two hops longer. Whatever
/// is chosen stays up*/down* and leads to a lower level.
void add_detours(const fabric::CompactGraph& graph, const UpDownOrder& order,
                 const Targets& targets, tables::LeastHops& hops);

/// Of every batch, in parallel.
void add_detours(const fabric::CompactGraph& graph, const UpDownOrder& order,
                 const Targets& targets, std::span<tables::LeastHops> hops);

}  // namespace ib::route
