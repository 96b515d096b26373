// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibpath's formats against files, and what it asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include <algorithm>
#include <random>
#include <set>

#include "libdiag/base/text.h"
#include "tests/unit/tools/ibpath_golden.h"
#include "tools/ibpath/paths.h"
#include "tools/ibpath/port_info_text.h"
#include "tools/ibpath/record_command.h"
#include "tools/ibpath/record_text.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::wire::PathRecord;
using ib::wire::Selector;
using test::golden;

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
  const Options none;
  const auto gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{5});
  auto pair = read_pair("3", "9", {}, none);
  ASSERT_TRUE(pair);
  auto query = path_query({Lid{3}, std::nullopt}, {std::nullopt, gid}, pair->query);
  EXPECT_EQ(query.mask, (1U << 5) | (1U << 2));  // SLID, DGID
  EXPECT_EQ(query.record.slid, Lid{3});
  EXPECT_EQ(query.record.dgid, gid);

  Options options;
  options.numb_path = 4;
  options.sl = 2;
  options.p_key = 0x8001;
  options.reversible = true;
  pair = read_pair("3", "9", {}, options);
  ASSERT_TRUE(pair);
  query = path_query({std::nullopt, gid}, {Lid{9}, std::nullopt}, pair->query);
  EXPECT_EQ(query.mask, (1U << 3) | (1U << 4) | (1U << 11) | (1U << 12) | (1U << 13) | (1U << 15));
  EXPECT_EQ(query.record.numb_path, 4);
  EXPECT_EQ(query.record.sl, ib::Sl{2});
  EXPECT_EQ(query.record.p_key, ib::PKey{0x8001});
  EXPECT_TRUE(query.record.reversible);
}

// ---- every record

/// Every field its own value.
template <class T>
T distinct() {
  std::vector<std::byte> bytes(ib::wire::LayoutOf<T>::kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 37 + 11) & 0xFF);
  return ib::wire::decode<T>(bytes.data());
}
template <class T>
std::string text_of_distinct(const TextOptions& options = {}) {
  T record = distinct<T>();
  if constexpr (requires { record.node_description; }) {
    record.node_description = {};
    std::copy_n("leaf-1\x1b[0m", 10, record.node_description.text.begin());
  }
  if constexpr (requires { record.name; }) {
    record.name = {};
    std::copy_n("SRP.T10", 7, record.name.begin());
  }
  return record_text(record, options);
}

TEST(IbpathRecords, TextOfEachIsAsInTheFile) {
  namespace wire = ib::wire;
  std::string text = text_of_distinct<wire::ClassPortInfo>();
  text += text_of_distinct<wire::NodeRecord>() + text_of_distinct<wire::PortInfoRecord>();
  text += text_of_distinct<wire::SlToVlRecord>() + text_of_distinct<wire::PKeyTableRecord>();
  text += text_of_distinct<wire::VlArbitrationRecord>() + text_of_distinct<wire::LinkRecord>();
  text += text_of_distinct<wire::InformInfoRecord>() + text_of_distinct<wire::ServiceRecord>();
  wire::InformInfoRecord vendor = distinct<wire::InformInfoRecord>();
  vendor.inform_info.is_generic = 0;
  text += record_text(vendor, {true, false});
  text += text_of_distinct<wire::ServiceRecord>({true, false});
  text += text_of_distinct<wire::McMemberRecord>() + text_of_distinct<wire::LinearFdtRecord>();
  text += text_of_distinct<wire::MulticastFdtRecord>() + text_of_distinct<wire::GuidInfoRecord>();
  text += text_of_distinct<wire::SwitchInfoRecord>({false, true});
  text += text_of_distinct<wire::SmInfoRecord>() + text_of_distinct<wire::SmInfoRecord>({true});
  text += text_of_distinct<wire::TraceRecord>();
  text += sm_port_text(distinct<wire::PortInfoRecord>());
  text += group_text(distinct<wire::McMemberRecord>());
  text += member_text(distinct<wire::McMemberRecord>(), "host 1");
  text += member_of_group_text(distinct<wire::McMemberRecord>(), "host 1");
  EXPECT_EQ(text, golden("records.txt"));
}

