// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibroutes: dumps, traces, verifies and plans forwarding tables.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string_view>

#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/common_options.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/plan/plan_command.h"
#include "libdiag/report/dump_files.h"
#include "libdiag/report/verdict.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "tools/common/refusal.h"
#include "tools/ibroutes/report.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {
namespace {

constexpr const char* kProgram = "ibroutes";

struct Options {
  cli::CommonOptions common;
  std::string load, tables;         // saved topology and tables
  std::optional<std::string> from;  // both, joined by a comma
  std::string node_name_map;
  std::uint64_t m_key{0};
  const char* schema{kRoutesSchema};  // of documents

  bool saved() const { return !load.empty(); }
  /// Puts the files of --from into `load` and `tables`. An error is of kind Usage.
  Result<void> settle();
};

Result<void> Options::settle() {
  if (from) {
    if (!load.empty() || !tables.empty())
      return fail(ErrorKind::Usage, "expected --from or --load and --tables, got both");
    const std::size_t comma = from->find(',');
    if (comma == std::string::npos || comma == 0 || comma + 1 == from->size())
      return fail(ErrorKind::Usage, "--from: expected TOPOLOGY,TABLES, got '" + *from + "'");
    load = from->substr(0, comma);
    tables = from->substr(comma + 1);
    from.reset();
  }
  if (!tables.empty() && load.empty())
    return fail(ErrorKind::Usage, "--tables: expected --load TOPOLOGY beside it");
  return {};
}

int refuse(const Options& options, const Error& error) {
  return Refusal{kProgram, options.schema, IBKIT_VERSION, options.common.json}(error);
}

Error usage(std::string message) { return {ErrorKind::Usage, std::move(message), 0}; }

void add_other_options(cli::CommandLine& line, Options& options) {
  cli::add_common(line, options.common);
  line.text("--tables", options.tables, "FILE", "Tables of the saved topology, in any dump format");
  line.text("--from", options.from, "TOPOLOGY,TABLES",
            "The same as --load TOPOLOGY --tables TABLES");
  line.text("--node-name-map", options.node_name_map, "FILE", "Names for node GUIDs");
  line.number("-y,--m-key", options.m_key, 0, ~std::uint64_t{0}, "M_Key of SMPs");
}

/// Options of a verb whose own options have no --load.
void add_options(cli::CommandLine& line, Options& options) {
  line.documents(failures_of(kProgram, kRoutesSchema, IBKIT_VERSION));
  line.text("--load", options.load, "TOPOLOGY",
            "Read this saved topology (ibnetdiscover's text or opensm-subnet.lst) instead of the "
            "live fabric");
  add_other_options(line, options);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// A LID or name that is nowhere: in all of the fabric (2), or in what of it answered (3).
int refuse_unfound(const Options& options, const Source& source, Error error) {
  if (error.kind != ErrorKind::NotFound || !source.unseen) return refuse(options, error);
  error.message += ", of those that answered";
  if (options.common.json) print(unfound_json(source, error, cli::kExitIncomplete, IBKIT_VERSION));
  return cli::complain(kProgram, error.message, cli::kExitIncomplete);
}

/// Fabric and tables, or the status to exit with.
std::optional<Source> load(Options& options, LoadOptions live, int& status) {
  auto settled = options.settle();
  if (settled && options.saved() && options.tables.empty())
    settled = fail(ErrorKind::Usage, "--load: expected --tables FILE beside it");
  if (!settled) {
    status = refuse(options, settled.error());
    return std::nullopt;
  }
  live.node_name_map = options.node_name_map;
  Result<Source> source = [&]() -> Result<Source> {
    if (options.saved()) return load_files(options.load, options.tables, live);
    auto connection = Connection::open(options.common);
    if (!connection) return tl::unexpected<Error>(std::move(connection.error()));
    live.tables.m_key = options.m_key;
    return load_live(**connection, live);
  }();
  if (!source) {
    status = refuse(options, source.error());
    return std::nullopt;
  }
  for (const auto& warning : source->warnings)
    cli::complain(kProgram, "warning: " + warning, cli::kExitGood);
  if (!options.common.json)
    for (const auto& error : source->errors) cli::complain(kProgram, error, cli::kExitIncomplete);
  if (source->unfound) {
    status = refuse_unfound(options, *source, *source->unfound);
    return std::nullopt;
  }
  apply_names(*source);
  return std::move(*source);
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
  cli::CommandLine line(kProgram,
                        "Prints the forwarding tables of all switches in the format of dump_fts.",
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
      "  ibroutes path SRC DST               path through the LFTs\n"
      "  ibroutes plan [TOPOLOGY]            routes of an engine: verdict, changes, dumps, "
      "picture\n"
      "  ibroutes plan --compare [LIST]      the same of several engines, a row each\n"
      "  ibroutes compare [LIST]             the same as plan --compare\n\n" +
      cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  for (auto [text, lid] : {std::pair{&first, &dump.first}, std::pair{&last, &dump.last}}) {
    std::uint64_t number = 0;
    if (!*text) continue;
    if (!parse_number(**text, 0xFFFF, number)) {
      const std::string lids = std::string("a LID up to ") + (multicast ? "0xfffe" : "0xbfff");
      return refuse(options,
                    usage(find_verb(**text) != nullptr
                              ? "expected the verb '" + **text + "' before the options"
                          : text == &last ? "END: expected " + lids + ", got '" + **text + "'"
                                          : "expected " + lids +
                                                ", or dump, verify, path, plan or compare, got '" +
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
  bool sl2vl = false;
  line.choice("--format", format, {"opensm"}, "Format of the files");
  line.flag("--sl2vl", sl2vl, "Write opensm-sl2vl.dump, too (of the live fabric)");
  add_options(line, options);
  line.operand("DIR", directory, "Folder to write them to; made if missing");
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;

  TableReaderOptions reader;
  reader.multicast = true;
  int status = 0;
  auto source = load(options, {.tables = reader, .sl2vl = sl2vl}, status);
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
  if (options.common.json) {
    print(dump_json(*source, *written, IBKIT_VERSION));
  } else {
    for (const std::string& file : *written) print(file + '\n');
  }
  return status_of(*source, false);
}

// ---- ibroutes verify

struct VerifyLineOptions {
  std::optional<std::string> sl2vl;  // a file; empty: of the live fabric
  std::string path_sls;
  bool multicast{false}, figures{false};
  unsigned findings{16}, samples{1000};
  std::uint64_t seed{1};
};

bool reads_sl2vl(const VerifyLineOptions& options) {
  return options.sl2vl && options.sl2vl->empty();
}

constexpr const char* kLive = "-";  // --sl2vl without FILE

/// --sls and --sl2vl.
void add_sl_options(cli::CommandLine& line, VerifyLineOptions& options) {
  line.text("--sls", options.path_sls, "FILE",
            "SLs of paths (default: path records of the SA; of a saved topology SL 0)");
  line.optional_value(
      "--sl2vl", "FILE",
      "SL2VL tables of this file, without FILE those of the live fabric (default: all on VL 0)",
      kLive, [](const std::string& word) { return !word.starts_with('-'); },
      [&options](const std::string& file) -> Result<void> {
        options.sl2vl = file == kLive ? "" : file;
        return {};
      });
}

/// SLs and SL2VL tables from files, or what was read from switches; one SL on one VL otherwise. An
/// error is the user's file.
Result<tables::VirtualLanes> vls_of(const Source& source, const fabric::CompactGraph& graph,
                                    const VerifyLineOptions& options) {
  tables::VirtualLanes vls;
  if (source.sl_to_vl) vls.sl_to_vl = *source.sl_to_vl;
  if (source.path_sls) vls.sls = source.path_sls->sls;
  if (options.sl2vl && !options.sl2vl->empty()) {
    auto text = fabric::read_file_or_pipe(*options.sl2vl);
    if (!text) return tl::unexpected<Error>(std::move(text.error()));
    auto tables = tables::read_sl2vl(*text, *options.sl2vl, source.fabric, graph);
    if (!tables) return tl::unexpected<Error>(std::move(tables.error()));
    vls.sl_to_vl = std::move(*tables);
  }
  if (!options.path_sls.empty()) {
    auto text = fabric::read_file_or_pipe(options.path_sls);
    if (!text) return tl::unexpected<Error>(std::move(text.error()));
    auto sls = tables::read_path_sls(*text, options.path_sls, source.fabric, graph);
    if (!sls) return tl::unexpected<Error>(std::move(sls.error()));
    vls.sls = std::move(*sls);
  }
  return vls;
}

int run_verify(int argc, const char* const* argv) {
  cli::CommandLine line("ibroutes verify",
                        "Follows every route of the LFTs and reports unreachable destinations, "
                        "loops, credit loops and "
                        "load.",
                        IBKIT_VERSION);
  Options options;
  VerifyLineOptions wanted;
  line.number("--findings", wanted.findings, 0, 1000000,
              "Findings that are explained, at most (16)");
  add_sl_options(line, wanted);
  line.flag("-M,--multicast", wanted.multicast, "Check multicast tables too");
  line.flag("--figures", wanted.figures,
            "Load against its floor, path lengths, contention of patterns");
  line.number("--samples", wanted.samples, 1, 1000000, "Patterns of --figures (1000)");
  line.number("--seed", wanted.seed, 0, ~std::uint64_t{0}, "Random seed of the patterns (1)");
  add_options(line, options);
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;

  TableReaderOptions reader;
  reader.multicast = wanted.multicast;
  int status = 0;
  const auto source =
      load(options,
           {.tables = reader, .sl2vl = reads_sl2vl(wanted), .path_sls = wanted.path_sls.empty()},
           status);
  if (!source) return status;
  const fabric::CompactGraph graph(source->fabric);
  const auto vls = vls_of(*source, graph, wanted);
  if (!vls) return refuse(options, vls.error());
  tables::VerifyOptions verify;
  verify.findings_max = wanted.findings;
  verify.sm_lid = source->sm_lid;
  const auto tables = tables::linear_tables(graph, source->tables);
  const auto trees = multicast_tables(graph, source->tables);
  const tables::MulticastCheck multicast{&trees, Sl{0}, false, nullptr};
  VerdictReport report;
  report.verdict = tables::verify(source->fabric, graph, tables, *vls, multicast, verify);
  report.uses_vls = !vls->trivial();
  report.sls = !wanted.path_sls.empty()                         ? "file"
               : source->path_sls && !source->path_sls->assumed ? "SA"
                                                                : "assumed";
  if (source->path_sls) report.notes.push_back(source->path_sls->note);
  if (wanted.multicast && options.saved() &&
      report.verdict.multicast == tables::MulticastVerdict::None)
    report.notes.push_back("these files have no multicast tables");
  if (report.uses_vls && !source->sl_to_vl && !wanted.sl2vl)
    report.notes.push_back(
        "SL2VL tables are unknown, VL 0 is assumed for all SLs; --sl2vl reads them");
  report.pieces = tables::find_pieces(source->fabric, graph);
  report.shared_lids = shared_lids(source->fabric);
  if (wanted.figures)
    report.figures =
        tables::figures(source->fabric, graph, tables,
                        {wanted.seed, wanted.samples, tables::FiguresOptions{}.all_shifts_up_to});
  const auto& verdict = report.verdict;
  report.nothing = report::nothing_to_verify(graph, verdict);
  report.missing = source->missing();
  print(options.common.json ? verdict_json(*source, graph, report, IBKIT_VERSION)
                            : verdict_text(source->fabric, report));
  // Nothing followed is nothing proved: before a subnet manager has run there are no LIDs. Two
  // hosts back to back need no routes.
  const bool no_routes = verdict.pairs == 0 && graph.switch_count() != 0;
  return status_of(*source, no_routes || verdict.unreachable != 0 || !verdict.must_ok() ||
                                verdict.credit_loop_channels != 0 ||
                                verdict.switch_turns_refused != 0 || !report.shared_lids.empty());
}

void warn(const std::string& what) { cli::complain(kProgram, "warning: " + what, cli::kExitGood); }

// ---- ibroutes path SRC DST

int run_path(int argc, const char* const* argv) {
  cli::CommandLine line(
      "ibroutes path", "Traces the path from one port to another through the LFTs.", IBKIT_VERSION);
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
  const auto by_lid = fabric::read_lid_word(to);
  for (const auto& word : {fabric::read_lid_word(from), by_lid})
    if (word && !*word) return refuse(options, word->error());
  if (by_lid) reader.first = reader.last = **by_lid;
  auto source = load(options, {.tables = reader}, status);
  if (!source) return status;
  const auto source_port = fabric::find_end_port(source->fabric, from);
  if (!source_port) return refuse_unfound(options, *source, source_port.error());
  const auto named = fabric::find_end_port(source->fabric, to);
  // The tables lead towards a LID even where its port did not answer.
  if (!named && !(by_lid && source->unseen)) return refuse_unfound(options, *source, named.error());
  // A LID matches any port that has it; a name or GUID only that port.
  std::optional<fabric::PortRef> target;
  if (!by_lid) target = *named;
  const Lid dlid = by_lid ? **by_lid : source->fabric.port(*target).lid;
  for (const auto& shared : shared_lids(source->fabric))
    if (shared.lid == dlid || has_lid(source->fabric, *source_port, shared.lid))
      warn(shared_lid_text(source->fabric, shared));
  const auto path = follow(source->fabric, source->tables, *source_port, dlid, target);
  print(options.common.json ? path_json(*source, path, IBKIT_VERSION)
                            : path_text(source->fabric, path));
  return path.arrives() ? cli::kExitGood : status_of(*source, true);
}

// ---- ibroutes plan [TOPOLOGY], ibroutes compare [ENGINES]

/// The fabric that is to be planned, and what its switches hold, where that is known.
Result<plan::Subject> plan_subject(Options& options, const plan::PlanCommand& command,
                                   const VerifyLineOptions& now, const plan::Reporter& reporter,
                                   int& status) {
  if (options.saved() && options.tables.empty()) {
    const auto names = fabric::NodeNames::read_file_or_default(options.node_name_map);
    if (!names) return tl::unexpected<Error>(names.error());
    auto subject = saved_subject(command, reporter);
    if (subject) names->name_all(subject->fabric);
    return subject;
  }
  const bool compares = command.plan.choice.compare;
  auto source = load(
      options, {.sl2vl = reads_sl2vl(now), .path_sls = compares && now.path_sls.empty()}, status);
  if (!source) return fail(ErrorKind::Unavailable, "");
  const fabric::CompactGraph graph(source->fabric);
  auto vls = vls_of(*source, graph, now);
  if (!vls) return tl::unexpected<Error>(std::move(vls.error()));
  plan::Subject subject;
  subject.name = options.saved() ? options.load : "live fabric";
  subject.vls = *std::move(vls);
  if (source->path_sls) subject.vls_note = source->path_sls->note;
  subject.sm_lid = source->sm_lid;
  subject.missing = source->missing();
  subject.errors = std::move(source->errors);
  subject.tables = std::move(source->tables);
  subject.fabric = std::move(source->fabric);
  return subject;
}

int plan_or_compare(int argc, const char* const* argv, bool compares) {
  cli::CommandLine line(
      compares ? "ibroutes compare" : "ibroutes plan",
      "Routes for the live fabric or a saved topology, as it is or as it would be: what they are "
      "worth, and what would change. Nothing is written to the fabric.",
      IBKIT_VERSION);
  line.spelled_as_in_opensm();
  Options options;
  options.schema = plan::kPlanSchema;
  VerifyLineOptions now;
  plan::PlanArgs args;
  std::optional<std::string> engines;
  const auto failures = [](const Error& error) {
    return plan::failure(kProgram, IBKIT_VERSION, error);
  };
  if (compares)
    line.operand("ENGINES", engines, "Engines to compare, joined by commas (default: all)");
  args.add_to(line, compares ? plan::PlanArgs::Operand::None : plan::PlanArgs::Operand::Topology);
  add_sl_options(line, now);
  line.documents(failures);
  add_other_options(line, options);
  line.footer(cli::exit_status_help());
  if (const auto status = line.parse(argc, argv)) return *status;
  const plan::Reporter reporter{kProgram, IBKIT_VERSION, options.common.json, &std::cout,
                                &std::cerr};
  options.load = args.topology();
  if (const auto settled = options.settle(); !settled) return reporter.refuse(settled.error());
  if (compares)
    if (auto known = args.compare(engines.value_or(plan::PlanArgs::kAll)); !known)
      return reporter.refuse(known.error());
  const auto command = args.command();
  if (!command) return reporter.refuse(command.error());

  int status = 0;
  auto subject = plan_subject(options, *command, now, reporter, status);
  if (status != 0) return status;
  if (!subject) return reporter.refuse(subject.error());
  return run_plan(*command, *subject, reporter);
}

int run_plan_verb(int argc, const char* const* argv) { return plan_or_compare(argc, argv, false); }
int run_compare(int argc, const char* const* argv) { return plan_or_compare(argc, argv, true); }

constexpr Verb kVerbs[] = {{"dump", run_dump},
                           {"verify", run_verify},
                           {"path", run_path},
                           {"compare", run_compare},
                           {"plan", run_plan_verb}};

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
