// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/log_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A sink as a program has it: what passes, and summaries when their time comes.
struct Sink {
  struct Line {
    Instant at;
    std::string text;
    std::optional<LogCause> cause;
  };

  void write(Duration after, std::string message, std::optional<LogCause> cause,
             LogLevel level = LogLevel::Warning) {
    now = now + after;
    on_time();
    const LogEvent event{level, "test", std::move(message), cause};
    if (limiter.admit(now, event)) lines.push_back({now, event.message, cause});
  }
  void on_time() {
    while (limiter.next_deadline() <= now) {
      const auto event = limiter.summary(now);
      ASSERT_TRUE(event);
      summaries.push_back(event->message);
      lines.push_back({now, event->message, {}});
    }
  }
  void wait(Duration time) {
    now = now + time;
    on_time();
  }
  /// The most lines in any second, of one sender (or all, summaries included).
  std::size_t most_in_a_second(std::optional<Lid> sender = {}) const {
    std::deque<Instant> inside;
    std::size_t most = 0;
    for (const Line& line : lines) {
      if (sender && (!line.cause || line.cause->sender != *sender)) continue;
      while (!inside.empty() && inside.front() + seconds(1) <= line.at) inside.pop_front();
      inside.push_back(line.at);
      most = std::max(most, inside.size());
    }
    return most;
  }

  LogLimiter limiter;
  Instant now{1'000'000'000};
  std::vector<Line> lines;
  std::vector<std::string> summaries;
};

LogCause trap(unsigned lid) { return {"trap", Lid{static_cast<std::uint16_t>(lid)}}; }

TEST(LogLimiter, LinesThatNobodyElseCausedPass) {
  Sink sink;
  for (int i = 0; i < 10'000; ++i) sink.write({}, "the same", {});
  EXPECT_EQ(sink.lines.size(), 10'000U);
  EXPECT_EQ(sink.limiter.next_deadline(), kNever);
}

TEST(LogLimiter, AFloodOfOneSenderIsTenLinesAndASummaryAfterASecond) {
  Sink sink;
  for (int i = 0; i < 100'000; ++i)
    sink.write(microseconds(50), "trap " + std::to_string(i), trap(17));
  EXPECT_EQ(sink.most_in_a_second(Lid{17}), 10U);
  EXPECT_LE(sink.lines.size(), 12U) << "in five seconds";
  ASSERT_EQ(sink.summaries.size(), 1U);
  EXPECT_EQ(sink.summaries[0],
            "20000 more lines were left out in 1 s: 20000 of \"trap\" from LID 17");
  sink.wait(minutes(1));
  ASSERT_EQ(sink.summaries.size(), 2U) << "the rest";
  sink.wait(minutes(10));
  EXPECT_EQ(sink.summaries.size(), 2U) << "nothing was left out since";
}

TEST(LogLimiter, AFloodOfManySendersIsAHundredLinesASecondAtMost) {
  Sink sink;
  for (unsigned i = 0; i < 300'000; ++i)
    sink.write(milliseconds(1), "line " + std::to_string(i), trap(1 + i * 7919 % 49'151));
  EXPECT_LE(sink.most_in_a_second(), 100U);
  EXPECT_GE(sink.most_in_a_second(), 90U) << "the first second";
  // Five minutes: what comes back in each, and summaries.
  EXPECT_LE(sink.lines.size(), LogLimiter::kBurstInAll + 5 * LogLimiter::kLinesInAll + 7);
  for (const auto& line : sink.summaries) EXPECT_LT(line.size(), 200U);
}

TEST(LogLimiter, OneSendersFloodLeavesOthersTheirLines) {
  Sink sink;
  for (int i = 0; i < 10'000; ++i) {
    sink.write(microseconds(50), "flood " + std::to_string(i), trap(17));
    if (i % 1000 == 0) sink.write({}, "honest " + std::to_string(i), trap(18));
  }
  EXPECT_EQ(std::ranges::count_if(
                sink.lines, [](const auto& l) { return l.cause && l.cause->sender == Lid{18}; }),
            10);
}

TEST(LogLimiter, TheSameLineIsWrittenOnceAMinuteAndThenCounted) {
  Sink sink;
  for (int second = 0; second < 180; ++second)
    sink.write(seconds(1), "LID 4 may not join", LogCause{"SA request", Lid{4}});
  EXPECT_EQ(sink.lines.size() - sink.summaries.size(), 3U);
  ASSERT_EQ(sink.summaries.size(), 2U);
  EXPECT_EQ(sink.summaries[0],
            "59 more lines were left out in 60 s: 59 of \"SA request\" from LID 4");
}

TEST(LogLimiter, ASummaryNamesWhoSentMost) {
  Sink sink;
  for (int i = 0; i < 100; ++i)
    for (unsigned lid = 1; lid <= 10; ++lid)
      for (unsigned times = 0; times < lid; ++times)
        sink.write({}, "line", LogCause{lid % 2 == 0 ? "trap" : "SA request", trap(lid).sender});
  sink.wait(seconds(1));
  ASSERT_EQ(sink.summaries.size(), 1U);
  EXPECT_EQ(sink.summaries[0],
            "5499 more lines were left out in 1 s: 1000 of \"trap\" from LID 10, 900 of \"SA "
            "request\" from LID 9, 800 of \"trap\" from LID 8, 2799 of others");
}

TEST(LogLimiter, ASummaryIsAsSevereAsTheWorstLineThatItSpeaksOf) {
  Sink sink;
  sink.write({}, "once", trap(1), LogLevel::Info);
  sink.write({}, "once", trap(1), LogLevel::Info);
  auto summary = sink.limiter.last_summary(sink.now);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->level, LogLevel::Info);
  EXPECT_FALSE(summary->cause);
  EXPECT_EQ(summary->message, "1 more line was left out in 1 s: 1 of \"trap\" from LID 1");
  sink.write({}, "once", trap(1), LogLevel::Info);
  sink.write({}, "once", trap(1), LogLevel::Error);
  summary = sink.limiter.last_summary(sink.now);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->level, LogLevel::Error);
  EXPECT_FALSE(sink.limiter.last_summary(sink.now));
}

TEST(LogLimiter, WhoWasQuietForAMinuteHasAllHisLinesAgain) {
  Sink sink;
  const auto burst = [&](int from) {
    const auto before = sink.lines.size();
    for (int i = 0; i < 50; ++i) sink.write({}, "line " + std::to_string(from + i), trap(5));
    return sink.lines.size() - before;
  };
  EXPECT_EQ(burst(0), LogLimiter::kLinesOfOne);
  sink.wait(seconds(30));
  EXPECT_EQ(burst(100), LogLimiter::kLinesOfOne / 2);
  sink.wait(minutes(1));
  EXPECT_EQ(burst(200), LogLimiter::kLinesOfOne);
}

}  // namespace
}  // namespace ib
