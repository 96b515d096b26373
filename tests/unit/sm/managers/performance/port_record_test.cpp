// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/port_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sm::managers::performance {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

struct PortRecordTest : testing::Test {
  PortRecordTest() {
    record.here = ib::report::PortShape{{}, {}, "leaf-001", 5, {}, {}};
    record.there = ib::report::PortShape{{}, {}, "spine-001", 1, {}, {}};
    windows.wall_at_zero = 1'700'000'000s;  // 800 s behind the hour
    windows.length = 1h;
    read(0);
  }
  /// After `later`, with so many symbol errors.
  std::vector<ErrorChange> read(std::uint16_t symbols, ib::Duration later = 180s) {
    now = now + later;
    Reading reading;
    reading.narrow.symbol_error_counter = symbols;
    RecordNews news;
    record.take(now, reading, windows, kept, news);
    return news.changes;
  }
  Windows windows;
  PortRecord record;
  std::size_t kept{3};
  ib::Instant now{0};
};

TEST(Counters, ErrorsAreThoseOfThePolicyInItsOrder) {
  for (std::size_t i = 0; i < policy::kErrorCounters; ++i)
    EXPECT_EQ(counter_rows()[i].name, policy::error_counters()[i].name);
  for (std::size_t i = policy::kErrorCounters; i < counter_rows().size(); ++i)
    EXPECT_EQ(counter_rows()[i].kind, CounterKind::Data);
}

TEST_F(PortRecordTest, ACounterIsAboveOnceAndBelowAfterAWindowWithoutErrors) {
  EXPECT_THAT(read(10), IsEmpty()) << "as many as the threshold has";
  const auto above = read(11);
  ASSERT_THAT(above, SizeIs(1));
  EXPECT_TRUE(above[0].is_above);
  EXPECT_EQ(port_text(above[0].here), "\"leaf-001\" port 5");
  EXPECT_EQ(port_text(above[0].there.value()), "\"spine-001\" port 1");
  EXPECT_EQ(above[0].counter, "SymbolErrorCounter");
  EXPECT_EQ(above[0].category, "integrity");
  EXPECT_EQ(above[0].count, 11U);
  EXPECT_EQ(above[0].seconds, 360);
  EXPECT_EQ(above[0].threshold, 10U);
  EXPECT_THAT(read(500), IsEmpty()) << "it has been told";
  EXPECT_THAT(read(510, 3600s), IsEmpty()) << "the window that ended had too many";
  EXPECT_THAT(read(510, 180s), IsEmpty());
  const auto below = read(510, 3600s);
  ASSERT_THAT(below, SizeIs(1));
  EXPECT_FALSE(below[0].is_above);
  EXPECT_EQ(below[0].count, 10U) << "of the window that ended";
  EXPECT_THAT(read(521, 180s), SizeIs(1)) << "it can be above again";
}

TEST_F(PortRecordTest, AFewErrorsEachWindowAreNoEvent) {
  for (std::uint16_t hour = 1; hour < 24; ++hour)
    EXPECT_THAT(read(static_cast<std::uint16_t>(hour * 10), 3600s), IsEmpty());
}

TEST_F(PortRecordTest, AfterALongSilenceTheTimeIsTakenIntoAccount) {
  EXPECT_THAT(read(100, 10h), IsEmpty());
  EXPECT_THAT(read(250, 10h), SizeIs(1));
}

TEST_F(PortRecordTest, WhatTheFirstReadingHasIsOfTheTimeBefore) {
  record = {};
  EXPECT_THAT(read(1000), IsEmpty());
  EXPECT_EQ(record.ended.front().totals[0], 1000U);
}

TEST_F(PortRecordTest, WindowsBeginAtTheHourAndOldOnesGo) {
  for (int i = 0; i < 10; ++i) read(0, 3600s);
  ASSERT_THAT(record.ended, SizeIs(3));
  for (const WindowEnd& end : record.ended) EXPECT_EQ(end.began % 3600, 0);
  EXPECT_EQ(record.ended[1].began - record.ended[0].began, 3600);
  EXPECT_EQ(windows.began(record.totals.last_reading()) - record.ended.back().began, 3600);
}

TEST_F(PortRecordTest, ClearedOrGoneItIsBelow) {
  ASSERT_THAT(read(50), SizeIs(1));
  RecordNews news;
  record.forget(now, windows, news);
  ASSERT_THAT(news.changes, SizeIs(1));
  EXPECT_FALSE(news.changes[0].is_above);
  EXPECT_THAT(read(60), IsEmpty()) << "10 since then";
  EXPECT_THAT(read(61), SizeIs(1));
  news.changes.clear();
  record.give_up(windows, news);
  EXPECT_THAT(news.changes, SizeIs(1));
}

