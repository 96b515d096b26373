// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Report: what became of one bring-up, as counts and lines. The first line is a promise to scripts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "sm/apply/apply.h"
#include "sm/device/restarts.h"
#include "sm/plan/desired.h"

namespace sm::core {

struct Report {
  std::size_t switches{}, cas{}, routers{}, links{}, lids{};
  std::uint64_t mads{};
  std::uint64_t sets{};  // SubnSets this time
  ib::Duration took{};
  /// Nodes that are not managed, and ports that are left alone of those that are. A node that was
  /// never heard counts once for each cable to it.
  std::size_t unmanaged{};
  std::size_t duplicate_guids{};  // nodes with the GUID of another one
  std::size_t missing{};
  std::size_t lasting{};  // of these: asking the same again changes nothing
  /// Tables that devices did not take, those of `missing` aside, and ports that keep the LID of
  /// another subnet manager.
  std::size_t refused{};
  std::size_t held_down{};  // links that flap
  std::size_t degraded{};   // links below what both ends can do
  std::size_t silent{};     // managed nodes that did not answer and were not waited for
  std::size_t changed{};    // switches that said meanwhile that links changed: looked at next
  std::vector<apply::Difference> differences;  // where it was rehearsed, by phase
  std::vector<std::string> lasting_lines;      // among `lines` in the end, and not logged each time
  std::vector<std::string> lines;  // for each missing port, node not managed and link held down

  // For those who tell what changed. Ports are those of the snapshot that was published with it.
  std::shared_ptr<const Restarts> restarts;  // since the report before; null: nothing did
  /// Of the plan, with what it found wrong; nothing: none was made.
  std::optional<std::vector<std::string>> alarms;
  std::vector<plan::LidConflict> lid_conflicts;
  std::vector<plan::LeftOutKeys> left_out_keys;

  bool up() const { return missing == 0; }
  /// Exit status of `ibsm -o`: 0 up, 1 incomplete, 3 up with nodes or ports that are not managed.
  int exit_status() const { return missing > 0 ? 1 : unmanaged > 0 ? 3 : 0; }
  /// "SUBNET UP switches=..." or "SUBNET INCOMPLETE missing=..."
  std::string headline() const;
};

/// Counts and lines; figures of time and MADs are the caller's.
Report make_report(const plan::Desired& desired, const ib::discover::Observed& observed,
                   const std::vector<apply::Failure>& failures,
                   const std::vector<apply::Refusal>& refusals = {});

/// The trouble is of a node that is managed all the same: it lost no more than an attribute, no
/// port, and make_report() has no line for it.
bool concerns_managed(const plan::Desired& desired, const ib::discover::Observed& observed,
                      const ib::discover::Trouble& trouble);

}  // namespace sm::core
