// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What explain says of a path: which link decides, and what cannot be kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "libdiag/wire/rates.h"
#include "tools/ibpath/explain.h"

namespace ibpath {
namespace {

using ib::Lid;
using ib::PKey;
using ib::wire::LinkSpeed;
using ib::wire::LinkWidth;
using ib::wire::PortInfo;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(IBKIT_SOURCE_DIR) + "/tests/golden/ibpath/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

PortInfo port(LinkSpeed speed, std::uint8_t mtu, std::uint8_t mtu_cap) {
  PortInfo p;
  ib::wire::set_active_width(p, LinkWidth::W4x);
  ib::wire::set_active_speed(p, speed);
  p.neighbor_mtu = mtu;
  p.mtu_cap = mtu_cap;
  p.operational_vls = 4;  // VL0-7
  p.port_state = ib::wire::PortState::Active;
  return p;
}

//  host-1 --EDR-- leaf-1 --HDR 2048-- leaf-2 --EDR-- host-2
//  LID 1          LID 10              LID 11         LID 2
WayLink link(Lid from, std::uint8_t out, const char* from_name, Lid to, std::uint8_t in,
             const char* to_name, LinkSpeed speed, std::uint8_t mtu) {
  WayLink l;
  l.from = {from, out, from_name, port(speed, mtu, 5)};
  l.to = {to, in, to_name, port(speed, mtu, mtu)};
  l.vl = 0;
  return l;
}

PathFacts three_links() {
  PathFacts f;
  f.path.slid = Lid{1};
  f.path.dlid = Lid{2};
  f.path.mtu = 4;
  f.path.rate = 16;
  f.path.packet_life = 18;
  f.path.reversible = true;
  f.path.p_key = PKey{0x8001};
  f.source_name = "host-1";
  f.destination_name = "host-2";
  f.there.links = {
      link(Lid{1}, 1, "host-1", Lid{10}, 3, "leaf-1", LinkSpeed::Edr, 5),
      link(Lid{10}, 20, "leaf-1", Lid{11}, 21, "leaf-2", LinkSpeed::Hdr, 4),
      link(Lid{11}, 4, "leaf-2", Lid{2}, 1, "host-2", LinkSpeed::Edr, 5),
  };
  for (auto at = f.there.links.rbegin(); at != f.there.links.rend(); ++at)
    f.back.links.push_back({at->to, at->from, at->vl});
  f.back_path = f.path;
  f.source_keys = {PKey{0xFFFF}, PKey{0x8001}};
  f.destination_keys = {PKey{0x7FFF}, PKey{0x0001}};
  return f;
}

Reason of(const std::vector<Reason>& reasons, std::string_view subject) {
  for (const Reason& reason : reasons)
    if (reason.subject == subject) return reason;
  ADD_FAILURE() << "nothing said of " << subject;
  return {};
}
Reason judged(const PathFacts& facts, std::string_view subject) {
  return of(judge(facts), subject);
}

TEST(IbpathExplain, NamesTheLinkThatLimitsTheMtu) {
  const auto r = judged(three_links(), "MTU");
  EXPECT_EQ(r.value, "2048");
  EXPECT_EQ(r.link, 2U);
  EXPECT_FALSE(r.wrong);
  EXPECT_EQ(r.reason, "link 2, leaf-1 port 20 to leaf-2 port 21: leaf-2 port 21 can do no more");
}

TEST(IbpathExplain, NamesTheLinkThatLimitsTheRateByTheOrderOfSpeed) {
  auto facts = three_links();
  EXPECT_EQ(judged(facts, "rate").link, 1U);
  EXPECT_THAT(judged(facts, "rate").reason, HasSubstr("(and one more on the way): 4x EDR"));
  // 4x FDR's code (12) is below 4x EDR's (16), 4x DDR's (6) above 4x SDR's (3): codes say nothing.
  facts.there.links[1] = link(Lid{10}, 20, "leaf-1", Lid{11}, 21, "leaf-2", LinkSpeed::Ddr, 4);
  facts.path.rate = 6;
  EXPECT_EQ(judged(facts, "rate").link, 2U);
  EXPECT_EQ(judged(facts, "rate").value, "20 Gb/s");
}

TEST(IbpathExplain, APromiseThatNoLinkKeepsIsWrong) {
  auto facts = three_links();
  facts.path.mtu = 5;
  facts.path.rate = 17;
  EXPECT_TRUE(judged(facts, "MTU").wrong);
  EXPECT_THAT(judged(facts, "MTU").reason, HasSubstr("more than link 2"));
  EXPECT_TRUE(judged(facts, "rate").wrong);
}

TEST(IbpathExplain, LessThanTheLinksIsARuleNotALink) {
  auto facts = three_links();
  facts.path.mtu = 1;
  facts.path.rate = 2;
  for (const auto* subject : {"MTU", "rate"}) {
    EXPECT_EQ(judged(facts, subject).link, std::nullopt);
    EXPECT_FALSE(judged(facts, subject).wrong);
    EXPECT_THAT(judged(facts, subject).reason, HasSubstr("partition or a QoS level"));
    EXPECT_THAT(judged(facts, subject).reason, testing::Not(HasSubstr("router")));
  }
}

TEST(IbpathExplain, BehindARouterThePromiseIsTheSas) {
  auto facts = three_links();
  facts.path.sgid = ib::Gid::from(0xFE80000000000000, ib::Guid{1});
  facts.path.dgid = ib::Gid::from(0xFEC0000000000007, ib::Guid{2});
  facts.path.mtu = 1;
  facts.path.rate = 2;
  for (const auto* subject : {"MTU", "rate"})
    EXPECT_THAT(judged(facts, subject).reason, HasSubstr("beyond a router"));
}

TEST(IbpathExplain, ASwitchsOwnPortMayBeTheSlowest) {
  auto facts = three_links();
  facts.destination_port0 = port(LinkSpeed::Sdr, 4, 4);
  facts.destination_name = "leaf-2";
  facts.path.rate = 3;
  EXPECT_THAT(judged(facts, "rate").reason, HasSubstr("leaf-2's own port 0: 4x SDR"));
  EXPECT_EQ(judged(facts, "rate").link, std::nullopt);
}

TEST(IbpathExplain, ASwitchsOwnPortHasNoLinkToOverrun) {
  auto facts = three_links();
  const auto before = judged(facts, "rate").reason;
  facts.destination_port0 = port(LinkSpeed::Sdr, 4, 4);
  facts.destination_name = "leaf-2";
  EXPECT_FALSE(judged(facts, "rate").wrong);
  EXPECT_EQ(judged(facts, "rate").reason, before);
}

TEST(IbpathExplain, AnSlThatLeadsToNoVlDropsPackets) {
  auto facts = three_links();
  facts.there.links[1].vl = 15;
  auto r = judged(facts, "SL");
  EXPECT_TRUE(r.wrong);
  EXPECT_EQ(r.link, 2U);
  EXPECT_THAT(r.reason, HasSubstr("VL 15"));
  facts.there.links[1].vl = 8;  // of VL0-7
  EXPECT_TRUE(judged(facts, "SL").wrong);
  facts.there.links[1].vl = 7;
  EXPECT_FALSE(judged(facts, "SL").wrong);
  facts.there.links[1].vl.reset();
  EXPECT_FALSE(judged(facts, "SL").wrong) << "not shown is not wrong";
}

TEST(IbpathExplain, SaysWhereTheSlComesFrom) {
  auto facts = three_links();
  EXPECT_THAT(judged(facts, "SL").reason, HasSubstr("default"));
  facts.path.sl = ib::Sl{5};
  EXPECT_THAT(judged(facts, "SL").reason, HasSubstr("routing engine"));
  facts.broadcast_group.emplace();
  facts.broadcast_group->sl = ib::Sl{5};
  EXPECT_THAT(judged(facts, "SL").reason, HasSubstr("broadcast group"));
}

TEST(IbpathExplain, BothEndsHaveThePKeyAndOneOfThemFully) {
  auto facts = three_links();
  EXPECT_EQ(judged(facts, "P_Key").reason,
            "one of 2 that both ends have, the destination a limited member");
  facts.source_keys = {PKey{0x0001}};
  EXPECT_TRUE(judged(facts, "P_Key").wrong);
  EXPECT_THAT(judged(facts, "P_Key").reason, HasSubstr("limited members"));
  facts.source_keys = {PKey{0xFFFF}};
  EXPECT_EQ(judged(facts, "P_Key").reason, "not in the P_Key table of host-1");
  facts.source_keys.reset();
  EXPECT_FALSE(judged(facts, "P_Key").wrong);
  EXPECT_THAT(judged(facts, "P_Key").reason, HasSubstr("--smkey"));
}

TEST(IbpathExplain, ReversibleNeedsAWayBackByTheSameSl) {
  auto facts = three_links();
  EXPECT_EQ(judged(facts, "reversible").reason,
            "the way back takes the same cables, by the same SL");
  facts.back.links[1].from.port = 22;
  EXPECT_EQ(judged(facts, "reversible").reason,
            "the way back takes other cables, 3 links, by the same SL");
  facts.back_path->sl = ib::Sl{1};
  EXPECT_TRUE(judged(facts, "reversible").wrong);
  facts.path.reversible = false;
  EXPECT_FALSE(judged(facts, "reversible").wrong) << "nothing was promised";
  facts.path.reversible = true;
  facts.back.broken = "leaf-2 (LID 11) has no way to LID 1: its LFT says 255";
  EXPECT_TRUE(judged(facts, "reversible").wrong);
}

TEST(IbpathExplain, ABrokenWayComesFirst) {
  auto facts = three_links();
  facts.there.broken = "a loop: back at leaf-1 (LID 10)";
  const auto reasons = judge(facts);
  EXPECT_EQ(reasons.front().subject, "route");
  EXPECT_TRUE(reasons.front().wrong);
}

TEST(IbpathExplain, APortThatIsNotOpenIsNamed) {
  auto facts = three_links();
  facts.there.links[1].to.info.port_state = ib::wire::PortState::Armed;
  const auto reasons = judge(facts);
  ASSERT_EQ(reasons.size(), 7U);
  EXPECT_TRUE(reasons.front().wrong);
  EXPECT_EQ(reasons.front().link, 2U);
  EXPECT_EQ(reasons.front().reason,
            "link 2, leaf-1 port 20 to leaf-2 port 21: leaf-2 port 21 is Armed");
}

TEST(IbpathExplain, TextAndJsonAreAsInTheFiles) {
  auto facts = three_links();
  facts.path.rate = 17;
  const auto reasons = judge(facts);
  EXPECT_EQ(explain_text(facts, reasons), golden("explain.txt"));
  EXPECT_EQ(explain_json({facts}, {reasons}, "0.0.0"), golden("explain.json"));
}

}  // namespace
}  // namespace ibpath
