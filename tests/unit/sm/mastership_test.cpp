// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Mastership through every row of the election's table: each is reached by what others say and do,
// leads to the state that it names, and has what it says follow.
#include "sm/core/mastership.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sm::core::election {
namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::wire::Method;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

constexpr Guid kOurs{1}, kTheirs{2};
constexpr ib::Lid kTheirLid{3};
constexpr std::uint8_t kOurPriority = 5;

/// A switch with two hosts. The first is ours; at the second there may be a subnet manager.
ib::discover::Observed fabric(bool other) {
  ib::discover::Observed seen;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ib::fabric::Node node;
    node.type = i == 0 ? ib::wire::NodeType::Switch : ib::wire::NodeType::ChannelAdapter;
    node.guid = Guid{0x100 + i};
    node.num_ports = i == 0 ? 2 : 1;
    const auto n = seen.fabric.add_node(node);
    seen.nodes.emplace_back().info.node_guid = node.guid;
    seen.ports.resize(seen.fabric.port_count());
    const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(i == 0 ? 0 : 1)};
    seen.fabric.port(at).guid = Guid{i};
    seen.fabric.port(at).lid = ib::Lid{static_cast<std::uint16_t>(i + 1)};
    ib::wire::PortInfo info;
    info.lid = seen.fabric.port(at).lid;
    if (i == 2 && other) info.capability_mask = ib::wire::port_cap::kIsSm;
    std::byte bytes[64]{};
    ib::wire::encode(info, bytes);
    seen.update_port(at, bytes, info);
  }
  for (std::uint8_t i = 1; i < 3; ++i) {
    seen.fabric.port(0, i).peer = {i, 1};
    seen.fabric.port(i, 1).peer = {0, i};
  }
  seen.local_port = {1, 1};
  seen.fabric.reindex();
  return seen;
}

class Rows : public testing::Test {
 protected:
  static MastershipOptions options(bool inactive) {
    MastershipOptions o;
    o.port_guid = kOurs;
    o.priority = kOurPriority;
    o.start_inactive = inactive;
    return o;
  }
  void begin(bool inactive = false) {
    played_ = std::make_unique<Mastership>(options(inactive), ib::mad::Cookie{1} << 48);
    asked_.clear();
    seen_ = {};
    sm().start(now_);
    settle();
  }
  Mastership& sm() { return *played_; }

