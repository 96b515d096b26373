// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PlanArgs: the options that `ibsm plan` and `ibroutes plan` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/plan/routing_args.h"
#include "libdiag/route/choose/plan.h"

namespace ib::plan {

/// What is to be planned, and what is to be done with the result.
struct PlanCommand {
  std::string topology;                    // file to read; empty: the live fabric
  route::PlanOptions plan;                 // with choice.compare: a row for each engine
  std::vector<route::Mentions> mentions;   // of the option files
  bool figures{false};                     // load against its floor, lengths, contention
  tables::FiguresOptions figures_options;  // how these are sampled
  std::string dump_dir;                    // LFTs, SL2VL and the topology; empty: nowhere
  std::string svg_file;                    // a picture of the loads; empty: none

  /// Nothing left out and no other LIDs, so that the plan is for the fabric as it is.
  bool as_it_is() const { return plan.what_if.empty() && !plan.lmc; }
};

class PlanArgs {
 public:
  /// Whether the saved topology may also be an operand.
  enum class Operand { Topology, None };
  /// Whose the options of routing and the LMC are.
  enum class Routing { Here, OfTheCaller };
  void add_to(cli::CommandLine& line, Operand operand = Operand::Topology,
              Routing routing = Routing::Here);

  /// The saved topology that was named, by --load or as the operand. Empty: none was.
  std::string topology() const { return load_.empty() ? operand_.value_or("") : load_; }
  bool compares() const { return compared_.has_value(); }
  /// Compares all engines, or those of `list`, as --compare does.
  Result<void> compare(const std::string& list);
  static constexpr const char* kAll = "all";

  /// What was asked for, once the words are read; option files are read here. An error is of kind
  /// Usage.
  Result<PlanCommand> command() const;
  /// The same with the caller's options of routing, whose files were read.
  Result<PlanCommand> command(route::ChoiceOptions choice) const;

 private:
  PlanCommand command_;
  RoutingArgs routing_;
  std::string load_;
  std::optional<std::string> operand_;
  std::optional<std::string> compared_;  // a list, or kAll
};

}  // namespace ib::plan
