// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/plan.h"

#include <fmt/format.h>

#include "libdiag/route/reroute/reroute.h"
#include "tools/ibroutes/report.h"

namespace ib::tools {
namespace {

bool same_switches(const fabric::CompactGraph& a, const fabric::CompactGraph& b) {
  if (a.switch_count() != b.switch_count()) return false;
  for (fabric::SwitchIndex s = 0; s < a.switch_count(); ++s)
    if (a.guid(s) != b.guid(s)) return false;
  return true;
}

}  // namespace

std::optional<Changes> changes_of(const Source& source, const route::Plan& plan) {
  const fabric::CompactGraph graph(source.fabric);
  if (plan.routes.engine.empty() || !same_switches(graph, plan.graph)) return std::nullopt;
  const auto change =
      route::difference(tables::linear_tables(graph, source.tables), plan.routes.lfts);
  return Changes{change.entries.size(), change.blocks.size()};
}

std::string plan_text(const report::PlanReport& report, const std::optional<Changes>& changes) {
  std::string out;
  if (changes)
    out = fmt::format("entries-to-change: {}\nblocks-to-write: {}\n", changes->entries,
                      changes->blocks);
  return report::plan_text(report) + out;
}

std::string plan_json(const Source& source, const report::PlanReport& report,
                      const std::optional<Changes>& changes, const std::string& version) {
  report::JsonWriter json;
  report::begin_document(json,
                         {kRoutesSchema, "ibroutes", version, source.complete(), source.errors});
  json.field("what", "plan");
  report::write_plan(json, report);
  if (changes)
    json.field("entries_to_change", changes->entries).field("blocks_to_write", changes->blocks);
  json.end_object();
  return json.take();
}

}  // namespace ib::tools
