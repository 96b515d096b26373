// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who gets which path: partitions, levels of service, SLs, alias GUIDs, routers, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/base/text.h"
#include "sm/sa/subnet/prefix_routes.h"
#include "tests/unit/sm/sa/path_world.h"

namespace sm::sa::test {
namespace {

using ib::PKey;
using ib::Sl;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace status = ib::wire::status;

constexpr std::uint64_t kPKeyBit = bit(path_bit::kPKey), kSlBit = bit(path_bit::kSl);

/// The default partition with full members 0 to 3 only, everybody else limited; and one of its own
/// for hosts 4 and 5.
void divide(PathWorld& w) {
  Partition all{0x7FFF, Membership::Limited, {}, std::nullopt};
  for (std::size_t i = 0; i < 4; ++i) all.members[w.host(i).guid] = Membership::Full;
  Partition small{0x0012, Membership::None, {}, Sl{2}};
  small.members[w.host(4).guid] = Membership::Full;
  small.members[w.host(5).guid] = Membership::Limited;
  w.policy.partitions = {all, small};
}

TEST(SaPathPolicy, PacketsPassWhereOneIsAFullMember) {
  PathWorld w(small_tree());
  divide(w);
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->p_key, PKey{0xFFFF});
  EXPECT_EQ(w.get(w.between(0, 9), kGids)->p_key, PKey{0xFFFF});
  // The key as the source has it in its table.
  EXPECT_EQ(w.get(w.between(9, 0), kGids)->p_key, PKey{0x7FFF});
  EXPECT_FALSE(w.get(w.between(8, 9), kGids)) << "two limited members";

  auto wanted = w.between(4, 5);
  w.requester = 4;
  EXPECT_EQ(w.get(wanted, kGids)->p_key, PKey{0x8012}) << "the first that both share";
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{2}) << "the partition's";
  for (const PKey key : {PKey{0x8012}, PKey{0x0012}}) {
    wanted.p_key = key;
    EXPECT_EQ(w.get(wanted, kGids | kPKeyBit)->p_key, wanted.p_key);
  }
  for (const PKey key : {PKey{0xFFFF}, PKey{0x7FFF}, PKey{0x8013}, PKey{0x0000}, PKey{0x8000}}) {
    wanted.p_key = key;
    EXPECT_FALSE(w.get(wanted, kGids | kPKeyBit)) << key.value;
  }
}

TEST(SaPathPolicy, OnlyWhoSharesAPartitionWithBothSeesTheirPath) {
  PathWorld w(small_tree());
  divide(w);
  const auto wanted = w.between(4, 5);
  for (std::size_t i = 0; i < 16; ++i) {
    w.requester = i;
    // Host 5 is limited: of the others only full members share a partition with both.
    const bool sees = i < 4 || i == 4;
    EXPECT_EQ(w.get(wanted, kGids).has_value(), i == 5 || sees) << i;
  }
  w.requester = 99;  // a LID that no port has
  EXPECT_FALSE(w.get(wanted, kGids));
  w.policy = Policy{};
  EXPECT_TRUE(w.get(wanted, kGids));

  // Of a table nothing is left that the requester may not see.
  divide(w);
  w.requester = 9;
  PathRecord from;
  from.slid = w.host(9).lid;
  const auto seen = w.table(from, bit(path_bit::kSlid));
  EXPECT_THAT(seen, SizeIs(4))
      << "the full members; two limited ends share nothing, not even itself";
}

