// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SA and PMA clients: what they ask, and how they read answers, odd ones among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "libdiag/query/pma_client.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/query/smp_client.h"
#include "libdiag/wire/registry.h"
#include "tests/unit/query/echo_port.h"

namespace ib::query {
namespace {

using test::answer_to;
using test::Echo;
using test::table_answer;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using wire::NodeRecord;
using wire::PathRecord;

std::vector<NodeRecord> numbered(std::size_t count) {
  std::vector<NodeRecord> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].lid = Lid{static_cast<std::uint16_t>(i + 1)};
    records[i].node_info.node_guid = Guid{0x100 + i};
    records[i].node_description.text[0] = static_cast<char>('a' + i % 26);
  }
  return records;
}

TEST(SaClient, ReadsTablesOfEveryLength) {
  for (const std::size_t count : {0U, 1U, 2U, 17U}) {
    for (const std::size_t stride : {112U, 120U}) {  // an SA may know more fields than we do
      Echo echo([&](const mad::Packet& request) {
        return table_answer(request, numbered(count), stride);
      });
      mad::Session session(echo, {}, [&] { return echo.now; });
      SaClient sa(session, {Lid{5}, Sl{1}, 42});
      const auto records = sa.get_table(NodeRecord{}, 0);
      ASSERT_TRUE(records) << records.error().message;
      EXPECT_TRUE(*records == numbered(count)) << count << " of " << stride;
      ASSERT_THAT(echo.specs, SizeIs(1));
      EXPECT_EQ(echo.specs[0].rmpp, mad::AgentSpec::Rmpp::Kernel);
      EXPECT_EQ(echo.specs[0].class_version, 2);
    }
  }
}

/// ibsim carries the first MAD of a table, 224 bytes of it, under the header as the SA left it to
/// the kernel: opensm's is empty but for the ACTIVE flag, ibsm's says how long the table is.
TEST(SaClient, ATableCutToOneMadIsNotTakenForWhole) {
  const auto cut = [](std::size_t count, bool opensm) {
    Echo echo([&](const mad::Packet& request) {
      auto answer = table_answer(request, numbered(count), 112);
      auto header = wire::decode<wire::RmppHeader>(answer.mad.bytes.data());
      header.last = true;
      if (opensm) {
        header = {};
        header.active = true;
      }
      wire::encode(header, answer.mad.bytes.data());
      answer.more.clear();
      std::fill_n(answer.mad.bytes.begin() + 224, 32, std::byte{0});
      return answer;
    });
    mad::Session session(echo, {}, [&] { return echo.now; });
    return SaClient(session, {Lid{5}, Sl{0}, 0}).get_table(NodeRecord{}, 0);
  };
  for (const bool opensm : {true, false}) {
    for (const std::size_t count : {2U, 17U}) {
      const auto records = cut(count, opensm);
      ASSERT_FALSE(records) << count << " records, of which one came";
      EXPECT_EQ(records.error().kind, ErrorKind::Malformed);
      EXPECT_THAT(
          records.error().message,
          HasSubstr("SA GetTable(NodeRecord): the answer is cut: one MAD of it came, with 1 "
                    "whole record"));
    }
    for (const std::size_t count : {0U, 1U}) {
      const auto records = cut(count, opensm);
      ASSERT_TRUE(records) << records.error().message;
      EXPECT_TRUE(*records == numbered(count)) << "and nothing of the zeros behind it";
    }
  }
}

TEST(SaClient, AsksTheSaByItsAddressAndKey) {
  Echo echo([](const mad::Packet& request) {
    auto answer = answer_to(request, wire::Method::GetResp);
    PathRecord path;
    path.dlid = Lid{9};
    wire::set_body(answer.mad, path);
    return answer;
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{3}, 42});
  PathRecord wanted;
  wanted.slid = Lid{7};
  const auto path = sa.get(wanted, component::kPathSlid);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->dlid, Lid{9});
  ASSERT_THAT(echo.sent, SizeIs(1));
  const auto& packet = echo.sent[0];
  EXPECT_EQ(packet.address.lid, Lid{5});
  EXPECT_EQ(packet.address.sl, Sl{3});
  EXPECT_EQ(packet.address.qpn, 1U);
  EXPECT_EQ(packet.address.q_key, 0x80010000U);
  EXPECT_EQ(packet.mad.get<&wire::MadHeader::class_version>(), 2);
  EXPECT_EQ(packet.mad.attribute_id(), 0x0035);
  EXPECT_EQ(packet.mad.get<&wire::SaHeader::sm_key>(), 42U);
  EXPECT_EQ(packet.mad.get<&wire::SaHeader::component_mask>(), 1U << 5);
  EXPECT_EQ(wire::body<PathRecord>(packet.mad).slid, Lid{7});
}