/// saquery prints PortInfo by libibmad: the same calls, two tabs in front of each row.
std::string theirs(ib::wire::PortInfo& port, bool keys) {
  auto bytes = ib::wire::bytes_of(port);
  std::string text;
  const auto row = [&](MAD_FIELDS field) {
    char value[64]{}, line[1024]{};
    mad_decode_field(reinterpret_cast<unsigned char*>(bytes.data()), field, value);
    mad_dump_field(field, line, sizeof line, value);
    std::string shown = line;
    if (field == IB_PORT_MKEY_F && !keys) shown = shown.substr(0, 33) + "<not displayed>";
    text += "\t\t" + shown + "\n";
  };
  for (int f = IB_PORT_FIRST_F; f < IB_PORT_LAST_F; ++f) row(static_cast<MAD_FIELDS>(f));
  for (const auto f : {IB_PORT_CAPMASK2_F, IB_PORT_LINK_SPEED_EXT_ACTIVE_F,
                       IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, IB_PORT_LINK_SPEED_EXT_ENABLED_F})
    row(f);
  return text;
}

/// The bits of CapabilityMask2 that this release of libibmad has names for.
std::uint16_t named_bits() {
  std::uint16_t named = 0;
  for (unsigned bit = 0; bit < 16; ++bit) {
    std::uint64_t mask = std::uint64_t{1} << bit;
    char line[1024]{};
    mad_dump_field(IB_PORT_CAPMASK2_F, line, sizeof line, &mask);
    if (std::string_view(line).find('\n') != std::string_view::npos)
      named = static_cast<std::uint16_t>(named | mask);
  }
  return named;
}

TEST(IbpathRecords, PortInfoIsLibibmads) {
  const auto named = named_bits();
  EXPECT_NE(named, 0);
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> bytes(ib::wire::LayoutOf<ib::wire::PortInfo>::kBytes);
    for (std::byte& b : bytes)
      b = round == 0 ? std::byte{0} : static_cast<std::byte>(random() & random() & 0xFF);
    auto port = ib::wire::decode<ib::wire::PortInfo>(bytes.data());
    port.capability_mask2 &= named;
    // libibmad complains aloud of a width that cannot be.
    port.link_width_active = static_cast<std::uint8_t>(1U << (round % 5));
    EXPECT_EQ(port_info_text(port, "\t\t", round % 2 == 0), theirs(port, round % 2 == 0));
  }
}

TEST(IbpathRecords, EveryRecordOfTheRegistryHasARow) {
  std::set<std::uint16_t> have;
  for (const RecordKind& kind : record_kinds()) {
    have.insert(kind.attribute);
    EXPECT_EQ(find_record(kind.name), &kind);
    EXPECT_EQ(find_record(kind.alias), &kind);
    EXPECT_EQ(find_record(kind.plain), &kind);
    for (const auto form : kind.operands)
      for (const auto field : ib::split(form, '/'))
        EXPECT_TRUE(find_field(*kind.structure, field)) << kind.name << " " << field;
  }
  EXPECT_EQ(find_record("pir")->name, "PortInfoRecord");
  EXPECT_EQ(find_record("P_KeyTableRecord")->name, "PKeyTableRecord");
  EXPECT_EQ(find_record("host0001"), nullptr);
  for (const auto& attribute : ib::wire::attributes()) {
    const auto& m = attribute.methods;
    if (attribute.mgmt_class == ib::wire::MgmtClass::SubnAdm &&
        std::ranges::find(m, ib::wire::Method::GetTable) != m.end()) {
      EXPECT_TRUE(have.contains(attribute.id)) << attribute.structure->name;
    }
  }
}