TEST(SaPathPolicy, TheFirstRuleThatFitsGivesTheLevel) {
  PathWorld w(small_tree());
  const auto text = [&](const std::string& default_level) {
    return "port-groups\nport-group\nname: nine\nport-guid: " + ib::to_string(w.host(9).guid) +
           "\nend-port-group\nend-port-groups\nqos-levels\n"
           "qos-level\nname: a\nsl: 4\nmtu-limit: 3\nrate-limit: 7\npacket-life: 12\n"
           "end-qos-level\nqos-level\nname: b\nsl: 5\npkey: 0x1-0x20\nend-qos-level\n" +
           default_level +
           "end-qos-levels\nqos-match-rules\n"
           "qos-match-rule\nservice-id: 0x1000-0x1fff\nqos-level-name: a\nend-qos-match-rule\n"
           "qos-match-rule\ndestination: nine\nqos-class: 7\nqos-level-name: b\n"
           "end-qos-match-rule\nend-qos-match-rules\n";
  };
  const auto put_in_force = [&](const std::string& rules) {
    std::vector<ib::Diagnostic> diagnostics;
    const auto file = policy::read_qos_file(rules, "q");
    w.policy.qos =
        Qos(std::make_shared<policy::QosPolicy>(file, "q", policy::open_partitions(), diagnostics),
            *w.paths, w.policy);
  };
  put_in_force(text(""));

  auto wanted = w.between(0, 9);
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{0}) << "no rule fits, no default level";
  put_in_force(text("qos-level\nname: DEFAULT\nsl: 1\nend-qos-level\n"));
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{1});

  constexpr auto kService = bit(path_bit::kServiceIdHigh) | bit(path_bit::kServiceIdLow);
  wanted.service_id = 0x1234;
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{1}) << "not in the mask";
  const auto served = w.get(wanted, kGids | kService);
  ASSERT_TRUE(served);
  EXPECT_EQ(served->service_id, 0x1234U);
  EXPECT_EQ(served->sl, Sl{4});
  EXPECT_EQ(served->mtu, 3);
  EXPECT_EQ(served->rate, 7);
  EXPECT_EQ(served->packet_life, 12);
  EXPECT_EQ(w.get(w.between(0, 0), kGids)->packet_life, 0) << "loopback";

  // The level's limits count before the request's bounds.
  wanted.mtu_selector = Selector::GreaterThan;
  wanted.mtu = 3;
  EXPECT_FALSE(w.get(wanted, kGids | kService | bit(path_bit::kMtuSelector) | bit(path_bit::kMtu)));

  // An SL that is asked for must be the level's.
  wanted = w.between(0, 9);
  wanted.sl = Sl{1};
  EXPECT_EQ(w.get(wanted, kGids | kSlBit)->sl, Sl{1});
  wanted.sl = Sl{2};
  EXPECT_FALSE(w.get(wanted, kGids | kSlBit));

  // A level without a partition that the two share gives no path.
  wanted.qos_class = 7;
  EXPECT_FALSE(w.get(wanted, kGids | bit(path_bit::kQosClass)));
  w.policy.partitions.push_back({0x0012, Membership::Full, {}, std::nullopt});
  const auto classed = w.get(wanted, kGids | bit(path_bit::kQosClass));
  ASSERT_TRUE(classed);
  EXPECT_EQ(classed->p_key, PKey{0x8012});
  EXPECT_EQ(classed->sl, Sl{5});
  wanted.p_key = ib::kDefaultPKey;
  EXPECT_FALSE(w.get(wanted, kGids | kPKeyBit | bit(path_bit::kQosClass)));
}

TEST(SaPathPolicy, APartitionsSlStandsAboveTheDefaultAndBelowARule) {
  PathWorld w(small_tree());
  std::vector<ib::Diagnostic> diagnostics;
  const auto file = policy::read_qos_file("qos-ulps\ndefault : 1\nsdp : 2\nend-qos-ulps\n", "q");
  w.policy.qos =
      Qos(std::make_shared<policy::QosPolicy>(file, "q", policy::open_partitions(), diagnostics),
          *w.paths, w.policy);
  auto wanted = w.between(0, 9);
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{1});
  w.policy.partitions[0].sl = Sl{3};
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{3});
  wanted.service_id = 0x10005;
  EXPECT_EQ(w.get(wanted, kGids | bit(path_bit::kServiceIdHigh) | bit(path_bit::kServiceIdLow))->sl,
            Sl{2});
}

