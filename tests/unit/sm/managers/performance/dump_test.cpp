// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace sm::managers::performance {
namespace {

using testing::HasSubstr;

constexpr ib::Guid kLeaf{0x2c90200400000};

struct DumpTest : testing::Test {
  DumpTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    PortRecord leaf;
    leaf.node_guid = kLeaf;
    leaf.node_name = "leaf-001";
    leaf.port = 5;
    leaf.here = ib::report::PortShape{{}, kLeaf, "leaf-001", 5, {}, {}};
    leaf.there = ib::report::PortShape{{}, {}, "spine-001", 1, {}, {}};
    Reading reading;
    reading.narrow.symbol_error_counter = 12;
    reading.wide.emplace();
    leaf.totals.take(now, reading);
    reading.wide->port_xmit_data = 3'000'000'000;
    reading.wide->port_rcv_pkts = 2'500;
    leaf.totals.take(now + std::chrono::seconds(100), reading);
    records.emplace(PortKey{leaf.node_guid, leaf.port}, leaf);
    PortRecord host;
    host.node_guid = ib::Guid{0x2c90300000000};
    host.node_name = "host0001 HCA-1";
    host.port = 1;
    host.active = false;
    host.totals.take(now, {});
    records.emplace(PortKey{host.node_guid, host.port}, host);
  }

  ib::Instant now{5'000'000'000};
  Clock clock{std::chrono::system_clock::from_time_t(1'700'000'100),
              now + std::chrono::seconds(100)};
  PortRecords records;
};

TEST_F(DumpTest, TextIsThatOfOpensm) {
  EXPECT_EQ(counters_text(records, {kLeaf}, clock),
            R"("leaf-001" 0x2c90200400000 active TRUE port 5
     Last Reset           : Tue Nov 14 22:13:20 2023
     Last Error Update    : Tue Nov 14 22:15:00 2023
     symbol_err_cnt       : 12
     link_err_recover     : 0
     link_downed          : 0
     rcv_err              : 0
     rcv_rem_phys_err     : 0
     rcv_switch_relay_err : 0
     xmit_discards        : 0
     xmit_constraint_err  : 0
     rcv_constraint_err   : 0
     link_integrity_err   : 0
     buf_overrun_err      : 0
     vl15_dropped         : 0
     xmit_wait            : 0
     Last Data Update     : Tue Nov 14 22:15:00 2023
     xmit_data            : 3000000000 (11.176GB)
     rcv_data             : 0 (0.000B)
     xmit_pkts            : 0 (0.000)
     rcv_pkts             : 2500 (2.441K)
     unicast_xmit_pkts    : 0 (0.000)
     unicast_rcv_pkts     : 0 (0.000)
     multicast_xmit_pkts  : 0 (0.000)
     multicast_rcv_pkts   : 0 (0.000)
)");
}

TEST_F(DumpTest, ErrorsAloneAreThoseAboveZero) {
  Which which;
  which.errors_only = true;
  EXPECT_EQ(counters_text(records, which, clock),
            R"("leaf-001" 0x2c90200400000 active TRUE port 5
     Last Reset           : Tue Nov 14 22:13:20 2023
     Last Error Update    : Tue Nov 14 22:15:00 2023
     symbol_err_cnt       : 12
)");
}

TEST_F(DumpTest, ANodeIsNamedByItsGuidAndAPortByItsNumber) {
  EXPECT_THAT(counters_text(records, {ib::Guid{0x2c90300000000}}, clock),
              HasSubstr("active FALSE port 1"));
  EXPECT_EQ(counters_text(records, {kLeaf, 4}, clock), "");
  EXPECT_EQ(counters_text(records, {ib::Guid{1}}, clock), "");
}

TEST_F(DumpTest, TheTableHasAHeadForEachNode) {
  const std::string table = counters_table(records, clock);
  EXPECT_THAT(table, HasSubstr("\nName\tGUID\tActive\tPort\tLast Reset\tLast Error Update\tLast "
                               "Data Update\tsymbol_err_cnt\tlink_err_recover\t"));
  EXPECT_THAT(table,
              HasSubstr("\nleaf-001\t0x2c90200400000\tTRUE\t5\tTue Nov 14 22:13:20 2023\tTue Nov "
                        "14 22:15:00 2023\tTue Nov 14 22:15:00 2023\t12\t0\t"));
}

TEST_F(DumpTest, JsonHasRatesByTheSecond) {
  const std::string json = counters_json(records, {kLeaf, 5}, clock, "9");
  EXPECT_THAT(json, HasSubstr("\"schema\": \"ibkit.ibsm-counters/2\""));
  EXPECT_THAT(json, HasSubstr("\"version\": \"9\""));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("type": null, "node_guid": "0x0002c90200400000", "name": "leaf-001", "port": 5, )"
          R"("port_guid": null, "lid": 0, "peer": {"type": null, "node_guid": null, )"
          R"("name": "spine-001", "port": 1, "port_guid": null, "lid": 0}, "active": true)"))
      << json;
  EXPECT_THAT(json, HasSubstr("\"SymbolErrorCounter\": 12"));
  EXPECT_THAT(json, HasSubstr("\"xmit_data\": 120000000"));
  EXPECT_THAT(json, HasSubstr("\"rcv_pkts\": 25"));
  EXPECT_THAT(json, HasSubstr("\"read\": 1700000100"));
}

}  // namespace
}  // namespace sm::managers::performance