  // ---- what happens
  void sweep(bool other) {
    seen_ = fabric(other);
    sm().on_swept(now_, seen_);
    settle();
  }
  void answer_as(SmState state, unsigned priority) {
    for (const auto& request : std::exchange(asked_, {})) {
      ib::mad::Packet answer;
      answer.mad = request.mad;
      answer.mad.set<&ib::wire::MadHeader::method>(Method::GetResp);
      ib::wire::set_body(answer.mad,
                         SmInfo{kTheirs, 1, ++count_, static_cast<std::uint8_t>(priority), state});
      complete(request, std::move(answer));
    }
  }
  void answer_with(std::uint16_t status) {
    for (const auto& request : std::exchange(asked_, {})) {
      ib::mad::Packet answer;
      answer.mad = request.mad;
      answer.mad.set<&ib::wire::MadHeader::method>(Method::GetResp);
      answer.mad.set<&ib::wire::MadHeader::status>(status);
      complete(request, std::move(answer));
    }
  }
  void poll() {
    now_ = now_ + 1s;
    sm().on_time(now_);
    settle();
  }
  void control(std::uint32_t modifier, SmState sender) {
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(kTheirLid);
    packet.mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Set, attr::kSmInfo, modifier);
    ib::wire::set_body(packet.mad, SmInfo{kTheirs, 1, ++count_, 9, sender});
    const auto reply = sm().answer(now_, packet, seen_);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->mad.status(), 0);
    settle();
  }
  /// HANDOVER of one that no sweep has found.
  void stranger_hands_over() {
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(ib::Lid{9});
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Set, attr::kSmInfo, 1);
    ib::wire::set_body(packet.mad, SmInfo{Guid{9}, 1, ++count_, 3, SmState::Master});
    const auto reply = sm().answer(now_, packet, seen_);
    ASSERT_TRUE(reply);
    EXPECT_NE(reply->mad.status(), 0);
    sm().on_time(now_);
    settle();
  }
  void ask_master(const ib::mad::Packet& packet) {
    now_ = now_ + 10s;
    EXPECT_TRUE(sm().answer(now_, packet, seen_));
    settle();
  }
  void conclude() {
    ASSERT_TRUE(sm().is_decided());
    managed_ = sm().conclude(now_);
    settle();
  }
  void become_master() {
    begin();
    sweep(false);
    conclude();
  }
  void stand_by() {
    begin();
    sweep(true);
    answer_as(SmState::Master, 9);
    conclude();
  }
  void hand_over() {
    become_master();
    sweep(true);
    answer_as(SmState::Standby, 9);
    conclude();
  }

  /// From now on `event` happens in state `from`.
  void row(SmState from, Event event) {
    ASSERT_EQ(sm().state(), from);
    row_ = transition(from, event);
    ASSERT_NE(row_, nullptr);
    played_rows_.insert(static_cast<std::size_t>(row_ - transitions().data()));
    asked_.clear();
    sweeps_ = 0;
    managed_ = false;
  }
  /// It did.
  void follows() {
    SCOPED_TRACE(fmt::format("{}, {}", state_name(row_->from), event_name(row_->event)));
    EXPECT_EQ(state_name(sm().state()), state_name(row_->to));
    EXPECT_EQ(managed_, row_->action == Action::Manage);
    EXPECT_EQ(sweeps_ > 0, row_->action == Action::Sweep);
    const bool asks_them = row_->action == Action::Poll || row_->action == Action::Wait;
    EXPECT_TRUE(!asks_them || sm().due() <= now_ + 1s);
    const bool hands_over = std::ranges::any_of(asked_, [](const auto& request) {
      return request.mad.method() == Method::Set &&
             request.mad.template get<&ib::wire::MadHeader::attribute_modifier>() == 1;
    });
    EXPECT_EQ(hands_over, row_->action == Action::HandOver);
    EXPECT_TRUE(row_->action != Action::None || asked_.empty());
  }

  std::set<std::size_t> played_rows_;
  std::vector<ib::mad::Request> asked_;

 private:
  void complete(const ib::mad::Request& request, ib::mad::Packet answer) {
    ib::mad::Completion completion;
    completion.cookie = request.cookie;
    completion.reply = std::move(answer);
    sm().on_completion(now_, completion);
    settle();
  }
  void settle() {
    for (auto& request : sm().take_requests()) asked_.push_back(std::move(request));
    (void)sm().take_cancelled();
    (void)sm().take_packets();
    while (const auto order = sm().next_order()) sweeps_ += *order != Mastership::Order::StandDown;
    while (sm().next_log()) {
    }
  }

  ib::Instant now_{1'000'000'000};
  std::unique_ptr<Mastership> played_;
  ib::discover::Observed seen_;
  const Transition* row_{nullptr};
  unsigned sweeps_{0};
  std::uint32_t count_{0};
  bool managed_{false};
};

TEST_F(Rows, OfWhoDiscovers) {
  begin();
  row(SmState::Discovering, Event::NobodyAbove);
  sweep(false);
  conclude();
  follows();

  begin();
  row(SmState::Discovering, Event::MasterFound);
  sweep(true);
  answer_as(SmState::Master, 1);
  conclude();
  follows();

  begin();
  row(SmState::Discovering, Event::Handover);
  control(1, SmState::Master);
  follows();
  EXPECT_EQ(played_rows_.size(), 3U);
}

TEST_F(Rows, OfAStandby) {
  for (const bool other : {true, false}) {
    begin(true);
    control(4, SmState::Master);  // of one that no sweep has found
    row(SmState::Standby, other ? Event::MasterFound : Event::NobodyAbove);
    sweep(other);
    if (other) answer_as(SmState::Master, 1);
    conclude();
    follows();
  }
  stand_by();
  row(SmState::Standby, Event::MasterGone);
  poll();
  answer_with(0x000C);  // nobody takes such requests there
  follows();

  struct Control {
    std::uint32_t modifier;
    Event event;
    SmState sender;
  };
  for (const Control& c : {Control{1, Event::Handover, SmState::Master},
                           {2, Event::Acknowledge, SmState::Standby},
                           {3, Event::Disable, SmState::Master},
                           {5, Event::Discover, SmState::Master}}) {
    stand_by();
    row(SmState::Standby, c.event);
    control(c.modifier, c.sender);
    follows();
  }
  EXPECT_EQ(played_rows_.size(), 7U);
}

TEST_F(Rows, WhoFollowsOneThatStandsByLooksForItsMasterAtTheSecondPoll) {
  begin();
  sweep(true);
  answer_as(SmState::Master, 1);
  conclude();
  poll();
  answer_as(SmState::Discovering, 1);
  poll();
  answer_as(SmState::Master, 1);
  poll();
  answer_as(SmState::Standby, 1);
  EXPECT_EQ(sm().state(), SmState::Standby);
  row(SmState::Standby, Event::MasterGone);
  poll();
  answer_as(SmState::Standby, 1);
  follows();
}

