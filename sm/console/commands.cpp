// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdiag/base/text.h"
#include "sm/console/texts.h"

namespace sm::console {
namespace {

constexpr std::uint64_t kLogFlagsMax = 0xFF, kPriorityMax = 15;

std::string list_of_commands() {
  std::string text = "Supported commands and syntax:\n";
  for (const Command& command : commands())
    if (!command.syntax.empty()) text += fmt::format("{}\n", command.syntax);
  return text;
}

const Command* find(std::string_view name) {
  const auto all = commands();
  const auto at = std::ranges::find(all, name, &Command::name);
  return at == all.end() ? nullptr : &*at;
}

Outcome not_found(std::string_view name) {
  return failed(ib::cli::kExitUsage, fmt::format("{} : Command not found\n\n{}",
                                                 ib::printable(name), list_of_commands()));
}

Outcome help(const View&, Words words) {
  if (words.empty()) return {list_of_commands()};
  const Command* command = find(words.front());
  if (command == nullptr) return not_found(words.front());
  const std::string_view syntax =
      command->syntax.empty() ? find("perfmgr")->syntax : command->syntax;
  return {fmt::format("{}\n{}", syntax, command->detail)};
}

Outcome quit(const View&, Words) {
  Outcome outcome;
  outcome.ends = true;
  return outcome;
}

Outcome version(const View& view, Words) { return {view.version + '\n'}; }

/// As opensm reads it: decimal, 0x3 or x3.
bool read_flags(const std::string& word, std::uint64_t& flags) {
  return ib::parse_number(word.starts_with('x') ? '0' + word : word, kLogFlagsMax, flags);
}

Outcome log_level(const View& view, Words words) {
  if (words.empty()) return {fmt::format("Current log level is 0x{:x}\n", view.log_flags)};
  std::uint64_t flags = 0;
  if (!read_flags(words.front(), flags))
    return usage(fmt::format("Invalid log level {}", ib::printable(words.front())), "loglevel");
  return {fmt::format("Setting log level to 0x{:x}\n", flags),
          SetLogFlags{static_cast<unsigned>(flags)}};
}

Outcome per_module_log(const View&, Words) {
  return {"permodlog has no effect: ibsm has no log levels of modules; loglevel is for all\n"};
}

Outcome log_flush(const View&, Words words) {
  if (words.size() != 1 || (words[0] != "on" && words[0] != "off"))
    return usage("Invalid logflush command", "logflush");
  return {"", SetLogFlush{words[0] == "on"}};
}

Outcome priority(const View& view, Words words) {
  if (words.empty()) return {fmt::format("Current sm-priority is {}\n", view.sm_status.priority)};
  std::uint64_t value = 0;
  if (!ib::parse_number(words.front(), kPriorityMax, value))
    return usage(fmt::format("Invalid sm-priority {}; must be between 0 and 15",
                             ib::printable(words.front())),
                 "priority");
  return {fmt::format("Setting sm-priority to {}\n", value),
          SetPriority{static_cast<std::uint8_t>(value)}};
}

Outcome sweep_again(const View&, Words words) {
  if (words.size() != 1 || (words[0] != "heavy" && words[0] != "light"))
    return usage("Invalid resweep command", "resweep");
  return {"", SweepNow{words[0] == "heavy" ? SweepKind::Full : SweepKind::Light}};
}

Outcome reroute(const View&, Words) { return {"", SweepNow{SweepKind::RoutesAlone}}; }

Outcome sweeping(const View&, Words words) {
  if (words.size() != 1 || (words[0] != "on" && words[0] != "off"))
    return usage("Invalid sweep command", "sweep");
  return {"", SetSweeping{words[0] == "on"}};
}

/// Verbs of the control socket.
Outcome pause(const View&, Words) { return {"", AskVerb{{"pause", {}, {}}}}; }
Outcome resume(const View&, Words) { return {"", AskVerb{{"resume", {}, {}}}}; }
Outcome rewrite(const View&, Words) { return {"", AskVerb{{"rewrite", {}, {}}}}; }

Outcome dump_configuration(const View& view, Words) { return {view.configuration()}; }

/// A full sweep asks every node for it.
Outcome update_descriptions(const View&, Words) { return {"", SweepNow{SweepKind::Full}}; }

constexpr std::array kCommands = {
    Command{"help", "help [<command>]", "", help},
    Command{"quit", "quit (not valid in local mode; use ctl-c)", "", quit},
    Command{"loglevel", "loglevel [<log-level>]",
            "   log-level is the sum of\n"
            "   0x01  errors and warnings\n"
            "   0x02  information\n"
            "   0x04  verbose\n"
            "   0x08  debug\n"
            "   0x20  every MAD\n"
            "   0x40  dump files of routes, as at the start of ibsm\n",
            log_level},
    Command{"permodlog", "permodlog", "   no effect\n", per_module_log},
    Command{"priority", "priority [<sm-priority>]", "   0 to 15\n", priority},
    Command{"resweep", "resweep [heavy|light]",
            "   heavy  read the whole fabric again\n"
            "   light  look whether something has changed\n",
            sweep_again},
    Command{"reroute", "reroute", "   recompute routes, without reading the fabric again\n",
            reroute},
    Command{"sweep", "sweep [on|off]",
            "   on   sweep as usual\n"
            "   off  no sweep until it is on again, whatever happens to the fabric\n",
            sweeping},
    Command{"pause", "pause", "   ask devices nothing and set nothing, until resume\n", pause},
    Command{"resume", "resume", "   go on after pause\n", resume},
    Command{"rewrite", "rewrite",
            "   send all that devices are to hold once more, whatever they report\n", rewrite},
    Command{"status", "status [loop]", "   loop  every 2 seconds; type \"q<ret>\" to quit\n",
            status},
    Command{"logflush", "logflush [on|off] -- write every line of the log at once, or not", "",
            log_flush},
    Command{"querylid", "querylid lid -- what is known of the port that has the LID", "",
            query_lid},
    Command{"portstatus", "portstatus [ca|switch|router]",
            "   states, widths and speeds of ports, of one type of node or of all, and what may be "
            "wrong\n",
            port_status},
    Command{
        "switchbalance", "switchbalance [verbose] [guid]",
        "   LIDs of hosts that each port to another switch forwards to, of switches where ports "
        "differ\n"
        "   verbose  of all switches\n"
        "   guid     of this switch\n",
        switch_balance},
    Command{
        "lidbalance", "lidbalance [switchguid]",
        "   how the LIDs of a port (LMC above 0) are spread over ports and next switches, where "
        "that is uneven\n"
        "   switchguid  at this switch\n",
        lid_balance},
    Command{"dump_conf", "dump_conf", "   an options file of what is in force\n",
            dump_configuration},
    Command{"update_desc", "update_desc", "   read all NodeDescriptions again\n",
            update_descriptions},
    Command{"version", "version -- the version of ibsm", "", version},
    Command{"perfmgr",
            "perfmgr(pm) [enable|disable\n"
            "             |clear_counters|dump_counters|print_counters(pc)|print_errors(pe)\n"
            "             |set_rm_nodes|clear_rm_nodes|clear_inactive\n"
            "             |set_query_cpi|clear_query_cpi\n"
            "             |dump_redir|clear_redir\n"
            "             |sweep|sweep_time[seconds]]",
            "   (nothing)                the state of the performance manager\n"
            "   enable, disable          sweep counters, or do not\n"
            "   sweep                    a sweep of counters now\n"
            "   sweep_time SECONDS       time between sweeps\n"
            "   clear_counters           totals begin at 0\n"
            "   dump_counters [mach]     write the totals to a file; mach: as a table\n"
            "   print_counters [NODE[:PORT]], pc   totals; NODE: NodeDescription or GUID\n"
            "   print_errors [NODE], pe  ports with errors\n"
            "   set_rm_nodes, clear_rm_nodes       forget nodes that are gone, or do not\n"
            "   clear_inactive           forget those that are gone now\n"
            "   set_query_cpi, clear_query_cpi     ask for ClassPortInfo, or do not\n"
            "   dump_redir [NODE]        where agents redirect to\n"
            "   clear_redir [NODE]       ask at the first place again\n",
            counters},
    Command{"pm", "", "   as perfmgr\n", counters},
    Command{"dump_portguid",
            "dump_portguid [file filename] regexp1 [regexp2 [regexp3 ...]] -- port GUIDs of nodes "
            "whose description matches",
            "   file filename  write them to this file; on a socket a name without a folder, among "
            "the dump files\n",
            dump_port_guids},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

Outcome failed(int status, std::string text) {
  Outcome outcome{std::move(text)};
  outcome.status = status;
  return outcome;
}

Outcome usage(std::string_view what, std::string_view command) {
  const Command* row = find(command);
  return failed(ib::cli::kExitUsage, fmt::format("{}\n{}\n{}", what, row->syntax, row->detail));
}

Outcome not_ready(std::string before) {
  return failed(ib::cli::kExitCannotRun,
                std::move(before) + "Subnet is not ready yet. Try again later\n");
}

std::vector<std::string> words_of(std::string_view line) {
  constexpr unsigned char kIac = 255, kWill = 251;
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c == kIac) {
      // A command, and from WILL on the option that it is about.
      const bool has_option =
          i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) >= kWill;
      i += has_option ? 2 : 1;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (!words.back().empty()) words.emplace_back();
    } else if (c > ' ' && c != 0x7F) {
      words.back() += line[i];
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

Outcome run(const View& view, Words words) {
  if (words.empty()) return {};
  const Command* command = find(words.front());
  return command == nullptr ? not_found(words.front()) : command->run(view, words.subspan(1));
}

}  // namespace sm::console
