// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// make_plan(): a topology and options in, what every device should hold out.
#include <gmock/gmock.h>

#include <map>

#include "sm/plan/plan.h"
#include "tests/unit/sm/plan/small_subnet.h"

namespace sm::plan {
namespace {

using namespace sm::test;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

PlanRequest request_for(std::shared_ptr<const Observed> seen, PlanOptions options = {}) {
  PlanRequest request;
  request.observed = std::move(seen);
  request.options = std::move(options);
  return request;
}

Desired plan_of(PlanRequest request) {
  auto planned = make_plan(std::move(request));
  EXPECT_TRUE(planned.desired.has_value())
      << (planned.desired ? "" : planned.desired.error().message);
  return planned.desired ? *std::move(planned.desired) : Desired{};
}

std::map<std::uint64_t, std::uint16_t> lids_of(const Desired& desired) {
  std::map<std::uint64_t, std::uint16_t> lids;
  for (const auto& a : desired.lids) lids[a.guid.value] = a.lid.value;
  return lids;
}

const PortWant& want_of(const Desired& desired, const Observed& seen, PortRef at) {
  return desired.ports[seen.port_index(at)];
}

TEST(MakePlan, EveryEndPortGetsALidTheSubnetManagersFirst) {
  const auto seen = cold_subnet();
  const auto desired = plan_of(request_for(seen));
  const auto lids = lids_of(desired);
  EXPECT_THAT(lids, SizeIs(6)) << "four hosts and two switches";
  EXPECT_EQ(lids.at(0x31), 1);
  EXPECT_EQ(desired.sm_lid, Lid{1});
  std::set<std::uint16_t> all;
  for (const auto& [guid, lid] : lids) all.insert(lid);
  EXPECT_THAT(all, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(desired.alarms, IsEmpty());
  EXPECT_THAT(desired.unmanaged, IsEmpty());
}

TEST(MakePlan, EveryLidIsReachedFromEverySwitch) {
  const auto seen = cold_subnet();
  const auto desired = plan_of(request_for(seen));
  EXPECT_TRUE(desired.program_lfts);
  EXPECT_TRUE(desired.verdict.must_ok());
  const auto& routing = *desired.routing;
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s)
    for (const auto& a : desired.lids)
      EXPECT_NE(routing.lfts.at(s, a.lid), ib::tables::kNoPort) << s << " " << a.lid.value;
  EXPECT_EQ(desired.switches.front().linear_fdb_top, 6);
}

TEST(MakePlan, ANodeThatTheOperatorListsIsReachedAndCountsAsNoHost) {
  const auto seen = cold_subnet();
  PlanOptions options;
  options.choice.engine.no_hosts.entries = {{Guid{0x30}, 1, {}, {}}, {Guid{0x51}, 2, {}, {}}};
  const auto desired = plan_of(request_for(seen, options));
  const auto& routing = *desired.routing;
  std::size_t hosts = 0;
  for (const auto& d : routing.graph.destinations()) {
    hosts += d.is_host ? 1 : 0;
    for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s)
      EXPECT_NE(routing.lfts.at(s, d.lid), ib::tables::kNoPort);
  }
  EXPECT_EQ(hosts, 2U) << "H2 and H4; H1 is listed by its node GUID, H3 by that of its port";
  EXPECT_THAT(routing.graph.attached(), Each(1U));
}

TEST(MakePlan, ALinkHasTheLeastThatItsEndsCanDo) {
  const auto seen = cold_subnet();
  change_port(*seen, port_of(*seen, 0x50), [](PortInfo& info) {
    info.mtu_cap = 4;
    info.vl_cap = 2;
  });
  PlanOptions options;
  options.operational_vls_max = 3;
  const auto desired = plan_of(request_for(seen, options));
  for (const PortRef end : {port_of(*seen, 0x50), port_of(*seen, 0x20, 3)}) {
    EXPECT_EQ(want_of(desired, *seen, end).neighbor_mtu, 4);
    EXPECT_EQ(want_of(desired, *seen, end).operational_vls, 2);
  }
  const PortWant& other = want_of(desired, *seen, port_of(*seen, 0x20, 4));
  EXPECT_EQ(other.neighbor_mtu, 5);
  EXPECT_EQ(other.operational_vls, 3) << "the option's";
  EXPECT_TRUE(other.activate);
  EXPECT_FALSE(other.restart) << "it is not in use yet";
}

TEST(MakePlan, ALinkInUseThatMustChangeIsTakenDown) {
  const auto seen = cold_subnet();
  const PortRef host = port_of(*seen, 0x50), leaf = port_of(*seen, 0x20, 3);
  for (const PortRef end : {host, leaf})
    change_port(*seen, end, [](PortInfo& info) {
      info.port_state = PortState::Active;
      info.neighbor_mtu = 4;
      info.operational_vls = 3;
    });
  const auto desired = plan_of(request_for(seen));
  EXPECT_TRUE(want_of(desired, *seen, host).restart);
  EXPECT_TRUE(want_of(desired, *seen, leaf).restart);
  EXPECT_FALSE(want_of(desired, *seen, port_of(*seen, 0x20, 4)).restart);
}

TEST(MakePlan, WhoIsQuarantinedOrBehindOneIsLeftAlone) {
  const auto seen = cold_subnet();
  seen->nodes[node_of(*seen, 0x20)].usable = false;
  const auto desired = plan_of(request_for(seen));
  ASSERT_THAT(desired.unmanaged, SizeIs(3)) << "S2, H3 and H4";
  for (const Unmanaged& u : desired.unmanaged)
    EXPECT_THAT(u.reason, seen->fabric.node(u.node).is_switch()
                              ? HasSubstr("incomplete or wrong")
                              : HasSubstr("through a node that is not managed"));
  EXPECT_THAT(lids_of(desired), SizeIs(3));
  for (const std::uint8_t port : {std::uint8_t{3}, std::uint8_t{4}})
    EXPECT_FALSE(want_of(desired, *seen, port_of(*seen, 0x10, port)).managed) << int{port};
  EXPECT_FALSE(want_of(desired, *seen, port_of(*seen, 0x50)).managed);
}

// Two CAs with a port in each of two pieces; the subnet manager is on one of them.
constexpr std::string_view kTwoPieces = R"(switchguid=0x10(10)
Switch	4 "S-0000000000000010"		# "S1" base port 0 lid 0 lmc 0
[1]	"H-0000000000000030"[1](31) 		# "H1" lid 0 4xEDR
[2]	"H-0000000000000040"[1](41) 		# "H2" lid 0 4xEDR

switchguid=0x20(20)
Switch	4 "S-0000000000000020"		# "S2" base port 0 lid 0 lmc 0
[1]	"H-0000000000000030"[2](32) 		# "H1" lid 0 4xEDR
[2]	"H-0000000000000040"[2](42) 		# "H2" lid 0 4xEDR

caguid=0x30
Ca	2 "H-0000000000000030"		# "H1"
[1](31) 	"S-0000000000000010"[1]		# lid 0 lmc 0 "S1" lid 0 4xEDR
[2](32) 	"S-0000000000000020"[1]		# lid 0 lmc 0 "S2" lid 0 4xEDR

caguid=0x40
Ca	2 "H-0000000000000040"		# "H2"
[1](41) 	"S-0000000000000010"[2]		# lid 0 lmc 0 "S1" lid 0 4xEDR
[2](42) 	"S-0000000000000020"[2]		# lid 0 lmc 0 "S2" lid 0 4xEDR
)";