TEST(IbpathRecords, JsonOfRecords) {
  ib::wire::LinkRecord link{Lid{4}, ib::PortNum{1}, ib::PortNum{36}, Lid{9}};
  const auto bytes = ib::wire::bytes_of(link);
  const std::vector<std::span<const std::byte>> views{bytes};
  EXPECT_EQ(
      json_records("LinkRecord", ib::wire::describe<ib::wire::LinkRecord>(), views, false, "0.0.0"),
      golden("links.json"));
}

// ---- filters

Query query_of(std::string_view record, std::initializer_list<const char*> conditions) {
  const RecordKind* kind = find_record(record);
  Query query(*kind->structure);
  for (const char* condition : conditions) {
    const auto ok = query.add(condition);
    EXPECT_TRUE(ok) << condition << ": " << (ok ? "" : ok.error().message);
  }
  return query;
}
std::string refusal(std::string_view record, const char* condition) {
  Query query(*find_record(record)->structure);
  const auto ok = query.add(condition);
  EXPECT_FALSE(ok) << condition;
  return ok ? "" : ok.error().message;
}

TEST(IbpathFilter, EveryFieldOfEveryRecordIsFoundByItsName) {
  for (const RecordKind& kind : record_kinds()) {
    std::uint64_t seen = 0;
    for (const auto& name : field_names(*kind.structure)) {
      auto spot = find_field(*kind.structure, name);
      if (!spot) spot = find_field(*kind.structure, name + "[0]");
      ASSERT_TRUE(spot) << kind.name << " " << name << ": " << spot.error().message;
      EXPECT_EQ(spot->name, name);
      if (spot->sa_bit < 0) continue;
      EXPECT_EQ(seen >> spot->sa_bit & 1, 0U) << name << " shares its bit";
      seen |= std::uint64_t{1} << spot->sa_bit;
    }
  }
}

TEST(IbpathFilter, ValuesAreWrittenWhereTheLayoutHasThem) {
  const auto node = query_of("NR", {"NodeType=switch", "num_ports=36", "NodeInfo.VendorID=0x2c9",
                                    "node-description=leaf 1"});
  EXPECT_EQ(node.mask(), 1U << 4 | 1U << 5 | 1U << 13 | 1U << 14);
  const auto r = ib::wire::decode<ib::wire::NodeRecord>(node.body().data());
  EXPECT_EQ(r.node_info.node_type, ib::wire::NodeType::Switch);
  EXPECT_EQ(r.node_info.num_ports, 36);
  EXPECT_EQ(r.node_info.vendor_id, 0x2C9U);
  EXPECT_EQ(std::string(r.node_description.text.data()), "leaf 1");

  const auto service =
      query_of("SR", {"ServiceData8[3]=7", "servicedata64[1]=0xffffffffffffffff", "ServiceName=SRP",
                      "ServiceGID=fe80::5", "ServiceKey=0x000102030405060708090a0b0c0d0e0f"});
  EXPECT_EQ(service.mask(), 1ULL << 10 | 1ULL << 36 | 1U << 6 | 1U << 1 | 1U << 5);
  const auto s = ib::wire::decode<ib::wire::ServiceRecord>(service.body().data());
  EXPECT_EQ(s.data8[3], 7);
  EXPECT_EQ(s.data64[1], ~0ULL);
  EXPECT_EQ(s.key[15], 15);
  EXPECT_EQ(s.service_gid.guid(), Guid{5});

  const auto port = query_of("PIR", {"CapabilityMask=IsSM,IsTrapSupported", "LMC=7"});
  EXPECT_EQ(port.mask(), 1U << 7 | 1U << 20);
  const auto p = ib::wire::decode<ib::wire::PortInfoRecord>(port.body().data());
  EXPECT_EQ(p.port_info.capability_mask, 10U);
  EXPECT_EQ(p.port_info.lmc, 7);
  EXPECT_EQ(query_of("PR", {"ServiceID=5"}).mask(), 3U);
}

