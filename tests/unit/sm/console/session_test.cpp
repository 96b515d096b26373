// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/console/session.h"

#include <gtest/gtest.h>

namespace sm::console {
namespace {

using std::chrono::seconds;

struct ConsoleSession : testing::Test {
  unsigned runs{0};
  Session::Runner run = [this](Words words) {
    ++runs;
    Outcome outcome{words.empty() ? "" : words.front() + " done\n"};
    outcome.ends = !words.empty() && words.front() == "quit";
    outcome.loops = words.size() > 1 && words[1] == "loop";
    return outcome;
  };
  Session session;
  ib::Instant now{1'000'000'000};

  std::string said(std::string_view line) { return session.on_line(now, line, run).text; }
};

TEST_F(ConsoleSession, EveryAnswerEndsWithThePrompt) {
  EXPECT_EQ(said("status\r"), "status done\nOpenSM $ ");
  EXPECT_EQ(said(""), "OpenSM $ ");
  EXPECT_EQ(session.next_deadline(), ib::kNever);
}

TEST_F(ConsoleSession, QuitEndsIt) {
  const auto reply = session.on_line(now, "quit", run);
  EXPECT_TRUE(reply.ends);
  EXPECT_EQ(reply.text, "quit done\n");
}

TEST_F(ConsoleSession, ALoopGoesOnUntilQ) {
  EXPECT_EQ(said("status loop"), "status done\nuse \"q<ret>\" to quit loop\n");
  EXPECT_EQ(session.next_deadline(), now + kLoopPause);
  EXPECT_EQ(session.on_time(now + seconds(1), run), "");
  EXPECT_EQ(session.on_time(now + seconds(2), run), "status done\n");
  EXPECT_EQ(session.next_deadline(), now + seconds(4));
  EXPECT_EQ(said("quit"), "use \"q<ret>\" to quit loop\n");
  EXPECT_EQ(said("q"), "OpenSM $ ");
  EXPECT_EQ(session.next_deadline(), ib::kNever);
  EXPECT_EQ(session.on_time(now + seconds(9), run), "");
  EXPECT_EQ(runs, 2U);
}

}  // namespace
}  // namespace sm::console
