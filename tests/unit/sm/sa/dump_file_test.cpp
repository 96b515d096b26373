// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/dump_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// As the incumbent writes it: no fields of ours, groups of one member, odd spacing.
constexpr std::string_view kTheirs =
    R"(GUIDInfo Record: base_guid=0x0000000000100001 lid=0x0003 block_num=0x0 guid0=0x0000000000100001 guid1=0x0000000000000000 guid2=0xa1 guid3=0x0 guid4=0x0 guid5=0x0 guid6=0x0 guid7=0x0

MC Group 0xc000  (well known): mgid=0xff12401bffff0000:0x00000000ffffffff port_gid=0x0000000000000000:0x0000000000000000 qkey=0x00000b1b mlid=0xc000 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x20 proxy_join=0x0

MC Group 0xc001 : mgid=0xff12601bffff0000:0x0000000000000001 port_gid=0xfe80000000000000:0x0000000000100001 qkey=0x00000b1b mlid=0xc001 mtu=0x84 tclass=0x07 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x31234509 scope_state=0x21 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x0000000000100001 scope_state=0x21 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x0000000000100002 scope_state=0x24 proxy_join=0x1

MC Group 0xc002 : mgid=0xff12601bffff0000:0x0000000000000002 port_gid=0xfe80000000000000:0x0000000000100001 qkey=0x00000b1b mlid=0xc002 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x0000000000100001 scope_state=0x22 proxy_join=0x0

InformInfo Record: subscriber_gid=0xfe80000000000000:0x0000000000100001 subscriber_enum=0x0 InformInfo: gid=0x0000000000000000:0x0000000000000000 lid_range_begin=0xffff lid_range_end=0x0 is_generic=0x1 subscribe=0x1 trap_type=0xffff trap_num=0x40 qpn_resp_time_val=0x0000011f node_type=0xffffff rep_addr: lid=0x0003 path_bits=0x00 static_rate=0x00 remote_qp=0x00000001 remote_qkey=0x80010000 pkey_ix=0x0000 sl=0x00

Service Record: id=0x1000000000000001 gid=0xfe80000000000000:0x0000000000100001 pkey=0xffff lease=0x3c key=0x0001020304050607:0x08090a0b0c0d0e0f name='a "service"' data8=0x0102030405060708:0x090a0b0c0d0e0f10 data16=0x0001000200030004:0x0005000600070008 data32=0x0000000100000002:0x0000000300000004 data64=0x0000000000000001:0x0000000000000002 modified_time=0x64 lease_period=0x20

)";

TEST(SaDumpFile, ReadsTheIncumbents) {
  const auto read = read_dump(kTheirs);
  EXPECT_THAT(read.complaints, IsEmpty());
  const auto& c = read.contents;
  ASSERT_THAT(c.groups, SizeIs(2)) << "not the one with a non-member only";
  EXPECT_TRUE(c.groups[0].well_known);
  EXPECT_EQ(c.groups[0].mtu, 4);
  EXPECT_EQ(c.groups[0].rate, 3);
  EXPECT_EQ(c.groups[0].packet_life, 18);
  EXPECT_EQ(c.groups[1].mlid, Lid{0xC001});
  EXPECT_EQ(c.groups[1].sl.value, 3);
  EXPECT_EQ(c.groups[1].flow_label, 0x12345U);
  EXPECT_EQ(c.groups[1].hop_limit, 9);
  EXPECT_EQ(c.groups[1].traffic_class, 7);
  EXPECT_EQ(c.groups[1].scope, 2);
  ASSERT_THAT(c.members, SizeIs(2));
  EXPECT_EQ(c.members[0].port_gid.guid(), Guid{0x100001});
  EXPECT_EQ(c.members[1].join_state, 4);
  EXPECT_TRUE(c.members[1].proxy_join);
  ASSERT_THAT(c.subscriptions, SizeIs(1));
  EXPECT_EQ(c.subscriptions[0].to.lid, Lid{3});
  EXPECT_EQ(c.subscriptions[0].inform_info.qpn, 1U);
  EXPECT_EQ(c.subscriptions[0].inform_info.resp_time_value, 31);
  EXPECT_EQ(c.subscriptions[0].inform_info.producer_type, 0xFFFFFFU);
  EXPECT_FALSE(c.subscriptions[0].trusted);
  ASSERT_THAT(c.services, SizeIs(1));
  EXPECT_STREQ(c.services[0].record.name.data(), "a \"service\"");
  EXPECT_EQ(c.services[0].record.key[15], 0x0F);
  EXPECT_EQ(c.services[0].record.data16[7], 8);
  EXPECT_EQ(c.services[0].record.data32[1], 2U);
  EXPECT_EQ(c.services[0].expires, 0x84);
  EXPECT_EQ(c.services[0].owner, Guid{0x100001}) << "whose GID it has";
  EXPECT_THAT(c.aliases, ElementsAre(store::AliasGuid{Guid{0x100001}, 2, Guid{0xA1}}));
}

