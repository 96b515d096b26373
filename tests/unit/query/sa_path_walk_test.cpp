// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaPathWalk over two switches in a row as an SA without TraceRecords knows them: one case for each
// way a walk can end there.
#include "libdiag/query/sa_path_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/component_mask.h"
#include "tests/unit/query/echo_port.h"

namespace ib::query {
namespace {

using test::Echo;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Lid kHere{4}, kLeft{2}, kRight{3}, kThere{8};

/// What the SA knows.
struct Records {
  std::vector<wire::NodeRecord> nodes;
  std::vector<wire::PortInfoRecord> ports;
  std::vector<wire::LinkRecord> links;
  std::vector<wire::LinearFdtRecord> tables;
  bool no_records_is_a_status{false};

  template <class Record>
  mad::Packet answer_from(const mad::Packet& request, const std::vector<Record>& all) const {
    const auto wanted = wire::body<Record>(request.mad);
    const auto mask = request.mad.get<&wire::SaHeader::component_mask>();
    std::vector<Record> chosen;
    for (const Record& record : all)
      if (wire::matches(record, wanted, mask)) chosen.push_back(record);
    if (chosen.empty() && no_records_is_a_status)
      return test::answer_to(request, wire::Method::GetTableResp, wire::status::kSaNoRecords);
    const std::size_t stride = (wire::LayoutOf<Record>::kBytes + 7) / 8 * 8;
    return test::table_answer(request, chosen, stride);
  }
  std::optional<mad::Packet> answer(const mad::Packet& request) const {
    EXPECT_EQ(request.mad.mgmt_class(), wire::MgmtClass::SubnAdm) << "nothing but the SA is asked";
    switch (request.mad.attribute_id()) {
      case wire::attr::kNodeRecord:
        return answer_from(request, nodes);
      case wire::attr::kPortInfoRecord:
        return answer_from(request, ports);
      case wire::attr::kLinkRecord:
        return answer_from(request, links);
      case wire::attr::kLinearFdtRecord:
        return answer_from(request, tables);
      default:
        return std::nullopt;
    }
  }

  void node(Lid lid, std::uint64_t guid, const char* name, wire::NodeType type,
            std::uint8_t ports_of_it, std::uint8_t lmc = 0) {
    wire::NodeRecord record;
    record.lid = lid;
    record.node_info.node_type = type;
    record.node_info.node_guid = Guid{guid};
    record.node_info.port_guid = Guid{guid + 1};
    record.node_info.num_ports = ports_of_it;
    std::copy_n(name, std::char_traits<char>::length(name), record.node_description.text.begin());
    nodes.push_back(record);
    const bool is_switch = type == wire::NodeType::Switch;
    for (std::uint8_t p = is_switch ? 0 : 1; p <= ports_of_it; ++p) {
      wire::PortInfoRecord port;
      port.end_port_lid = lid;
      port.port_num = PortNum{p};
      port.port_info.port_state = wire::PortState::Active;
      if (!is_switch || p == 0) {
        port.port_info.lid = lid;
        port.port_info.lmc = lmc;
      }
      ports.push_back(port);
    }
  }
  void cable(Lid a, std::uint8_t a_port, Lid b, std::uint8_t b_port) {
    links.push_back({a, PortNum{a_port}, PortNum{b_port}, b});
    links.push_back({b, PortNum{b_port}, PortNum{a_port}, a});
  }
  void table(Lid lid, const std::map<std::uint16_t, std::uint8_t>& entries) {
    wire::LinearFdtRecord record;
    record.lid = lid;
    record.table.port.fill(255);
    for (const auto& [to, port] : entries) record.table.port[to] = port;
    tables.push_back(record);
  }
};

//   here [1] -- [1] left [2] -- [1] right [3] -- [2] there, which has LIDs 8 to 11
class SaPathWalkEnds : public ::testing::Test {
 protected:
  SaPathWalkEnds() {
    using wire::NodeType;
    sa.node(kHere, 0x10, "here", NodeType::ChannelAdapter, 1);
    sa.node(kLeft, 0x20, "left", NodeType::Switch, 4);
    sa.node(kRight, 0x30, "right", NodeType::Switch, 4);
    sa.node(kThere, 0x40, "there", NodeType::ChannelAdapter, 2, 2);
    sa.cable(kHere, 1, kLeft, 1);
    sa.cable(kLeft, 2, kRight, 1);
    sa.cable(kRight, 3, kThere, 2);
    sa.table(kLeft, {{2, 0}, {3, 2}, {4, 1}, {8, 2}, {9, 2}});
    sa.table(kRight, {{2, 1}, {3, 0}, {4, 1}, {8, 3}, {9, 3}});
  }

  static mad::PortFacts own_port() {
    mad::PortFacts facts;
    facts.lid = kHere;
    facts.port_num = 1;
    facts.node_guid = Guid{0x10};
    return facts;
  }

  Walk walk(Lid dlid = kThere) {
    const auto found = walker.walk(dlid);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? *found : Walk{};
  }
  wire::LinearFdtRecord& right() { return sa.tables[1]; }

