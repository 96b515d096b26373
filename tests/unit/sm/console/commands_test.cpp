// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words, the table of commands, and the commands that are a line or an order.
#include <gmock/gmock.h>

#include "tests/unit/sm/console/view.h"

namespace sm::console::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct ConsoleCommands : testing::Test {
  std::shared_ptr<Snapshot> snapshot = sa::test::snapshot_of(small_tree());
  View view = view_of(snapshot);
};

TEST(ConsoleWords, BlanksAndWhatATelnetProgramSaysAreBetweenWordsOrNowhere) {
  EXPECT_THAT(words_of("  status\tloop \r"), ElementsAre("status", "loop"));
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of("\r"), IsEmpty());
  // Ctrl-C: IAC IP, IAC DO TIMING-MARK.
  EXPECT_THAT(words_of("\xff\xf4\xff\xfd\x06quit"), ElementsAre("quit"));
  EXPECT_THAT(words_of("a\xff"), ElementsAre("a"));
  EXPECT_THAT(words_of(std::string("a\0b\x1b[A", 6)), ElementsAre("ab[A"));
  EXPECT_THAT(words_of("n\xc3\xb6"), ElementsAre("n\xc3\xb6"));
}

TEST_F(ConsoleCommands, HelpListsAllAndSaysMoreOfOne) {
  const std::string all = said(view, "help").text;
  EXPECT_THAT(all,
              StartsWith("Supported commands and syntax:\nhelp [<command>]\n"
                         "quit (not valid in local mode; use ctl-c)\nloglevel [<log-level>]\n"));
  for (const Command& command : commands())
    EXPECT_THAT(all, HasSubstr('\n' + std::string(command.syntax))) << command.name;
  EXPECT_EQ(said(view, "help resweep").text,
            "resweep [heavy|light]\n"
            "   heavy  read the whole fabric again\n"
            "   light  look whether something has changed\n");
  EXPECT_THAT(said(view, "help pm").text, StartsWith("perfmgr(pm) [enable|disable\n"));
}

TEST_F(ConsoleCommands, WhatIsNoCommandIsSaidWithTheList) {
  for (const char* line : {"nonsense", "help nonsense", "HELP"}) {
    const auto outcome = said(view, line);
    EXPECT_EQ(outcome.status, ib::cli::kExitUsage) << line;
    EXPECT_THAT(outcome.text,
                HasSubstr(" : Command not found\n\nSupported commands and syntax:\n"));
  }
  EXPECT_EQ(said(view, "").text, "");
}

TEST_F(ConsoleCommands, QuitEnds) {
  EXPECT_TRUE(said(view, "quit").ends);
  EXPECT_FALSE(said(view, "version").ends);
  EXPECT_EQ(said(view, "version").text, "ibsm 0.0\n");
}

TEST_F(ConsoleCommands, LogLevelIsShownAndSet) {
  EXPECT_EQ(said(view, "loglevel").text, "Current log level is 0x3\n");
  EXPECT_EQ(said(view, "loglevel 7").text, "Setting log level to 0x7\n");
  EXPECT_EQ(ordered<SetLogFlags>(view, "loglevel 7").flags, 7U);
  EXPECT_EQ(ordered<SetLogFlags>(view, "loglevel 0x83").flags, 0x83U);
  EXPECT_EQ(ordered<SetLogFlags>(view, "loglevel x1f").flags, 0x1FU);
  for (const char* line : {"loglevel 256", "loglevel -1", "loglevel no"}) {
    const auto outcome = said(view, line);
    EXPECT_THAT(outcome.text, StartsWith("Invalid log level "));
    EXPECT_FALSE(outcome.order) << line;
  }
}

TEST_F(ConsoleCommands, LogFlushIsOnOrOff) {
  EXPECT_TRUE(ordered<SetLogFlush>(view, "logflush on").each_line);
  EXPECT_FALSE(ordered<SetLogFlush>(view, "logflush off").each_line);
  EXPECT_THAT(said(view, "logflush").text,
              StartsWith("Invalid logflush command\nlogflush [on|off]"));
}

TEST_F(ConsoleCommands, PerModuleLevelsHaveNoEffect) {
  EXPECT_THAT(said(view, "permodlog").text, HasSubstr("no effect"));
}

