// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/plan_files.h"

#include <fmt/format.h>

#include "libdiag/fabric/export/draw.h"
#include "libdiag/report/dump_files.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/loads.h"

namespace ib::report {

using route::Plan;

Result<void> write_dumps(const std::string& directory, const Plan& plan) {
  const auto switches = tables::switch_tables(plan.fabric, plan.graph, plan.routes.lfts);
  DumpContent content;
  content.fabric = &plan.fabric;
  content.graph = &plan.graph;
  content.switches = switches;
  content.lfts = &plan.routes.lfts;
  content.sl_to_vl = &plan.routes.virtual_lanes.sl_to_vl;
  content.path_sls = &plan.routes.virtual_lanes.sls;
  static constexpr const DumpFile* kFiles[] = {&dump_files::kTopology, &dump_files::kDumpFts,
                                               &dump_files::kLfts, &dump_files::kSl2Vl,
                                               &dump_files::kPathSls};
  auto written = write_dump_files(directory, kFiles, content);
  if (!written) return tl::unexpected<Error>(std::move(written.error()));
  return {};
}

Result<void> draw_loads(const std::string& path, const std::string& title, const Plan& plan) {
  const auto loads = tables::loads_by_arc(plan.graph, plan.routes.lfts);
  fabric::PictureOptions options;
  options.title = title + ", routed by " + plan.routes.engine;
  options.load = [&](fabric::PortRef port) -> std::uint64_t {
    const auto s = plan.graph.switch_of(port.node);
    if (s == fabric::kNoSwitch) return 0;
    const auto arcs = plan.graph.arcs(s);
    for (std::size_t i = 0; i < arcs.size(); ++i)
      if (arcs[i].out_port == port.port) return loads[plan.graph.arc_index(s, i)];
    return 0;
  };
  options.load_floor =
      tables::figures(plan.fabric, plan.graph, plan.routes.lfts, {1, 0, 0, 0}).load_floor;
  auto picture = fabric::make_picture(plan.fabric, options);
  picture.summary += fmt::format("; at most {} routes over a link, {:.1f} on average",
                                 plan.verdict.load_max, plan.verdict.load_mean);
  auto svg = fabric::svg_text(picture);
  if (!svg) return tl::unexpected<Error>(std::move(svg.error()));
  return write_dump_file(path, [&](const tables::TextSink& write) { write(*svg); });
}

}  // namespace ib::report
