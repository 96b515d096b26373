// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibroutes: dumps forwarding tables, and says whether they are any good.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/common_options.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/report/dump_files.h"
#include "libdiag/report/engine_table.h"
#include "libdiag/report/plan_files.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "tools/common/refusal.h"
#include "tools/ibroutes/compare.h"
#include "tools/ibroutes/engine_words.h"
#include "tools/ibroutes/plan.h"
#include "tools/ibroutes/report.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {
namespace {

constexpr const char* kProgram = "ibroutes";

struct Options {
  cli::CommonOptions common;
  std::optional<std::string> from;
  std::string node_name_map;
  std::uint64_t m_key{0};
};

int refuse(const Options& options, const Error& error) {
  return Refusal{kProgram, kRoutesSchema, IBKIT_VERSION, options.common.json}(error);
}

Error usage(std::string message) { return {ErrorKind::Usage, std::move(message), 0}; }

void add_options(cli::CommandLine& line, Options& options) {
  line.documents(failures_of(kProgram, kRoutesSchema, IBKIT_VERSION));
  cli::add_common(line, options.common);
  line.text("--from", options.from, "TOPOLOGY,LFTS",
            "Read these two files instead of the live fabric");
  line.text("--node-name-map", options.node_name_map, "FILE", "Names for node GUIDs");
  line.number("-y,--m-key", options.m_key, 0, ~std::uint64_t{0}, "Key for management packets");
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// A LID or name that is nowhere: in all of the fabric (2), or in what of it answered (3).
int refuse_unfound(const Options& options, const Source& source, Error error) {
  if (error.kind != ErrorKind::NotFound || !source.unseen) return refuse(options, error);
  error.message += ", of those that answered";
  if (options.common.json) print(unfound_json(source, error, cli::kExitIncomplete, IBKIT_VERSION));
  return cli::complain(kProgram, error.message, cli::kExitIncomplete);
}

/// Fabric and tables, nodes by their own names, or the status to exit with.
std::optional<Source> load_unnamed(const Options& options, LoadOptions live, int& status) {
  live.node_name_map = options.node_name_map;
  Result<Source> source = [&]() -> Result<Source> {
    if (options.from) return load_files(*options.from, live);
    auto connection = Connection::open(options.common);
    if (!connection) return tl::unexpected<Error>(std::move(connection.error()));
    live.tables.m_key = options.m_key;
    return load_live(**connection, live);
  }();
  if (!source) {
    status = refuse(options, source.error());
    return std::nullopt;
  }
  if (!options.common.json)
    for (const auto& error : source->errors) cli::complain(kProgram, error, cli::kExitIncomplete);
  if (source->unfound) {
    status = refuse_unfound(options, *source, *source->unfound);
    return std::nullopt;
  }
  return std::move(*source);
}

/// The same, nodes by the names of the node-name map.
std::optional<Source> load(const Options& options, const LoadOptions& live, int& status) {
  auto source = load_unnamed(options, live, status);
  if (source) apply_names(*source);
  return source;
}

/// Incomplete data come before findings: a verdict on half the tables is worth little.
int status_of(const Source& source, bool found) {
  if (!source.complete()) return cli::kExitIncomplete;
  return found ? cli::kExitFound : cli::kExitGood;
}

struct Verb {
  std::string_view name;
  int (*run)(int, const char* const*);
};
const Verb* find_verb(std::string_view name);

// ---- ibroutes [START [END]]: dump_fts's text

int run_tables(int argc, const char* const* argv) {
  cli::CommandLine line(kProgram, "Forwarding tables of all switches, in dump_fts's text.",
                        IBKIT_VERSION);
  Options options;
  tables::DumpOptions dump;
  bool multicast = false;
  std::string only;
  std::optional<std::string> first, last;
  line.flag("-M,--multicast", multicast, "Multicast tables instead of unicast ones");
  line.flag("-a,--all", dump.all, "Entries without a legal port too");
  line.flag("-N,--no-dests", dump.no_names, "Do not name destinations");
  line.text("-S,--switch", only, "NODE", "This switch only");
  add_options(line, options);
  line.operand("START", first, "First LID or MLID");
  line.operand("END", last, "Last LID or MLID, inclusive");
  line.footer(
      "Verbs, each with a --help of its own:\n"
      "  ibroutes dump --format opensm DIR   OpenSM's dump files\n"
      "  ibroutes verify                     reachability, loops, credit loops, balance\n"
      "  ibroutes path SRC DST               where the tables lead\n"
      "  ibroutes compare [ENGINES]          what engines would make of the fabric\n"
      "  ibroutes plan [ENGINES]             routes of one, to look at, dump and draw\n\n" +
      cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  for (auto [text, lid] : {std::pair{&first, &dump.first}, std::pair{&last, &dump.last}}) {
    std::uint64_t number = 0;
    if (!*text) continue;
    if (!parse_number(**text, 0xFFFF, number)) {
      return refuse(options, usage(find_verb(**text) != nullptr
                                       ? "expected the verb '" + **text + "' before the options"
                                       : "expected a LID, or dump, verify, path, compare or plan, "
                                         "got '" +
                                             **text + "'"));
    }
    *lid = Lid{static_cast<std::uint16_t>(number)};
  }
  if (last && dump.last < dump.first)
    return refuse(options, usage("expected an END not below START, got '" + *last + "'"));
  dump.verbose = options.common.verbose > 0;

  TableReaderOptions reader;
  reader.unicast = !multicast;
  reader.multicast = multicast;
  reader.first = dump.first;
  reader.last = dump.last;
  int status = 0;
  const auto source = load(options, {.tables = reader, .only = only}, status);
  if (!source) return status;
  if (options.common.json) {
    print(tables_json(*source, !multicast, multicast, dump, IBKIT_VERSION));
    return status_of(*source, false);
  }
  const tables::DestinationNames names(source->fabric);
  std::string text;
  for (const auto& table : source->tables) {
    text.clear();
    if (multicast)
      tables::append_dump_fts_mft(text, table, dump);
    else
      tables::append_dump_fts_lft(text, table, names, dump);
    print(text);
  }
  return status_of(*source, false);
}

// ---- ibroutes dump --format opensm DIR

int run_dump(int argc, const char* const* argv) {
  cli::CommandLine line(
      "ibroutes dump", "Writes opensm-subnet.lst, opensm-lfts.dump, opensm.fdbs and opensm.mcfdbs.",
      IBKIT_VERSION);
  Options options;
  std::string format = "opensm", directory;
  bool lanes = false;
  line.choice("--format", format, {"opensm"}, "Whose files");
  line.flag("--lanes", lanes, "opensm-sl2vl.dump too, of the live fabric");
  add_options(line, options);
  line.operand("DIR", directory, "Folder to write them to; made if missing");
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;

  TableReaderOptions reader;
  reader.multicast = true;
  int status = 0;
  if (lanes && options.from)
    return refuse(options, usage("--lanes reads the live fabric: not with --from"));
  auto source = load(options, {.tables = reader, .lanes = lanes}, status);
  if (!source) return status;
  std::stable_sort(source->tables.begin(), source->tables.end(),
                   [](const auto& a, const auto& b) { return a.guid < b.guid; });
  const fabric::CompactGraph graph(source->fabric);
  const auto linear = tables::linear_tables(graph, source->tables);
  // OpenSM addresses switches by LID here, where dump_fts has a directed route.
  for (auto& table : source->tables)
    if (const auto node = source->fabric.find_node(table.guid))
      table.address = "Lid " + to_string(source->fabric.port(*node, 0).lid);
  report::DumpContent content;
  content.fabric = &source->fabric;
  content.graph = &graph;
  content.switches = source->tables;
  content.lfts = &linear;
  content.sl_to_vl = source->sl_to_vl ? &*source->sl_to_vl : nullptr;
  content.sm_lid = source->sm_lid;
  namespace files = report::dump_files;
  static constexpr const report::DumpFile* kFiles[] = {
      &files::kSubnet, &files::kLfts, &files::kFdbs, &files::kMcFdbs, &files::kSl2Vl};
  const auto written = report::write_dump_files(directory, kFiles, content);
  if (!written) return refuse(options, written.error());
  if (options.common.json) print(dump_json(*source, *written, IBKIT_VERSION));
  return status_of(*source, false);
}

// ---- ibroutes verify

struct VerifyLineOptions {
  std::string sl2vl, path_sls;
  bool lanes{false}, multicast{false}, figures{false};
  unsigned findings{16}, samples{1000};
  std::uint64_t seed{1};
};

/// Lanes from files, or what was read from switches; one SL on one VL otherwise. An error is the
/// user's file.
Result<tables::VirtualLanes> lanes_of(const Source& source, const fabric::CompactGraph& graph,
                                      const VerifyLineOptions& options) {
  tables::VirtualLanes lanes;
  if (source.sl_to_vl) lanes.sl_to_vl = *source.sl_to_vl;
  if (source.path_sls) lanes.sls = source.path_sls->sls;
  if (!options.sl2vl.empty()) {
    auto text = fabric::read_file_or_pipe(options.sl2vl);
    if (!text) return tl::unexpected<Error>(std::move(text.error()));
    auto tables = tables::read_sl2vl(*text, options.sl2vl, source.fabric, graph);
    if (!tables) return tl::unexpected<Error>(std::move(tables.error()));
    lanes.sl_to_vl = std::move(*tables);
  }
  if (!options.path_sls.empty()) {
    auto text = fabric::read_file_or_pipe(options.path_sls);
    if (!text) return tl::unexpected<Error>(std::move(text.error()));
    auto sls = tables::read_path_sls(*text, options.path_sls, source.fabric, graph);
    if (!sls) return tl::unexpected<Error>(std::move(sls.error()));
    lanes.sls = std::move(*sls);
  }
  return lanes;
}

int run_verify(int argc, const char* const* argv) {
  cli::CommandLine line(
      "ibroutes verify",
      "Follows every route: what is not reached, what loops, what can deadlock, how "
      "even the load is.",
      IBKIT_VERSION);
  Options options;
  VerifyLineOptions wanted;
  line.number("--findings", wanted.findings, 0, 1000000, "How many to explain (16)");
  line.text("--sls", wanted.path_sls, "FILE",
            "SLs of paths; without it the SA is asked for them, and with --from all have SL 0");
  line.text("--sl2vl", wanted.sl2vl, "FILE",
            "SL2VL tables (opensm-sl2vl.dump); without it all is on VL 0");
  line.flag("--lanes", wanted.lanes, "Read the SL2VL tables of the live fabric");
  line.flag("-M,--multicast", wanted.multicast, "Read multicast tables too: are they trees");
  line.flag("--figures", wanted.figures,
            "Load against its floor, lengths of paths, contention of patterns");
  line.number("--samples", wanted.samples, 1, 1000000, "Patterns of --figures (1000)");
  line.number("--seed", wanted.seed, 0, ~std::uint64_t{0}, "For the patterns (1)");
  add_options(line, options);
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  if (wanted.lanes && (options.from || !wanted.sl2vl.empty()))
    return refuse(options, usage("--lanes reads the live fabric: not with --from or --sl2vl"));

  TableReaderOptions reader;
  reader.multicast = wanted.multicast;
  int status = 0;
  const auto source =
      load(options, {.tables = reader, .lanes = wanted.lanes, .path_sls = wanted.path_sls.empty()},
           status);
  if (!source) return status;
  const fabric::CompactGraph graph(source->fabric);
  const auto lanes = lanes_of(*source, graph, wanted);
  if (!lanes) return refuse(options, lanes.error());
  tables::VerifyOptions verify;
  verify.findings_max = wanted.findings;
  verify.sm_lid = source->sm_lid;
  const auto tables = tables::linear_tables(graph, source->tables);
  const auto trees = multicast_tables(graph, source->tables);
  const tables::MulticastCheck multicast{&trees, Sl{0}, false, nullptr};
  VerdictReport report;
  report.verdict = tables::verify(source->fabric, graph, tables, *lanes, multicast, verify);
  report.lanes = !lanes->trivial();
  report.sls = !wanted.path_sls.empty()                         ? "file"
               : source->path_sls && !source->path_sls->assumed ? "SA"
                                                                : "assumed";
  if (source->path_sls) report.notes.push_back(source->path_sls->note);
  if (wanted.multicast && options.from &&
      report.verdict.multicast == tables::MulticastVerdict::None)
    report.notes.push_back("these files have no multicast tables");
  if (report.lanes && !source->sl_to_vl && wanted.sl2vl.empty())
    report.notes.push_back(
        "SL2VL tables are not known, and all is taken to be on VL 0: --lanes reads them");
  report.pieces = tables::find_pieces(source->fabric, graph);
  report.shared_lids = shared_lids(source->fabric);
  if (wanted.figures)
    report.figures = tables::figures(
        graph, tables, {wanted.seed, wanted.samples, tables::FiguresOptions{}.all_shifts_up_to});
  const auto& verdict = report.verdict;
  print(options.common.json ? verdict_json(*source, graph, report, IBKIT_VERSION)
                            : verdict_text(source->fabric, report));
  // Nothing followed is nothing proved: before a subnet manager has run there are no LIDs.
  const bool no_routes = verdict.pairs == 0 && graph.switch_count() != 0;
  if (no_routes)
    cli::complain(kProgram, "nothing to verify: no switch with a host, or no port with a LID",
                  cli::kExitFound);
  return status_of(*source, no_routes || verdict.unreachable != 0 || !verdict.must_ok() ||
                                verdict.credit_loop_channels != 0 || !report.shared_lids.empty());
}

void warn(const std::string& what) { cli::complain(kProgram, "warning: " + what, cli::kExitGood); }

// ---- ibroutes path SRC DST

int run_path(int argc, const char* const* argv) {
  cli::CommandLine line("ibroutes path", "Where the tables lead from one port to another.",
                        IBKIT_VERSION);
  Options options;
  std::string from, to;
  add_options(line, options);
  line.operand("SRC", from, "LID, GUID or name of the source");
  line.operand("DST", to, "LID, GUID or name of the destination");
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;

  int status = 0;
  // A destination by LID needs one block of each table; else all of them.
  TableReaderOptions reader;
  std::uint64_t number = 0;
  if (parse_number(to, kLidUnicastMax.value, number))
    reader.first = reader.last = Lid{static_cast<std::uint16_t>(number)};
  auto source = load_unnamed(options, {.tables = reader}, status);
  if (!source) return status;
  const auto source_port = end_port(source->fabric, from, source->names);
  if (!source_port) return refuse_unfound(options, *source, source_port.error());
  const auto named = end_port(source->fabric, to, source->names);
  const bool by_lid = number != 0;
  // The tables lead towards a LID even where its bearer did not answer.
  if (!named && !(by_lid && source->unseen)) return refuse_unfound(options, *source, named.error());
  apply_names(*source);
  // One LID of several is the one that was named, and whoever bears it may be the end.
  std::optional<fabric::PortRef> target;
  if (!by_lid) target = *named;
  const Lid dlid =
      by_lid ? Lid{static_cast<std::uint16_t>(number)} : source->fabric.port(*target).lid;
  for (const auto& shared : shared_lids(source->fabric))
    if (shared.lid == dlid || bears(source->fabric, *source_port, shared.lid))
      warn(shared_lid_text(source->fabric, shared));
  const auto path = follow(source->fabric, source->tables, *source_port, dlid, target);
  print(options.common.json ? path_json(*source, path, IBKIT_VERSION)
                            : path_text(source->fabric, path));
  return path.arrives() ? cli::kExitGood : status_of(*source, true);
}

// ---- ibroutes compare [ENGINES], ibroutes plan [ENGINES]

int run_compare(int argc, const char* const* argv) {
  cli::CommandLine line("ibroutes compare",
                        "What engines would make of the fabric, beside what is programmed now.",
                        IBKIT_VERSION);
  Options options;
  VerifyLineOptions now;
  EngineWords words;
  std::optional<std::string> engines;
  words.add_to(line);
  line.text(
      "--sls", now.path_sls, "FILE",
      "SLs of paths as they are now; without it the SA is asked for them, and with --from all "
      "have SL 0");
  line.text("--sl2vl", now.sl2vl, "FILE",
            "SL2VL tables as they are now; without it all is on VL 0");
  line.flag("--lanes", now.lanes, "Read the SL2VL tables of the live fabric");
  add_options(line, options);
  line.operand("ENGINES", engines, "Engines, joined by commas (all)");
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  if (now.lanes && (options.from || !now.sl2vl.empty()))
    return refuse(options, usage("--lanes reads the live fabric: not with --from or --sl2vl"));
  route::ChoiceOptions choice;
  if (engines)
    if (auto known = route::read_engine_list(*engines, choice); !known)
      return refuse(options, known.error());

  int status = 0;
  const auto source = load(options, {.lanes = now.lanes, .path_sls = now.path_sls.empty()}, status);
  if (!source) return status;
  const fabric::CompactGraph graph(source->fabric);
  const auto lanes = lanes_of(*source, graph, now);
  if (!lanes) return refuse(options, lanes.error());
  auto wanted = words.read(*source, warn);
  if (!wanted) return refuse(options, wanted.error());
  wanted->choice.engines = choice.engines;
  const auto comparison = compare(*source, graph, *lanes, *wanted, words.has_tables());
  if (!comparison) return refuse(options, comparison.error());
  if (options.common.json) {
    print(comparison_json(*source, *comparison, IBKIT_VERSION));
  } else {
    for (const auto& note : comparison->notes) print("note: " + printable(note) + '\n');
    print((comparison->notes.empty() ? "" : "\n") + report::engine_table(comparison->rows));
  }
  if (source->path_sls && !options.common.json)
    print("\nprogrammed: " + source->path_sls->note + '\n');
  return status_of(*source, !comparison->rows.front().passed);
}

int run_plan(int argc, const char* const* argv) {
  cli::CommandLine line(
      "ibroutes plan",
      "Routes for the fabric as it is, or as it would be: what they are worth, and "
      "how far they are from what is programmed. Nothing is written to the fabric.",
      IBKIT_VERSION);
  Options options;
  EngineWords words;
  std::optional<std::string> engines, dump, svg;
  route::ChoiceOptions choice;
  bool figures = false;
  words.add_to(line);
  line.flag("--allow-credit-loops", choice.allow_credit_loops, "Take routes that can deadlock");
  line.flag("--figures", figures,
            "Load against its floor, lengths of paths, contention of patterns");
  line.text("--dump", dump, "DIR",
            "Write tables and lanes into this folder, as opensm and dump_fts do");
  line.text("--svg", svg, "FILE", "Draw the fabric, links coloured by load");
  add_options(line, options);
  line.operand("ENGINES", engines,
               "Engines, tried in order; with no_fallback no others (by the fabric)");
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  if (engines)
    if (auto known = route::read_engine_list(*engines, choice); !known)
      return refuse(options, known.error());
  for (const auto& [word, what] :
       {std::pair{&dump, "--dump: expected a folder"}, {&svg, "--svg: expected a file"}})
    if (*word && (word->value().empty() || **word == "-"))
      return refuse(options, usage(std::string(what) + ", got '" + **word + "'"));

  int status = 0;
  const auto source = load(options, {}, status);
  if (!source) return status;
  auto wanted = words.read(*source, warn);
  if (!wanted) return refuse(options, wanted.error());
  wanted->choice.engines = choice.engines;
  wanted->choice.no_fallback = choice.no_fallback;
  wanted->choice.allow_credit_loops = choice.allow_credit_loops;
  const auto plan = route::plan_routes(source->fabric, *wanted);
  if (!plan) return refuse(options, plan.error());
  const std::string topology =
      options.from ? options.from->substr(0, options.from->find(',')) : "running fabric";
  report::PlanReport report{*plan, topology, false, {}};
  if (!plan->routes.engine.empty()) {
    if (figures)
      report.figures = tables::figures(plan->graph, plan->routes.lfts, {wanted->what_if.seed});
    if (dump)
      if (auto written = report::write_dumps(*dump, *plan); !written)
        return refuse(options, written.error());
    if (svg)
      if (auto drawn =
              report::draw_loads(*svg, std::filesystem::path(topology).filename().string(), *plan);
          !drawn)
        return refuse(options, drawn.error());
  }
  const auto changes = words.as_it_is() ? changes_of(*source, *plan) : std::nullopt;
  print(options.common.json ? plan_json(*source, report, changes, IBKIT_VERSION)
                            : plan_text(report, changes));
  return status_of(*source, !plan->passed);
}

constexpr Verb kVerbs[] = {{"dump", run_dump},
                           {"verify", run_verify},
                           {"path", run_path},
                           {"compare", run_compare},
                           {"plan", run_plan}};

const Verb* find_verb(std::string_view name) {
  const auto at = std::ranges::find(kVerbs, name, &Verb::name);
  return at == std::end(kVerbs) ? nullptr : at;
}

int run(int argc, const char* const* argv) {
  if (argc > 1)
    if (const Verb* verb = find_verb(argv[1])) return verb->run(argc - 1, argv + 1);
  return run_tables(argc, argv);
}

}  // namespace
}  // namespace ib::tools

int main(int argc, char** argv) {
  return ib::cli::run_main(ib::tools::kProgram, [&] { return ib::tools::run(argc, argv); });
}