TEST(SaPathPolicy, AnSlThatAPortOnTheWayDropsHasNoPath) {
  using policy::QosKind;
  PathWorld w(small_tree());
  Routing routing = *w.snapshot->routing;
  const auto drop = [&](QosKind kind, unsigned sl) {
    routing.dropped_sls = {};
    routing.dropped_sls[static_cast<std::size_t>(kind)] = static_cast<std::uint16_t>(1U << sl);
    w.snapshot = std::make_shared<Snapshot>(*w.snapshot);
    w.snapshot->routing = std::make_shared<Routing>(routing);
    w.publish();
  };
  const auto has_path = [&](std::size_t to, unsigned sl) {
    auto wanted = w.between(0, to);
    wanted.sl = Sl{static_cast<std::uint8_t>(sl)};
    return w.get(wanted, kGids | kSlBit).has_value();
  };
  ASSERT_EQ(w.host(0).leaf, w.host(1).leaf);
  ASSERT_NE(w.host(0).leaf, w.host(9).leaf);
  for (const auto& [kind, beside, far] :
       {std::tuple(QosKind::Ca, false, false), std::tuple(QosKind::SwitchExternal, false, false),
        std::tuple(QosKind::SwitchToSwitch, true, false), std::tuple(QosKind::Router, true, true),
        std::tuple(QosKind::SwitchPort0, true, true)}) {
    SCOPED_TRACE(static_cast<int>(kind));
    drop(kind, 3);
    EXPECT_EQ(has_path(1, 3), beside);
    EXPECT_EQ(has_path(9, 3), far);
    EXPECT_TRUE(has_path(9, 2));
    w.policy.partitions[0].sl = Sl{3};
    EXPECT_EQ(w.get(w.between(0, 9), kGids).has_value(), far) << "the partition's SL";
    w.policy.partitions[0].sl.reset();
  }
}

TEST(SaPathPolicy, AnSlThatAHostDropsHasNoPathFromItAndNoneBackToIt) {
  PathWorld w(small_tree());
  w.snapshot->dropped_by_hosts = {{w.hosts[0], std::uint16_t{1U << 3}}};
  w.publish();
  w.policy.partitions[0].sl = Sl{3};
  EXPECT_FALSE(w.get(w.between(0, 9), kGids));
  EXPECT_TRUE(w.get(w.between(1, 9), kGids)->reversible);
  EXPECT_FALSE(w.get(w.between(9, 0), kGids)->reversible);
  EXPECT_TRUE(w.get(w.between(0, 0), kGids)) << "which leaves no port";
  w.policy.partitions[0].sl = Sl{2};
  EXPECT_TRUE(w.get(w.between(0, 9), kGids)->reversible);

  Routing routing = *w.snapshot->routing;
  routing.virtual_lanes.levels.set(Sl{2}, Sl{0}, Sl{3});
  w.snapshot->routing = std::make_shared<Routing>(routing);
  w.publish();
  EXPECT_FALSE(w.get(w.between(0, 9), kGids)) << "SL 3 is what the routes have for level 2";
  EXPECT_EQ(w.get(w.between(1, 9), kGids)->sl, Sl{3});
}