TEST(MakePlan, APortThatHangsInAnotherPieceGetsNoLid) {
  const auto lids = lids_of(plan_of(request_for(cold_subnet(kTwoPieces))));
  std::vector<std::uint64_t> ports;
  ports.reserve(lids.size());
  for (const auto& [guid, lid] : lids) ports.push_back(guid);
  EXPECT_EQ(ports, (std::vector<std::uint64_t>{0x10, 0x31, 0x41}));
}

TEST(MakePlan, LidsOfTheStoreStand) {
  const auto seen = cold_subnet();
  auto stored = std::make_shared<ib::route::StoredLids>();
  (*stored)[Guid{0x51}] = {Lid{40}, 0};
  const auto planned = [&] {
    auto request = request_for(seen);
    request.stored = stored;
    return lids_of(plan_of(std::move(request)));
  };
  EXPECT_EQ(planned().at(0x51), 40);

  // Two hosts in use say the same LID; the store says whose it is.
  for (const std::uint64_t node : {0x50U, 0x60U})
    change_port(*seen, port_of(*seen, node), [](PortInfo& info) {
      info.port_state = PortState::Active;
      info.lid = Lid{40};
    });
  EXPECT_EQ(planned().at(0x51), 40);
  EXPECT_NE(planned().at(0x61), 40);
}

