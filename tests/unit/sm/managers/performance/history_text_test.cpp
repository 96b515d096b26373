// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/history_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::managers::performance {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct HistoryTextTest : testing::Test {
  HistoryTextTest() {
    windows.wall_at_zero = 1'699'999'200s;  // 22:00:00
    PortRecord leaf;
    leaf.node_guid = ib::Guid{0x2c90200400000};
    leaf.node_name = "leaf-001";
    leaf.port = 5;
    leaf.here = ib::report::PortShape{{}, {}, "leaf-001", 5, {}, {}};
    leaf.there = ib::report::PortShape{{}, {}, "spine-001", 1, {}, {}};
    RecordNews news;
    Reading reading;
    reading.wide.emplace();
    leaf.take(ib::Instant{} + 60s, reading, windows, 10, news);
    reading.wide->port_xmit_data = 3'540'000'000;
    reading.narrow.symbol_error_counter = 7;
    leaf.take(ib::Instant{} + 3600s, reading, windows, 10, news);
    reading.wide->port_rcv_pkts = 3'480;
    leaf.take(ib::Instant{} + 7080s, reading, windows, 10, news);
    leaf.take(ib::Instant{} + 7260s, reading, windows, 10, news);
    records.emplace(PortKey{leaf.node_guid, leaf.port}, leaf);
  }
  Windows windows;
  PortRecords records;
};

TEST_F(HistoryTextTest, AWindowHasTheTimeBetweenItsReadings) {
  EXPECT_EQ(history_text(records, {}, windows),
            R"("leaf-001" port 5 - "spine-001" port 1
  from                  seconds   xmit bytes/s    rcv bytes/s    xmit pkts/s     rcv pkts/s  errors
  2023-11-14T23:00:00Z     7020        2017094              0              0              0  SymbolErrorCounter +7
  2023-11-15T00:00:00Z      180              0              0              0              0  -
)");
}

TEST_F(HistoryTextTest, JsonHasCountsAndWhetherTheWindowHasEnded) {
  const std::string json = history_json(records, {ib::Guid{0x2c90200400000}, 5}, windows, "9");
  EXPECT_THAT(json, HasSubstr("\"schema\": \"ibkit.ibsm-counter-history/2\""));
  EXPECT_THAT(json, HasSubstr("\"began\": 1700002800, \"seconds\": 7020.0, \"ended\": true"));
  EXPECT_THAT(json, HasSubstr("\"SymbolErrorCounter\": 7"));
  EXPECT_THAT(json, HasSubstr("\"began\": 1700006400, \"seconds\": 180.0, \"ended\": false"));
  EXPECT_EQ(history_text(records, {ib::Guid{1}}, windows), "");
}

}  // namespace
}  // namespace sm::managers::performance
