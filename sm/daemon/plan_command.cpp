// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_command.h"

#include <filesystem>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/plan.h"
#include "libdiag/report/plan_files.h"
#include "sm/daemon/plan_failure.h"

namespace sm::daemon {
namespace {

std::string json_of(const ib::report::PlanReport& report, const std::string& version) {
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kPlanSchema, "ibsm", version, true, {}});
  write_plan(json, report);
  json.end_object();
  return json.take();
}

}  // namespace

int run_plan_command(const PlanCommand& command, std::ostream& out, std::ostream& complaints) {
  const auto complain = [&](const ib::Error& error) {
    complaints << "ibsm: " << ib::printable(error.message) << '\n';
    if (command.json) out << plan_failure(command.version, error) << std::flush;
    return ib::exit_status(error.kind);
  };
  std::vector<std::string> warnings;
  auto fabric = ib::fabric::read_topology_file(command.topology, &warnings);
  if (!fabric) return complain(fabric.error());
  for (const std::string& line : ib::route::unknown_names(*fabric, command.mentions))
    warnings.push_back(line);
  for (std::string& line : ib::route::empty_files(command.mentions))
    warnings.push_back(std::move(line));
  for (const std::string& warning : warnings)
    complaints << "ibsm: warning: " << ib::printable(warning) << '\n';
  const auto plan = ib::route::plan_routes(std::move(*fabric), command.plan);
  if (!plan) return complain(plan.error());

  ib::report::PlanReport report{*plan, command.topology, command.plan.choice.compare, {}};
  if (command.figures && !plan->routes.engine.empty())
    report.figures = ib::tables::figures(plan->graph, plan->routes.lfts, command.figures_options);
  if (!plan->routes.engine.empty()) {
    if (!command.dump_dir.empty())
      if (auto written = ib::report::write_dumps(command.dump_dir, *plan); !written)
        return complain(written.error());
    if (!command.svg_file.empty())
      if (auto drawn = ib::report::draw_loads(
              command.svg_file, std::filesystem::path(command.topology).filename().string(), *plan);
          !drawn)
        return complain(drawn.error());
  }
  out << (command.json ? json_of(report, command.version) : plan_text(report));
  if (!out.flush()) return complain({ib::ErrorKind::Io, "cannot write to stdout", 0});
  return plan->passed ? 0 : 1;
}

}  // namespace sm::daemon
