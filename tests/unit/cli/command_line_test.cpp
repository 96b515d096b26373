// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include "libdiag/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/cli/common_options.h"
#include "libdiag/cli/exit_status.h"

namespace ib::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

struct Tool {
  CommandLine line{"ibtest", "Tests options.", "0.1.0"};
  CommonOptions common;
  std::optional<Guid> guid;
  std::optional<Lid> lid;
  std::string mode{"a"};
  std::optional<std::string> file;
  std::vector<std::string> rest;
  Tool() {
    add_common(line, common);
    line.guid("--guid", guid, "A GUID");
    line.lid("-l,--lid", lid, "A LID");
    line.choice("--mode", mode, {"a", "b"}, "How");
    line.operand("FILE", file, "A file");
  }
  std::optional<int> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "ibtest");
    return line.parse(static_cast<int>(words.size()), words.data());
  }
  std::string refusal(const std::vector<const char*>& words) {
    CaptureStderr();
    const auto status = parse(words);
    std::string text = GetCapturedStderr();
    EXPECT_EQ(status, 2) << text;
    return text;
  }
};

TEST(CommandLine, ReadsCommonOptions) {
  Tool t;
  EXPECT_EQ(t.parse({"-C", "mlx5_1", "-P2", "-t", "500", "-vv", "--json", "--guid", "0x10", "-l",
                     "0x11", "--mode=b", "x.topo"}),
            std::nullopt);
  EXPECT_EQ(t.common.device, "mlx5_1");
  EXPECT_EQ(t.common.port, 2U);
  EXPECT_EQ(t.common.timeout_ms, 500U);
  EXPECT_EQ(t.common.verbose, 2U);
  EXPECT_TRUE(t.common.json);
  EXPECT_EQ(t.guid, Guid{0x10});
  EXPECT_EQ(t.lid, Lid{17});
  EXPECT_EQ(t.mode, "b");
  EXPECT_EQ(t.file, "x.topo");
}

TEST(CommandLine, OperandsMayBeManyAndStandAnywhere) {
  CommandLine line("ibtest", "Tests options.", "0.1.0");
  CommonOptions common;
  std::vector<std::string> words;
  add_common(line, common);
  line.operands("WORDS", words, "Whatever");
  const char* argv[] = {"ibtest", "NR", "--json", "4//1", "-n", "3", "Mtu>1024"};
  EXPECT_EQ(line.parse(7, argv), std::nullopt);
  EXPECT_THAT(words, ElementsAre("NR", "4//1", "Mtu>1024"));
  EXPECT_TRUE(common.json);
  EXPECT_EQ(common.outstanding, 3U);
}

TEST(CommandLine, LeavesDefaults) {
  Tool t;
  EXPECT_EQ(t.parse({}), std::nullopt);
  EXPECT_EQ(t.common.timeout_ms, 200U);
  EXPECT_EQ(t.file, std::nullopt);
}

TEST(CommandLine, UsageErrorsSayWhatWasExpected) {
  EXPECT_THAT(Tool().refusal({"-t", "x"}),
              HasSubstr("ibtest: --timeout: expected a number from 1 to 60000, got 'x'\n"));
  EXPECT_THAT(
      Tool().refusal({"--guid", "zz"}),
      HasSubstr("--guid: expected a GUID (0x and up to 16 hexadecimal digits), got 'zz'\n"));
  EXPECT_THAT(Tool().refusal({"--lid", "0"}), HasSubstr("--lid: expected a LID"));
  EXPECT_THAT(Tool().refusal({"--mode", "c"}), HasSubstr("--mode: expected a|b, got 'c'"));
  EXPECT_THAT(Tool().refusal({"--nonsense"}), HasSubstr("--nonsense"));
  EXPECT_THAT(Tool().refusal({"a", "b"}), HasSubstr("Try 'ibtest --help'."));
}

