// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Hold-down with back-off and release, what a trap may speak of, and looks at those who sent some.
#include <gtest/gtest.h>

#include "libdiag/fabric/fabric.h"
#include "libdiag/wire/port_attributes.h"
#include "sm/core/trap_look.h"

namespace sm::core {
namespace {

using namespace std::chrono_literals;
using ib::Instant;
using ib::Lid;
using ib::fabric::PortRef;
using Kind = TrapClaim::Kind;
namespace trap = ib::wire::trap;
using Numbers = std::vector<std::uint16_t>;

constexpr HoldDownLimits kLimits{2, 10s, 1s, 4s};

TEST(HoldDown, HoldsAfterTheFreeStrikesOfAWindow) {
  HoldDown hold(kLimits);
  Instant now{1'000'000'000'000};
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(hold.strike(now = now + 6s)) << "two in a window";
  now = now + 20s;
  EXPECT_FALSE(hold.strike(now));
  EXPECT_FALSE(hold.strike(now));
  EXPECT_TRUE(hold.strike(now));
  EXPECT_TRUE(hold.is_held(now + 999ms));
  EXPECT_FALSE(hold.is_held(now + 1s));
}

TEST(HoldDown, DoublesWithEachRelapseAndForgetsAfterAQuietWindow) {
  HoldDown hold(kLimits);
  Instant now{1'000'000'000'000};
  for (int i = 0; i < 3; ++i) hold.strike(now);
  for (const ib::Duration pause : {2s, 4s, 4s}) {
    now = hold.until();
    EXPECT_TRUE(hold.strike(now)) << "one relapse is enough";
    EXPECT_EQ(hold.until() - now, pause);
  }
  now = hold.until() + 11s;
  EXPECT_TRUE(hold.is_over(now));
  EXPECT_FALSE(hold.strike(now));
}

TEST(HoldDown, WhatIsHeldMayHaveToBeQuietForAsLongAgain) {
  HoldDown hold(kLimits);
  const Instant now{1'000'000'000'000};
  for (int i = 0; i < 3; ++i) hold.strike(now);
  hold.extend(now + 900ms);
  EXPECT_EQ(hold.until(), now + 1900ms);
}

/// Switches with LID 1 and, of 4 ports each, as many as `more` from 4 on; two CAs with LIDs 2
/// and 3.
ib::discover::Observed small_fabric(std::uint64_t more = 0) {
  ib::discover::Observed seen;
  const auto add = [&](ib::wire::NodeType type, std::uint64_t guid, std::uint8_t ports) {
    ib::fabric::Node node;
    node.type = type;
    node.guid = ib::Guid{guid};
    node.num_ports = ports;
    const auto n = seen.fabric.add_node(node);
    auto& observed = seen.nodes.emplace_back();
    observed.info.node_guid = node.guid;
    observed.info.num_ports = ports;
    seen.ports.resize(seen.fabric.port_count());
    const bool is_switch = type == ib::wire::NodeType::Switch;
    if (is_switch) observed.switch_info.emplace();
    auto& end = seen.fabric.port(n, is_switch ? 0 : 1);
    end.guid = ib::Guid{guid + 0x100};
    end.lid = Lid{static_cast<std::uint16_t>(guid)};
    for (unsigned p = 0; p <= ports; ++p)
      seen.port({n, static_cast<std::uint8_t>(p)}).known = is_switch || p == 1;
  };
  add(ib::wire::NodeType::Switch, 1, 4);
  add(ib::wire::NodeType::ChannelAdapter, 2, 1);
  add(ib::wire::NodeType::ChannelAdapter, 3, 1);
  for (std::uint64_t lid = 4; lid < 4 + more; ++lid) add(ib::wire::NodeType::Switch, lid, 4);
  seen.fabric.reindex();
  return seen;
}

ib::wire::Notice notice(std::uint16_t number, Lid issuer, Lid named) {
  ib::wire::Notice n;
  n.trap_number = number;
  n.issuer_lid = issuer;
  const std::size_t at = number == trap::kLinkStateChange ? 0 : 2;
  n.details[at + 1] = static_cast<std::uint8_t>(named.value);
  return n;
}
ib::wire::Notice of_itself(std::uint16_t number, Lid lid) { return notice(number, lid, lid); }

TEST(TrapClaim, APortSpeaksOfItselfAndOfNobodyElse) {
  const auto seen = small_fabric();
  const auto kind = [&](const ib::wire::Notice& n, Lid from) {
    return claim_of(n, from, seen).kind;
  };
  EXPECT_EQ(kind(of_itself(128, Lid{1}), Lid{1}), Kind::LinkState);
  EXPECT_EQ(kind(of_itself(131, Lid{1}), Lid{1}), Kind::LinkState);
  EXPECT_EQ(kind(of_itself(130, Lid{2}), Lid{2}), Kind::PortInfo);
  EXPECT_EQ(kind(of_itself(144, Lid{2}), Lid{2}), Kind::PortInfo);
  EXPECT_EQ(kind(of_itself(145, Lid{2}), Lid{2}), Kind::SystemImage);
  EXPECT_EQ(kind(of_itself(128, Lid{2}), Lid{2}), Kind::Forged) << "it is no switch";
  for (const std::uint16_t number : Numbers{128, 129, 130, 131, 144, 145}) {
    EXPECT_EQ(kind(of_itself(number, Lid{1}), Lid{2}), Kind::Forged) << number;
    EXPECT_EQ(kind(notice(number, Lid{2}, Lid{3}), Lid{2}), Kind::Forged) << number;
    EXPECT_EQ(kind(notice(number, Lid{3}, Lid{2}), Lid{2}), Kind::Forged) << number;
    EXPECT_EQ(kind(of_itself(number, Lid{9}), Lid{9}), Kind::Stranger) << number;
  }
  for (const std::uint16_t number : Numbers{64, 67, 127, 132, 143, 146, 257, 259})
    EXPECT_EQ(kind(of_itself(number, Lid{9}), Lid{2}), Kind::Nothing) << number;
  // A wrong M_Key was tried at a port that says so: a look ends the lease.
  EXPECT_EQ(kind(of_itself(256, Lid{9}), Lid{2}), Kind::PortInfo);
  EXPECT_EQ(kind(of_itself(256, Lid{9}), Lid{9}), Kind::Nothing) << "nobody has the LID";
}

TEST(TrapClaim, ANewNameAloneIsNotALinksBusiness) {
  auto seen = small_fabric();
  auto n = of_itself(144, Lid{2});
  n.details[5] = 1;   // OtherLocalChanges
  n.details[11] = 1;  // NodeDescription
  EXPECT_EQ(claim_of(n, Lid{2}, seen).kind, Kind::Description);
  n.details[9] = 2;  // another CapabilityMask
  EXPECT_EQ(claim_of(n, Lid{2}, seen).kind, Kind::PortInfo);
}

/// A look, and the nodes that answer it.
class Looks : public testing::Test {
 protected:
  void trap(std::uint16_t number, Lid from) {
    look_.on_trap(now_, from, of_itself(number, from), seen_, sweeping_);
  }
  /// The attributes that are asked for now, all answered as `answer` has it.
  template <class Answer>
  std::vector<std::uint16_t> ask(Answer answer) {
    std::vector<std::uint16_t> asked;
    look_.on_time(now_, seen_, flapping_);
    for (auto requests = look_.take_requests(); !requests.empty(); requests = look_.take_requests())
      for (auto& r : requests) {
        asked.push_back(r.mad.attribute_id());
        ib::mad::Completion c;
        c.cookie = r.cookie;
        c.reply = ib::mad::Packet{r.address, r.mad, {}};
        answer(c.reply->mad);
        look_.on_completion(now_, c, seen_, flapping_);
      }
    return asked;
  }
  static void unchanged(ib::wire::Mad&) {}
  static void port_changed(ib::wire::Mad& mad) {
    if (mad.attribute_id() != ib::wire::attr::kSwitchInfo) return;
    ib::wire::SwitchInfo info;
    info.port_state_change = true;
    ib::wire::set_body(mad, info);
  }
  static void port_is_down(ib::wire::Mad& mad) {
    if (mad.attribute_id() != ib::wire::attr::kPortInfo) return;
    ib::wire::PortInfo info;
    info.port_state = ib::wire::PortState::Down;
    ib::wire::set_body(mad, info);
  }
  using Attributes = std::vector<std::uint16_t>;