TEST(IbpathFilter, SelectorsComeFromTheComparison) {
  const auto record = [](const char* condition) {
    return ib::wire::decode<PathRecord>(query_of("PR", {condition}).body().data());
  };
  EXPECT_EQ(query_of("PR", {"Mtu=4096"}).mask(), 3U << 16);
  EXPECT_EQ(record("Mtu=4096").mtu_selector, Selector::Exactly);
  EXPECT_EQ(record("Mtu=4096").mtu, 5);
  EXPECT_EQ(record("mtu>1024").mtu_selector, Selector::GreaterThan);
  EXPECT_EQ(record("mtu>1024").mtu, 3);
  EXPECT_EQ(record("Rate<100Gb/s").rate_selector, Selector::LessThan);
  EXPECT_EQ(record("Rate<100Gb/s").rate, 16);
  EXPECT_EQ(record("pkt_lifetime<18").packet_life, 18);
  EXPECT_EQ(query_of("PR", {"Mtu=largest"}).mask(), 1U << 16);
  EXPECT_EQ(record("Mtu=largest").mtu_selector, Selector::Largest);
  EXPECT_THAT(refusal("PR", "SL>3"), testing::HasSubstr("SL has no selector"));
}

/// The last would count and the others be lost without a word.
TEST(IbpathFilter, AFieldIsSaidOnce) {
  const auto second = [](std::string_view record, const char* one, const char* two) {
    auto query = query_of(record, {one});
    const auto ok = query.add(two);
    return ok ? std::string() : ok.error().message;
  };
  EXPECT_EQ(second("PR", "Rate>40", "rate<60"),
            "Rate: 'rate<60' is a second condition on this field; a request carries one");
  EXPECT_THAT(second("PR", "SL=1", "sl=1"), testing::HasSubstr("SL: '1' is a second condition"));
  EXPECT_THAT(second("PR", "MtuSelector=1", "Mtu=4096"), testing::HasSubstr("MtuSelector: "));
  EXPECT_THAT(second("PR", "Mtu<4096", "MtuSelector=1"), testing::HasSubstr("MtuSelector: "));
  EXPECT_THAT(second("PR", "Mtu=largest", "Mtu>1024"), testing::HasSubstr("Mtu: "));
  EXPECT_THAT(second("NR", "NumPorts=36", "NodeInfo.NumPorts=8"), testing::HasSubstr("NumPorts: "));
  EXPECT_EQ(second("SR", "ServiceData8[3]=7", "ServiceData8[4]=7"), "") << "another element";
  EXPECT_THAT(second("SR", "ServiceData8[3]=7", "ServiceData8[3]=7"), testing::HasSubstr("second"));
  EXPECT_EQ(second("PR", "Mtu>1024", "Rate>10"), "");
}

TEST(IbpathFilter, BareNumbersAreQuantitiesAndHexadecimalOnesCodes) {
  const auto path = [](const char* condition) {
    return ib::wire::decode<PathRecord>(query_of("PR", {condition}).body().data());
  };
  // Codes are out of order: 10 is the code of 120 Gb/s, and that of 10 Gb/s is 3.
  EXPECT_EQ(path("Rate<100").rate, 16);
  EXPECT_EQ(path("Rate<100").rate_selector, Selector::LessThan);
  EXPECT_EQ(path("Rate>10").rate, 3);
  EXPECT_EQ(path("Rate=2.5").rate, 2);
  EXPECT_EQ(path("Rate=56 gbps").rate, 12);
  EXPECT_EQ(path("Rate=1200Gb/s").rate, 24);
  EXPECT_EQ(path("Rate=0x10").rate, 16);
  EXPECT_EQ(path("Rate>0x3").rate, 3);
  EXPECT_EQ(path("Mtu=0x5").mtu, 5);
  EXPECT_EQ(path("Mtu<2048").mtu, 4);
  const auto port = [](const char* condition) {
    return ib::wire::decode<ib::wire::PortInfoRecord>(query_of("PIR", {condition}).body().data())
        .port_info;
  };
  EXPECT_EQ(port("MTUCap=4096").mtu_cap, 5);
  EXPECT_EQ(port("LinkWidthActive=4").link_width_active, 2) << "4X";
  EXPECT_EQ(port("LinkWidthActive=0x4").link_width_active, 4) << "8X";
  EXPECT_EQ(port("LinkSpeedActive=10").link_speed_active, 4);
  EXPECT_EQ(port("LinkSpeedExtActive=0").link_speed_ext_active, 0);
  EXPECT_EQ(port("PortState=4").port_state, ib::wire::PortState::Active);
  EXPECT_EQ(port("VLCap=3").vl_cap, 3) << "names that are no quantities leave numbers to codes";
  const auto group = query_of("MCMR", {"Rate=100"});
  EXPECT_EQ(ib::wire::decode<ib::wire::McMemberRecord>(group.body().data()).rate, 16);
}

