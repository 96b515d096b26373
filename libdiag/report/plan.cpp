// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/plan.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/report/engine_table.h"
#include "libdiag/report/verdict.h"

namespace ib::report {
namespace {

using route::Plan;
using wire::NodeType;

const char* verdict_of(const Plan& plan) {
  if (plan.routes.engine.empty()) return "no engine fits";
  if (!plan.passed) return "fails";
  if (plan.verdict.credit_loop_channels != 0) return "can deadlock";
  return plan.verdict.unreachable == 0 ? "good" : "some switches are not reached";
}

/// Notes but for what the rows of a comparison say.
std::vector<std::string> notes_of(const PlanReport& report) {
  if (!report.compares) return report.plan.notes;
  auto lines = report.plan.taken.notes;
  for (auto& line : tables::piece_lines(report.plan.fabric, report.plan.pieces))
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
      printable(report.topology), plan.fabric.count(NodeType::Switch),
      plan.fabric.count(NodeType::ChannelAdapter), plan.fabric.count(NodeType::Router),
      plan.fabric.link_count(), plan.lids, plan.lids_given);
}

std::string routes_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out = fmt::format("engine: {}\nvls: {}\n", plan.routes.engine, plan.routes.vls_used);
  if (const auto seconds = seconds_of(plan)) out += fmt::format("seconds: {:.3f}\n", *seconds);
  out += verdict_text(plan.verdict);
  if (report.figures) out += figures_text(*report.figures);
  return out;
}

void write_routes(JsonWriter& json, const PlanReport& report) {
  const Plan& plan = report.plan;
  json.field("vls", plan.routes.vls_used).field("seconds", seconds_of(plan));
  write_verdict(json, plan.verdict);
  json.field("must_failures", plan.verdict.must_failures);
  if (report.figures) write_figures(json, *report.figures);
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out = head_text(report);
  const bool routed = !plan.routes.engine.empty();
  if (!report.compares && routed) out += routes_text(report);
  if (!report.compares) out += fmt::format("verdict: {}\n", verdict_of(plan));
  for (const auto& note : notes_of(report)) out += "note: " + printable(note) + '\n';
  if (report.compares) return out + '\n' + engine_table(plan.tried);
  return out + findings_text(plan.verdict.findings);
}

void write_plan(JsonWriter& json, const PlanReport& report) {
  const Plan& plan = report.plan;
  json.field("topology", report.topology)
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
  write_pieces(json, plan.fabric, plan.pieces);
  write_engines(json, plan.tried);
  write_findings(json, plan.graph, plan.verdict.findings);
}

}  // namespace ib::report
