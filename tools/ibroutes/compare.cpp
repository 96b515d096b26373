// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/compare.h"

#include <algorithm>

#include "libdiag/report/engine_table.h"
#include "tools/ibroutes/report.h"

namespace ib::tools {
namespace {

route::Tried programmed(const Source& source, const fabric::CompactGraph& graph,
                        const tables::VirtualLanes& lanes) {
  const auto tables = tables::linear_tables(graph, source.tables);
  tables::VerifyOptions checks;
  checks.credit_loops_are_must = true;
  checks.sm_lid = source.sm_lid;
  route::Tried row;
  row.engine = "programmed";
  row.verdict = tables::verify(source.fabric, graph, tables, lanes, {}, checks);
  row.vls_used = row.verdict->vls;
  row.passed = row.verdict->must_ok();
  for (const auto& finding : row.verdict->findings)
    if (finding.must && row.why.empty()) row.why = finding.message;
  row.figures = tables::figures(graph, tables, {1, 0, 0});
  return row;
}

}  // namespace

Result<Comparison> compare(const Source& source, const fabric::CompactGraph& graph,
                           const tables::VirtualLanes& lanes, route::PlanOptions options,
                           bool tables_given) {
  if (graph.destinations().empty())
    return fail(ErrorKind::Usage,
                "cannot compare engines on this fabric: no port has a LID; start a subnet manager, "
                "or use `ibroutes plan`, which gives LIDs");
  route::ChoiceOptions& choice = options.choice;
  if (choice.engines.empty())
    for (const auto& engine : route::engines())
      if (tables_given || engine.name != std::string_view("file"))
        choice.engines.emplace_back(engine.name);
  choice.no_fallback = true;
  choice.compare = true;
  fabric::Fabric planned = source.fabric;
  if (options.lmc)
    if (auto given = route::give_lids(planned, options.lmc); !given)
      return tl::unexpected<Error>(std::move(given.error()));
  auto taken = route::take_away(planned, options.what_if);
  if (!taken) return tl::unexpected<Error>(std::move(taken.error()));
  const fabric::CompactGraph planned_graph(planned);
  auto tried = route::choose_routes(planned, planned_graph, choice, options.verify).tried;
  Comparison comparison{{programmed(source, graph, lanes)}, std::move(taken->notes)};
  std::move(tried.begin(), tried.end(), std::back_inserter(comparison.rows));
  return comparison;
}

std::string comparison_json(const Source& source, const Comparison& comparison,
                            const std::string& version) {
  report::JsonWriter json;
  report::begin_document(json,
                         {kRoutesSchema, "ibroutes", version, source.complete(), source.errors});
  json.field("what", "comparison");
  if (!comparison.notes.empty()) {
    json.key("notes").begin_array();
    for (const auto& note : comparison.notes) json.value(note);
    json.end_array();
  }
  report::write_engines(json, comparison.rows);
  json.end_object();
  return json.take();
}

}  // namespace ib::tools