TEST(SaDumpFile, PassesOverWhatItCannotRead) {
  const auto read = read_dump(
      "# a comment\n\nMC Group 0xc001 : mgid=0xff12601bffff0000:0x01 port_gid=0x0:0x0\n"
      "mcm_port: port_gid=0xfe80000000000000:0x01 scope_state=0x21 proxy_join=0x0\n"
      "Service Record: id=0x123456789abcdef01 gid=0x0:0x0\nnonsense\n"
      "GUIDInfo Record: base_guid=0x1 lid=0x1 block_num=0x1ff guid0=0x1\n");
  EXPECT_EQ(read.contents, store::Contents{});
  ASSERT_THAT(read.complaints, SizeIs(5));
  EXPECT_THAT(read.complaints[0], HasSubstr("line 3: no number after \" qkey=0x\""));
  EXPECT_THAT(read.complaints[1], HasSubstr("line 4: a member without a group"));
  EXPECT_THAT(read.complaints[2], HasSubstr("line 5: no number after \" id=0x\""));
  EXPECT_THAT(read.complaints[3], HasSubstr("line 6"));
  EXPECT_THAT(read.complaints[4], HasSubstr("line 7"));
  EXPECT_EQ(read.passed_over, 5U);
}

/// The incumbent lets only the trusted subscribe to traps 256 to 259, and does not write it down.
TEST(SaDumpFile, TheIncumbentsSubscriptionsToSecurityTrapsAreOfTheTrusted) {
  const auto trusted = [](std::string_view number, std::string_view generic, std::string_view end) {
    std::string text(kTheirs.substr(kTheirs.find("InformInfo Record:")));
    text.resize(text.find('\n'));
    const auto put = [&text](std::string_view name, std::string_view value) {
      const auto at = text.find(name) + name.size();
      text.replace(at, text.find(' ', at) - at, value);
    };
    put(" trap_num=0x", number);
    put(" is_generic=0x", generic);
    const auto read = read_dump(text.append(end));
    EXPECT_THAT(read.contents.subscriptions, SizeIs(1));
    return !read.contents.subscriptions.empty() && read.contents.subscriptions[0].trusted;
  };
  EXPECT_TRUE(trusted("100", "1", ""));
  EXPECT_TRUE(trusted("103", "1", ""));
  EXPECT_FALSE(trusted("ff", "1", ""));
  EXPECT_FALSE(trusted("104", "1", ""));
  EXPECT_FALSE(trusted("100", "0", "")) << "a vendor's number";
  EXPECT_FALSE(trusted("ffff", "1", "")) << "anybody's";
  EXPECT_FALSE(trusted("100", "1", " trusted=0x0")) << "one of ours";
}

TEST(SaDumpFile, CountsAllThatItPassesOverAndNamesTheFirst) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "nonsense\n";
  const auto read = read_dump(text);
  EXPECT_THAT(read.complaints, SizeIs(20));
  EXPECT_EQ(read.passed_over, 5000U);
}

