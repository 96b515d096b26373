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

std::string verdict_of(const PlanReport& report) {
  const Plan& plan = report.plan;
  if (plan.routes.engine.empty()) return "no engine is applicable";
  return routes_verdict(plan.verdict,
                        {0, report.missing, nothing_to_verify(plan.graph, plan.verdict)});
}

/// Notes but for what the rows of a comparison say.
std::vector<std::string> notes_of(const PlanReport& report) {
  if (!report.compares) return report.plan.notes;
  auto lines = report.plan.taken.notes;
  for (auto& line : tables::piece_lines(report.plan.fabric, report.plan.pieces))
    lines.push_back(std::move(line));
  if (!report.programmed_note.empty()) lines.push_back("programmed: " + report.programmed_note);
  return lines;
}

/// A row for what is programmed, where that is known, and one for each engine.
std::vector<route::Tried> rows_of(const PlanReport& report) {
  std::vector<route::Tried> rows;
  if (report.programmed) rows.push_back(*report.programmed);
  rows.insert(rows.end(), report.plan.tried.begin(), report.plan.tried.end());
  return rows;
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
  json.field("vls", plan.routes.vls_used).field("seconds", to_milliseconds(seconds_of(plan)));
  write_verdict(json, plan.verdict);
  json.field("failures", plan.verdict.must_failures);
  if (report.figures) write_figures(json, *report.figures);
}

std::string event_text(const PlanReport::Event& event) {
  const auto& [pairs, loops] = event.sl_moves;
  return fmt::format("event: engine={} pairs-with-another-sl={} credit-loop-channels={}\n",
                     event.engine, pairs.size(), loops);
}

void write_event(JsonWriter& json, const PlanReport::Event& event) {
  json.key("event")
      .begin_object()
      .field("engine", event.engine)
      .field("pairs_with_another_sl", event.sl_moves.pairs.size())
      .field("credit_loop_channels", event.sl_moves.credit_loop_channels)
      .end_object();
}

void write_tables(JsonWriter& json, const std::vector<TableSum>& tables) {
  json.key("tables").begin_array();
  for (const TableSum& sum : tables)
    json.begin_object()
        .field("table", sum.table)
        .field("blocks", sum.blocks)
        .field("nodes", sum.nodes)
        .end_object();
  json.end_array();
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  std::string out = head_text(report);
  const bool routed = !plan.routes.engine.empty();
  if (!report.compares && routed) out += routes_text(report);
  if (report.event) out += event_text(*report.event);
  for (const auto& note : notes_of(report)) out += "note: " + printable(note) + '\n';
  if (report.compares) return out + '\n' + engine_table(rows_of(report));
  if (report.tables)
    for (const TableSum& sum : *report.tables)
      out += fmt::format("table: {} blocks={} nodes={}\n", sum.table, sum.blocks, sum.nodes);
  if (report.changes)
    out += fmt::format("entries-to-change: {}\nblocks-to-write: {}\n", report.changes->entries,
                       report.changes->blocks);
  out += findings_text(plan.verdict.findings);
  return out + fmt::format("verdict: {}\n", verdict_of(report));
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
  json.field("verdict", verdict_of(report));
  if (report.event) write_event(json, *report.event);
  json.key("notes").begin_array();
  for (const auto& note : notes_of(report)) json.value(note);
  json.end_array();
  write_pieces(json, plan.fabric, plan.pieces);
  write_engines(json, rows_of(report));
  write_findings(json, plan.fabric, plan.graph, plan.verdict.findings);
  if (report.tables && !report.compares) write_tables(json, *report.tables);
  if (report.changes)
    json.field("entries_to_change", report.changes->entries)
        .field("blocks_to_write", report.changes->blocks);
}

}  // namespace ib::report
