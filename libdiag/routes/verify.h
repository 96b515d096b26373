// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Verification of programmed routes: reachability, loops, credit loops (one VL), load. Independent
// of any engine.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/routes/tables.h"

namespace ib::routes {

/// One finding, in words and as places. `switches` name the walk or the cycle.
struct Finding {
  enum class Kind { Unreachable, Loop, CreditLoop } kind;
  bool must;  // graded as design says: a must blocks programming, a should is reported
  Lid lid{};
  std::vector<std::pair<fabric::SwitchIndex, std::uint8_t>>
      hops;  // switch and the port it leaves by
  std::string message;
};

/// Figures as an independent judge defines them: pairs (CA-attached switch -> LID); credit-loop
/// channels are directed switch-to-switch links in the part of the dependency graph that Kahn's
/// order does not reach; load counts CA-to-CA routes. A walk that has not arrived after 64 hops is
/// a loop, and loops are counted in `unreachable` too.
struct Verdict {
  std::uint64_t pairs{}, unreachable{}, loops{}, credit_loop_channels{}, load_max{};
  double load_mean{};
  std::uint64_t must_failures{};  // unreachable or looping CA, router and SM LIDs, dead ports; and
                                  // credit loops if asked for
  std::vector<Finding> findings;  // at most VerifyOptions::findings_max
  bool must_ok() const { return must_failures == 0; }
};

struct VerifyOptions {
  bool credit_loops_are_must{false};
  bool loads{true};
  Lid sm_lid{};  // graded must even when a switch holds it
  std::size_t findings_max{16};
};

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VerifyOptions& options = {});

}  // namespace ib::routes
