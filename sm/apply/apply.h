// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Apply: the difference between what should be and what was observed, sent as SubnSets in phases.
// A machine. What a device answers goes into Observed at once, so a Set that failed simply leaves
// its difference for the next time; there is no other retry logic.
//
//   Compare   after a first sweep, which told no switch to forget what it had said, SwitchInfo is
//             read again. Where it is another one by now all ends here, and another sweep is
//             needed, as with Check
//   Switches  SwitchInfo: what changed is cleared where the sweep did not do so, so that whatever
//             changes from now on says so again; LinearFDBTop of switches without tables
//   Read      tables of nodes that may hold good ones already (their content is not known yet), and
//             wanted blocks of other tables that nothing is known of
//   Adaptive  adaptive routing is turned off where forwarding tables, or its own, are to change
//   Vls       SL2VL and VL arbitration, where they are ours. Where a switch does not take rows that
//             routes need to be free of deadlock, and the plan does not know, all ends here:
//             another plan is needed before these routes forward anything
//   Check     where some device held this up for half a second or more, switches are asked
//             whether a port changed meanwhile; there, and where the sweep is a while ago, the
//             local port of a CA is read. If one did, or that is not as it was, all ends here, and
//             another sweep is needed: cables may lead elsewhere, or to a part that another subnet
//             manager has programmed since
//   Settle    LIDs and other fields of ports, tables written by difference, LFT and MFT blocks, and
//             the tops of both, all pipelined; LFT blocks that could make a loop with old ones
//             still in place wait for those
//   Arm       INIT -> ARMED, with the port's other fields
//   Activate  ARMED -> ACTIVE, where both ends are armed
//   Adaptive  and on again, where all forwarding tables are as they are to be
//   Look      ports that were not heard of since the bit of their switch was cleared, and the bit
//             of switches that could tell of a change by no trap, and the local port of a CA. What
//             is not as it was is a failure
//
// Each phase ends when everything asked in it is answered or given up. A device that does not
// answer is asked nothing more, so that any number of dead ones cost one transaction timeout
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libdiag/mad/session.h"
#include "sm/apply/known.h"
#include "sm/plan/desired.h"

namespace sm::apply {

class Apply : public ib::mad::Exchange {
 public:
  /// `observed` and `known` are updated as answers come and must outlive this.
  Apply(std::shared_ptr<const plan::Desired> desired, ib::discover::Observed& observed,
        Known& known, ApplyOptions options = {});
  ~Apply() override;

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override;
  /// Nothing more is asked. It is done once what is under way is answered or given up.
  void break_off();

  Phase phase() const;
  bool is_broken_off() const;
  bool is_outdated() const;                        // by Compare or Check
  bool rewrites() const;                           // as the options say
  std::uint64_t sets() const;                      // SubnSets sent so far
  bool has_answered(ib::fabric::PortRef p) const;  // the Set of its wanted fields
  bool restarted_links() const;     // some links were taken down to change them: sweep again
  bool needs_another_plan() const;  // a switch does not map SLs as the routes need it
  /// Switches that may have been rebooted since the sweep, as their ports tell: what they are known
  /// to hold is in doubt.
  const std::set<ib::fabric::NodeIndex>& fell_back() const;
  const std::vector<Failure>& failures() const;
  /// With `rehearse`: by phase; each slot once.
  const std::vector<Difference>& differences() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A managed port that is not as desired, and why in words.
struct Missing {
  ib::fabric::PortRef port;
  ib::wire::PortState state{};
  std::string reason;
};
std::vector<Missing> missing_ports(const plan::Desired& desired,
                                   const ib::discover::Observed& observed,
                                   const std::vector<Failure>& failures);

}  // namespace sm::apply