TEST(SaPathPolicy, TheRoutesHaveTheLastWordOnTheSl) {
  PathWorld w(small_tree());
  w.policy.partitions[0].sl = Sl{6};
  auto wanted = w.between(0, 15);
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{6}) << "one set of routes for all SLs";
  wanted.sl = Sl{3};
  EXPECT_EQ(w.get(wanted, kGids | kSlBit)->sl, Sl{3}) << "asked for";
  EXPECT_TRUE(w.get(wanted, kGids | kSlBit)->reversible);

  Routing routing = *w.snapshot->routing;
  auto row = ib::tables::SlToVlRow::modulo(2);
  row.vl[3] = 15;
  const auto republish = [&](Routing r) {
    w.snapshot = std::make_shared<Snapshot>(*w.snapshot);
    w.snapshot->routing = std::make_shared<Routing>(std::move(r));
    w.publish();
  };
  // Rows that differ from place to place were proved for the SL of the pair alone.
  routing.virtual_lanes.sl_to_vl = ib::tables::SlToVl(routing.graph, row);
  routing.virtual_lanes.sls = ib::tables::PathSls(Sl{1});
  republish(routing);
  EXPECT_FALSE(w.get(wanted, kGids | kSlBit));
  wanted.sl = Sl{1};
  EXPECT_TRUE(w.get(wanted, kGids | kSlBit));
  EXPECT_FALSE(w.get(wanted, kGids)) << "the partition's SL leads nowhere";
  w.policy.partitions[0].sl.reset();
  EXPECT_EQ(w.get(wanted, kGids)->sl, Sl{1});

  // Where each pair has its own, the policy is overruled and other wishes are not granted.
  const auto leaf = [&](std::size_t i) { return w.host(i).leaf; };
  routing.virtual_lanes.sls = ib::tables::PathSls(routing.graph.switch_count(), Sl{0});
  routing.virtual_lanes.sls.set(leaf(0), leaf(15), Sl{4});
  republish(routing);
  w.policy.partitions[0].sl = Sl{6};
  EXPECT_EQ(w.get(w.between(0, 15), kGids)->sl, Sl{4});
  EXPECT_EQ(w.get(w.between(15, 0), kGids)->sl, Sl{4});
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->sl, Sl{0});
  wanted.sl = Sl{6};
  EXPECT_FALSE(w.get(wanted, kGids | kSlBit));

  // Unless levels have SLs of their own there.
  auto& levels = routing.virtual_lanes.levels;
  for (const std::uint8_t routed : {std::uint8_t{0}, std::uint8_t{4}}) {
    levels.set(Sl{0}, Sl{routed}, Sl{routed});
    levels.set(Sl{6}, Sl{routed}, Sl{static_cast<std::uint8_t>(routed + 6)});
  }
  republish(routing);
  EXPECT_EQ(w.get(w.between(0, 15), kGids)->sl, Sl{10});
  EXPECT_EQ(w.get(w.between(15, 0), kGids)->sl, Sl{10}) << "the pair's layer is the same";
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->sl, Sl{6});
  wanted = w.between(0, 15);
  for (const std::uint8_t sl : {std::uint8_t{4}, std::uint8_t{10}}) {
    wanted.sl = Sl{sl};
    EXPECT_EQ(w.get(wanted, kGids | kSlBit)->sl, Sl{sl}) << "proved, so all may have it";
  }
  wanted.sl = Sl{6};
  EXPECT_FALSE(w.get(wanted, kGids | kSlBit)) << "another layer's";
  w.policy.partitions[0].sl = Sl{9};
  EXPECT_FALSE(w.get(w.between(0, 15), kGids)) << "dropped";
}

// ---- alias GUIDs

TEST(SaPathAliases, StandForTheirPort) {
  PathWorld w(small_tree());
  const Guid alias{0x1234567800000001}, other{0x1234567800000002};
  store::Batch batch;
  batch.aliases.push_back({w.host(5).guid, 1, alias});
  batch.aliases.push_back({w.host(5).guid, 9, other});
  w.state.apply(batch);

  auto wanted = w.between(0, 5);
  wanted.dgid = Gid::from(ib::kDefaultSubnetPrefix, alias);
  const auto path = w.get(wanted, kGids);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->dgid, wanted.dgid) << "answered as it was asked";
  EXPECT_EQ(path->dlid, w.host(5).lid);
  EXPECT_THAT(w.table(wanted, kGids), SizeIs(1));
  wanted.dlid = w.host(6).lid;
  EXPECT_EQ(w.refusal(wanted, kGids | bit(path_bit::kDlid)), status::kSaReqInvalid);

  // A port that is named by LID is meant with all its GUIDs.
  std::vector<Gid> gids;
  for (const auto& p : w.table(w.between(0, 5), kLids)) gids.push_back(p.dgid);
  EXPECT_THAT(gids, ElementsAre(w.gid(5), Gid::from(ib::kDefaultSubnetPrefix, alias),
                                Gid::from(ib::kDefaultSubnetPrefix, other)));
  EXPECT_EQ(w.get(w.between(5, 0), kLids)->sgid, w.gid(5)) << "a Get: its own first";
  PathRecord from;
  from.slid = w.host(0).lid;
  EXPECT_THAT(w.table(from, bit(path_bit::kSlid)), SizeIs(22 + 2));

  // A table that has begun goes on with the aliases there are when it comes to them.
  auto opened = open_path_query(w.world(), w.query(w.between(0, 5), kLids, false));
  store::Batch gone;
  gone.aliases.push_back({w.host(5).guid, 1, Guid{}});
  w.state.apply(gone);
  EXPECT_THAT(PathWorld::records(*std::get<std::unique_ptr<RecordSource>>(opened)), SizeIs(2));
  EXPECT_THAT(w.table(w.between(0, 5), kLids), SizeIs(2));
}