/// Anything that can be registered, drawn at random; names and keys of every byte.
store::Contents drawn(std::mt19937& random) {
  const auto below = [&](std::uint64_t n) { return std::uint64_t{random()} % n; };
  const auto u8 = [&](unsigned n = 256) { return static_cast<std::uint8_t>(below(n)); };
  const auto u16 = [&] { return static_cast<std::uint16_t>(random()); };
  const auto gid = [&](std::uint8_t first) {
    Gid g;
    for (auto& b : g.bytes) b = u8();
    g.bytes[0] = first;
    return g;
  };
  store::Batch batch;
  for (auto i = below(6); i > 0; --i) {
    store::McGroup g;
    g.mgid = gid(0xFF);
    g.mlid = Lid{static_cast<std::uint16_t>(0xC000 + below(0x3FFF))};
    g.q_key = static_cast<std::uint32_t>(random());
    g.p_key = ib::PKey{u16()};
    g.mtu = u8(64);
    g.rate = u8(64);
    g.packet_life = u8(64);
    g.traffic_class = u8();
    g.sl = ib::Sl{u8(16)};
    g.flow_label = static_cast<std::uint32_t>(below(1U << 20));
    g.hop_limit = u8();
    g.scope = u8(16);
    g.well_known = below(2) == 0;
    batch.groups.push_back(g);
    batch.members.push_back({g.mgid, gid(0xFE), 1, false});
    for (auto m = below(5); m > 0; --m)
      batch.members.push_back(
          {g.mgid, gid(0xFE), static_cast<std::uint8_t>(1 + below(15)), below(2) == 0});
    if (auto& last = batch.members.back(); last.proxy_join) last.joined_by = Guid{below(3)};
  }
  for (auto i = below(5); i > 0; --i) {
    store::Service s;
    s.record.service_id = std::uint64_t{random()} << 32 | random();
    s.record.service_gid = gid(0xFE);
    s.record.service_p_key = ib::PKey{u16()};
    s.record.lease = static_cast<std::uint32_t>(below(3) == 0 ? 0xFFFFFFFF : below(1000));
    for (auto& c : s.record.name) {
      if (below(2) == 0 && i % 2 == 0) break;
      c = static_cast<char>(i % 3 == 0 ? u8() : static_cast<std::uint8_t>('a' + below(26)));
    }
    for (auto& c : s.record.key) c = u8();
    for (auto& c : s.record.data8) c = u8();
    for (auto& c : s.record.data16) c = u16();
    for (auto& c : s.record.data32) c = static_cast<std::uint32_t>(random());
    for (auto& c : s.record.data64) c = std::uint64_t{random()} << 32 | random();
    s.expires = s.record.lease == 0xFFFFFFFF ? store::Service::kNeverExpires
                                             : static_cast<std::int64_t>(random() % 0xFFFFFFFE);
    s.owner = Guid{random()};
    batch.services.push_back(s);
  }
  for (auto i = below(5); i > 0; --i) {
    store::Subscription s;
    s.subscriber = Guid{random()};
    s.to.lid = Lid{static_cast<std::uint16_t>(1 + below(0xBFFF))};
    s.to.qpn = static_cast<std::uint32_t>(below(1U << 24));
    s.to.q_key = static_cast<std::uint32_t>(random());
    s.to.sl = ib::Sl{u8(16)};
    s.to.path_bits = u8();
    s.to.p_key_index = u16();
    if (below(2) == 0)
      s.to.grh =
          ib::mad::Grh{gid(0xFE), u8(), u8(), u8(), static_cast<std::uint32_t>(below(1U << 20))};
    if (below(2) == 0) s.inform_info.gid = gid(0xFE);
    s.inform_info.lid_range_begin = Lid{u16()};
    s.inform_info.lid_range_end = Lid{u16()};
    s.inform_info.is_generic = u8(2);
    s.inform_info.subscribe = 1;
    s.inform_info.type = u16();
    s.inform_info.trap_number = u16();
    s.inform_info.qpn = static_cast<std::uint32_t>(below(1U << 24));
    s.inform_info.resp_time_value = u8(32);
    s.inform_info.producer_type = static_cast<std::uint32_t>(below(1U << 24));
    s.trusted = below(2) == 0;
    batch.subscriptions.push_back(s);
  }
  for (auto i = below(6); i > 0; --i)
    batch.aliases.push_back({Guid{1 + below(3)}, static_cast<std::uint16_t>(1 + below(2000)),
                             Guid{std::uint64_t{random()} << 32 | random()}});
  store::Contents contents;
  store::apply(batch, contents);
  return contents;
}