TEST_F(PortRecordTest, AThresholdThatIsOffIsNeverPassedAndClearsWhatWasAbove) {
  ASSERT_THAT(read(50), SizeIs(1));
  windows.thresholds[0].reset();
  EXPECT_THAT(read(1000, 180s), IsEmpty());
  EXPECT_THAT(read(1000, 3600s), SizeIs(1));
  EXPECT_THAT(read(2000, 180s), IsEmpty());
}

/// A record as a store would have it back: the window that runs, and those before that were the one
/// that ran once.
struct RestartTest : PortRecordTest {
  std::map<std::int64_t, StoredWindow> store;
  void keep() {
    for (const StoredWindow& window : record.to_store(windows))
      store.insert_or_assign(window.began, window);
  }
  std::vector<ErrorChange> read_and_keep(std::uint16_t symbols, ib::Duration later = 180s) {
    auto changes = read(symbols, later);
    keep();
    return changes;
  }
  void restart() {
    PortRecord fresh;
    fresh.here = record.here;
    fresh.there = record.there;
    std::vector<StoredWindow> stored;
    for (const auto& [began, window] : store) stored.push_back(window);
    fresh.resume(now, stored, windows);
    record = fresh;
  }
};

TEST_F(RestartTest, RatesAndThresholdsGoOn) {
  keep();
  read_and_keep(8);
  restart();
  EXPECT_EQ(record.totals.values()[0], 8U);
  const auto above = read_and_keep(13);
  EXPECT_EQ(record.totals.increase()[0], 5U) << "the first reading after a restart counts";
  EXPECT_EQ(record.totals.period(), 180s);
  ASSERT_THAT(above, SizeIs(1));
  EXPECT_EQ(above[0].count, 13U);
  EXPECT_EQ(above[0].seconds, 360);
}

TEST_F(RestartTest, WhatWasAboveIsNotToldAgainAndIsBelowInItsTime) {
  keep();
  ASSERT_THAT(read_and_keep(50), SizeIs(1));
  restart();
  EXPECT_THAT(read_and_keep(70), IsEmpty());
  EXPECT_THAT(read_and_keep(70, 3600s), IsEmpty());
  restart();
  EXPECT_THAT(read_and_keep(70), IsEmpty());
  const auto below = read_and_keep(70, 3600s);
  ASSERT_THAT(below, SizeIs(1));
  EXPECT_FALSE(below[0].is_above);
}

TEST_F(RestartTest, TheWindowsAreThoseOfBefore) {
  keep();
  for (std::uint16_t hour = 1; hour < 5; ++hour) read_and_keep(hour, 3600s);
  const auto before = record;
  for (const auto& dropped : std::vector(store.begin(), store.end()))
    if (dropped.first < before.ended.front().began) store.erase(dropped.first);
  restart();
  ASSERT_EQ(record.ended.size(), before.ended.size());
  for (std::size_t i = 0; i < before.ended.size(); ++i) {
    EXPECT_EQ(record.ended[i].began, before.ended[i].began);
    EXPECT_EQ(record.ended[i].read, before.ended[i].read);
    EXPECT_EQ(record.ended[i].totals, before.ended[i].totals);
  }
}

TEST_F(RestartTest, ADeviceThatWasResetMeanwhileCountsFromZero) {
  keep();
  read_and_keep(9);
  restart();
  EXPECT_THAT(read_and_keep(3), SizeIs(1)) << "9 + 3";
}

TEST_F(RestartTest, TotalsThatWentDownAndATimeToComeAreNotBelieved) {
  keep();
  read_and_keep(9, 3600s);
  auto& first = store.begin()->second.state;
  first.totals[0] = 5'000;
  auto& last = store.rbegin()->second.state;
  last.last_reading = now + 1000h;
  restart();
  EXPECT_THAT(read_and_keep(10, 3600s), IsEmpty());
  EXPECT_GE(record.totals.period(), 0s);
}

TEST_F(RestartTest, WhatIsDroppedIsNamed) {
  RecordNews news;
  record.give_up(windows, news);
  EXPECT_THAT(news.dropped, SizeIs(2));
  news = {};
  kept = 1;
  now = now + 3600s;
  record.take(now, {}, windows, kept, news);
  ASSERT_THAT(news.dropped, SizeIs(1));
  EXPECT_EQ(news.dropped[0].began, windows.began(ib::Instant{}) - 3600);
}

}  // namespace
}  // namespace sm::managers::performance