// ---- other subnets

constexpr std::uint64_t kFarPrefix = 0xFEC0000000000007;

/// small_tree() with hosts 12 and 13 as routers.
Fabric with_routers() {
  Fabric fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  for (const std::size_t i : {12U, 13U})
    fabric.node(hosts[i].node).type = ib::wire::NodeType::Router;
  return fabric;
}

TEST(SaPathRouters, TakeWhatIsForAnotherSubnet) {
  PathWorld w(with_routers());
  const auto& fabric = w.snapshot->fabric();
  std::vector<const EndPort*> routers;
  for (const auto i : w.paths->routers()) routers.push_back(&w.paths->end_ports()[i]);
  ASSERT_THAT(routers, SizeIs(2));

  auto wanted = w.between(0, 1);
  wanted.dgid = Gid::from(kFarPrefix, Guid{0xABCDEF});
  EXPECT_EQ(w.refusal(wanted, kGids), status::kSaInvalidGid) << "no route leads there";

  w.policy.prefix_routes = {
      {kFarPrefix + 1, {}}, {kFarPrefix, Guid{0x999}}, {kFarPrefix, routers[1]->guid}, {{}, {}}};
  w.policy.router_paths = {0x12345, 0x21, Sl{3}, 4, 7};
  const auto path = w.get(wanted, kGids);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->dlid, routers[1]->lid) << "the first line whose router is there";
  EXPECT_EQ(path->dgid, wanted.dgid);
  EXPECT_EQ(path->hop_limit, 0xFF);
  EXPECT_EQ(path->flow_label, 0x12345U);
  EXPECT_EQ(path->traffic_class, 0x21);
  EXPECT_EQ(path->sl, Sl{3});
  EXPECT_EQ(path->mtu, 4);
  EXPECT_EQ(path->rate, 7);
  EXPECT_TRUE(path->reversible);
  wanted.dlid = routers[1]->lid;
  EXPECT_TRUE(w.get(wanted, kGids | bit(path_bit::kDlid)));
  wanted.dlid = w.host(2).lid;
  EXPECT_EQ(w.refusal(wanted, kGids | bit(path_bit::kDlid)), status::kSaInvalidGid)
      << "no router has that LID";

  // A line for any router takes the first, and a router that is not reached is passed over.
  wanted.dgid = Gid::from(kFarPrefix + 2, Guid{1});
  EXPECT_EQ(w.get(wanted, kGids)->dlid, routers[0]->lid);
  Routing routing = *w.snapshot->routing;
  routing.lfts.set(w.host(0).leaf, routers[0]->lid, ib::tables::kNoPort);
  const Lid second = routers[1]->lid;
  w.snapshot = std::make_shared<Snapshot>(*w.snapshot);
  w.snapshot->routing = std::make_shared<Routing>(routing);
  w.publish();
  EXPECT_EQ(w.get(wanted, kGids)->dlid, second);

  // A source in another subnet is none of ours; a path within the subnet has no hop limit.
  auto back = w.between(0, 1);
  back.sgid = wanted.dgid;
  EXPECT_EQ(w.refusal(back, kGids), status::kSaInvalidGid);
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->hop_limit, 0);
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->flow_label, 0U);
  EXPECT_EQ(fabric.node(w.hosts[0].node).type, ib::wire::NodeType::ChannelAdapter);
}

TEST(SaPathRouters, RouteFile) {
  std::vector<ib::Diagnostic> problems;
  const auto routes = read_prefix_routes(
      "# campus\n\nfec0000000000007 0x0002c90300001234 # there\n* *\r\n\t0x1 *\n", "routes",
      problems);
  ASSERT_THAT(problems, IsEmpty());
  ASSERT_THAT(routes, SizeIs(3));
  EXPECT_EQ(routes[0].prefix, kFarPrefix);
  EXPECT_EQ(routes[0].router, Guid{0x0002c90300001234});
  EXPECT_FALSE(routes[1].prefix);
  EXPECT_FALSE(routes[1].router);
  EXPECT_EQ(routes[2].prefix, 1U);
  EXPECT_THAT(read_prefix_routes("", "f", problems), IsEmpty());
}