  Records sa;
  Echo echo{[this](const mad::Packet& request) { return sa.answer(request); }};
  mad::Session session{echo, {}, [this] { return echo.now; }};
  SaClient client{session, {Lid{1}, Sl{0}, 0}};
  SaPathWalk walker{client, own_port()};
};

TEST_F(SaPathWalkEnds, AtThePortThatHasTheLid) {
  const Walk found = walk(Lid{9});
  ASSERT_EQ(found.end, WalkEnd::Arrived) << found.failure;
  std::vector<std::string> hops;
  hops.reserve(found.hops.size());
  for (const Hop& hop : found.hops) {
    hops.push_back(hop.description + " " + std::to_string(hop.lid.value) + " in " +
                   std::to_string(hop.ingress_port) + " out " + std::to_string(hop.egress_port));
  }
  EXPECT_THAT(hops, ElementsAre("here 4 in 0 out 1", "left 2 in 1 out 2", "right 3 in 1 out 3",
                                "there 8 in 2 out 0"));
  EXPECT_EQ(found.hops.back().lmc, 2);
  EXPECT_EQ(found.hops.back().port_guid, Guid{0x41});
  EXPECT_EQ(to_string(found.hops.back().route), "0,1,2,3");
}

TEST_F(SaPathWalkEnds, AtASwitchThatHasTheLid) {
  const Walk found = walk(kRight);
  EXPECT_EQ(found.end, WalkEnd::Arrived) << found.failure;
  EXPECT_EQ(found.hops.size(), 3U);
}

TEST_F(SaPathWalkEnds, AtOnceWhereTheLidIsOurs) {
  const Walk found = walk(kHere);
  EXPECT_EQ(found.end, WalkEnd::Arrived) << found.failure;
  EXPECT_EQ(found.hops.size(), 1U);
}

TEST_F(SaPathWalkEnds, WhereATableHasNoEntry) {
  right().table.port[8] = 255;
  EXPECT_EQ(walk().end, WalkEnd::NoEntry);
  EXPECT_THAT(walk().failure, HasSubstr("switch \"right\" has no entry for lid 8 (port 255 of 4)"));
  for (const bool by_status : {false, true}) {
    sa.no_records_is_a_status = by_status;
    walker.forget();
    EXPECT_EQ(walk(Lid{700}).end, WalkEnd::NoEntry) << "the SA has no such block";
  }
}

TEST_F(SaPathWalkEnds, WhereALinkIsMissingOrNotActive) {
  sa.ports[sa.ports.size() - 4].port_info.port_state = wire::PortState::Armed;  // right, port 3
  EXPECT_EQ(walk().end, WalkEnd::LinkDown);
  EXPECT_THAT(walk().failure, HasSubstr("port 3 of switch \"right\", by which lid 8 leaves, is "
                                        "ARMED"));
  sa.ports[sa.ports.size() - 4].port_info.port_state = wire::PortState::Active;
  sa.links.resize(4);
  walker.forget();
  EXPECT_EQ(walk().end, WalkEnd::LinkDown);
  EXPECT_THAT(walk().failure, HasSubstr("port 3 of switch \"right\", by which lid 8 leaves, has no "
                                        "link"));
}

TEST_F(SaPathWalkEnds, WhereTablesGoInACircle) {
  right().table.port[8] = 1;
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::Loop);
  EXPECT_EQ(found.failure, "the tables lead lid 8 back to switch \"left\"");
}

TEST_F(SaPathWalkEnds, AtAHostOrASwitchThatHasNotTheLid) {
  right().table.port[12] = 3;
  sa.tables[0].table.port[12] = 2;
  EXPECT_EQ(walk(Lid{12}).end, WalkEnd::WrongPort);
  EXPECT_THAT(walk(Lid{12}).failure, HasSubstr("delivered to ca \"there\" port 2, whose lid is 8"));
  right().table.port[12] = 0;
  walker.forget();
  EXPECT_EQ(walk(Lid{12}).end, WalkEnd::WrongPort);
  EXPECT_THAT(walk(Lid{12}).failure, HasSubstr("keeps lid 12 for itself"));
}

TEST_F(SaPathWalkEnds, WhereTheSaContradictsItself) {
  sa.nodes.erase(sa.nodes.begin() + 2);
  EXPECT_EQ(walk().end, WalkEnd::BadAnswer);
  EXPECT_EQ(walk().failure, "the SA has no NodeRecord of lid 3");
}

TEST_F(SaPathWalkEnds, NothingIsAskedTwiceUntilItForgets) {
  walk();
  const std::size_t asked = echo.sent.size();
  walk();
  EXPECT_EQ(echo.sent.size(), asked);
  right().table.port[8] = 255;
  EXPECT_EQ(walk().end, WalkEnd::Arrived);
  walker.forget();
  EXPECT_EQ(walk().end, WalkEnd::NoEntry);
}

TEST_F(SaPathWalkEnds, ARefusalIsAnError) {
  Echo refuses([](const mad::Packet& request) {
    return test::answer_to(request, wire::Method::GetTableResp, wire::status::kSaReqDenied);
  });
  mad::Session with_it(refuses, {}, [&] { return refuses.now; });
  SaClient denied(with_it, {Lid{1}, Sl{0}, 0});
  const auto found = SaPathWalk(denied, own_port()).walk(kThere);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::Refused);
}

}  // namespace
}  // namespace ib::query
