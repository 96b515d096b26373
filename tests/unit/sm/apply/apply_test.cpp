// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Apply: a plan and what devices hold in, Sets of the slots that differ out; and what comes of it
// when devices refuse, are silent, or say that they hold something else.
#include "sm/apply/apply.h"

#include <gmock/gmock.h>

#include "sm/plan/plan.h"
#include "tests/unit/sm/apply/devices.h"

namespace sm::apply {
namespace {

using namespace sm::test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;

constexpr std::uint16_t kBadValue = 0x001C;

/// The small subnet, its devices and a plan for it.
struct Scene {
  explicit Scene(plan::PlanOptions plan_options = {}) : options(std::move(plan_options)) {
    replan();
  }

  /// As a sweep now finds it.
  void replan() {
    plan::PlanRequest request;
    request.observed = std::make_shared<const Observed>(*seen);
    request.options = options;
    request.held = known.inventory.publish();
    auto stored = std::make_shared<ib::route::StoredLids>();
    if (desired)
      for (const auto& a : desired->lids) (*stored)[a.guid] = {a.lid, a.lmc};
    request.stored = stored;
    auto planned = plan::make_plan(std::move(request));
    ASSERT_TRUE(planned.desired.has_value()) << planned.desired.error().message;
    desired = std::make_shared<const plan::Desired>(*std::move(planned.desired));
  }

  std::vector<Asked> run(const Faults& faults = {}, ApplyOptions with = {}) {
    Apply apply(desired, *seen, known, std::move(with));
    auto asked = devices.run(apply, faults);
    failures = apply.failures();
    differences = apply.differences();
    return asked;
  }
  std::vector<Asked> run_sets(const Faults& faults = {}) {
    auto asked = run(faults);
    std::erase_if(asked, [](const Asked& a) { return a.method != Method::Set; });
    return asked;
  }
  /// All links of the switch do.
  void wait_in_init(std::uint64_t node) {
    for (std::uint8_t port = 1; port <= 4; ++port)
      change_port(*seen, port_of(*seen, node, port),
                  [](PortInfo& info) { info.port_state = PortState::Initialize; });
  }
  PortState state(std::uint64_t node, std::uint8_t port = 1) const {
    return seen->port(port_of(*seen, node, port)).state();
  }

  plan::PlanOptions options;
  std::shared_ptr<Observed> seen{cold_subnet()};
  Known known;
  Devices devices{*seen};
  std::shared_ptr<const plan::Desired> desired;
  std::vector<Failure> failures;
  std::vector<Difference> differences;
};

std::size_t count(const std::vector<Asked>& asked, std::uint16_t attribute) {
  return static_cast<std::size_t>(std::ranges::count(asked, attribute, &Asked::attribute));
}

Faults on(std::uint64_t node, std::uint16_t attribute, const Fault& fault) {
  return [=](const Asked& asked) {
    return asked.node == Guid{node} && asked.is_set(attribute) ? fault : std::nullopt;
  };
}

TEST(Apply, ColdSubnetComesUpAndTheSecondTimeNothingIsSet) {
  Scene scene;
  const auto sets = scene.run_sets();
  EXPECT_THAT(scene.failures, IsEmpty());
  // A block of 64 holds all LIDs of the subnet.
  EXPECT_EQ(count(sets, attr::kLinearForwarding), 2U);
  for (const std::uint64_t host : {0x30U, 0x40U, 0x50U, 0x60U})
    EXPECT_EQ(scene.state(host), PortState::Active) << host;
  for (std::uint8_t port = 1; port <= 4; ++port) {
    EXPECT_EQ(scene.state(0x10, port), PortState::Active) << int{port};
    EXPECT_EQ(scene.state(0x20, port), PortState::Active) << int{port};
  }
  EXPECT_THAT(missing_ports(*scene.desired, *scene.seen, scene.failures), IsEmpty());

  scene.replan();
  EXPECT_THAT(scene.run_sets(), IsEmpty());
}

TEST(Apply, OnlyTheSlotThatDiffersIsSet) {
  Scene scene;
  scene.run();
  // Somebody set H3's subnet timeout, and a sweep found it.
  change_port(*scene.seen, port_of(*scene.seen, 0x50),
              [](PortInfo& info) { info.subnet_timeout = 3; });
  const auto sets = scene.run_sets();
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].node, Guid{0x50});
  EXPECT_TRUE(sets[0].is_set(attr::kPortInfo));
  EXPECT_EQ(sets[0].port_info().subnet_timeout, 18);
  EXPECT_EQ(sets[0].port_info().port_state, PortState::NoChange) << "the link stays as it is";
}