TEST_F(ConsoleCommands, PriorityIsShownAndSet) {
  EXPECT_EQ(said(view, "priority").text, "Current sm-priority is 3\n");
  EXPECT_EQ(said(view, "priority 15").text, "Setting sm-priority to 15\n");
  EXPECT_EQ(ordered<SetPriority>(view, "priority 15").priority, 15);
  const auto wrong = said(view, "priority 16");
  EXPECT_THAT(wrong.text, StartsWith("Invalid sm-priority 16; must be between 0 and 15\n"));
  EXPECT_FALSE(wrong.order);
}

TEST_F(ConsoleCommands, SweepsAreOrdered) {
  EXPECT_EQ(ordered<SweepNow>(view, "resweep heavy").kind, SweepKind::Full);
  EXPECT_EQ(ordered<SweepNow>(view, "resweep light").kind, SweepKind::Light);
  EXPECT_EQ(ordered<SweepNow>(view, "reroute").kind, SweepKind::RoutesAlone);
  EXPECT_EQ(ordered<SweepNow>(view, "update_desc").kind, SweepKind::Full);
  EXPECT_EQ(said(view, "resweep heavy").text, "");
  EXPECT_THAT(said(view, "resweep").text,
              StartsWith("Invalid resweep command\nresweep [heavy|light]"));
  EXPECT_TRUE(ordered<SetSweeping>(view, "sweep on").is_on);
  EXPECT_FALSE(ordered<SetSweeping>(view, "sweep off").is_on);
  EXPECT_THAT(said(view, "sweep maybe").text, StartsWith("Invalid sweep command\nsweep [on|off]"));
}

TEST_F(ConsoleCommands, TheConfigurationIsDumped) {
  EXPECT_EQ(said(view, "dump_conf").text, "guid 0x0\n");
}

TEST_F(ConsoleCommands, StatusOfAMaster) {
  view.mads.sends = 40, view.mads.replies = 38;
  view.sweeps.traps = 2, view.sweeps.dropped = 1;
  view.mads_outstanding = 2, view.mads_pending = 5;
  view.sa = [] {
    sa::Counters counters;
    counters.requests = 7, counters.answers = 6, counters.dropped_not_ready = 1;
    return std::optional(counters);
  };
  ib::wire::SmInfo other;
  other.guid = ib::Guid{0x2c90300000009}, other.priority = 1;
  other.sm_state = ib::wire::SmState::Standby;
  view.other_sms = {other};
  const auto own = to_string(snapshot->sm_port_guid).substr(2);
  const auto text = said(view, "status").text;
  EXPECT_EQ(text,
            "   OpenSM Version       : ibsm 0.0\n"
            "   SM State             : Master     \n"
            "   SM Priority          : 3\n"
            "   SA State             : Ready\n"
            "   Routing Engine       : test\n"
            "   Loaded event plugins : <none>\n"
            "\n"
            "   PerfMgr state/sweep state : Disabled/Sleeping\n"
            "\n"
            "   MAD stats\n"
            "   ---------\n"
            "   QP0 MADs outstanding           : 5\n"
            "   QP0 MADs outstanding (on wire) : 2\n"
            "   QP0 MADs rcvd                  : 41\n"
            "   QP0 MADs sent                  : 42\n"
            "   QP0 unicasts sent              : 2\n"
            "   QP0 unknown MADs rcvd          : 1\n"
            "   SA MADs outstanding            : 0\n"
            "   SA MADs rcvd                   : 7\n"
            "   SA MADs sent                   : 6\n"
            "   SA unknown MADs rcvd           : 0\n"
            "   SA MADs ignored                : 1\n"
            "\n"
            "   Subnet flags\n"
            "   ------------\n"
            "   Sweeping enabled               : 1\n"
            "   Sweep interval (seconds)       : 10\n"
            "   Ignore existing lfts           : 0\n"
            "   Subnet Init errors             : 0\n"
            "   In sweep hop 0                 : 0\n"
            "   First time master sweep        : 0\n"
            "   Coming out of standby          : 0\n"
            "\n"
            "   Known SMs\n"
            "   ---------\n"
            "   Port GUID       SM State    Priority\n"
            "   ---------       --------    --------\n"
            "   0x" +
                own.substr(own.find_first_not_of('0')) +
                " Master      3        SELF\n"
                "   0x2c90300000009 Standby     1\n"
                "\n");
}