TEST(IbpathFilter, TheByteOfSaqueryIsASelectorAndACode) {
  const auto query = query_of("PR", {"rate=0x90"});
  const auto exact = ib::wire::decode<PathRecord>(query.body().data());
  EXPECT_EQ(query.mask(), 3U << 18);
  EXPECT_EQ(exact.rate_selector, Selector::Exactly);
  EXPECT_EQ(exact.rate, 16);
  const auto less = ib::wire::decode<PathRecord>(query_of("PR", {"mtu=0x44"}).body().data());
  EXPECT_EQ(less.mtu_selector, Selector::LessThan);
  EXPECT_EQ(less.mtu, 4);
  EXPECT_THAT(refusal("PR", "Rate>0x90"), testing::HasSubstr("'0x90'")) << "two selectors";
  EXPECT_THAT(refusal("PR", "Rate=0x100"), testing::HasSubstr("'0x100'"));
}

TEST(IbpathFilter, AQuantityThatNoCodeHasIsRefusedWithTheNearest) {
  EXPECT_THAT(refusal("PR", "Rate=45"), testing::HasSubstr("nearest are 40 Gb/s and 50 Gb/s"));
  EXPECT_THAT(refusal("PR", "Rate<1"), testing::HasSubstr("nearest is 2.5 Gb/s"));
  EXPECT_THAT(refusal("PR", "Rate>5000Gb/s"), testing::HasSubstr("nearest is 1600 Gb/s"));
  EXPECT_THAT(refusal("PR", "Mtu=5"), testing::HasSubstr("nearest is 256"));
  EXPECT_THAT(refusal("PR", "Mtu=5"), testing::HasSubstr("hexadecimal, 0x0 to 0x3f"));
  EXPECT_THAT(refusal("PR", "Mtu>1500"), testing::HasSubstr("nearest are 1024 and 2048"));
  EXPECT_THAT(refusal("PR", "Rate=fast"), testing::HasSubstr("2.5 Gb/s, 5 Gb/s, 10 Gb/s"));
  EXPECT_THAT(refusal("PR", "Rate=100 furlongs"), testing::HasSubstr("2.5 Gb/s, 5 Gb/s"));
  EXPECT_THAT(refusal("PR", "Rate=nan"), testing::HasSubstr("'nan'"));
  EXPECT_THAT(refusal("PR", "Rate=-10"), testing::HasSubstr("'-10'"));
}

TEST(IbpathFilter, WhatIsWrongIsSaid) {
  EXPECT_THAT(refusal("LR", "Colour=red"),
              testing::HasSubstr("LinkRecord has no field 'Colour'; it has FromLID, FromPort"));
  EXPECT_THAT(refusal("LR", "FromPort=256"), testing::HasSubstr("a number from 0 to 255"));
  EXPECT_THAT(refusal("NR", "NodeType=Swich"), testing::HasSubstr("Channel Adapter, Switch"));
  EXPECT_THAT(refusal("SR", "ServiceData8=1"), testing::HasSubstr("ServiceData8[0]"));
  EXPECT_THAT(refusal("SR", "ServiceData8[16]=1"), testing::HasSubstr("elements 0 to 15"));
  EXPECT_THAT(refusal("SR", "ServiceLease[0]=1"), testing::HasSubstr("one value"));
  EXPECT_THAT(refusal("SR", "ServiceGID=7"), testing::HasSubstr("a GID"));
  EXPECT_THAT(refusal("SR", "ServiceKey=0x01"), testing::HasSubstr("32 hexadecimal digits"));
  EXPECT_THAT(refusal("LR", "FromLID"), testing::HasSubstr("FIELD=VALUE"));
  EXPECT_THAT(refusal("LR", "=4"), testing::HasSubstr("FIELD=VALUE"));
}