TEST(CommandLine, AUsageErrorIsADocumentWhereJsonWasAskedFor) {
  for (const bool json : {true, false}) {
    Tool t;
    t.line.documents([](const Error& e) { return "{\"message\": \"" + e.message + "\"}"; });
    CaptureStdout();
    const std::string said = json ? t.refusal({"-t", "x", "--json"}) : t.refusal({"-t", "x"});
    const std::string printed = GetCapturedStdout();
    EXPECT_THAT(said, HasSubstr("ibtest: --timeout: expected"));
    if (json) {
      EXPECT_THAT(printed, HasSubstr(R"({"message": "--timeout: expected)"));
    } else {
      EXPECT_EQ(printed, "");
    }
  }
}

TEST(CommandLine, HelpAndVersionEndWell) {
  for (const char* word : {"--help", "-h", "--version"}) {
    Tool t;
    CaptureStdout();
    EXPECT_EQ(t.parse({word}), 0);
    EXPECT_THAT(GetCapturedStdout(), HasSubstr("ibtest"));
  }
}

TEST(CommandLine, AnUnknownOptionIsAnsweredWithTheNearest) {
  EXPECT_THAT(Tool().refusal({"--timout", "3"}),
              HasSubstr("ibtest: expected an option, got '--timout'; did you mean '--timeout'?\n"));
}

TEST(CommandLine, DashesStandForUnderscoresInEveryProgram) {
  for (const std::vector<const char*>& words :
       {std::vector{"--rx_threshold", "99"}, {"--rx-threshold", "99"}, {"--rx-threshold=99"}}) {
    Tool t;
    EXPECT_EQ(t.parse(words), std::nullopt);
    EXPECT_EQ(t.common.rx_threshold, 99U);
  }
}

TEST(CommandLine, WhatIsSuggestedIsAnOptionAtThatPlace) {
  const auto said = [](std::vector<const char*> words) {
    CommandLine line("ibtest", "Verbs.", "0.1.0");
    line.spelled_as_in_opensm();
    bool once = false, json = false;
    line.flag("-o,--once", once, "Once");
    auto& ctl = line.optional_verb("ctl", "Asks.");
    ctl.verb("sm", "Who.").flag("--json", json, "JSON");
    words.insert(words.begin(), "ibtest");
    CaptureStderr();
    EXPECT_EQ(line.parse(static_cast<int>(words.size()), words.data()), 2);
    const std::string text = GetCapturedStderr();
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(said({"--onse"}), "ibtest: expected an option, got '--onse'; did you mean '--once'?");
  EXPECT_EQ(said({"ctl", "sm", "--onse"}), "ibtest ctl sm: expected an option, got '--onse'");
  EXPECT_EQ(said({"ctl", "sm", "-oncee"}), "ibtest ctl sm: expected an option, got '-oncee'");
  EXPECT_EQ(said({"ctl", "sm", "--jsn"}),
            "ibtest ctl sm: expected an option, got '--jsn'; did you mean '--json'?");
  EXPECT_EQ(said({"--jsn"}), "ibtest: expected an option, got '--jsn'");
}

/// In the order in which words were typed, and never in the words of a parser.
TEST(CommandLine, WhatNothingTakesIsSaidOfItsFirstWord) {
  EXPECT_THAT(Tool().refusal({"a", "b", "c"}), HasSubstr("expected no more operands, got 'b'\n"));
  EXPECT_THAT(Tool().refusal({"--sakey", "1", "5"}),
              HasSubstr("expected an option, got '--sakey'\n"));
  const auto said = [](std::vector<const char*> words) {
    CommandLine line("ibtest", "Verbs.", "0.1.0");
    bool json = false;
    std::string file;
    auto& plan = line.optional_verb("plan", "Plans.");
    plan.text("--load", file, "FILE", "A file");
    plan.flag("--json", json, "JSON");
    plan.documents([](const Error&) { return std::string("of plan"); });
    auto& ctl = line.optional_verb("ctl", "Asks.");
    ctl.verb("sm", "Who.").flag("--json", json, "JSON");
    ctl.verb("sa", "What.").flag("--json", json, "JSON");
    ctl.verb("pause", "Waits.");
    line.documents([](const Error&) { return std::string("of the program"); });
    words.insert(words.begin(), "ibtest");
    CaptureStderr();
    CaptureStdout();
    EXPECT_EQ(line.parse(static_cast<int>(words.size()), words.data()), 2);
    const std::string text = GetCapturedStderr();
    return text.substr(0, text.find('\n')) + '|' + GetCapturedStdout();
  };
  EXPECT_EQ(said({"foo"}), "ibtest: expected an option or plan|ctl, got 'foo'|");
  EXPECT_EQ(said({"plam"}),
            "ibtest: expected an option or plan|ctl, got 'plam'; did you mean 'plan'?|");
  EXPECT_EQ(said({"ctl", "sn", "--json"}),
            "ibtest ctl: expected sm|sa|pause, got 'sn'|of the program");
  EXPECT_EQ(said({"ctl", "paus"}),
            "ibtest ctl: expected sm|sa|pause, got 'paus'; did you mean 'pause'?|");
  EXPECT_EQ(said({"--load", "f"}),
            "ibtest: expected an option, got '--load'; it is one of 'ibtest plan'|");
  EXPECT_EQ(said({"ctl", "--json", "sm"}),
            "ibtest ctl sm: expected an option, got '--json'; it follows the verb|of the program");
  EXPECT_EQ(said({"--load", "f", "plan"}),
            "ibtest plan: expected an option, got '--load'; it follows the verb|");
  EXPECT_EQ(said({"ctl", "pause", "--json"}),
            "ibtest ctl pause: expected an option, got '--json'|of the program");
  EXPECT_EQ(said({"ctl", "pause", "x"}), "ibtest ctl pause: expected no operand, got 'x'|");
  EXPECT_EQ(said({"plan", "x", "--json"}), "ibtest plan: expected no operand, got 'x'|of plan");
}

TEST(CommandLine, NumbersOfAnyKindHaveARange) {
  for (const char* wrong : {"nan", "101", "x"}) {
    CommandLine line("ibtest", "Tests options.", "0.1.0");
    double loss = 0;
    line.number("--loss", loss, 0, 100, "Per cent");
    const char* words[] = {"ibtest", "--loss", wrong};
    CaptureStderr();
    EXPECT_EQ(line.parse(3, words), 2);
    EXPECT_THAT(GetCapturedStderr(), HasSubstr("--loss: expected a number from 0 to 100, got '"));
  }
}

/// The value of --compare after these words, and the operand.
std::pair<std::string, std::optional<std::string>> compared(std::vector<const char*> words) {
  CommandLine line("ibtest", "Tests options.", "0.1.0");
  std::string list;
  std::optional<std::string> file;
  line.optional_value(
      "--compare", "LIST", "Rows", "all", [](const std::string& w) { return w == "updn"; },
      [&](const std::string& v) -> Result<void> {
        list = v;
        return {};
      });
  line.operand("FILE", file, "A file");
  words.insert(words.begin(), "ibtest");
  EXPECT_EQ(line.parse(static_cast<int>(words.size()), words.data()), std::nullopt);
  return {list, file};
}

TEST(CommandLine, AValueMayBeOptional) {
  EXPECT_EQ(compared({"--compare", "updn", "file"}),
            std::pair(std::string("updn"), std::optional<std::string>("file")));
  EXPECT_EQ(compared({"--compare", "file"}),
            std::pair(std::string("all"), std::optional<std::string>("file")));
  EXPECT_EQ(compared({"file", "--compare"}),
            std::pair(std::string("all"), std::optional<std::string>("file")));
  EXPECT_EQ(compared({"--compare=updn"}).first, "updn");
}

TEST(CommandLine, VerbsHaveOptionsOfTheirOwn) {
  CommandLine line("ibtest", "Verbs.", "0.1.0");
  unsigned n = 0;
  std::string where;
  std::vector<std::string> command;
  CommandLine& run = line.verb("run", "Runs.");
  run.number("-n", n, 1, 9, "Times");
  run.operand("WHERE", where, "Place");
  run.command_to_run(command);
  line.verb("stop", "Stops.");
  const char* words[] = {"ibtest", "run", "-n", "3", "here", "--", "ls", "-l", "--all"};
  EXPECT_EQ(line.parse(9, words), std::nullopt);
  EXPECT_EQ(n, 3U);
  EXPECT_EQ(where, "here");
  EXPECT_THAT(command, ElementsAre("ls", "-l", "--all"));

  CommandLine none("ibtest", "Verbs.", "0.1.0");
  none.verb("run", "Runs.");
  CaptureStderr();
  EXPECT_EQ(none.parse(1, words), 2);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("ibtest: expected run, got nothing\n"));
}

TEST(CommandLine, WordsOfAVerbAreCountedAlsoBehindTwoDashes) {
  const auto said = [](std::vector<const char*> words) {
    CommandLine line("ibtest", "Verbs.", "0.1.0");
    std::vector<std::string> out;
    line.verb("show", "Shows.").operands("NODE [PORT]", out, 1, 2);
    words.insert(words.begin(), "ibtest");
    CaptureStderr();
    const auto status = line.parse(static_cast<int>(words.size()), words.data());
    const std::string text = GetCapturedStderr();
    return status ? text.substr(0, text.find('\n')) : "good";
  };
  EXPECT_EQ(said({"show", "--", "-a", "-b"}), "good");
  EXPECT_EQ(said({"show", "--", "-a", "-b", "-c"}),
            "ibtest show: expected NODE [PORT], got 3 words");
  EXPECT_EQ(said({"show"}), "ibtest show: expected NODE [PORT], got 0 words");
}

/// What is named and does not exist is a finding; what cannot be read is a usage error.
TEST(ExitStatus, IsChosenByTheKindOfTheError) {
  const auto status = [](ErrorKind kind) { return status_of({kind, "", 0}); };
  EXPECT_EQ(status(ErrorKind::NotFound), 1);
  EXPECT_EQ(status(ErrorKind::Usage), 2);
  for (const auto kind : {ErrorKind::Unavailable, ErrorKind::TimedOut, ErrorKind::Refused,
                          ErrorKind::Malformed, ErrorKind::Io, ErrorKind::Internal})
    EXPECT_EQ(status(kind), 4);
}

}  // namespace
}  // namespace ib::cli