TEST(Apply, TablesAreWrittenBeforeTheTopAndLinksAreArmedBeforeTheyAreActive) {
  Scene scene;
  const auto sets = scene.run_sets();
  std::map<Guid, std::size_t> table, top;
  std::size_t last_armed = 0, first_active = sets.size();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].is_set(attr::kLinearForwarding)) table[sets[i].node] = i;
    if (!sets[i].is_set(attr::kPortInfo)) continue;
    if (sets[i].port_info().port_state == PortState::Armed) last_armed = i;
    if (sets[i].port_info().port_state == PortState::Active)
      first_active = std::min(first_active, i);
  }
  EXPECT_LT(last_armed, first_active);
  for (const auto& [node, at] : table) EXPECT_LT(at, last_armed) << node.value;
  EXPECT_THAT(table, SizeIs(2));
}

TEST(Apply, WhatWasRefusedIsSaidAndStaysADifference) {
  Scene scene;
  scene.run(on(0x20, attr::kLinearForwarding, Status{kBadValue}));
  ASSERT_THAT(scene.failures, SizeIs(1));
  EXPECT_THAT(scene.failures[0].message,
              AllOf(HasSubstr("Set(LinearForwardingTable)"), HasSubstr("S2"), HasSubstr("block 0"),
                    HasSubstr("status 0x001c")));
  EXPECT_FALSE(scene.failures[0].timed_out);
  const auto again = scene.run_sets();
  EXPECT_EQ(count(again, attr::kLinearForwarding), 1U);
  EXPECT_THAT(again, Each(testing::Field(&Asked::node, Guid{0x20})));
  EXPECT_THAT(scene.failures, IsEmpty());
}

TEST(Apply, WhoIsSilentIsAskedNothingMoreAndHoldsUpNobody) {
  Scene scene;
  const auto asked = scene.run([](const Asked& a) -> Fault {
    return a.node == Guid{0x50} ? Fault(Silence{}) : std::nullopt;
  });
  EXPECT_EQ(std::ranges::count(asked, Guid{0x50}, &Asked::node), 1);
  ASSERT_THAT(scene.failures, SizeIs(1));
  EXPECT_TRUE(scene.failures[0].timed_out);
  EXPECT_EQ(scene.failures[0].node, node_of(*scene.seen, 0x50));
  EXPECT_EQ(scene.state(0x60), PortState::Active);
  EXPECT_NE(scene.state(0x20, 3), PortState::Active) << "its far end was never armed";
  const auto missing = missing_ports(*scene.desired, *scene.seen, scene.failures);
  EXPECT_THAT(missing, Contains(testing::Field(&Missing::port, port_of(*scene.seen, 0x50))));
}

TEST(Apply, ASilentSwitchIsAskedOnceInAllPhases) {
  Scene scene;
  const auto asked = scene.run([](const Asked& a) -> Fault {
    return a.node == Guid{0x20} ? Fault(Silence{}) : std::nullopt;
  });
  EXPECT_EQ(std::ranges::count(asked, Guid{0x20}, &Asked::node), 1) << "its SwitchInfo";
  EXPECT_EQ(scene.state(0x30), PortState::Active) << "what is not behind it comes up";
  EXPECT_NE(scene.state(0x10, 3), PortState::Active);
}