TEST(SaClient, SetAndDeleteCarryTheRecordAndItsMask) {
  Echo echo([](const mad::Packet& request) {
    return answer_to(request, request.mad.method() == wire::Method::Delete
                                  ? wire::Method::DeleteResp
                                  : wire::Method::GetResp);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  wire::ServiceRecord service;
  service.service_id = 77;
  service.data8[3] = 9;
  const auto stored = sa.set(service, wire::component<&wire::ServiceRecord::service_id>());
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(*stored == service);
  ASSERT_TRUE(sa.remove(service, 3));
  wire::GuidInfoRecord guids;
  guids.guid_info.guid[1] = Guid{0xABC};
  ASSERT_TRUE(sa.set(guids, 0x23));
  ASSERT_THAT(echo.sent, SizeIs(3));
  EXPECT_EQ(echo.sent[0].mad.method(), wire::Method::Set);
  EXPECT_EQ(echo.sent[0].mad.attribute_id(), 0x0031);
  EXPECT_EQ(echo.sent[0].mad.get<&wire::SaHeader::component_mask>(), 1U);
  EXPECT_EQ(echo.sent[1].mad.method(), wire::Method::Delete);
  EXPECT_EQ(echo.sent[1].mad.get<&wire::SaHeader::component_mask>(), 3U);
  EXPECT_EQ(echo.sent[2].mad.attribute_id(), 0x0030);
}

TEST(SaClient, ARefusalNamesTheMethodThatWasUsed) {
  Echo echo([](const mad::Packet& request) {
    const bool is_delete = request.mad.method() == wire::Method::Delete;
    return answer_to(request, is_delete ? wire::Method::DeleteResp : wire::Method::GetResp, 0x0100);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const auto got = sa.get(PathRecord{}, component::kPathSlid);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "SA Get(PathRecord): status 0x0100 (no resources)");
  const auto set = sa.set(wire::McMemberRecord{}, component::kMcMgid);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "SA Set(MCMemberRecord): status 0x0100 (no resources)");
  const auto removed = sa.remove(wire::McMemberRecord{}, component::kMcMgid);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().message, "SA Delete(MCMemberRecord): status 0x0100 (no resources)");
}

/// A table of paths to `count` LIDs in answer to anything.
mad::Packet paths_answer(const mad::Packet& request, wire::Method method, std::uint16_t count) {
  std::vector<PathRecord> paths(count);
  for (std::uint16_t i = 0; i < count; ++i) paths[i].dlid = Lid{static_cast<std::uint16_t>(i + 1)};
  auto answer = table_answer(request, paths, 64, method);
  answer.mad.set<&wire::MadHeader::attribute_id>(wire::attr::kPathRecord);
  answer.mad.set<&wire::SaHeader::attribute_offset>(std::uint16_t{8});
  return answer;
}

TEST(SaClient, AMultiPathRecordIsFollowedByItsGids) {
  for (const std::size_t each : {1U, 6U, 255U}) {
    Echo echo([](const mad::Packet& request) {
      return paths_answer(request, wire::Method::GetMultiResp, 5);
    });
    mad::Session session(echo, {}, [&] { return echo.now; });
    SaClient sa(session, {Lid{5}, Sl{0}, 0});
    std::vector<Gid> sources, destinations;
    for (std::size_t i = 0; i < each; ++i) {
      sources.push_back(Gid::from(kDefaultSubnetPrefix, Guid{0x100 + i}));
      destinations.push_back(Gid::from(kDefaultSubnetPrefix, Guid{0x900 + i}));
    }
    wire::MultiPathRecord wanted;
    wanted.numb_path = 3;
    const auto paths = sa.multi_path(wanted, wire::component<&wire::MultiPathRecord::numb_path>(),
                                     sources, destinations);
    ASSERT_TRUE(paths) << paths.error().message;
    ASSERT_THAT(*paths, SizeIs(5));
    EXPECT_EQ(paths->back().dlid, Lid{5});

    ASSERT_THAT(echo.sent, SizeIs(1));
    const auto& packet = echo.sent[0];
    EXPECT_EQ(packet.mad.method(), wire::Method::GetMulti);
    EXPECT_EQ(packet.mad.attribute_id(), 0x003A);
    EXPECT_EQ(packet.mad.get<&wire::SaHeader::component_mask>(), 1U << 6 | 1U << 19 | 1U << 20);
    const auto rmpp = wire::decode<wire::RmppHeader>(packet.mad.bytes.data());
    EXPECT_TRUE(rmpp.active);
    EXPECT_EQ(rmpp.type, 1);
    // The whole message: headers, 24 bytes, then GIDs, sources first.
    std::vector<std::byte> data(packet.mad.data(), packet.mad.data() + wire::kSaDataBytes);
    data.insert(data.end(), packet.more.begin(), packet.more.end());
    ASSERT_GE(data.size(), 24 + 32 * each);
    EXPECT_EQ(packet.more.empty(), 24 + 32 * each <= wire::kSaDataBytes);
    const auto record = wire::decode<wire::MultiPathRecord>(data.data());
    EXPECT_EQ(record.sgid_count, each);
    EXPECT_EQ(record.dgid_count, each);
    EXPECT_EQ(record.numb_path, 3);
    for (std::size_t i = 0; i < 2 * each; ++i) {
      const Gid& gid = i < each ? sources[i] : destinations[i - each];
      EXPECT_EQ(std::memcmp(data.data() + 24 + 16 * i, gid.bytes.data(), 16), 0) << i;
    }
  }
}

TEST(SaClient, ATraceIsAskedForByAPath) {
  Echo echo([](const mad::Packet& request) {
    auto answer = answer_to(request, wire::Method::GetTableResp);
    wire::TraceRecord node;
    node.node_id = 0x1234;
    node.exit_port = PortNum{7};
    wire::set_body(answer.mad, node);
    answer.mad.set<&wire::SaHeader::attribute_offset>(std::uint16_t{6});
    wire::RmppHeader header;
    header.version = header.type = 1;
    header.active = header.first = header.last = true;
    header.data1 = 1;
    header.data2 = 20 + 46;  // the padding of the last record may be left off
    wire::encode(header, answer.mad.bytes.data());
    return answer;
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  PathRecord path;
  path.slid = Lid{3};
  path.dlid = Lid{9};
  const auto nodes = sa.trace(path, component::kPathSlid | component::kPathDlid);
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_THAT(*nodes, SizeIs(1));
  EXPECT_EQ(nodes->front().node_id, 0x1234U);
  EXPECT_EQ(nodes->front().exit_port, PortNum{7});
  ASSERT_THAT(echo.sent, SizeIs(1));
  EXPECT_EQ(echo.sent[0].mad.method(), wire::Method::GetTraceTable);
  EXPECT_EQ(echo.sent[0].mad.attribute_id(), 0x0039);
  EXPECT_EQ(wire::body<PathRecord>(echo.sent[0].mad).dlid, Lid{9});
}

/// As opensm does with a method it does not know.
TEST(SaClient, OfAnSaThatIsSilentToATraceOnlyItSaysThatItHasNoTraceRecords) {
  bool silent = false;
  Echo echo([&](const mad::Packet& request) -> std::optional<mad::Packet> {
    if (silent || request.mad.method() == wire::Method::GetTraceTable) return std::nullopt;
    return answer_to(request, wire::Method::GetResp);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const Instant start = echo.now;
  const auto none = sa.trace({}, component::kPathSlid | component::kPathDlid);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Unavailable);
  EXPECT_TRUE(has_no_trace_records(none.error()));
  EXPECT_THAT(none.error().message, HasSubstr("answers other queries"));
  EXPECT_THAT(none.error().message, HasSubstr("ibtracer --sa asks it for other records"));
  EXPECT_THAT(none.error().message, ::testing::Not(HasSubstr("any more")));
  EXPECT_LT(echo.now - start, std::chrono::seconds(5));

  silent = true;
  const auto gone = sa.trace({}, component::kPathSlid | component::kPathDlid);
  ASSERT_FALSE(gone);
  EXPECT_FALSE(has_no_trace_records(gone.error()));
  EXPECT_THAT(gone.error().message, HasSubstr("does none run there any more"));
}

TEST(SaClient, ATableThatIsSureToBeSmallIsNotWaitedForLong) {
  const SaAddress sa{Lid{7}, Sl{0}, 0};
  const auto first_wait = [&](std::uint16_t attribute, std::uint64_t mask) {
    const auto request = sa_request(0, sa, wire::Method::GetTable, attribute, mask);
    EXPECT_GT(request.resp_time_hint, std::chrono::seconds(1));
    return request.first_wait;
  };
  using namespace component;
  EXPECT_GT(first_wait(wire::attr::kPathRecord, kPathSlid | kPathDgid), Duration{0});
  EXPECT_EQ(first_wait(wire::attr::kPathRecord, kPathSlid | kPathSl), Duration{0});
  EXPECT_EQ(first_wait(wire::attr::kNodeRecord, kNodeGuid), Duration{0});
  EXPECT_GT(first_wait(wire::attr::kLinkRecord, kLinkFromLid | kLinkFromPort), Duration{0});
  EXPECT_EQ(first_wait(wire::attr::kLinkRecord, kLinkFromLid), Duration{0});
}

TEST(SaClient, RecordsKnownByTheirLayoutOnlyComeAsBytes) {
  Echo echo([&](const mad::Packet& request) { return table_answer(request, numbered(3), 120); });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  NodeRecord wanted;
  wanted.lid = Lid{2};
  const auto body = wire::bytes_of(wanted);
  const auto records = sa.get_records(wire::attr::kNodeRecord, body, component::kNodeLid, 5);
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(wire::decode<NodeRecord>((*records)[i].data()) == numbered(3)[i]);
  EXPECT_EQ(wire::body<NodeRecord>(echo.sent[0].mad).lid, Lid{2});
  EXPECT_EQ(echo.sent[0].mad.get<&wire::MadHeader::attribute_modifier>(), 5U);
}

TEST(SaClient, AStatusIsARefusalWithItsName) {
  Echo echo([](const mad::Packet& request) {
    return answer_to(request, wire::Method::GetTableResp, wire::status::kSaReqDenied);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const auto records = sa.get_table(NodeRecord{}, 0);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().kind, ErrorKind::Refused);
  EXPECT_EQ(records.error().mad_status, wire::status::kSaReqDenied);
  EXPECT_THAT(records.error().message, HasSubstr("NodeRecord"));
  EXPECT_THAT(records.error().message,
              HasSubstr("0x0700 (request denied; the SA wants its key for this)"));
}

TEST(SaClient, ABusySaIsAskedAgainAndAgainUpToALimit) {
  unsigned refusals = 3;
  Echo echo([&](const mad::Packet& request) {
    if (refusals == 0) return table_answer(request, numbered(2), 112);
    --refusals;
    return answer_to(request, wire::Method::GetTableResp, wire::status::kBusy);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const auto records = sa.get_table(NodeRecord{}, 0);
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_THAT(echo.sent, SizeIs(4));
  EXPECT_EQ(echo.now - Instant{1}, std::chrono::milliseconds(20 + 40 + 80));

  refusals = 1000;
  const auto never = sa.get_table(NodeRecord{}, 0);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().mad_status, wire::status::kBusy);
  EXPECT_THAT(echo.sent, SizeIs(4 + 11));
}

TEST(SaClient, ARecordTooShortIsMalformed) {
  Echo echo([](const mad::Packet& request) {
    auto answer = table_answer(request, numbered(2), 112);
    answer.mad.set<&wire::SaHeader::attribute_offset>(std::uint16_t{4});
    return answer;
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const auto records = sa.get_table(NodeRecord{}, 0);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().kind, ErrorKind::Malformed);
}

/// A standby has taken over: the port names it before the patience with the dead one is at its end.
TEST(SaClient, AsksWhomThePortNamesByNowWhereTheSaIsSilent) {
  Echo* port = nullptr;
  unsigned asked = 0;
  Echo echo([&](const mad::Packet& request) -> std::optional<mad::Packet> {
    if (request.address.lid == Lid{9}) return answer_to(request, wire::Method::GetResp);
    if (++asked == 2) port->facts_now.sm_lid = Lid{9};
    return std::nullopt;
  });
  port = &echo;
  echo.facts_now.sm_lid = Lid{5};
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 42});
  const Instant began = echo.now;
  EXPECT_TRUE(sa.get(PathRecord{}, 0));
  EXPECT_EQ(sa.address().lid, Lid{9});
  EXPECT_LE(echo.now - began, std::chrono::seconds(2));
  EXPECT_EQ(echo.sent.back().mad.get<&wire::SaHeader::sm_key>(), 42U);
}

TEST(SaClient, ASilentSaIsATimeout) {
  Echo echo([](const mad::Packet&) { return std::nullopt; });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SaClient sa(session, {Lid{5}, Sl{0}, 0});
  const auto info = sa.class_port_info();
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().kind, ErrorKind::TimedOut);
  EXPECT_GE(echo.sent.size(), 8U) << "asked again before giving up";
}

TEST(SaClient, APortWithoutSmKnowsNoSa) {
  mad::PortFacts facts;
  facts.device = "mlx5_0";
  facts.port_num = 1;
  const auto none = sa_address(facts);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(none.error().message, HasSubstr("mlx5_0"));
  facts.sm_lid = Lid{3};
  facts.sm_sl = Sl{2};
  const auto address = sa_address(facts, 7);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->lid, Lid{3});
  EXPECT_EQ(address->sl, Sl{2});
  EXPECT_EQ(address->sm_key, 7U);
}

TEST(SaClient, OfASilentSaItSaysThatItMayBeGone) {
  const Error silent =
      unanswered({ErrorKind::TimedOut, "GetTable(PathRecord) to LID 3: no answer", 0},
                 SaAddress{Lid{3}, Sl{0}, 0});
  EXPECT_THAT(silent.message, HasSubstr("no answer; the port has LID 3 for its subnet manager"));
  EXPECT_EQ(unanswered({ErrorKind::Refused, "status 4", 4}, SaAddress{Lid{3}, Sl{0}, 0}).message,
            "status 4");
}

TEST(PmaCounters, ReadsCountersAndNeverSets) {
  Echo echo([](const mad::Packet& request) {
    auto answer = answer_to(request, wire::Method::GetResp);
    auto counters = wire::body<wire::PortCountersExtended>(request.mad);
    counters.port_rcv_pkts = 0x123456789AULL;
    wire::set_body(answer.mad, counters);
    return answer;
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  const auto answer = session.call(pma_request(0, Lid{4}, wire::attr::kPortCountersExtended, 17));
  ASSERT_TRUE(answer);
  const auto counters = read_port_counters_extended(*answer, 17);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->port_rcv_pkts, 0x123456789AULL);
  ASSERT_THAT(echo.sent, SizeIs(1));
  EXPECT_EQ(echo.sent[0].mad.method(), wire::Method::Get);
  EXPECT_EQ(echo.sent[0].mad.attribute_id(), 0x001D);
  EXPECT_EQ(echo.sent[0].mad.bytes[65], std::byte{17}) << "PortSelect";
}

TEST(PmaCounters, CountersOfAnotherPortAreNotOurs) {
  Echo echo([](const mad::Packet& request) {
    auto answer = answer_to(request, wire::Method::GetResp);
    wire::PortCounters counters;
    counters.port_select = PortNum{3};
    wire::set_body(answer.mad, counters);
    return answer;
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  const auto answer = session.call(pma_request(0, Lid{4}, wire::attr::kPortCounters, 2));
  ASSERT_TRUE(answer);
  const auto counters = read_port_counters(*answer, 2);
  ASSERT_FALSE(counters);
  EXPECT_EQ(counters.error().kind, ErrorKind::Malformed);
}

TEST(SmpClient, SaysWhatWasRefusedByWhom) {
  Echo echo([](const mad::Packet& request) {
    return answer_to(request, wire::Method::GetResp, wire::status::kBadAttribute);
  });
  mad::Session session(echo, {}, [&] { return echo.now; });
  SmpClient smp(session);
  const auto by_lid = smp.switch_info(Lid{12});
  ASSERT_FALSE(by_lid);
  EXPECT_EQ(by_lid.error().kind, ErrorKind::Refused);
  EXPECT_THAT(by_lid.error().message, HasSubstr("LID 12"));
  EXPECT_THAT(by_lid.error().message, HasSubstr("0x000c"));
}

}  // namespace
}  // namespace ib::query