TEST(SaPathRouters, ABadLineOfTheRouteFileIsNamed) {
  const std::vector<std::pair<std::string, int>> lines{
      {"*", 2},    {"1 2 3", 5},  {"x 1", 1},  {"1 g", 3},  {"1 -1", 3},
      {"0x 1", 1}, {"\x01 *", 1}, {"** *", 1}, {"1 0x", 3}, {"11111111111111111 1", 1}};
  for (const auto& [line, column] : lines) {
    std::vector<ib::Diagnostic> problems;
    EXPECT_THAT(read_prefix_routes("* *\n\n" + line + "\n2 2\n", "routes", problems), SizeIs(2));
    ASSERT_THAT(problems, SizeIs(1)) << line;
    EXPECT_EQ(
        to_string(problems[0]),
        "routes:3:" + std::to_string(column) +
            ": error: expected a subnet prefix and a router's port GUID, each in hex or * for "
            "any, got '" +
            ib::printable(line) + "'");
  }
}

// ---- limits

TEST(SaPathLimits, ATableOfEverythingIsForTheTrusted) {
  PathWorld w(small_tree());  // 22 end ports: 484 paths
  EXPECT_EQ(w.refusal({}, 0, false), 0);
  w.policy.untrusted_records_max = 484;
  EXPECT_THAT(w.table({}, 0), SizeIs(484));
  w.policy.untrusted_records_max = 483;
  EXPECT_EQ(w.refusal({}, 0, false), 0x0003);
  PathRecord wanted = w.between(0, 1);
  wanted.numb_path = 1;
  EXPECT_EQ(w.refusal(wanted, bit(path_bit::kNumbPath) | bit(path_bit::kReversible), false), 3);
  for (const unsigned end : {path_bit::kSgid, path_bit::kDgid, path_bit::kSlid, path_bit::kDlid})
    EXPECT_EQ(w.refusal(wanted, bit(end), false), 0) << "an end is named";
  EXPECT_EQ(w.refusal({}, 0, true), 0) << "a Get has one record";
  w.trusted = true;
  EXPECT_THAT(w.table({}, 0), SizeIs(484));
}

TEST(SaPathLimits, RawTrafficIsRefused) {
  PathWorld w(small_tree());
  auto wanted = w.between(0, 1);
  EXPECT_TRUE(w.get(wanted, kGids | bit(path_bit::kRawTraffic))) << "asks for none";
  wanted.raw_traffic = true;
  EXPECT_TRUE(w.get(wanted, kGids)) << "not in the mask";
  EXPECT_EQ(w.refusal(wanted, kGids | bit(path_bit::kRawTraffic)), status::kSaReqInvalid);
}

TEST(SaPathLimits, NoHigherRateCodeThanTheOperatorAllows) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (const PortRef end : {hosts[i], fabric.port(hosts[i]).peer}) {
      fabric.port(end).speed = ib::wire::LinkSpeed::Edr;
      fabric.port(end).width = ib::wire::LinkWidth::W4x;
    }
  PathWorld w(std::move(fabric));
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->rate, 16) << "100 Gb/s";
  w.policy.rate_code_max = 10;
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->rate, 10) << "12x QDR carries 96 Gb/s of data";
}

TEST(SaPathLimits, PathsOfATavorHave1024BytesWhereNoMoreIsAskedFor) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  fabric.node(hosts[1].node).device_id = 23108;
  fabric.node(hosts[1].node).vendor_id = 0x0005AD;  // as Topspin sold it
  fabric.node(hosts[2].node).device_id = 23108;
  fabric.node(hosts[2].node).vendor_id = 0x001175;  // somebody else's
  PathWorld w(std::move(fabric));
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->mtu, 5) << "without the option";
  w.policy.limits_tavor_mtu = true;
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->mtu, 3);
  EXPECT_EQ(w.get(w.between(1, 0), kGids)->mtu, 3);
  EXPECT_EQ(w.get(w.between(0, 2), kGids)->mtu, 5);
  constexpr std::uint64_t kMtu = bit(path_bit::kMtuSelector) | bit(path_bit::kMtu);
  const struct {
    Selector selector;
    std::uint8_t asked, granted;
  } cases[] = {{Selector::Largest, 1, 5},     {Selector::Exactly, 4, 4},
               {Selector::Exactly, 2, 2},     {Selector::GreaterThan, 3, 5},
               {Selector::GreaterThan, 2, 3}, {Selector::LessThan, 5, 3}};
  for (const auto& c : cases) {
    auto wanted = w.between(0, 1);
    wanted.mtu_selector = c.selector;
    wanted.mtu = c.asked;
    EXPECT_EQ(w.get(wanted, kGids | kMtu)->mtu, c.granted)
        << static_cast<int>(c.selector) << ' ' << int{c.asked};
  }
}

