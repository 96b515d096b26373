// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Apply: the difference between what should be and what was observed, sent as SubnSets in phases.
// A machine. What a device answers goes into Observed at once, so a Set that failed simply leaves
// its difference for the next time; there is no other retry logic.
//
//   Switches  SwitchInfo: what changed is cleared where the sweep did not do so, so that whatever
//             changes from now on says so again; LinearFDBTop of switches without tables
//   Read      tables of nodes that may hold good ones already (their content is not known yet), and
//             wanted blocks of other tables that nothing is known of
//   Vls       SL2VL and VL arbitration, where they are ours
//   Settle    LIDs and other fields of ports, tables written by difference, LFT and MFT blocks, and
//             the tops of both, all pipelined; LFT blocks that could make a loop with old ones
//             still in place wait for those
//   Arm       INIT -> ARMED, with the port's other fields
//   Activate  ARMED -> ACTIVE, where both ends are armed
//   Look      ports that were not heard of since the bit of their switch was cleared, and the bit
//   of
//             switches that could tell of a change by no trap, and the local port of a CA. What is
//             not as it was is a failure
//
// Each phase ends when everything asked in it is answered or given up. A device that does not
// answer is asked nothing more, so that any number of dead ones cost one transaction time-out
// together.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/mad/session.h"
#include "sm/apply/block_work.h"
#include "sm/apply/stubborn_ports.h"
#include "sm/plan/desired.h"

namespace sm::apply {

/// What a switch's forwarding tables are known to hold, from answers.
struct SwitchTables {
  std::vector<std::uint8_t> lft;  // by LID, as far as known
  std::vector<bool> lft_known;    // by block of 64
  std::map<std::pair<std::uint16_t, std::uint8_t>, std::array<std::uint16_t, 32>>
      mft;  // by block and position
};

/// What outlives one sweep.
struct Known {
  std::unordered_map<ib::Guid, SwitchTables> tables;
  device::Inventory inventory;  // tables that are read, or written by difference
  RefusedBlocks refused;
  StubbornPorts stubborn;
  /// Switches that said something changed since their tables were read last: they may have been
  /// rebooted.
  std::set<ib::Guid> doubtful;

  /// What tables of ports are known to say is no longer believed. (Tables of switches are
  /// TableWork's.)
  void doubt_ports();
};

enum class Phase {
  Switches,
  Read,
  Vls,
  SettleNew,
  ArmLinks,
  ActivateLinks,
  Settle,
  Arm,
  Activate,
  Look,
  Done
};

struct Failure {
  ib::fabric::NodeIndex node{};
  std::uint8_t port{};
  bool timed_out{false};
  std::string message;  // what was attempted, on what, what came back
};

/// What a device holds and should not: one Set would change it.
struct Difference {
  ib::fabric::NodeIndex node{};
  std::string_view table;  // the attribute: "PortInfo", "LinearForwardingTable"
  std::string slot;        // "port 4", "block 2"; empty where a node has one
};

struct ApplyOptions {
  std::uint32_t per_node{4};                     // requests under way to one node
  std::uint32_t in_all{512};
  bool after_sweep{true};  // `observed` is that of a sweep just now
  /// By node: it does not answer, so it is asked nothing; what it lacks is a failure. Empty: none.
  std::vector<bool> silent;
  bool only_read{
      false};  // wanted blocks of which nothing is known are read, and nothing is written
  /// Nothing is set: what a Set would change is among differences(), and counts as done.
  bool rehearse{false};
  bool read_back{false};  // what devices are known to hold is read from them before it is believed
  ib::mad::Cookie cookie_base{0};  // added to every cookie; the low 32 bits are ours
};

class Apply : public ib::mad::Exchange {
 public:
  /// `observed` and `known` are updated as answers come and must outlive this.
  Apply(std::shared_ptr<const plan::Desired> desired, ib::discover::Observed& observed,
        Known& known, ApplyOptions options = {});
  ~Apply() override;

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override;

  Phase phase() const;
  std::uint64_t sets() const;                      // SubnSets sent so far
  bool has_answered(ib::fabric::PortRef p) const;  // the Set of its wanted fields
  bool restarted_links() const;  // some links were taken down to change them: sweep again
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
