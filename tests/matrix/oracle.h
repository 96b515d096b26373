// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The plain way to judge routes: every path walked hop by hop, every dependency in a set. It
// shares nothing with libdiag/tables/verify, which it is there to contradict.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/engine.h"

namespace ib::matrix {

struct Opinion {
  std::uint64_t pairs{};           // (CA-attached switch, LID of a CA or router) with a way between
  std::uint64_t unreachable{};     // of these: do not arrive, loops included
  std::uint64_t not_least{};       // of these: longer than the least number of hops
  std::uint64_t asymmetric_sls{};  // pairs of switches whose SL differs by direction
  std::uint64_t switches_unreached{};  // (CA-attached switch, LID of a switch): do not arrive
  bool dead_vls{false};                // a hop on a VL beyond vls_used
  bool credit_loop{false};             // some VL's dependency graph has a cycle
  std::string example;                 // of what is wrong
};

Opinion judge(const fabric::CompactGraph& graph, const route::Routes& routes);

/// True when every switch with a CA reaches every other.
bool connected(const fabric::CompactGraph& graph);

}  // namespace ib::matrix
