// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/compare.h"

#include <algorithm>
#include <chrono>

#include "libdiag/base/text.h"
#include "libdiag/report/engine_table.h"
#include "libdiag/route/plan.h"
#include "tools/ibroutes/report.h"

namespace ib::tools {
namespace {

route::Tried programmed(const Source& source, const fabric::CompactGraph& graph,
                        const routes::Lanes& lanes) {
  const auto tables = routes::linear_tables(graph, source.tables);
  routes::VerifyOptions checks;
  checks.credit_loops_are_must = true;
  checks.sm_lid = source.sm_lid;
  route::Tried row;
  row.engine = "programmed";
  row.verdict = routes::verify(source.fabric, graph, tables, lanes, {}, checks);
  row.vls_used = row.verdict->vls;
  row.passed = row.verdict->must_ok();
  for (const auto& finding : row.verdict->findings)
    if (finding.must && row.why.empty()) row.why = finding.message;
  row.figures = routes::figures(graph, tables, {1, 0, 0});
  return row;
}

}  // namespace

void add_option_files(CommandLine& line, route::OptionFiles& files) {
  using route::OptionFile;
  static constexpr struct {
    OptionFile which;
    const char* name;
    const char* help;
  } kFiles[] = {
      {OptionFile::Roots, "--root_guid_file", "GUIDs of the tops of a tree"},
      {OptionFile::ComputeNodes, "--cn_guid_file", "Port GUIDs of compute nodes"},
      {OptionFile::IoNodes, "--io_guid_file", "Port GUIDs of I/O nodes"},
      {OptionFile::Ids, "--ids_guid_file", "Numbers that stand for GUIDs of switches"},
      {OptionFile::Ignored, "--ignore_guids", "Ports whose load is not counted"},
      {OptionFile::HopWeights, "--hop_weights_file", "What a hop costs"},
      {OptionFile::PortSearchOrder, "--port_search_ordering_file", "Order of ports"},
      {OptionFile::GuidRoutingOrder, "--guid_routing_order_file", "Ports that are routed first"},
      {OptionFile::Torus, "--torus_config", "torus-2QoS.conf"},
      {OptionFile::Lfts, "--lfts_file", "Forwarding tables: engine file"},
      {OptionFile::LidMatrix, "--lid_matrix_file", "Hop counts: engine file"},
  };
  for (const auto& file : kFiles) line.text(file.name, files[file.which], "FILE", file.help);
}

void PlannedWords::add_to(CommandLine& line) {
  line.text("--without", without_, "LIST",
            "Route without these switches (NAME or GUID) and links (NAME:PORT), joined by commas");
  line.number("--damage", damage_, 0, 100, "Route without so many per cent of the links (0)");
  line.number("--seed", seed_, 0, ~std::uint64_t{0}, "Which links --damage takes (1)");
  line.number("--lmc", lmc_, 0, 7, "As if hosts had 2^LMC LIDs each (as they have)");
  line.number("--scatter-ports", scatter_, 0, 0xFFFFFFFF, "Equal ports by chance; 0: not (0)");
  line.number("--lash_start_vl", lash_start_vl_, 0, 14, "First VL that lash uses (0)");
  line.number("--nue_max_num_vls", nue_max_num_vls_, 0, 15, "VLs of nue; 0: all there are (0)");
}

void PlannedWords::put_into(CompareOptions& options) const {
  for (const auto part : split(without_, ','))
    if (!part.empty()) options.what_if.without.emplace_back(part);
  options.what_if.damage_percent = damage_;
  options.what_if.seed = seed_;
  if (lmc_ != kAsIs) options.lmc = static_cast<std::uint8_t>(lmc_);
  options.engine.scatter_seed = scatter_;
  options.engine.lash_start_vl = lash_start_vl_;
  options.engine.nue_max_num_vls = nue_max_num_vls_;
}

Result<Comparison> compare(const Source& source, const fabric::CompactGraph& graph,
                           const routes::Lanes& lanes, const CompareOptions& options) {
  if (source.fabric.count(wire::NodeType::Switch) == 0)
    return fail(ErrorKind::Usage,
                "cannot compare engines on this fabric: it has no switch, so there is nothing to "
                "route");
  if (graph.destinations().empty())
    return fail(ErrorKind::Usage,
                "cannot compare engines on this fabric: no port has a LID; start a subnet manager, "
                "or use `ibsm plan` on a saved topology");
  route::OptionFiles files = options.files;
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  auto read = route::read_option_files(files, options.engine);
  if (!read) return tl::unexpected<Error>(std::move(read.error()));
  if (const auto lines = route::unknown_names(source.fabric, read->mentions); !lines.empty())
    return fail(ErrorKind::Usage, lines.front());
  if (options.warn)
    for (const std::string& line : route::empty_files(read->mentions)) options.warn(line);
  route::ChoiceOptions choice;
  choice.engines = options.engines;
  if (choice.engines.empty())
    for (const auto& engine : route::engines())
      if (engine.name != std::string_view("file") || files.contains(route::OptionFile::Lfts) ||
          files.contains(route::OptionFile::LidMatrix))
        choice.engines.emplace_back(engine.name);
  choice.no_fallback = true;
  choice.compare = true;
  choice.vls_max = options.vls_max;
  choice.clock = options.clock;
  choice.engine = std::move(read->options);
  routes::VerifyOptions checks;
  checks.sm_lid = source.sm_lid;
  fabric::Fabric planned = source.fabric;
  if (options.lmc) {
    if (auto given = route::give_lids(planned, options.lmc); !given)
      return tl::unexpected<Error>(std::move(given.error()));
    checks.sm_lid = {};  // has another LID perhaps
  }
  auto taken = route::take_away(planned, options.what_if);
  if (!taken) return tl::unexpected<Error>(std::move(taken.error()));
  const fabric::CompactGraph planned_graph(planned);
  auto tried = route::choose_routes(planned, planned_graph, choice, checks).tried;
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

double seconds_now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ib::tools