TEST(SaDumpFile, WhatIsWrittenIsRead) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto contents = drawn(random);
    const auto text = write_dump(contents);
    const auto read = read_dump(text);
    ASSERT_THAT(read.complaints, IsEmpty()) << text;
    ASSERT_EQ(read.contents, contents) << text;
    // The incumbent reads lines of 1,023 characters.
    std::size_t longest = 0, at = 0;
    while (at < text.size()) {
      const auto end = text.find('\n', at);
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    EXPECT_LT(longest, 1023U);
  }
}

TEST(SaDumpFile, BrokenTextIsReadAsFarAsItGoes) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto text = write_dump(drawn(random));
    for (int i = 0; i < 8; ++i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % text.size() + 1);
    const auto read = read_dump(text);
    // What was read can be written and is the same again.
    EXPECT_EQ(read_dump(write_dump(read.contents)).contents, read.contents);
  }
}

TEST(SaDumpFile, OnlyWhatIsMissingIsTaken) {
  const auto dump = read_dump(kTheirs).contents;
  EXPECT_TRUE(missing_from(dump, dump, 0).batch.empty());
  const auto all = missing_from({}, dump, 0);
  store::Contents taken;
  store::apply(all.batch, taken);
  EXPECT_EQ(taken, dump);
  EXPECT_THAT(all.left_out, IsEmpty());
  EXPECT_THAT(missing_from({}, dump, 0x84).batch.services, IsEmpty()) << "its lease has ended";

  store::Contents ours;
  store::McGroup other;
  other.mgid = dump.groups[0].mgid;
  other.mgid.bytes[15] ^= 1;
  other.mlid = dump.groups[1].mlid;
  ours.groups.push_back(other);
  ours.aliases.push_back({Guid{7}, 1, Guid{0xA1}});
  const auto rest = missing_from(ours, dump, 0);
  EXPECT_THAT(rest.batch.groups, ElementsAre(dump.groups[0])) << "the MLID of the other is in use";
  EXPECT_THAT(rest.batch.members, IsEmpty());
  EXPECT_THAT(rest.batch.aliases, IsEmpty()) << "another port has it";
  EXPECT_THAT(rest.left_out, ElementsAre("group ff12:601b:ffff::1: 2 members have to join again: "
                                         "in the dump it has MLID 0xc001, which here is that of " +
                                         to_string(other.mgid)));
}

/// As after a trial: the store knows the groups, the configured ones at least, and not who joined
/// them at the incumbent.
TEST(SaDumpFile, MembersOfAGroupThatIsThereAreTaken) {
  const auto dump = read_dump(kTheirs).contents;
  ASSERT_THAT(dump.members, SizeIs(2));
  store::Contents ours;
  ours.groups = dump.groups;
  ours.members = {dump.members[0]};
  ours.members[0].join_state = 8;
  auto missing = missing_from(ours, dump, 0);
  EXPECT_THAT(missing.batch.groups, IsEmpty());
  EXPECT_THAT(missing.batch.members, ElementsAre(dump.members[1])) << "the other's is as it was";
  EXPECT_THAT(missing.left_out, IsEmpty());

  ours.groups[1].mlid = Lid{0xC007};
  missing = missing_from(ours, dump, 0);
  EXPECT_THAT(missing.batch.members, IsEmpty()) << "it listens to another MLID";
  EXPECT_THAT(missing.left_out, ElementsAre("group ff12:601b:ffff::1: one member has to join "
                                            "again: in the dump it has MLID 0xc001, here 0xc007"));
}

}  // namespace
}  // namespace sm::sa
