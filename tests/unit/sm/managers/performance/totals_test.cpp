// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/totals.h"

#include <gtest/gtest.h>

#include <random>

namespace sm::managers::performance {
namespace {

using ib::Instant;
using std::chrono::seconds;

std::size_t row(std::string_view name) {
  const auto rows = counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name) return i;
  ADD_FAILURE() << name;
  return 0;
}

struct Port {
  PortTotals totals;
  Instant now{1'000'000'000};
  void read(const Reading& reading) {
    totals.take(now, reading);
    now = now + seconds(180);
  }
  std::uint64_t total(std::string_view name) const { return totals.values()[row(name)]; }
  std::uint64_t increase(std::string_view name) const { return totals.increase()[row(name)]; }
};

Reading symbols(std::uint16_t count) {
  Reading r;
  r.narrow.symbol_error_counter = count;
  return r;
}

TEST(PortTotals, TheFirstReadingIsHistoryAndNoIncrease) {
  Port port;
  port.read(symbols(7));
  EXPECT_EQ(port.total("SymbolErrorCounter"), 7U);
  EXPECT_EQ(port.increase("SymbolErrorCounter"), 0U);
  EXPECT_EQ(port.totals.period(), seconds(0));
  port.read(symbols(9));
  EXPECT_EQ(port.total("SymbolErrorCounter"), 9U);
  EXPECT_EQ(port.increase("SymbolErrorCounter"), 2U);
  EXPECT_EQ(port.totals.period(), seconds(180));
}

TEST(PortTotals, ACounterThatSomebodySetBackCountsFromZeroAndNeverDown) {
  Port port;
  port.read(symbols(100));
  port.read(symbols(3));
  EXPECT_EQ(port.increase("SymbolErrorCounter"), 3U);
  EXPECT_EQ(port.total("SymbolErrorCounter"), 103U);
}

TEST(PortTotals, ACounterThatIsNearlyFullIsToBeClearedAndGoesOnFromThere) {
  Port port;
  port.read(symbols(49'151));
  EXPECT_TRUE(port.totals.nearly_full().empty());
  port.read(symbols(49'152));
  const auto select = port.totals.nearly_full();
  EXPECT_EQ(select.select, 1U);
  EXPECT_EQ(select.select2, 0U);
  port.totals.cleared(port.now, select.select, select.select2);
  port.read(symbols(60'000));
  EXPECT_EQ(port.total("SymbolErrorCounter"), 49'152U + 60'000U);
}

TEST(PortTotals, ACounterThatStandsAtItsLargestValueSaysNothingMore) {
  Port port;
  port.read(symbols(65'535));
  port.read(symbols(65'535));
  EXPECT_EQ(port.increase("SymbolErrorCounter"), 0U);
}

TEST(PortTotals, DataComesFromTheWideCountersWhereTheyAre) {
  Reading r;
  r.narrow.port_xmit_data = 0xFFFFFFFF;
  r.wide.emplace();
  r.wide->port_xmit_data = std::uint64_t{1} << 40;
  r.wide->port_unicast_xmit_pkts = 5;
  Port port;
  port.read(r);
  EXPECT_EQ(port.total("PortXmitData"), std::uint64_t{1} << 40);
  EXPECT_EQ(port.total("PortUnicastXmitPkts"), 5U);
  EXPECT_TRUE(port.totals.nearly_full().empty()) << "the narrow one may stop: nobody looks at it";

  r.has_packet_kinds = false;
  Port without;
  without.read(r);
  EXPECT_EQ(without.total("PortUnicastXmitPkts"), 0U);
}

TEST(PortTotals, NarrowDataIsToBeClearedToo) {
  Reading r;
  r.narrow.port_rcv_data = 0xFFFFFFFF;
  Port port;
  port.read(r);
  EXPECT_EQ(port.totals.nearly_full().select, 1U << 13);
}

TEST(PortTotals, XmitWaitCountsWhereTheDeviceHasIt) {
  Reading r;
  r.narrow.port_xmit_wait = 50;
  Port with;
  with.read(r);
  EXPECT_EQ(with.total("PortXmitWait"), 50U);
  r.has_xmit_wait = false;
  Port without;
  without.read(r);
  EXPECT_EQ(without.total("PortXmitWait"), 0U);
}

/// A device that counts, stops at the largest value, is set back by others and restarts: with every
/// counter cleared when it is nearly full, the total is what was counted, less what was lost in
/// resets that nobody told of.
TEST(PortTotals, AgreeWithADeviceThatCountsAndIsClearedInTime) {
  std::mt19937_64 dice(7);
  for (int run = 0; run < 200; ++run) {
    Port port;
    std::uint64_t device = 0, counted = 0;
    for (int reading = 0; reading < 100; ++reading) {
      const std::uint64_t more = dice() % 60;
      counted += more;
      device = std::min<std::uint64_t>(device + more, 255);
      Reading r;
      r.narrow.link_downed_counter = static_cast<std::uint8_t>(device);
      const auto before = port.total("LinkDownedCounter");
      port.read(r);
      EXPECT_GE(port.total("LinkDownedCounter"), before);
      if (const auto select = port.totals.nearly_full(); !select.empty()) {
        device = 0;
        port.totals.cleared(port.now, select.select, select.select2);
      }
    }
    EXPECT_EQ(port.total("LinkDownedCounter"), counted);
  }
}

TEST(PortTotals, ForgetBeginsAtZeroAndTheDeviceGoesOn) {
  Port port;
  port.read(symbols(100));
  port.totals.forget(port.now);
  EXPECT_EQ(port.total("SymbolErrorCounter"), 0U);
  port.read(symbols(101));
  EXPECT_EQ(port.total("SymbolErrorCounter"), 1U);
}

}  // namespace
}  // namespace sm::managers::performance