TEST(Apply, AFarEndThatCannotBeArmedIsNotMadeActive) {
  Scene scene;
  const auto sets = scene.run_sets([](const Asked& a) -> Fault {
    return a.node == Guid{0x60} && a.is_set(attr::kPortInfo) &&
                   a.port_info().port_state == PortState::Armed
               ? Fault(Status{kBadValue})
               : std::nullopt;
  });
  for (const Asked& a : sets) {
    if (!a.is_set(attr::kPortInfo) || a.port_info().port_state != PortState::Active) continue;
    EXPECT_FALSE((a.node == Guid{0x20} && a.port() == 4) || a.node == Guid{0x60});
  }
  EXPECT_EQ(scene.state(0x20, 4), PortState::Armed);
  EXPECT_EQ(scene.state(0x50), PortState::Active);
}

TEST(Apply, ATableThatWasAnsweredOtherwiseIsWrittenAgain) {
  Scene scene;
  scene.run(on(0x10, attr::kLinearForwarding,
               Says{[](Mad& answer) { answer.data()[1] = std::byte{0x2A}; }}));
  ASSERT_THAT(scene.failures, SizeIs(1));
  EXPECT_THAT(scene.failures[0].message, HasSubstr("the device holds other entries than were set"));
  const auto again = scene.run_sets();
  ASSERT_THAT(again, SizeIs(1)) << "of the rest everything was taken";
  EXPECT_TRUE(again[0].is_set(attr::kLinearForwarding));
  EXPECT_EQ(again[0].node, Guid{0x10});
}

TEST(Apply, ATopBelowTheOneThatWasSetIsSaidAndSetAgain) {
  Scene scene;
  scene.run([](const Asked& asked) -> Fault {
    if (asked.node != Guid{0x20} || asked.attribute != attr::kSwitchInfo) return std::nullopt;
    return Says{[](Mad& answer) {
      ib::wire::View<ib::wire::SwitchInfo>(answer.data())
          .set<&ib::wire::SwitchInfo::linear_fdb_top>(std::uint16_t{1});
    }};
  });
  ASSERT_THAT(scene.failures, SizeIs(1));
  EXPECT_THAT(scene.failures[0].message, HasSubstr("LinearFDBTop is 1, "));
  const auto again = scene.run_sets();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_TRUE(again[0].is_set(attr::kSwitchInfo));
  EXPECT_EQ(again[0].node, Guid{0x20});
  EXPECT_THAT(scene.failures, IsEmpty());
}

/// H2 and H3 have changed places: S2 sends what is for H2 to S1 still, and S1 is to send it to S2.
TEST(Apply, ASwitchThatWasRebootedGetsNoEntryThatLeadsBackByOldOnesOfOthers) {
  Scene before;
  before.run();
  std::string swapped(kSmallSubnet);
  for (const auto& [from, to] :
       {std::pair{"40\"[1](41)", "@"}, std::pair{"50\"[1](51)", "40\"[1](41)"},
        std::pair{"@", "50\"[1](51)"}})
    swapped.replace(swapped.find(from), std::string_view(from).size(), to);
  const auto end = [&](const char* host) { return swapped.find("Ca", swapped.find(host)); };
  swapped.replace(swapped.find("10\"[2]", end("caguid=0x40")), 6, "20\"[3]");
  swapped.replace(swapped.find("20\"[3]", end("caguid=0x50")), 6, "10\"[2]");
  Scene scene;
  scene.seen = cold_subnet(swapped);
  scene.desired = before.desired;
  scene.replan();
  scene.run();
  before.known.inventory.for_each_forwarding([&](Guid guid, const device::Forwarding& held) {
    scene.known.inventory.own_forwarding(guid) = held;
  });
  scene.seen->nodes[node_of(*scene.seen, 0x10)].switch_info->linear_fdb_top = 0;
  scene.wait_in_init(0x10);

  scene.replan();
  std::map<Guid, std::uint8_t> to_h2{{Guid{0x10}, 255}, {Guid{0x20}, 1}};
  const ib::Lid h2 = scene.seen->port(port_of(*scene.seen, 0x40)).info().lid;
  unsigned changes = 0;
  for (const Asked& set : scene.run_sets()) {
    if (!set.is_set(attr::kLinearForwarding)) continue;
    to_h2[set.node] = ib::wire::body<ib::wire::LinearForwardingTable>(set.mad).port[h2.value];
    ++changes;
    EXPECT_FALSE((to_h2[Guid{0x10}] == 3 || to_h2[Guid{0x10}] == 4) && to_h2[Guid{0x20}] < 3);
  }
  EXPECT_THAT(scene.failures, IsEmpty());
  EXPECT_GT(changes, 1U);
  EXPECT_EQ(to_h2[Guid{0x20}], 3);
  EXPECT_THAT(to_h2[Guid{0x10}], testing::AnyOf(3, 4));
}