TEST_F(Rows, WhoIsOfferedMastershipByAStrangerAsksItsMasterAtOnce) {
  stand_by();
  asked_.clear();
  stranger_hands_over();
  ASSERT_EQ(asked_.size(), 1U);
  answer_as(SmState::Master, 9);
  EXPECT_EQ(sm().state(), SmState::Standby);
  row(SmState::Standby, Event::MasterGone);
  stranger_hands_over();
  ASSERT_EQ(asked_.size(), 1U);
  answer_as(SmState::Standby, 1);
  follows();
}

/// Since the last sweep it hangs where we did, or we where it did.
TEST_F(Rows, WhoAsksAMasterByAWayThatWasOurOwnIsAskedBack) {
  for (const bool by_cable : {true, false}) {
    become_master();
    asked_.clear();
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(ib::kPermissiveLid);
    packet.mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnDirected, Method::Get, attr::kSmInfo, 0);
    packet.mad.set<&ib::wire::SmpHeader::dr_slid>(ib::kPermissiveLid);
    packet.mad.set<&ib::wire::SmpHeader::dr_dlid>(ib::kPermissiveLid);
    if (by_cable) {
      packet.mad.set<&ib::wire::SmpHeader::hop_count>(2);
      auto came_in_by = packet.mad.get<&ib::wire::SmpHeader::return_path>();
      came_in_by[1] = came_in_by[2] = 1;  // of the switch, and ours
      packet.mad.set<&ib::wire::SmpHeader::return_path>(came_in_by);
    }
    ask_master(packet);
    EXPECT_EQ(asked_.size(), by_cable ? 1U : 0U) << "a program on our own host is no stranger";
  }
}

TEST_F(Rows, WhoStandsByForAMasterBelowItTellsThatAtOnce) {
  for (const unsigned priority : {1U, 9U}) {
    begin();
    sweep(true);
    answer_as(SmState::Master, priority);
    conclude();
    EXPECT_EQ(sm().state(), SmState::Standby);
    const bool asks_where = std::ranges::any_of(
        asked_, [](const auto& r) { return r.mad.attribute_id() == attr::kPortInfo; });
    EXPECT_EQ(asks_where, priority < kOurPriority) << "its own port for the place of the master";
  }
}

TEST_F(Rows, WhoFollowsOneAboveItWaitsUntilThatIsMaster) {
  begin();
  sweep(true);
  answer_as(SmState::Standby, 9);
  conclude();
  for (unsigned i = 0; i < 10; ++i) {
    poll();
    answer_as(SmState::Standby, 9);
    EXPECT_EQ(sm().state(), SmState::Standby);
  }
}

TEST_F(Rows, OfOneThatIsNotActive) {
  begin(true);
  row(SmState::NotActive, Event::Standby);
  control(4, SmState::Master);
  EXPECT_EQ(sm().state(), SmState::Standby);
  EXPECT_TRUE(sm().sweeps()) << "for the way to whom it is to poll";
  EXPECT_EQ(played_rows_.size(), 1U);
}

TEST_F(Rows, OfAMaster) {
  become_master();
  row(SmState::Master, Event::NobodyAbove);
  sweep(false);
  conclude();
  follows();

  become_master();
  row(SmState::Master, Event::HigherFound);
  sweep(true);
  answer_as(SmState::Standby, 9);
  conclude();
  follows();

  for (const bool taken : {true, false}) {
    become_master();
    sweep(true);
    answer_as(SmState::Standby, 9);
    conclude();
    auto handover = std::exchange(asked_, {});
    row(SmState::Master, taken ? Event::HandoverTaken : Event::HandoverRefused);
    asked_ = std::move(handover);
    answer_with(taken ? 0 : 0x001C);
    follows();
    EXPECT_EQ(sm().status().answers, taken) << "clients, until the next one does";
  }

  hand_over();
  row(SmState::Master, Event::Acknowledge);
  control(2, SmState::Standby);
  follows();
  EXPECT_FALSE(sm().status().answers);

  become_master();
  row(SmState::Master, Event::MastersMeet);
  sweep(true);
  answer_as(SmState::Master, 1);
  conclude();
  follows();
  row(SmState::Master, Event::MasterGone);
  poll();
  answer_with(0x000C);
  follows();

  become_master();
  row(SmState::Master, Event::Handover);
  control(1, SmState::Master);
  follows();
  EXPECT_EQ(played_rows_.size(), 8U);
  EXPECT_EQ(transitions().size(), 3U + 7U + 1U + 8U) << "a row that is added is played here";
}

}  // namespace
}  // namespace sm::core::election
