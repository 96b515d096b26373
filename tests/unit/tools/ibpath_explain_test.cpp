// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What explain says of a path: which link decides, and what cannot be kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/rates.h"
#include "tests/unit/tools/ibpath_golden.h"
#include "tools/ibpath/explain.h"

namespace ibpath {
namespace {

using ib::Lid;
using ib::PKey;
using ib::wire::LinkSpeed;
using ib::wire::LinkWidth;
using ib::wire::PortInfo;
using test::golden;
using testing::HasSubstr;

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
  l.share = {64, 320, 4, 8};
  l.from.info.vl_high_limit = 10;
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
    f.back.links.push_back({at->to, at->from, at->vl, at->share});
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

PathQuery asked(std::initializer_list<const char*> conditions) {
  Query query(ib::wire::describe<ib::wire::PathRecord>());
  for (const char* condition : conditions) EXPECT_TRUE(query.add(condition)) << condition;
  return {ib::wire::decode<ib::wire::PathRecord>(query.body().data()), query.mask()};
}

TEST(IbpathExplain, NamesTheLinkThatLimitsTheMtu) {
  const auto r = judged(three_links(), "MTU");
  EXPECT_EQ(r.value, "2048");
  EXPECT_EQ(r.link, 2U);
  EXPECT_FALSE(r.wrong);
  EXPECT_EQ(r.reason, "link 2, leaf-1 port 20 to leaf-2 port 21: leaf-2 port 21 supports no more");
}

TEST(IbpathExplain, NamesTheLinkThatLimitsTheRateByTheOrderOfSpeed) {
  auto facts = three_links();
  EXPECT_EQ(judged(facts, "rate").link, 1U);
  EXPECT_THAT(judged(facts, "rate").reason, HasSubstr("(and one more on the path): 4x EDR"));
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
    EXPECT_THAT(judged(facts, subject).reason, testing::Not(HasSubstr("asked")));
  }
  EXPECT_EQ(judged(facts, "MTU").reason,
            "every link could do more (the least is 2048, link 2, leaf-1 port 20 to leaf-2 port "
            "21): the partition or a QoS level decided; ibsm ctl explain says which");
}

TEST(IbpathExplain, WhatWasAskedForDecidedAndNotTheLinks) {
  auto facts = three_links();
  facts.path.mtu = 3;
  facts.path.rate = 7;
  facts.asked = asked({"Mtu<2048", "Rate=40"});
  for (const auto* subject : {"MTU", "rate"})
    EXPECT_THAT(judged(facts, subject).reason, testing::EndsWith(": so it was asked for"));
  facts.asked = asked({"Mtu=largest"});
  EXPECT_THAT(judged(facts, "MTU").reason, HasSubstr("partition or a QoS level"));
}

// 12x QDR carries 96 Gb/s of data, 4x EDR 100: the number alone would say the opposite.
TEST(IbpathExplain, ARateThatIsLessByItsDataAloneSaysSo) {
  auto facts = three_links();
  facts.path.rate = 10;
  EXPECT_THAT(judged(facts, "rate").reason,
              HasSubstr("120 Gb/s with 8b/10b carries less data than 100 Gb/s with 64b/66b"));
  facts.path.rate = 7;
  EXPECT_THAT(judged(facts, "rate").reason, testing::Not(HasSubstr("8b/10b")));
  facts.path.rate = 8;
  facts.asked = asked({"Rate<56"});
  EXPECT_THAT(judged(facts, "rate").reason,
              HasSubstr("60 Gb/s with 8b/10b carries less data than 56 Gb/s with 64b/66b"));
}

TEST(IbpathExplain, APacketLifeThatWasAskedForIsNamedAsSuch) {
  auto facts = three_links();
  facts.asked = asked({"PacketLifeTime<19"});
  EXPECT_EQ(judged(facts, "packet life").reason, "code 18: so it was asked for");
  facts.asked = asked({"PacketLifeTime>3"});
  EXPECT_THAT(judged(facts, "packet life").reason, HasSubstr("own value"));
}

TEST(IbpathExplain, BehindARouterThePromiseIsTheSas) {
  auto facts = three_links();
  facts.path.sgid = ib::Gid::from(0xFE80000000000000, ib::Guid{1});
  facts.path.dgid = ib::Gid::from(0xFEC0000000000007, ib::Guid{2});
  facts.path.mtu = 1;
  facts.path.rate = 2;
  EXPECT_THAT(judged(facts, "MTU").reason, HasSubstr("beyond a router (ibsm: rtr_pr_mtu)"));
  EXPECT_THAT(judged(facts, "rate").reason, HasSubstr("beyond a router (ibsm: rtr_pr_rate)"));
  facts.path.sl = ib::Sl{3};
  EXPECT_THAT(judged(facts, "SL").reason, HasSubstr("router (ibsm: rtr_pr_sl)"));
  EXPECT_FALSE(judged(facts, "reversible").wrong) << "by which SL it comes back, the router knows";
  EXPECT_THAT(judged(facts, "reversible").reason, HasSubstr("SL 0"));
}

TEST(IbpathExplain, AnSlThatWasAskedForIsNamedAsSuch) {
  auto facts = three_links();
  facts.path.sl = ib::Sl{3};
  facts.asked = asked({"SL=3"});
  EXPECT_EQ(judged(facts, "SL").reason, "so it was asked for");
  EXPECT_FALSE(judged(facts, "SL").wrong);
  facts.there.links[1].vl = 15;
  EXPECT_TRUE(judged(facts, "SL").wrong) << "packets are dropped all the same";
}

TEST(IbpathExplain, ToItselfAPortHasItsOwnValues) {
  auto facts = three_links();
  facts.there.links.clear();
  facts.back.links.clear();
  for (const char* of : {"MTU", "rate"}) {
    EXPECT_EQ(judged(facts, of).reason, "the port's own: to itself takes no link");
    EXPECT_EQ(judged(facts, of).link, std::nullopt);
  }
  facts.path.mtu = 4;
  facts.asked = asked({"Mtu=2048"});
  EXPECT_EQ(judged(facts, "MTU").reason, "so it was asked for");
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
            "the return path takes the same links, with the same SL");
  facts.back.links[1].from.port = 22;
  EXPECT_EQ(judged(facts, "reversible").reason,
            "the return path takes other links, 3 links, with the same SL");
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

Reason refused(const char* condition, const PathFacts& facts = three_links()) {
  return unmet(condition, asked({condition}), facts);
}

TEST(IbpathExplain, AConditionThatIsNotMetNamesTheLinkThatDecides) {
  for (const auto* condition : {"Mtu>2048", "Mtu=4096", "Mtu>4096"}) {
    const auto r = refused(condition);
    EXPECT_EQ(r.subject, condition);
    EXPECT_EQ(r.value, "MTU 2048") << "what there is without the condition";
    EXPECT_EQ(r.link, 2U);
    EXPECT_EQ(r.reason,
              "link 2, leaf-1 port 20 to leaf-2 port 21: leaf-2 port 21 supports no more");
  }
  EXPECT_EQ(refused("Rate>100").link, 1U);
  EXPECT_EQ(refused("Rate=200").value, "rate 100 Gb/s");
  EXPECT_EQ(refused("Mtu<256").reason, "there is no smaller one");
  EXPECT_EQ(refused("Rate<2.5").reason, "there is no slower one");
  EXPECT_EQ(refused("Mtu<256").link, std::nullopt);
  EXPECT_EQ(refused("Rate=0x3f").reason, "the code is unknown");
  EXPECT_EQ(refused("Mtu=1024").reason,
            "links could carry it; the SA gives no path with just this value");
}

TEST(IbpathExplain, AnUnmetConditionOfOtherFieldsNamesTheRule) {
  EXPECT_EQ(refused("P_Key=0x8123").reason, "not in the P_Key table of host-1");
  EXPECT_EQ(refused("P_Key=0x8123").value, "P_Key 0x8123");
  EXPECT_THAT(refused("P_Key=0x8001").reason, HasSubstr("the SA gives no path with it"));
  auto facts = three_links();
  facts.asked_sl_way = facts.there;
  EXPECT_EQ(refused("SL=3", facts).value, "SL 0");
  EXPECT_THAT(refused("SL=3", facts).reason, HasSubstr("the SA gives no path with SL 3: without"));
  facts.asked_sl_way->links[1].vl = 15;
  EXPECT_THAT(refused("SL=3", facts).reason, HasSubstr("VL 15"));
  EXPECT_EQ(refused("SL=3", facts).link, 2U);
  facts.back.broken = "LID 11 has no way to LID 1: its LFT says 255";
  facts.path.reversible = false;
  EXPECT_THAT(refused("Reversible=1", facts).reason, HasSubstr("the return path is broken"));
  EXPECT_EQ(refused("PacketLifeTime<1").value, "packet life 1.07 s");
  EXPECT_EQ(refused("QosClass=7").reason, "the SA gives no path with it");
}

TEST(IbpathExplain, TextAndJsonAreAsInTheFiles) {
  auto facts = three_links();
  facts.path.rate = 17;
  const auto reasons = judge(facts);
  EXPECT_EQ(explain_text(facts, reasons), golden("explain.txt"));
  EXPECT_EQ(explain_json({{facts, reasons}}, std::nullopt, "0.0.0"), golden("explain.json"));
  const Unmet none{{three_links(), judge(three_links())},
                   {refused("Mtu>2048"), refused("P_Key=0x8123")}};
  EXPECT_EQ(unmet_text(none), golden("unmet.txt"));
  EXPECT_EQ(explain_json({}, none, "0.0.0"), golden("unmet.json"));
}

}  // namespace
}  // namespace ibpath