/// It was rebooted after a sweep had read it, and then told its entries, with LinearFDBTop 0, by us
/// or by the master before.
TEST(Apply, ASwitchThatSeemsToHaveNoTablesIsReadWhereLinksOfItAreInUse) {
  Scene scene;
  Known of_the_next_master;
  const auto asked_without_top = [&](Known& known) {
    scene.seen->nodes[node_of(*scene.seen, 0x20)].switch_info->linear_fdb_top = 0;
    Apply apply(scene.desired, *scene.seen, known);
    std::vector<Method> asked;
    for (const Asked& a : scene.devices.run(apply))
      if (a.node == Guid{0x20} && a.attribute == attr::kLinearForwarding) asked.push_back(a.method);
    EXPECT_THAT(apply.failures(), IsEmpty());
    return asked;
  };
  scene.run();
  scene.replan();
  EXPECT_THAT(asked_without_top(scene.known), ElementsAre(Method::Get)) << "it has them";
  EXPECT_THAT(asked_without_top(of_the_next_master), ElementsAre(Method::Get)) << "likewise";
  scene.wait_in_init(0x20);
  EXPECT_THAT(asked_without_top(scene.known), ElementsAre(Method::Set)) << "no packet comes there";
}

/// That a port changed it said before, and what it said was cleared after.
TEST(Apply, ASwitchWhoseLinkFellBackSinceTheSweepMayHaveBeenRebooted) {
  Scene scene;
  scene.run();
  scene.seen->nodes[node_of(*scene.seen, 0x20)].switch_info->port_state_change = true;
  Apply apply(scene.desired, *scene.seen, scene.known);
  scene.devices.run(apply, [](const Asked& asked) -> Fault {
    const bool looks = asked.method == Method::Get && asked.attribute == attr::kPortInfo;
    if (asked.node != Guid{0x20} || !looks || asked.port() != 1) return std::nullopt;
    return Says{[](Mad& answer) {
      ib::wire::View<PortInfo>(answer.data()).set<&PortInfo::port_state>(PortState::Initialize);
    }};
  });
  EXPECT_THAT(apply.fell_back(), ElementsAre(node_of(*scene.seen, 0x20)));
  EXPECT_THAT(apply.failures(),
              ElementsAre(testing::Field(&Failure::message, HasSubstr("it changed meanwhile"))));
}

/// Cables may lead elsewhere by then, or to switches that somebody else has programmed.
TEST(Apply, NoTableIsWrittenWhereAPortChangedSinceTheSweep) {
  for (const char* checked : {"devices kept it waiting", "nothing was cleared", ""}) {
    for (const bool changes : {true, false}) {
      SCOPED_TRACE(checked);
      const bool is_late = std::string_view(checked).starts_with("devices");
      const bool is_checked = *checked != 0;
      Scene scene;
      ApplyOptions with;
      with.compares = is_checked && !is_late;
      Apply apply(scene.desired, *scene.seen, scene.known, std::move(with));
      const auto all = scene.devices.run(apply, [&](const Asked& asked) -> Fault {
        if (asked.attribute != attr::kSwitchInfo || asked.node != Guid{0x20}) return std::nullopt;
        if (is_late) scene.devices.now = ib::Instant{600'000'000};
        if (asked.method == Method::Set || !changes) return std::nullopt;
        return Says{[](Mad& answer) {
          ib::wire::View<ib::wire::SwitchInfo>(answer.data())
              .set<&ib::wire::SwitchInfo::port_state_change>(true);
        }};
      });
      EXPECT_EQ(apply.is_outdated(), is_checked && changes);
      EXPECT_EQ(count(all, attr::kLinearForwarding), is_checked && changes ? 0U : 2U);
    }
  }
}

