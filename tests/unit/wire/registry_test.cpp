// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/wire/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "libdiag/wire/all_structures.h"
#include "libdiag/wire/component_mask.h"

namespace ib::wire {
namespace {

using testing::HasSubstr;

NodeRecord leaf_host() {
  NodeRecord r;
  r.lid = Lid{12};
  r.node_info.node_guid = Guid{0x0002c90300a1b2c0};
  r.node_info.port_guid = Guid{0x0002c90300a1b2c1};
  r.node_info.num_ports = 1;
  std::copy_n("host-1 HCA-1", 12, r.node_description.text.begin());
  return r;
}

TEST(ComponentMask, AnEmptyMaskMatchesEverything) {
  EXPECT_TRUE(matches(leaf_host(), NodeRecord{}, 0));
}

TEST(ComponentMask, SelectsFieldsOfNestedStructures) {
  const NodeRecord record = leaf_host();
  NodeRecord query;
  query.node_info.node_guid = record.node_info.node_guid;
  const std::uint64_t by_guid = component<&NodeInfo::node_guid>();
  EXPECT_TRUE(matches(record, query, by_guid));
  EXPECT_FALSE(matches(record, query, by_guid | component<&NodeRecord::lid>()));
  query.lid = Lid{12};
  EXPECT_TRUE(matches(record, query, by_guid | component<&NodeRecord::lid>()));
  query.node_info.node_type = NodeType::Switch;
  EXPECT_FALSE(matches(record, query, component<&NodeInfo::node_type>()));
  query.node_description = record.node_description;
  EXPECT_TRUE(matches(record, query, component<&NodeRecord::node_description>()));
}

TEST(ComponentMask, ReservedBitsSelectNothing) {
  EXPECT_TRUE(matches(leaf_host(), NodeRecord{}, ~all_components<NodeRecord>()));
}

TEST(ComponentMask, PortInfoRecordIsSearchedByCapability) {
  PortInfoRecord sm, host;
  sm.port_info.capability_mask = port_cap::kIsSm;
  PortInfoRecord query;
  query.port_info.capability_mask = port_cap::kIsSm;
  const std::uint64_t mask = component<&PortInfo::capability_mask>();
  EXPECT_TRUE(matches(sm, query, mask));
  EXPECT_FALSE(matches(host, query, mask));
}

TEST(ComponentMask, EveryElementOfAnArrayIsAComponentOfItsOwn) {
  ServiceRecord record;
  for (std::size_t i = 0; i < 16; ++i) record.data8[i] = static_cast<std::uint8_t>(i + 1);
  for (std::size_t i = 0; i < 8; ++i) record.data16[i] = static_cast<std::uint16_t>(i + 1);
  record.data64 = {1, 2};
  for (std::size_t i = 0; i < 16; ++i) {
    ServiceRecord query;
    query.data8[i] = record.data8[i];
    for (std::size_t bit = 0; bit < 16; ++bit)
      EXPECT_EQ(matches(record, query, std::uint64_t{1} << (7 + bit)), bit == i) << i << " " << bit;
  }
  ServiceRecord query;
  query.data8[3] = record.data8[3];
  query.data16[7] = record.data16[7];
  query.data64[1] = record.data64[1];
  EXPECT_TRUE(matches(record, query, 1ULL << 10 | 1ULL << 30 | 1ULL << 36));
  EXPECT_FALSE(matches(record, query, 1ULL << 35));
}

TEST(ComponentMask, TextAndKeysAreOneComponent) {
  ServiceRecord record;
  record.key[15] = 7;
  std::copy_n("SRP", 3, record.name.begin());
  ServiceRecord query;
  EXPECT_FALSE(matches(record, query, component<&ServiceRecord::key>()));
  EXPECT_FALSE(matches(record, query, component<&ServiceRecord::name>()));
  query.key = record.key;
  query.name = record.name;
  EXPECT_TRUE(matches(record, query, 1U << 5 | 1U << 6));
  EXPECT_EQ(component<&ServiceRecord::key>() | component<&ServiceRecord::name>(),
            1U << 5 | 1U << 6);
}

TEST(ComponentMask, GuidsOfABlockAreSelectedOneByOne) {
  GuidInfoRecord record, query;
  record.guid_info.guid[6] = query.guid_info.guid[6] = Guid{0x0002c90300a1b2c1};
  record.guid_info.guid[7] = Guid{5};
  EXPECT_TRUE(matches(record, query, 1U << 10));
  EXPECT_FALSE(matches(record, query, 1U << 11));
}

TEST(Registry, FindsTheAttributeOfAClass) {
  EXPECT_EQ(find_attribute(MgmtClass::SubnDirected, attr::kPortInfo)->structure,
            &describe<PortInfo>());
  EXPECT_EQ(find_attribute(MgmtClass::SubnAdm, 0x0011)->structure, &describe<NodeRecord>());
  EXPECT_EQ(find_attribute(MgmtClass::Perf, 0x0012)->structure, &describe<PortCounters>());
  EXPECT_EQ(find_attribute(MgmtClass::SubnLid, 0x1234), nullptr);
  EXPECT_EQ(attribute_name(MgmtClass::VendorIbtracer, attr::kSourceRoute), "SourceRoute");
  EXPECT_EQ(method_name(Method::GetTableResp), "GetTableResp");
  EXPECT_EQ(method_name(static_cast<Method>(0x7F)), "");
  EXPECT_EQ(class_name(MgmtClass::SubnAdm), "SubnAdm");
}

TEST(Registry, EveryAttributeIsADescribedStructureWithMethods) {
  for (const AttributeInfo& a : attributes()) {
    EXPECT_NE(std::ranges::find(structures(), a.structure), structures().end());
    EXPECT_FALSE(a.methods.empty()) << a.structure->name;
    EXPECT_LE(a.structure->bytes + data_offset_of(a.mgmt_class), kMadBytes) << a.structure->name;
    for (const Method m : a.methods) EXPECT_FALSE(is_response(m));
  }
}

TEST(Registry, DumpIsAlignedAsTheStockToolsAlignTheirs) {
  PortInfo p;
  p.port_state = PortState::Active;
  p.link_width_supported = 3;
  p.lid = Lid{7};
  p.m_key = 0x1234;
  const std::string text = dump(p);
  EXPECT_THAT(text, HasSubstr("LID:.............................7\n"));
  EXPECT_THAT(text, HasSubstr("PortState:.......................Active\n"));
  EXPECT_THAT(text, HasSubstr("LinkWidthSupported:..............1X or 4X\n"));
  EXPECT_THAT(text, HasSubstr("M_Key:...........................<not displayed>\n"));
  EXPECT_THAT(dump(p, {true}), HasSubstr("M_Key:...........................0x0000000000001234\n"));
}

TEST(Registry, AnUnknownValueSaysSo) {
  PortInfo p;
  p.port_state = static_cast<PortState>(9);
  p.link_width_supported = 0x81;
  const std::string text = dump(p);
  EXPECT_THAT(text, HasSubstr("PortState:.......................undefined (9)\n"));
  EXPECT_THAT(text, HasSubstr("LinkWidthSupported:..............1X or undefined (0x80)\n"));
}

TEST(Registry, AKeyOfManyBytesIsOneValue) {
  ServiceRecord r;
  r.key[0] = 0xAB;
  r.key[15] = 1;
  EXPECT_THAT(dump(r), HasSubstr("ServiceKey:......................<not displayed>\n"));
  EXPECT_THAT(dump(r, {true}),
              HasSubstr("ServiceKey:......................0xab000000000000000000000000000001\n"));
  EXPECT_TRUE(nlohmann::json::parse(to_json(r))["ServiceKey"].is_null());
  EXPECT_EQ(nlohmann::json::parse(to_json(r, {true}))["ServiceKey"],
            "0xab000000000000000000000000000001");
}

TEST(Registry, HostileNodeDescriptionIsTamed) {
  NodeRecord r = leaf_host();
  const std::string evil = "x\x1b]0;pwn\x07\"\\\n\xff";
  std::copy(evil.begin(), evil.end(), r.node_description.text.begin());
  EXPECT_THAT(dump(r), HasSubstr("NodeDescription.NodeString:......x ]0;pwn \"\\  "));
  const auto json = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(json["NodeDescription"]["NodeString"].get<std::string>().substr(0, 10), "x ]0;pwn \"");
}

TEST(Registry, JsonSaysWhatTheValueIs) {
  PortInfoRecord r;
  r.end_port_lid = Lid{4};
  r.port_info.port_state = PortState::Armed;
  r.port_info.capability_mask = port_cap::kIsSm | port_cap::kTrap;
  r.port_info.gid_prefix = kDefaultSubnetPrefix;
  r.port_info.client_reregister = true;
  const auto json = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(json["EndportLID"], 4);
  const auto& port = json["PortInfo"];
  EXPECT_EQ(port["PortState"], "Armed");
  EXPECT_EQ(port["CapabilityMask"]["value"], 10);
  EXPECT_EQ(port["CapabilityMask"]["names"], (nlohmann::json{"IsSM", "IsTrapSupported"}));
  EXPECT_EQ(port["GidPrefix"], "0xfe80000000000000");
  EXPECT_EQ(port["ClientReregister"], true);
  EXPECT_TRUE(port["M_Key"].is_null());
}

TEST(Registry, AMadIsDumpedHeaderByHeader) {
  Mad mad = make_mad(MgmtClass::SubnAdm, Method::GetResp, attr::kPathRecord);
  PathRecord path;
  path.dlid = Lid{99};
  path.rate = 16;
  set_body(mad, path);
  const std::string text = dump(mad);
  EXPECT_THAT(text, HasSubstr("AttributeID:.....................0x0035\n"));
  EXPECT_THAT(text, HasSubstr("RMPPVersion:.....................0\n"));
  EXPECT_THAT(text, HasSubstr("DLID:............................99\n"));
  EXPECT_THAT(text, HasSubstr("Rate:............................100 Gb/s\n"));
}

TEST(VPortTrap, IsANoticeOfTheVendorWithItsNumberAmongTheDetails) {
  Notice notice;
  notice.is_generic = false;
  notice.producer_type = kMlnxVendorId;
  notice.details[3] = 12;
  notice.details[13] = 5;
  notice.details[52] = 1144 >> 8;
  notice.details[53] = 1144 & 0xFF;
  const auto data = vport_trap(notice);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->number, trap::kVPortDataChange);
  EXPECT_EQ(data->lid, Lid{12});
  EXPECT_EQ(data->index, 5);
  notice.details[53] = 1145 & 0xFF;
  EXPECT_FALSE(vport_trap(notice));
  notice.details[53] = 1146 & 0xFF;
  EXPECT_TRUE(vport_trap(notice));
  notice.producer_type = 0x00066A;
  EXPECT_FALSE(vport_trap(notice)) << "of another vendor";
  notice.producer_type = kMlnxVendorId;
  notice.is_generic = true;
  EXPECT_FALSE(vport_trap(notice));
}

}  // namespace
}  // namespace ib::wire
