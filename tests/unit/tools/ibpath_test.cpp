// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibpath's two formats against files, and what it asks for.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/ibpath/paths.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::wire::PathRecord;
using ib::wire::Selector;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(IBKIT_SOURCE_DIR) + "/tests/golden/ibpath/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<PathRecord> two_paths() {
  PathRecord unicast;
  unicast.sgid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x0002c903000085d1});
  unicast.dgid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x0002c903000a0411});
  unicast.slid = Lid{7};
  unicast.dlid = Lid{22};
  unicast.reversible = true;
  unicast.p_key = ib::kDefaultPKey;
  unicast.mtu_selector = unicast.rate_selector = unicast.packet_life_selector = Selector::Exactly;
  unicast.mtu = 5;
  unicast.rate = 16;
  unicast.packet_life = 18;

  // Every field its own value; codes that no table knows.
  PathRecord odd;
  odd.service_id = 0x0000000001066ABCULL;
  odd.dgid.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  odd.sgid = unicast.sgid;
  odd.dlid = Lid{0xC000};
  odd.slid = Lid{7};
  odd.raw_traffic = true;
  odd.flow_label = 0xABCDE;
  odd.hop_limit = 255;
  odd.traffic_class = 0x1F;
  odd.numb_path = 5;
  odd.p_key = ib::PKey{0x8001};
  odd.qos_class = 0x123;
  odd.sl = ib::Sl{11};
  odd.mtu = 62;
  odd.rate = 61;
  odd.packet_life = 1;
  odd.preference = 2;
  return {unicast, odd};
}

TEST(IbpathReport, TextIsSaquerys) {
  EXPECT_EQ(text_report(two_paths(), false), golden("two.txt"));
}
TEST(IbpathReport, VerboseSaysWhatTheCodesMean) {
  EXPECT_EQ(text_report(two_paths(), true), golden("two-verbose.txt"));
}
TEST(IbpathReport, Json) { EXPECT_EQ(json_report(two_paths(), "0.0.0"), golden("two.json")); }
TEST(IbpathReport, JsonOfNoPath) { EXPECT_EQ(json_report({}, "0.0.0"), golden("none.json")); }

TEST(IbpathQuery, AsksOnlyForWhatWasSaid) {
  const auto gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{5});
  auto query = path_query({Lid{3}, std::nullopt}, {std::nullopt, gid}, {});
  EXPECT_EQ(query.mask, (1U << 5) | (1U << 2));  // SLID, DGID
  EXPECT_EQ(query.record.slid, Lid{3});
  EXPECT_EQ(query.record.dgid, gid);

  Wanted wanted;
  wanted.numb_path = 4;
  wanted.sl = 2;
  wanted.p_key = 0x8001;
  wanted.reversible = true;
  query = path_query({std::nullopt, gid}, {Lid{9}, std::nullopt}, wanted);
  EXPECT_EQ(query.mask, (1U << 3) | (1U << 4) | (1U << 11) | (1U << 12) | (1U << 13) | (1U << 15));
  EXPECT_EQ(query.record.numb_path, 4);
  EXPECT_EQ(query.record.sl, ib::Sl{2});
  EXPECT_EQ(query.record.p_key, ib::PKey{0x8001});
  EXPECT_TRUE(query.record.reversible);
}

}  // namespace
}  // namespace ibpath