/// The others may have got another master meanwhile, which has cleared what switches said.
TEST(Apply, NoTableIsWrittenWhereOurOwnPortWasCutOffSinceTheSweep) {
  struct Change {
    const char* what;
    std::function<void(PortInfo&)> make;
    bool counts;
  };
  const Change changes[] = {
      {"its link fell back", [](PortInfo& info) { info.port_state = PortState::Initialize; }, true},
      {"it names another one", [](PortInfo& info) { info.master_sm_lid = Lid{77}; }, true},
      {"nothing", [](PortInfo&) {}, false},
  };
  for (const char* checked : {"devices kept it waiting", "the sweep is a while ago", ""}) {
    for (const Change& change : changes) {
      SCOPED_TRACE(checked);
      SCOPED_TRACE(change.what);
      const bool is_late = std::string_view(checked).starts_with("devices");
      const bool is_checked = *checked != 0;
      Scene scene;
      scene.run();
      const PortRef local = scene.seen->local_port;
      const ib::Guid own = scene.seen->fabric.node(local.node).guid;
      ASSERT_FALSE(scene.seen->fabric.node(local.node).is_switch());
      ApplyOptions with;
      with.read_back = true;  // and finds other tables
      with.reads_own_port = is_checked && !is_late;
      Apply apply(scene.desired, *scene.seen, scene.known, std::move(with));
      unsigned tables = 0;
      const auto all = scene.devices.run(apply, [&](const Asked& asked) -> Fault {
        if (asked.method != Method::Get) return std::nullopt;
        if (asked.attribute == attr::kLinearForwarding) {
          if (++tables > 1 && is_late) scene.devices.now = ib::Instant{600'000'000};
          return Says{
              [](Mad& answer) { ib::wire::set_body(answer, ib::wire::LinearForwardingTable{}); }};
        }
        if (asked.node != own || asked.attribute != attr::kPortInfo) return std::nullopt;
        return Says{[&](Mad& answer) {
          auto info = ib::wire::body<PortInfo>(answer);
          change.make(info);
          ib::wire::set_body(answer, info);
        }};
      });
      const bool ends = is_checked && change.counts;
      EXPECT_EQ(apply.is_outdated(), ends);
      EXPECT_EQ(count(all, attr::kSwitchInfo) > 0, is_late);
      EXPECT_EQ(std::ranges::any_of(
                    all, [](const Asked& a) { return a.is_set(attr::kLinearForwarding); }),
                !ends);
      // The next sweep is to find how it is now.
      if (ends) {
        EXPECT_EQ(scene.seen->port(local).state(), PortState::Active);
        EXPECT_NE(scene.seen->port(local).get<&PortInfo::master_sm_lid>(), Lid{77});
      }
    }
  }
}

/// Somebody else programmed it, or cleared what it said, and the first sweep tells nothing of that.
TEST(Apply, NothingIsSetWhereASwitchIsNotAsTheFirstSweepFoundIt) {
  using ib::wire::SwitchInfo;
  struct Change {
    const char* what;
    std::function<void(SwitchInfo&)> make;
    bool counts;
  };
  const Change changes[] = {
      {"another LinearFDBTop", [](SwitchInfo& info) { info.linear_fdb_top = 63; }, true},
      {"what it said was cleared", [](SwitchInfo& info) { info.port_state_change = false; }, true},
      {"nothing", [](SwitchInfo&) {}, false},
  };
  for (const bool is_first : {true, false}) {
    for (const Change& change : changes) {
      SCOPED_TRACE(change.what);
      Scene scene;
      for (auto& node : scene.seen->nodes)
        if (node.switch_info) node.switch_info->port_state_change = true;
      scene.devices = Devices{*scene.seen};
      ApplyOptions with;
      with.compares = is_first;
      Apply apply(scene.desired, *scene.seen, scene.known, std::move(with));
      bool is_set = false;
      const auto all = scene.devices.run(apply, [&](const Asked& asked) -> Fault {
        if (asked.attribute != attr::kSwitchInfo || asked.node != Guid{0x20}) return std::nullopt;
        is_set = is_set || asked.method == Method::Set;
        if (is_set) return std::nullopt;
        return Says{[&](Mad& answer) {
          auto info = ib::wire::body<SwitchInfo>(answer);
          change.make(info);
          ib::wire::set_body(answer, info);
        }};
      });
      EXPECT_EQ(apply.is_outdated(), is_first && change.counts);
      EXPECT_EQ(std::ranges::any_of(all, [](const Asked& a) { return a.method == Method::Set; }),
                !(is_first && change.counts));
    }
  }
}