TEST(MakePlan, WhoIsNotManagedKeepsItsLidToItself) {
  const auto seen = cold_subnet();
  const auto hold = [&](PortRef at, std::uint16_t lid) {
    change_port(*seen, at, [&](PortInfo& info) {
      info.lid = Lid{lid};
      info.port_state = PortState::Active;
    });
  };
  hold(port_of(*seen, 0x20, 0), 1);
  hold(port_of(*seen, 0x50), 3);
  seen->nodes[node_of(*seen, 0x20)].usable = false;
  const auto lids = lids_of(plan_of(request_for(seen)));
  EXPECT_THAT(lids, ::testing::UnorderedElementsAre(Pair(0x10, 4), Pair(0x31, 2), Pair(0x41, 5)));
}

TEST(MakePlan, LmcGivesHostsSeveralLidsAndBaseSwitchesOne) {
  PlanOptions options;
  options.lmc = 2;
  const auto seen = cold_subnet();
  const auto desired = plan_of(request_for(seen, options));
  for (const auto& a : desired.lids) {
    const bool is_switch = seen->fabric.node(a.port.node).is_switch();
    EXPECT_EQ(a.lmc, is_switch ? 0 : 2) << a.guid.value;
    if (!is_switch) {
      EXPECT_EQ(a.lid.value % 4, 0) << a.lid.value;
    }
  }
}

TEST(MakePlan, WithoutALocalPortThereIsNothingToManage) {
  const auto seen = cold_subnet();
  change_port(*seen, seen->local_port, [](PortInfo& info) { info.port_state = PortState::Down; });
  auto planned = make_plan(request_for(seen));
  ASSERT_FALSE(planned.desired.has_value());
  EXPECT_THAT(planned.desired.error().message, HasSubstr("the local port is down"));
}

TEST(MakePlan, TheSameInputGivesTheSamePlanAndIsNotChanged) {
  const auto seen = cold_subnet();
  const Observed before = *seen;
  const auto first = plan_of(request_for(seen)), second = plan_of(request_for(seen));
  EXPECT_EQ(lids_of(first), lids_of(second));
  EXPECT_EQ(first.ports, second.ports);
  EXPECT_EQ(first.routing->lfts, second.routing->lfts);
  for (std::size_t i = 0; i < before.ports.size(); ++i)
    EXPECT_EQ(before.ports[i].bytes, seen->ports[i].bytes) << i;
}

TEST(MakePlan, RoutesFollowACableThatGoes) {
  const auto seen = cold_subnet();
  auto first = make_plan(request_for(seen));
  ASSERT_TRUE(first.desired.has_value());

  auto less = std::make_shared<Observed>(*seen);
  for (const PortRef end : {port_of(*less, 0x10, 4), port_of(*less, 0x20, 2)}) {
    less->fabric.disconnect(end);
    change_port(*less, end, [](PortInfo& info) { info.port_state = PortState::Down; });
  }
  less->fabric.reindex();
  auto request = request_for(less);
  request.before = seen;
  request.previous = first.desired->routing;
  request.reroute = std::move(first.reroute);
  // Every port keeps its LID.
  auto stored = std::make_shared<ib::route::StoredLids>();
  for (const auto& a : first.desired->lids) (*stored)[a.guid] = {a.lid, a.lmc};
  request.stored = stored;

  const auto second = plan_of(std::move(request));
  EXPECT_TRUE(second.routing->followed);
  EXPECT_EQ(lids_of(second), lids_of(*first.desired));
  EXPECT_TRUE(second.verdict.must_ok());
  const auto& routing = *second.routing;
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const auto gone = routing.graph.guid(s) == Guid{0x10} ? 4 : 2;
    for (const auto& a : second.lids)
      EXPECT_NE(routing.lfts.at(s, a.lid), gone) << s << " " << a.lid.value;
  }
}