TEST_F(ConsoleCommands, StatusBeforeTheFirstSweepAndWithASilentSa) {
  view.snapshot = nullptr;
  view.sm_status = {};
  view.sa = [] { return std::optional<sa::Counters>(); };
  const auto text = said(view, "status").text;
  for (const char* line : {"SM State             : Discovering\n", "SA State             : Init\n",
                           "Routing Engine       : none\n", "First time master sweep        : 1\n",
                           "   0x0 Discovering 0        SELF\n", "   SA does not answer\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(ConsoleCommands, StatusLoops) {
  const auto outcome = said(view, "status loop");
  EXPECT_TRUE(outcome.loops);
  EXPECT_THAT(outcome.text, StartsWith("Looping on status command...\n   OpenSM Version"));
  EXPECT_FALSE(said(view, "status").loops);
  EXPECT_EQ(said(view, "status forever").status, ib::cli::kExitUsage);
}

TEST_F(ConsoleCommands, PortGuidsOfNodesWhoseDescriptionMatches) {
  const auto& fabric = snapshot->fabric();
  const auto all = said(view, "dump_portguid .*").text;
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 8);
  const auto two = said(view, "dump_portguid ^leaf ^nothing$").text;
  std::string wanted;
  for (const char* name : {"leaf-001", "leaf-002"}) {
    const auto guid = to_string(fabric.port(node_named(fabric, name), 0).guid).substr(2);
    wanted += "0x" + guid.substr(guid.find_first_not_of('0')) + '\n';
  }
  EXPECT_EQ(two, wanted);
}

TEST_F(ConsoleCommands, AliasGuidsStandAmongThePortGuids) {
  const auto& fabric = snapshot->fabric();
  const auto host = fabric.port(node_named(fabric, "host0002 HCA-1"), 1).guid;
  view.aliases[host][1] = ib::Guid{0x77};
  view.aliases[fabric.port(node_named(fabric, "host0003 HCA-1"), 1).guid][1] = ib::Guid{0x78};
  const auto text = to_string(host).substr(2);
  EXPECT_EQ(said(view, "dump_portguid ^host0002").text,
            "0x77\n0x" + text.substr(text.find_first_not_of('0')) + '\n');
}

TEST_F(ConsoleCommands, ExpressionsThatCannotBeOrCostTooMuchAreSkipped) {
  for (const char* line : {"dump_portguid (", "dump_portguid a{1,255}{1,255}",
                           "dump_portguid (a)\\1", "dump_portguid"}) {
    const auto outcome = said(view, line);
    EXPECT_THAT(outcome.text, HasSubstr("No valid expression provided. Aborting\n")) << line;
    EXPECT_EQ(outcome.status, ib::cli::kExitUsage);
  }
  EXPECT_THAT(said(view, "dump_portguid ( ^leaf").text,
              StartsWith("Cannot parse regular expression '('. Skipping\n0x"));
  EXPECT_THAT(said(view, "dump_portguid " + std::string(300, 'a')).text, HasSubstr("Skipping"));
  view.snapshot = nullptr;
  EXPECT_EQ(said(view, "dump_portguid .").text, "Subnet is not ready yet. Try again later\n");
}

TEST_F(ConsoleCommands, FilesAreWrittenAnywhereByWhomIsTrustedElseAmongTheDumpFiles) {
  auto file = ordered<WriteFile>(view, "dump_portguid file /tmp/guids ^leaf");
  EXPECT_EQ(file.path, "/tmp/guids");
  EXPECT_EQ(std::count(file.text.begin(), file.text.end(), '\n'), 2);
  EXPECT_EQ(said(view, "dump_portguid file /tmp/guids ^leaf").text, "");
  view.is_trusted = false;
  EXPECT_EQ(ordered<WriteFile>(view, "dump_portguid file guids ^leaf").path, "guids");
  for (const char* line : {"dump_portguid file /tmp/guids .", "dump_portguid file ../guids .",
                           "dump_portguid file .. ."}) {
    const auto outcome = said(view, line);
    EXPECT_FALSE(outcome.order) << line;
    EXPECT_THAT(outcome.text, StartsWith("Could not open file "));
  }
  EXPECT_THAT(said(view, "dump_portguid . file").text, StartsWith("No file name passed\n0x"));
}

}  // namespace
}  // namespace sm::console::test
