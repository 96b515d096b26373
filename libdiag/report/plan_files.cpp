// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/plan_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "libdiag/fabric/export/draw.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/loads.h"
#include "libdiag/tables/sl2vl_dump.h"

namespace ib::report {
namespace {

using route::Plan;

Result<void> write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  if (file) write(file);
  if (file.flush()) return {};
  return fail(ErrorKind::Io, "cannot write " + path + ": " +
                                 (errno != 0 ? std::strerror(errno) : "input/output error"));
}

}  // namespace

Result<void> write_dumps(const std::string& directory, const Plan& plan) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::Io, "cannot make the folder " + directory + ": " + error.message());
  const auto tables = tables::switch_tables(plan.fabric, plan.graph, plan.routes.lfts);
  const tables::DestinationNames names(plan.fabric);
  // Switch by switch: all of a big fabric would be hundreds of megabytes.
  const auto by_switch = [&](const auto& append) {
    return [&, append](std::ostream& out) {
      std::string text;
      for (const auto& one : tables) {
        text.clear();
        append(text, one);
        out << text;
      }
    };
  };
  const std::pair<const char*, std::function<void(std::ostream&)>> files[] = {
      {"fabric.topo", [&](std::ostream& out) { fabric::write_topology(out, plan.fabric); }},
      {"dump_fts.txt", by_switch([&](std::string& text, const tables::SwitchTables& one) {
         tables::append_dump_fts_lft(text, one, names);
       })},
      {"opensm-lfts.dump", by_switch([&](std::string& text, const tables::SwitchTables& one) {
         tables::append_opensm_lfts(text, one, names);
       })},
      {"opensm-sl2vl.dump",
       [&](std::ostream& out) {
         std::string text;
         tables::append_sl2vl(text, plan.fabric, plan.graph, plan.routes.virtual_lanes.sl_to_vl);
         out << text;
       }},
      {"path-sls.dump", [&](std::ostream& out) {
         std::string text;
         tables::append_path_sls(text, plan.fabric, plan.graph, plan.routes.virtual_lanes.sls);
         out << text;
       }}};
  for (const auto& [name, write] : files)
    if (auto written = write_file(directory + '/' + name, write); !written) return written;
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
  auto picture = fabric::make_picture(plan.fabric, options);
  picture.summary += fmt::format("; at most {} routes over a link, {:.1f} on average",
                                 plan.verdict.load_max, plan.verdict.load_mean);
  auto svg = fabric::svg_text(picture);
  if (!svg) return tl::unexpected<Error>(std::move(svg.error()));
  return write_file(path, [&](std::ostream& out) { out << *svg; });
}

}  // namespace ib::report