TEST(SaPathLimits, AHostIsToldRatesThatItKnows) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    for (const PortRef end : {hosts[i], fabric.port(hosts[i]).peer}) {
      fabric.port(end).speed = ib::wire::LinkSpeed::Hdr;
      fabric.port(end).width = ib::wire::LinkWidth::W1x;
    }
  PathWorld w(std::move(fabric));
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->rate, 8) << "60 for 50 Gb/s: the next slower old code";
  auto observed = std::make_shared<ib::discover::Observed>(*w.snapshot->observed);
  for (const std::size_t i : {0U, 1U}) {
    auto fields = fields_of(observed->port(hosts[i]));
    fields.set<&ib::wire::PortInfo::capability_mask>(
        fields.get<&ib::wire::PortInfo::capability_mask>() | ib::wire::port_cap::kCapabilityMask2);
    fields.set<&ib::wire::PortInfo::capability_mask2>(ib::wire::port_cap2::kHdr);
  }
  w.snapshot = std::make_shared<Snapshot>(*w.snapshot);
  w.snapshot->observed = observed;
  w.publish();
  EXPECT_EQ(w.get(w.between(0, 1), kGids)->rate, 20);
  EXPECT_EQ(w.get(w.between(0, 2), kGids)->rate, 8) << "the answer comes back from an old host";
}

/// Random requests: an answer or a refusal, and no record that a component of it rules out.
TEST(SaPathLimits, EndlessNonsenseIsSurvived) {
  PathWorld w(with_routers());
  divide(w);
  w.policy.prefix_routes = {{{}, {}}};
  store::Batch batch;
  batch.aliases.push_back({w.host(7).guid, 3, Guid{77}});
  w.state.apply(batch);
  std::mt19937_64 random(7);
  std::size_t answered = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto wanted = w.between(random() % 14, random() % 14);
    std::byte bytes[64];
    ib::wire::encode(wanted, bytes);
    for (auto n = random() % 8; n > 0; --n) bytes[random() % 64] = static_cast<std::byte>(random());
    wanted = ib::wire::decode<PathRecord>(bytes);
    const std::uint64_t mask = random() & random() & random();
    w.requester = random() % 20;
    auto opened = open_path_query(w.world(), w.query(wanted, mask, random() % 2 == 0));
    const auto* source = std::get_if<std::unique_ptr<RecordSource>>(&opened);
    if (source == nullptr) continue;
    for (const auto& p : PathWorld::records(**source, 40)) {
      ++answered;
      const auto says = [&](unsigned n) { return has_bit(mask, n); };
      EXPECT_TRUE(!says(path_bit::kSlid) || p.slid == wanted.slid);
      EXPECT_TRUE(!says(path_bit::kDlid) || p.dlid == wanted.dlid);
      EXPECT_TRUE(!says(path_bit::kSgid) || p.sgid == wanted.sgid);
      EXPECT_TRUE(!says(path_bit::kDgid) || p.dgid == wanted.dgid);
      EXPECT_TRUE(!says(path_bit::kSl) || p.sl == wanted.sl);
      EXPECT_TRUE(!says(path_bit::kPKey) || p.p_key == wanted.p_key);
      EXPECT_TRUE(!says(path_bit::kReversible) || !wanted.reversible || p.reversible);
      EXPECT_NE(p.p_key.base(), 0);
      EXPECT_FALSE(p.raw_traffic);
      EXPECT_EQ(p.mtu_selector, Selector::Exactly);
      EXPECT_TRUE(p.mtu >= 1 && p.mtu <= 5);
      EXPECT_GT(ib::wire::rate_gbps(p.rate), 0);
    }
  }
  EXPECT_GT(answered, 5000U);
}

}  // namespace
}  // namespace sm::sa::test