TEST(Apply, OnceItIsBrokenOffNothingMoreIsAsked) {
  Scene scene;
  Apply apply(scene.desired, *scene.seen, scene.known);
  const auto requests = apply.take_requests();
  ASSERT_FALSE(requests.empty());
  apply.break_off();
  for (const ib::mad::Request& request : requests) {
    EXPECT_FALSE(apply.done());
    EXPECT_THAT(apply.take_requests(), IsEmpty());
    apply.on_completion({},
                        {request.cookie, ib::fail(ib::ErrorKind::TimedOut, "no answer"), {}, 1});
  }
  EXPECT_THAT(apply.take_requests(), IsEmpty());
  EXPECT_TRUE(apply.done());
}

TEST(Apply, APortThatKeepsItsOwnValueIsNotAskedForEver) {
  Scene scene;
  const auto stubborn =
      on(0x50, attr::kPortInfo, Says{[](Mad& answer) {
           ib::wire::View<PortInfo>(answer.data()).set<&PortInfo::subnet_timeout>(7);
         }});
  scene.run(stubborn);
  EXPECT_THAT(scene.run_sets(stubborn), IsEmpty())
      << "it was told, and said that it holds something else";
  EXPECT_EQ(scene.state(0x50), PortState::Active) << "which is no reason to leave the link down";
}

TEST(Apply, BlocksThatADeviceDoesNotTakeAreNamedAsOneTableAndNotSentAgain) {
  plan::PlanOptions options;
  options.qos = true;
  Scene scene(options);
  const auto arbitration =
      on(0x50, attr::kVlArbitration, Says{[](Mad& answer) { answer.data()[1] = std::byte{99}; }});
  const auto sets = scene.run_sets(arbitration);
  const auto asked_h3 = std::ranges::count_if(
      sets, [](const Asked& a) { return a.node == Guid{0x50} && a.is_set(attr::kVlArbitration); });
  ASSERT_GT(asked_h3, 0);
  EXPECT_THAT(scene.failures, IsEmpty());
  const auto refusals = [&] {
    return scene.known.refused.of(*scene.desired, *scene.seen, scene.known.inventory);
  };
  EXPECT_THAT(refusals(),
              ElementsAre(testing::Field(
                  &Refusal::message,
                  AllOf(HasSubstr("H3"), HasSubstr("VLArbitration"), HasSubstr("port 1 block 1: "),
                        HasSubstr("holds another value than was set"),
                        HasSubstr("(and so 1 other block)")))));
  scene.replan();
  const auto again = scene.run_sets(arbitration);
  EXPECT_EQ(count(again, attr::kVlArbitration), 0U)
      << "asked the same again it would answer the same again";
  EXPECT_THAT(refusals(), SizeIs(1));

  scene.known.doubt_ports();
  scene.run();
  EXPECT_THAT(refusals(), IsEmpty()) << "it was asked again, and took them";
}