  ib::discover::Observed seen_{small_fabric()};
  Flapping flapping_;
  TrapLook look_{ib::mad::Cookie{1} << 48, 100ms};
  Instant now_{1'000'000'000'000};
  bool sweeping_{false};
};

TEST_F(Looks, ATrapCostsOneGetAndSweepsNothingWhereNothingChanged) {
  trap(130, Lid{2});
  trap(144, Lid{2});
  EXPECT_EQ(ask(unchanged), Attributes{ib::wire::attr::kPortInfo});
  EXPECT_FALSE(look_.take_sweep_wanted());
  EXPECT_EQ(look_.due(), ib::kNever);
}

/// Another master may have cleared what the switch says by the time of the look.
TEST_F(Looks, PortsOfASwitchThatSaysNothingAreReadOnceInAWhile) {
  trap(128, Lid{1});
  trap(129, Lid{1});
  EXPECT_EQ(ask(unchanged).size(), 1U + 4U);
  EXPECT_FALSE(look_.take_sweep_wanted());
  now_ = now_ + 1s;
  trap(128, Lid{1});
  EXPECT_EQ(ask(unchanged), Attributes{ib::wire::attr::kSwitchInfo});
  now_ = now_ + 10s;
  trap(128, Lid{1});
  EXPECT_EQ(ask(port_is_down).size(), 1U + 4U);
  EXPECT_TRUE(look_.take_sweep_wanted());
}

/// The sweep for the first trap reads them.
TEST_F(Looks, PortsAreNotReadForATrapThatIsRepeatedAfterTheSweep) {
  trap(128, Lid{1});
  EXPECT_EQ(ask(port_changed), Attributes{ib::wire::attr::kSwitchInfo});
  EXPECT_TRUE(look_.take_sweep_wanted());
  now_ = now_ + 1s;
  trap(130, Lid{2});
  ask(unchanged);
  trap(128, Lid{1});
  EXPECT_EQ(ask(unchanged), Attributes{ib::wire::attr::kSwitchInfo});
  now_ = now_ + 10s;
  trap(128, Lid{1});
  EXPECT_EQ(ask(unchanged).size(), 1U + 4U);
}

/// A switch that can tell the states of all its ports is asked once; if it refuses, for each.
TEST_F(Looks, PortsOfASwitchThatHasAStateTableAreReadByThat) {
  ib::wire::PortInfo can;
  can.capability_mask = ib::wire::port_cap::kCapabilityMask2;
  can.capability_mask2 = ib::wire::port_cap2::kSwitchPortStateTable;
  ib::wire::Mad mad;
  ib::wire::set_body(mad, can);
  seen_.update_port({0, 0}, mad.data(), can);
  constexpr auto kTable = ib::wire::attr::kSwitchPortStateTable;
  for (const bool same : {true, false}) {
    trap(128, Lid{1});
    EXPECT_EQ(ask([&](ib::wire::Mad& answer) {
                if (answer.attribute_id() != kTable) return;
                ib::wire::SwitchPortStateTable table;
                if (!same) table.state[4] = 2;
                ib::wire::set_body(answer, table);
              }),
              (Attributes{ib::wire::attr::kSwitchInfo, kTable}));
    EXPECT_EQ(look_.take_sweep_wanted().has_value(), !same);
    now_ = now_ + 10s;
  }
  trap(128, Lid{1});
  EXPECT_EQ(ask([](ib::wire::Mad& answer) {
              if (answer.attribute_id() == kTable)
                answer.set<&ib::wire::MadHeader::status>(ib::wire::status::kBadAttribute);
            }).size(),
            2U + 4U);
  EXPECT_FALSE(look_.take_sweep_wanted());
}

/// Who forges traps of all switches does not have all their ports read.
TEST_F(Looks, PortsOfManySwitchesThatSayNothingAreReadOfSomeOnly) {
  constexpr std::uint16_t kSwitches = 200;
  seen_ = small_fabric(kSwitches);
  std::size_t ports = 0;
  for (unsigned second = 0; second < 60; ++second, now_ = now_ + 1s) {
    for (std::uint16_t lid = 4; lid < 4 + kSwitches; ++lid) trap(128, Lid{lid});
    const auto asked = ask(unchanged);
    ports += static_cast<std::size_t>(std::ranges::count(asked, ib::wire::attr::kPortInfo));
  }
  EXPECT_GE(ports, 64U * 4U);
  EXPECT_LE(ports, 80U * 4U);
}

TEST_F(Looks, APortThatChangedIsSweptForOnePauseAfterTheTrap) {
  trap(128, Lid{1});
  EXPECT_EQ(ask(port_changed), Attributes{ib::wire::attr::kSwitchInfo});
  EXPECT_EQ(look_.take_sweep_wanted(), now_ + 100ms);
}

TEST_F(Looks, WhoDoesNotAnswerByTheKnownPathIsSweptFor) {
  trap(128, Lid{1});
  look_.on_time(now_, seen_, flapping_);
  EXPECT_EQ(look_.take_requests().size(), 1U);
  EXPECT_EQ(look_.due(), now_ + 100ms);
  now_ = now_ + 100ms;
  EXPECT_EQ(look_.on_time(now_, seen_, flapping_).size(), 1U) << "to be cancelled";
  EXPECT_TRUE(look_.take_sweep_wanted());
}

/// Another master may have cleared what the switch says by the time of the sweep.
TEST_F(Looks, PortsOfASwitchThatChangedAreReadWhateverItSaysLater) {
  for (const bool answers : {true, false}) {
    now_ = now_ + 1s;
    trap(128, Lid{1});
    if (answers) {
      ask(port_changed);
    } else {
      look_.on_time(now_, seen_, flapping_);
      now_ = now_ + 100ms;
      look_.on_time(now_, seen_, flapping_);
    }
    ASSERT_TRUE(look_.take_sweep_wanted());
    const auto places = look_.take_places();
    ASSERT_FALSE(places.empty());
    EXPECT_EQ(places.front().node, seen_.nodes[0].info.node_guid);
    EXPECT_TRUE(places.front().read_ports) << (answers ? "answered" : "silent");
  }
}

TEST_F(Looks, AfterASweepThePortsAreReadSinceTheSweepMayHaveClearedTheBit) {
  sweeping_ = true;
  trap(128, Lid{1});
  EXPECT_EQ(ask(unchanged).size(), 1U + 4U);
  EXPECT_FALSE(look_.take_sweep_wanted());
  now_ = now_ + 1s;
  trap(128, Lid{1});
  ask(port_is_down);
  EXPECT_TRUE(look_.take_sweep_wanted());
}

TEST_F(Looks, WhoseTrapsAreVainIsHeldAloneAndReleased) {
  unsigned gets = 0;
  for (unsigned i = 0; i < 100; ++i) {
    trap(144, Lid{2});
    gets += static_cast<unsigned>(ask(unchanged).size());
    now_ = now_ + 10ms;
  }
  EXPECT_LE(gets, 10U);
  for (unsigned i = 0; i < 900; ++i) {
    trap(144, Lid{2});
    gets += static_cast<unsigned>(ask(unchanged).size());
    now_ = now_ + 10ms;
  }
  EXPECT_LE(gets, 15U);
  trap(144, Lid{3});
  EXPECT_EQ(ask(unchanged).size(), 1U) << "another";
  now_ = now_ + 10s;
  trap(144, Lid{2});
  ask([](ib::wire::Mad& mad) {
    ib::wire::PortInfo info;
    info.capability_mask = 2;
    ib::wire::set_body(mad, info);
  });
  EXPECT_EQ(look_.take_sweep_wanted(), now_ + 1s) << "a CA's word is not urgent";
}

TEST_F(Looks, StrangersAreOneAndCallForALightSweep) {
  unsigned light = 0;
  for (std::uint16_t lid = 1000; lid < 3000; ++lid) {
    trap(128, Lid{lid});
    EXPECT_TRUE(ask(unchanged).empty());
    light += look_.take_light_sweep_wanted() ? 1U : 0U;
  }
  EXPECT_LE(light, 9U);
}

TEST_F(Looks, AFullSweepLooksForAll) {
  trap(128, Lid{1});
  trap(144, Lid{2});
  EXPECT_TRUE(look_.waiting());
  look_.on_sweep_begun();
  EXPECT_FALSE(look_.waiting());
  EXPECT_TRUE(ask(unchanged).empty());
}

}  // namespace
}  // namespace sm::core
