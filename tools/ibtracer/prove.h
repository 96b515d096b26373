// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Proof by counting: packets sent to the DLID itself must raise PortRcvPkts on every ingress port
// of the DLID's own path. No counter is ever reset.
#pragma once

#include "tools/ibtracer/trace.h"

namespace ibtracer {

/// Fills trace.counters, trace.port_counts and, where proven, each hop's proof. A hop without a PMA
/// makes it "not proven". Error: the port itself failed.
ib::Result<void> prove_by_counters(ib::mad::Session& session, Trace& trace,
                                   const TraceOptions& options);

/// Reads the counters of each hop's ingress port for display; what does not answer becomes a line
/// of `errors`.
void read_counters(ib::mad::Session& session, Trace& trace, const TraceOptions& options,
                   std::vector<std::string>& errors);

/// What one port's counting says. `sent` packets left; without us it rises by
/// background_min..background_max an interval.
CounterProof judge_count(std::uint64_t sent, const PortCount& count);

}  // namespace ibtracer