TEST(IbpathFilter, ChecksWhatTheSaMayNotHaveHeeded) {
  ib::wire::SwitchInfoRecord record;
  record.switch_info.linear_fdb_cap = 0xC000;
  record.switch_info.multicast_fdb_top = 0xC010;
  const auto fits = [&](std::initializer_list<const char*> conditions) {
    return query_of("SWIR", conditions).satisfied_by(ib::wire::bytes_of(record));
  };
  EXPECT_TRUE(fits({"LinearFDBCap=0xC000"}));
  EXPECT_FALSE(fits({"LinearFDBCap=0xBFFF"}));
  EXPECT_TRUE(fits({"MulticastFDBTop=0xC010"}));
  const auto top = query_of("SWIR", {"MulticastFDBTop=0xC011"});
  EXPECT_EQ(top.mask(), 0U) << "no component bit is known for it";
  EXPECT_TRUE(top.has_own_conditions());
  EXPECT_FALSE(top.satisfies_own_conditions(ib::wire::bytes_of(record)));
  EXPECT_FALSE(top.satisfied_by({})) << "a record cut short";
}

// ---- words: told before there is a fabric

std::string plan_refusal(ib::Result<Job> job) { return job ? "" : job.error().message; }

TEST(IbpathWords, ARecordsOperandsAreReadBeforeThereIsAFabric) {
  const auto plan = [](std::string_view record, std::vector<std::string> words) {
    return plan_refusal(plan_record(*find_record(record), words));
  };
  EXPECT_EQ(plan("LFTR", {"4/1"}), "");
  EXPECT_EQ(plan("PIR", {"4//0", "PortState=Active"}), "");
  EXPECT_EQ(plan("LR", {"4/1", "9"}), "");
  EXPECT_EQ(plan("IIR", {"fe80::5"}), "");
  EXPECT_EQ(plan("NR", {"host 1 = the first"}), "") << "a name may have a '=' in it";
  EXPECT_THAT(plan("LFTR", {"4/1/2"}), testing::HasSubstr("expected LID/BlockNum, got '4/1/2'"));
  EXPECT_THAT(plan("LFTR", {"4/65536"}), testing::HasSubstr("0 to 65535"));
  EXPECT_THAT(plan("NR", {"4", "5"}), testing::HasSubstr("expected FIELD=VALUE"));
  EXPECT_THAT(plan("SR", {"4"}), testing::HasSubstr("expected FIELD=VALUE"));
  EXPECT_THAT(plan("NR", {"Colour=red"}), testing::HasSubstr("no field 'Colour'"));
  EXPECT_THAT(plan("IIR", {"7"}), testing::HasSubstr("a GID"));
}

TEST(IbpathWords, PathsNeedTwoPorts) {
  const Options options;
  const auto refused = [&](auto plan, std::vector<std::string> words) {
    return plan_refusal(plan(options, words));
  };
  EXPECT_THAT(refused(plan_paths, {}), testing::HasSubstr("SRC and DST are needed"));
  EXPECT_THAT(refused(plan_paths, {"4"}), testing::HasSubstr("SRC and DST are needed"));
  EXPECT_EQ(refused(plan_paths, {"4", "9", "SL=3"}), "");
  EXPECT_NE(refused(plan_paths, {"4", "9", "5"}), "");
  EXPECT_THAT(refused(plan_trace, {"4"}), testing::HasSubstr("trace"));
  EXPECT_EQ(refused(plan_multi, {"4,5", "9, 10", "IndependenceSelector=1"}), "");
  EXPECT_NE(refused(plan_multi, {"4,,5", "9"}), "") << "an empty word";
}

}  // namespace
}  // namespace ibpath
