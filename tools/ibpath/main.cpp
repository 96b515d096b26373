// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibpath: queries subnet administration, for paths above all.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/common_options.h"
#include "libdiag/cli/exit_status.h"
#include "tools/common/connection.h"
#include "tools/common/refusal.h"
#include "tools/common/sm_key.h"
#include "tools/common/waiting.h"
#include "tools/ibpath/batch.h"
#include "tools/ibpath/command_context.h"
#include "tools/ibpath/explain.h"
#include "tools/ibpath/node_commands.h"
#include "tools/ibpath/paths.h"
#include "tools/ibpath/record_command.h"
#include "tools/ibpath/records.h"

namespace {

namespace tools = ib::tools;
using ibpath::kProgram;

struct Command {
  std::string_view word;
  std::string_view operands;
  std::string_view purpose;
  ib::Result<ibpath::Job> (*plan)(const ibpath::Options&, ibpath::Words);
  bool of_paths{false};
};
constexpr Command kCommands[] = {
    {"explain", "SRC DST",
     "what determines MTU, rate, SL, VLs, P_Key and packet life of a path, and where",
     ibpath::plan_explain, true},
    {"batch", "FILE", "paths of every pair in a file ('-': standard input)", ibpath::plan_batch,
     true},
    {"trace", "SRC DST", "TraceRecords: the nodes on the path, where the SA has them",
     ibpath::plan_trace, true},
    {"multi", "SRC,SRC... DST,DST...", "paths between groups of ports, by MultiPathRecord",
     ibpath::plan_multi, true},
    {"list", "", "LIDs and names of channel adapters", ibpath::plan_list},
    {"lid-of", "NAME", "LIDs of the node of that name", ibpath::plan_lid_of},
    {"guid-of", "NAME", "port GUIDs of the node of that name", ibpath::plan_guid_of},
    {"name-of", "LID|GUID|GID", "name of the node with that LID, port GUID or GID (alias or not)",
     ibpath::plan_name_of},
    {"sms", "", "ports that have a subnet manager", ibpath::plan_sms},
    {"groups", "", "multicast groups", ibpath::plan_groups},
    {"members", "[MLID]", "members of all multicast groups, or of one (--sa-key)",
     ibpath::plan_members},
};

std::string help() {
  std::string text =
      "SRC and DST: LID, GID, GUID, name, or directed route (0 is the local port).\n"
      "FIELD=VALUE: a field of the record by its name; Mtu>1024 (bytes) and Rate<100 (Gb/s) where "
      "it has a\nselector. A code is hexadecimal (Rate=0x10); 0x90 is saquery's: a selector and a "
      "code.\n\nCommands:\n";
  for (const Command& c : kCommands)
    text += fmt::format("  {:<32}{}\n", fmt::format("{} {}", c.word, c.operands), c.purpose);
  text += "\nRecords (name, short name, plain name, operands):\n";
  for (const auto& kind : ibpath::record_kinds()) {
    text += fmt::format("  {:<26}{:<7}{:<15}", kind.name, kind.alias, kind.plain);
    for (const auto operand : kind.operands) text += fmt::format("[{}] ", operand);
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text +
         "\nExit status: 0 found, 1 no such path, record or name, or a PathRecord that the "
         "route cannot\nsatisfy (explain), 2 usage or bad file, 3 lines of a batch without an "
         "answer, 4 cannot run.";
}

std::optional<int> parse(int argc, char** argv, ibpath::Options& out,
                         std::vector<std::string>& words) {
  ib::cli::CommandLine line(
      kProgram,
      "Queries subnet administration: paths between two ports, and every other "
      "record.\n"
      "  ibpath [options] SRC DST [FIELD=VALUE...]\n"
      "  ibpath [options] RECORD [OPERAND...] [FIELD=VALUE...]\n"
      "  ibpath [options] COMMAND [OPERAND...]",
      IBKIT_VERSION);
  ib::cli::add_common(line, out.common);
  line.operands("WORDS", words, "Two ports, a record or a command; see below");
  line.number("--numb-path", out.numb_path, 1, 127, "Maximum number of paths for a pair of ports");
  line.number("--sl", out.sl, 0, 15, "Only paths of this service level");
  line.number("--pkey", out.p_key, 0, 0xFFFF, "Only paths of this partition key");
  line.number("--service-id", {0, UINT64_MAX}, "Only paths for traffic of this service ID",
              [&](std::uint64_t v) { out.service_id = v; });
  line.number("--qos-class", out.qos_class, 0, 0xFFF, "Only paths for traffic of this QoS class");
  line.flag("--reversible", out.reversible,
            "Only paths whose return path works with the same values");
  line.number("--sa-key,--smkey", out.sm_key, 0, UINT64_MAX, "SA key of the queries (0: none)");
  line.text("--sa-key-file,--smkey-file", out.sm_key_file, "FILE",
            "The same, read from a file (ibsm keeps one: --sa_key auto)");
  line.flag("-K,--show_keys", out.keys, "Print keys too");
  line.number("-y,--m-key", out.m_key, 0, UINT64_MAX,
              "M_Key of SMPs (a directed route as SRC or DST)");
  line.text("--node-name-map", out.node_name_map, "FILE", "Names for node GUIDs");
  line.documents(tools::failures_of(kProgram, ibpath::kSchema, IBKIT_VERSION));
  line.footer(help());
  return line.parse(argc, argv);
}

tl::unexpected<ib::Error> not_of_paths(const std::string& word) {
  return ib::fail(
      ib::ErrorKind::Usage,
      fmt::format("--numb-path, --sl, --pkey, --service-id, --qos-class and --reversible are "
                  "conditions of paths, and '{}' has none",
                  ib::printable(word)));
}

/// "; did you mean 'paths'?", or nothing.
std::string nearest_verb(const std::string& word) {
  std::vector<std::string_view> known;
  for (const Command& c : kCommands) known.push_back(c.word);
  for (const auto& kind : ibpath::record_kinds()) {
    known.push_back(kind.name);
    known.push_back(kind.plain);
  }
  const auto nearest = ib::nearest_word(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

/// A LID, GUID or the like alone lacks its DST; another word is neither.
std::string of_one_word(const std::string& word) {
  const auto target = ib::tools::parse_target(word);
  if (target && !std::holds_alternative<ib::tools::NodeName>(*target))
    return "missing DST: expected ibpath SRC DST";
  return fmt::format("'{}' is neither a record nor a command{}; paths need SRC and DST",
                     ib::printable(word), nearest_verb(word));
}

std::string of_first_word(const std::string& first, const std::string& third) {
  const std::string nearest = nearest_verb(first);
  if (nearest.empty())
    return fmt::format("expected a condition FIELD=VALUE after SRC DST, got '{}'",
                       ib::printable(third));
  return fmt::format("'{}' is neither a record nor a command{}", ib::printable(first), nearest);
}

ib::Result<ibpath::Job> plan(const ibpath::Options& options, ibpath::Words words) {
  const auto conditions = ibpath::conditions_of(options);
  if (!words.empty()) {
    for (const Command& command : kCommands)
      if (words[0] == command.word) {
        if (!command.of_paths && !conditions.empty()) return not_of_paths(words[0]);
        return command.plan(options, words.subspan(1));
      }
    if (const auto* kind = ibpath::find_record(words[0])) {
      if (kind->attribute != ib::wire::attr::kPathRecord && !conditions.empty())
        return not_of_paths(words[0]);
      return ibpath::plan_record(
          *kind, conditions.empty()
                     ? std::vector(words.begin() + 1, words.end())
                     : ibpath::with_options(options, *kind->structure, words.subspan(1)));
    }
  }
  if (words.size() == 1) return ib::fail(ib::ErrorKind::Usage, of_one_word(words[0]));
  // Two ports, then conditions: a first word that is nearly a verb, and no target, is that verb.
  if (words.size() > 2 && words[2].find_first_of("=<>") == std::string::npos)
    return ib::fail(ib::ErrorKind::Usage, of_first_word(words[0], words[2]));
  return ibpath::plan_paths(options, words);
}

/// What is refused without a key, and how to give one.
ib::Error with_advice(ib::Error error, const ibpath::Options& options) {
  const bool for_key = error.mad_status == ib::wire::status::kSaReqDenied ||
                       error.mad_status == ibpath::kAllPathsDenied ||
                       (error.mad_status == ib::wire::status::kSaReqInvalid &&
                        error.message.find("SA key") != std::string::npos);
  if (for_key && options.sm_key == 0 && options.sm_key_file.empty())
    error.message += "; give it by --sa-key or --sa-key-file";
  return error;
}

/// Requests that the SA is sent at once, over a VL with flow control; ibsm prepares as many tables
/// for one requester.
constexpr std::uint32_t kAskedAtOnce = 16;

int run(const ibpath::Options& options, ibpath::Words words) {
  const tools::Refusal refuse{kProgram, ibpath::kSchema, IBKIT_VERSION, options.common.json};
  // Words first: a bad one is an error whether or not there is a fabric.
  const auto job = plan(options, words);
  if (!job) return refuse(job.error());
  const auto key = tools::sm_key(options.sm_key, options.sm_key_file);
  if (!key) return refuse(key.error());
  auto names = ib::fabric::NodeNames::read_file_or_default(options.node_name_map);
  if (!names) return refuse(names.error());
  auto pace = tools::transactor_options(options.common);
  pace.window_per_target = std::min(kAskedAtOnce, options.common.outstanding);
  auto connection = tools::Connection::open(options.common, pace);
  if (!connection) return refuse(connection.error());
  const auto address = ib::query::sa_address((*connection)->facts(), *key);
  if (!address) return refuse(address.error());
  ibpath::CommandContext context(options, **connection, *address, *std::move(names));
  const auto status = [&] {
    const tools::Waiting waiting(kProgram,
                                 "the SA at LID " + ib::to_string((*connection)->facts().sm_lid));
    return (*job)(context);
  }();
  return status ? *status : refuse(with_advice(status.error(), options));
}

}  // namespace

int main(int argc, char** argv) {
  return ib::cli::run_main(kProgram, [&] {
    ibpath::Options options;
    std::vector<std::string> words;
    const auto status = parse(argc, argv, options, words);
    return status ? *status : run(options, words);
  });
}
