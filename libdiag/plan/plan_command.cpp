// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/plan/plan_command.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/names.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_gaps.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/plan_files.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/subnet_lst.h"

namespace ib::plan {
namespace {

/// Words of --without that are several names joined by commas, apart.
std::vector<std::string> split_names(const fabric::Fabric& fabric,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    if (fabric::find_node_and_port(fabric, word)) {
      names.push_back(word);
      continue;
    }
    for (const auto part : split(word, ','))
      if (!part.empty()) names.emplace_back(part);
  }
  return names;
}

/// The routes that switches hold, as a row beside those of engines.
route::Tried programmed_row(const Subject& subject, const fabric::CompactGraph& graph,
                            const tables::LinearTables& lfts) {
  tables::VerifyOptions checks;
  checks.credit_loops_are_must = true;
  checks.sm_lid = subject.sm_lid;
  route::Tried row;
  row.engine = "programmed";
  row.verdict = tables::verify(subject.fabric, graph, lfts, subject.vls, {}, checks);
  row.vls_used = row.verdict->vls;
  row.passed = row.verdict->must_ok();
  for (const auto& finding : row.verdict->findings)
    if (finding.must && row.why.empty()) row.why = finding.message;
  row.figures = tables::figures(subject.fabric, graph, lfts, {1, 0, 0, 0});
  return row;
}

bool same_switches(const fabric::CompactGraph& a, const fabric::CompactGraph& b) {
  if (a.switch_count() != b.switch_count()) return false;
  for (fabric::SwitchIndex s = 0; s < a.switch_count(); ++s)
    if (a.guid(s) != b.guid(s)) return false;
  return true;
}

/// What is programmed, held against the plan.
void add_programmed(report::PlanReport& report, const PlanCommand& command,
                    const Subject& subject) {
  if (subject.tables.empty()) return;
  const fabric::CompactGraph graph(subject.fabric, command.plan.choice.engine.no_hosts.guids());
  if (graph.destinations().empty()) return;  // no port has a LID yet
  const auto lfts = tables::linear_tables(graph, subject.tables);
  if (report.compares) {
    report.programmed = programmed_row(subject, graph, lfts);
    report.programmed_note = subject.vls_note;
  } else if (command.as_it_is() && !report.plan.routes.engine.empty() &&
             same_switches(graph, report.plan.graph)) {
    const auto change = route::difference(lfts, report.plan.routes.lfts);
    report.changes = report::PlanReport::Changes{change.entries.size(), change.blocks.size()};
  }
}

Result<void> write_files(const PlanCommand& command, const Subject& subject,
                         const Planned& planned) {
  const route::Plan& plan = planned.plan;
  if (plan.routes.engine.empty()) return {};
  if (!command.dump_dir.empty()) {
    if (auto written = report::write_dumps(command.dump_dir, plan); !written) return written;
    if (planned.dump_tables)
      if (auto written = planned.dump_tables(command.dump_dir); !written) return written;
  }
  if (command.svg_file.empty()) return {};
  return report::draw_loads(command.svg_file,
                            std::filesystem::path(subject.name).filename().string(), plan);
}

std::string document(const report::PlanReport& report, const Subject& subject,
                     const Reporter& reporter) {
  report::JsonWriter json;
  begin_document(json, {kPlanSchema, reporter.program, reporter.version, subject.errors.empty(),
                        subject.errors});
  write_plan(json, report);
  json.end_object();
  return json.take();
}

void complain(const Reporter& reporter, const std::string& what) {
  *reporter.complaints << reporter.program << ": " << printable(what) << '\n';
}
void warn(const Reporter& reporter, const std::string& what) {
  complain(reporter, "warning: " + what);
}

}  // namespace

std::string failure(const std::string& program, const std::string& version, const Error& error) {
  return report::failure_document(kPlanSchema, program, version, error, cli::status_of(error));
}

int Reporter::refuse(const Error& error) const {
  *complaints << program << ": " << printable(error.message) << '\n';
  if (json) *out << failure(program, version, error) << std::flush;
  return cli::status_of(error);
}

Result<Subject> saved_subject(const PlanCommand& command, const Reporter& reporter) {
  std::vector<std::string> warnings;
  const auto text = fabric::read_file_or_pipe(command.topology);
  if (!text) return tl::unexpected<Error>(text.error());
  auto fabric = tables::looks_like_subnet_lst(*text)
                    ? tables::read_subnet_lst(*text, command.topology)
                    : fabric::read_topology(*text, command.topology, &warnings);
  if (!fabric) return tl::unexpected<Error>(std::move(fabric.error()));
  Subject subject;
  auto gaps = fabric::take_gaps(warnings);
  subject.errors = std::move(gaps.lines);
  subject.missing = std::move(gaps.summary);
  for (const std::string& line : warnings) warn(reporter, line);
  if (!reporter.json)
    for (const std::string& line : subject.errors) complain(reporter, line);
  subject.fabric = *std::move(fabric);
  subject.name = command.topology;
  return subject;
}

Result<Planned> plan_routes(const fabric::Fabric& fabric, const route::PlanOptions& options) {
  auto plan = route::plan_routes(fabric, options);
  if (!plan) return tl::unexpected<Error>(std::move(plan.error()));
  std::optional<report::PlanReport::Event> event;
  if (!options.what_if.empty() && !options.choice.compare) {
    route::PlanOptions of_whole = options;
    of_whole.what_if = {};
    const auto whole = route::plan_routes(fabric, of_whole);
    if (whole)
      if (auto after = route::routes_after(*whole, *plan, options))
        event = {after->routes.engine, std::move(after->sl_moves)};
  }
  return Planned{*std::move(plan), {}, std::move(event), {}};
}

int run_plan(const PlanCommand& command, const Subject& subject, const Reporter& reporter,
             const Planner& planner) {
  if (subject.fabric.count(wire::NodeType::Switch) == 0)
    return reporter.refuse({ErrorKind::Usage,
                            "cannot plan routes of " + subject.name +
                                ": it has no switch, so there is nothing to route",
                            0});
  for (const std::string& line : route::unknown_names(subject.fabric, command.mentions))
    warn(reporter, line);
  for (const std::string& line : route::empty_files(command.mentions)) warn(reporter, line);
  route::PlanOptions options = command.plan;
  options.what_if.without = split_names(subject.fabric, command.plan.what_if.without);
  // With another LMC the subnet manager may have another LID.
  if (!options.lmc) options.verify.sm_lid = subject.sm_lid;
  const auto planned = planner(subject.fabric, options);
  if (!planned) return reporter.refuse(planned.error());
  const route::Plan& plan = planned->plan;

  report::PlanReport report{plan,           subject.name,    options.choice.compare, {}, {}, {}, {},
                            planned->event, planned->tables, subject.missing};
  if (command.figures && !plan.routes.engine.empty())
    report.figures =
        tables::figures(plan.fabric, plan.graph, plan.routes.lfts, command.figures_options);
  add_programmed(report, command, subject);
  if (auto written = write_files(command, subject, *planned); !written)
    return reporter.refuse(written.error());
  *reporter.out << (reporter.json ? document(report, subject, reporter) : plan_text(report));
  if (!reporter.out->flush()) return reporter.refuse({ErrorKind::Io, "cannot write to stdout", 0});
  if (!subject.errors.empty()) return cli::kExitIncomplete;
  return plan.passed && (!report.programmed || report.programmed->passed) ? 0 : 1;
}

}  // namespace ib::plan
