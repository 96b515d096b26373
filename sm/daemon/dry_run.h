// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm --dry-run`: one sweep of the fabric and one plan, and where devices hold something else
// than it says. No Set is sent, no state is written, and who is master stays master.
#pragma once

#include <iosfwd>

#include "sm/core/report.h"
#include "sm/daemon/options.h"

namespace sm::daemon {

/// A difference with the names that an operator knows the node by.
struct NamedDifference {
  ib::wire::NodeType type{};
  ib::Guid guid{};
  std::string node;
  std::string table, slot;
};

struct DryRunReport {
  std::vector<NamedDifference> differences;  // by table, then node
  std::vector<std::string> lines;            // what did not answer or is not managed
  bool complete{true};                       // there are none of these

  /// 0 nothing differs, 1 something does, 3 not all of the fabric was compared.
  int exit_status() const;
};

DryRunReport dry_run_report(const core::Report& report, const ib::fabric::Fabric& fabric);
/// "DRY RUN slots=N nodes=N", a line for each table that differs, one for each slot, then `lines`.
std::string dry_run_text(const DryRunReport& report);
std::string dry_run_json(const DryRunReport& report, const std::string& version);

/// The exit status: that of the report, or 2 and 4 as the daemon has them. What the log would warn
/// of goes to `complaints`.
int run_dry(const DaemonOptions& options, const std::string& version, std::ostream& out,
            std::ostream& complaints);

}  // namespace sm::daemon