TEST(MakePlan, WhoWasAwayOrDidNotHearRegistersAgain) {
  const auto seen = cold_subnet();
  for (NodeIndex n = 0; n < seen->nodes.size(); ++n)
    if (!seen->fabric.node(n).is_switch())
      change_port(*seen, {n, 1}, [](PortInfo& info) {
        info.port_state = PortState::Active;
        info.capability_mask |= ib::wire::port_cap::kClientReregistration;
      });
  bool may_reregister = true, lost = false;
  std::set<Guid> reregister_pending;
  const auto asked = [&] {
    auto request = request_for(seen);
    request.before = seen;
    request.reregister_pending = reregister_pending;
    request.sa_state_lost = lost;
    request.options.reregister = may_reregister;
    const auto desired = plan_of(std::move(request));
    std::set<std::uint64_t> guids;
    for (const auto& a : desired.lids)
      if (want_of(desired, *seen, a.port).reregister) guids.insert(a.guid.value);
    return guids;
  };
  EXPECT_THAT(asked(), IsEmpty());
  reregister_pending = {Guid{0x61}};
  EXPECT_THAT(asked(), ElementsAre(0x61));
  lost = true;
  EXPECT_THAT(asked(), ElementsAre(0x31, 0x41, 0x51, 0x61));
  may_reregister = false;
  EXPECT_THAT(asked(), IsEmpty()) << "the operator's word";
}

TEST(MakePlan, WhoIsInDoubtOrWasAnothersByOurLidRegistersAgain) {
  const auto seen = cold_subnet();
  for (NodeIndex n = 0; n < seen->nodes.size(); ++n)
    if (!seen->fabric.node(n).is_switch())
      change_port(*seen, {n, 1}, [is_new = seen->fabric.port(n, 1).guid == Guid{0x61}](auto& info) {
        info.port_state = is_new ? PortState::Initialize : PortState::Active;
        info.capability_mask |= ib::wire::port_cap::kClientReregistration;
        info.master_sm_lid = Lid{1};
      });
  bool was_cut_off = false;
  const auto asked = [&](std::set<Lid> others, std::set<Guid> in_doubt, bool was_seen) {
    auto request = request_for(seen);
    request.was_cut_off = was_cut_off;
    request.lids_of_other_masters = std::move(others);
    request.in_doubt = std::move(in_doubt);
    if (was_seen) request.before = seen;
    const auto desired = plan_of(std::move(request));
    EXPECT_EQ(desired.sm_lid, Lid{1});
    std::set<std::uint64_t> guids;
    for (const auto& a : desired.lids)
      if (want_of(desired, *seen, a.port).reregister) guids.insert(a.guid.value);
    return guids;
  };
  EXPECT_THAT(asked({Lid{2}}, {}, false), IsEmpty());
  EXPECT_THAT(asked({Lid{1}}, {}, false), ElementsAre(0x31, 0x41, 0x51)) << "those in use";
  EXPECT_THAT(asked({Lid{1}}, {}, true), IsEmpty()) << "they were ours before that";
  was_cut_off = true;
  EXPECT_THAT(asked({Lid{1}}, {}, true), ElementsAre(0x31, 0x41, 0x51)) << "as far as is known";
  EXPECT_THAT(asked({}, {Guid{0x51}, Guid{0x61}}, true), ElementsAre(0x51, 0x61));
}

}  // namespace
}  // namespace sm::plan