/// A switch that does not take its SL2VL, and after whose first bring-up something happens.
class RowsRefused : public testing::Test {
 protected:
  static plan::PlanOptions with_qos() {
    plan::PlanOptions options;
    options.qos = true;
    return options;
  }
  void SetUp() override {
    for (NodeIndex n = 0; n < scene.seen->nodes.size(); ++n)
      for (unsigned p = 0; p <= scene.seen->fabric.node(n).num_ports; ++p)
        change_port(*scene.seen, {n, static_cast<std::uint8_t>(p)}, [](PortInfo& info) {
          info.capability_mask |= ib::wire::port_cap::kSlMapping;
          info.vl_cap = 4;
        });
    scene.devices = Devices(*scene.seen);
    scene.replan();
    scene.run(on(0x10, attr::kSlToVl, Status{kBadValue}));
    ASSERT_THAT(refusals(), ElementsAre(testing::Field(&Refusal::holds_it, false)));
    scene.replan();
    ASSERT_EQ(rows_asked(scene.run()), 0U) << "asked the same again it would answer the same again";
  }
  std::vector<Refusal> refusals() const {
    return scene.known.refused.of(*scene.desired, *scene.seen, scene.known.inventory);
  }
  static std::size_t rows_asked(const std::vector<Asked>& asked) {
    return static_cast<std::size_t>(std::ranges::count_if(asked, [](const Asked& a) {
      return a.node == Guid{0x10} && a.attribute == attr::kSlToVl;
    }));
  }

  Scene scene{with_qos()};
};

TEST_F(RowsRefused, AreAskedForAgainWhereAllLinksWaitAndTheLidIsThere) {
  for (std::uint8_t port = 1; port <= 4; ++port)
    change_port(*scene.seen, port_of(*scene.seen, 0x10, port),
                [](PortInfo& info) { info.port_state = PortState::Initialize; });
  scene.devices = Devices(*scene.seen);
  scene.replan();
  EXPECT_GT(rows_asked(scene.run()), 0U) << "nothing is known of what it holds";
  EXPECT_THAT(refusals(), IsEmpty());
}

TEST_F(RowsRefused, AreAskedForAgainWhereAProbeFindsAnotherTable) {
  scene.known.doubtful.insert(Guid{0x10});
  scene.replan();
  const auto asked = scene.run([](const Asked& a) {
    const bool probes =
        a.node == Guid{0x10} && a.method == Method::Get && a.attribute == attr::kVlArbitration;
    return probes ? Fault(Says{[](Mad& answer) { answer.data()[1] = std::byte{99}; }})
                  : std::nullopt;
  });
  EXPECT_GT(rows_asked(asked), 0U) << "nothing is known of what it holds";
  EXPECT_THAT(refusals(), IsEmpty());
}

TEST(Apply, ASetWithoutAnAnswerLeavesTheTableUnknown) {
  Scene scene;
  scene.run(on(0x20, attr::kLinearForwarding, Silence{}));
  EXPECT_FALSE(scene.known.inventory.forwarding(Guid{0x20})->knows_lft_block(0));
  // The sweep after finds it again; what it holds may be what it was told.
  const auto asked = scene.run();
  EXPECT_GE(count(asked, attr::kLinearForwarding), 1U);
  EXPECT_THAT(scene.failures, IsEmpty());
  EXPECT_EQ(scene.state(0x60), PortState::Active);
}

TEST(Apply, NobodyIsAskedWhoIsNotManaged) {
  Scene scene;
  scene.seen->nodes[node_of(*scene.seen, 0x20)].usable = false;
  scene.replan();
  for (const Asked& a : scene.run())
    EXPECT_TRUE(a.node == Guid{0x10} || a.node == Guid{0x30} || a.node == Guid{0x40})
        << a.node.value;
  EXPECT_NE(scene.state(0x10, 3), PortState::Active);
}

TEST(Apply, ARehearsalSendsNoSetAndNamesEverySlot) {
  Scene scene;
  ApplyOptions options;
  options.rehearse = true;
  for (const Asked& a : scene.run({}, options)) EXPECT_EQ(a.method, Method::Get);
  const auto of = [&](std::string_view table) {
    return std::ranges::count(scene.differences, table, &Difference::table);
  };
  EXPECT_EQ(of("LinearForwardingTable"), 2);
  // Ten ends of links and two ports 0 of switches.
  EXPECT_EQ(of("PortInfo"), 14);
}

}  // namespace
}  // namespace sm::apply
