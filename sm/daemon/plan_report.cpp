// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_report.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/report/engine_table.h"
#include "libdiag/report/json.h"
#include "libdiag/report/verdict.h"
#include "sm/daemon/plan_failure.h"

namespace sm::daemon {
namespace {

using ib::route::Plan;
using ib::wire::NodeType;

bool compares(const PlanReport& report) { return report.command.plan.choice.compare; }

const char* verdict_of(const Plan& plan) {
  if (plan.routes.engine.empty()) return "no engine fits";
  if (!plan.passed) return "fails";
  if (plan.verdict.credit_loop_channels != 0) return "can deadlock";
  return plan.verdict.unreachable == 0 ? "good" : "some switches are not reached";
}

/// Notes but for what the rows of a comparison say.
std::vector<std::string> notes_of(const PlanReport& report) {
  if (!compares(report)) return report.plan.notes;
  auto lines = report.plan.taken.notes;
  for (auto& line : ib::routes::piece_lines(report.plan.fabric, report.plan.pieces))
    lines.push_back(std::move(line));
  return lines;
}

std::optional<double> seconds_of(const Plan& plan) {
  for (const auto& row : plan.tried)
    if (row.engine == plan.routes.engine) return row.seconds;
  return std::nullopt;
}

std::string head_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  return fmt::format(
      "topology: {}\nswitches: {}\ncas: {}\nrouters: {}\nlinks: {}\nlids: {}\nlids-given: {}\n",
      ib::printable(report.command.topology), plan.fabric.count(NodeType::Switch),
      plan.fabric.count(NodeType::ChannelAdapter), plan.fabric.count(NodeType::Router),
      plan.fabric.link_count(), plan.lids, plan.lids_given);
}

std::string routes_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out = fmt::format("engine: {}\nvls: {}\n", plan.routes.engine, plan.routes.vls_used);
  if (const auto seconds = seconds_of(plan)) out += fmt::format("seconds: {:.3f}\n", *seconds);
  out += ib::report::verdict_text(plan.verdict);
  if (report.figures) out += ib::report::figures_text(*report.figures);
  return out;
}

void write_routes(ib::report::JsonWriter& json, const PlanReport& report) {
  const Plan& plan = report.plan;
  json.field("vls", plan.routes.vls_used).field("seconds", seconds_of(plan));
  ib::report::write_verdict(json, plan.verdict);
  json.field("must_failures", plan.verdict.must_failures);
  if (report.figures) ib::report::write_figures(json, *report.figures);
}

}  // namespace

std::string text_of(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out = head_text(report);
  const bool routed = !plan.routes.engine.empty();
  if (!compares(report) && routed) out += routes_text(report);
  if (!compares(report)) out += fmt::format("verdict: {}\n", verdict_of(plan));
  for (const auto& note : notes_of(report)) out += "note: " + ib::printable(note) + '\n';
  if (compares(report)) return out + '\n' + ib::report::engine_table(plan.tried);
  return out + ib::report::findings_text(plan.verdict.findings);
}

std::string json_of(const PlanReport& report) {
  const Plan& plan = report.plan;
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kPlanSchema, "ibsm", report.command.version, true, {}});
  json.field("topology", report.command.topology)
      .field("switches", plan.fabric.count(NodeType::Switch))
      .field("cas", plan.fabric.count(NodeType::ChannelAdapter))
      .field("routers", plan.fabric.count(NodeType::Router))
      .field("links", plan.fabric.link_count())
      .field("lids", plan.lids)
      .field("lids_given", plan.lids_given)
      .field("switches_taken", plan.taken.switches)
      .field("links_taken", plan.taken.links)
      .field("hosts_taken", plan.taken.hosts);
  json.key("engine");
  if (plan.routes.engine.empty())
    json.null();
  else
    json.value(plan.routes.engine);
  if (!plan.routes.engine.empty()) write_routes(json, report);
  json.field("verdict", verdict_of(plan));
  json.key("notes").begin_array();
  for (const auto& note : notes_of(report)) json.value(note);
  json.end_array();
  ib::report::write_pieces(json, plan.fabric, plan.pieces);
  ib::report::write_engines(json, plan.tried);
  ib::report::write_findings(json, plan.graph, plan.verdict.findings);
  json.end_object();
  return json.take();
}

}  // namespace sm::daemon
