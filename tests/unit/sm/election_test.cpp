// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The state machine of IBA 14.4.1, row by row; doc/ibsm.md has the same rows in the same order.
#include "sm/core/election.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace sm::core::election {

// What a failing test prints.
void PrintTo(const Finding& finding, std::ostream* out) {
  *out << event_name(finding.event) << " " << to_string(finding.who);
}
bool operator==(const Finding& a, const Finding& b) { return a.event == b.event && a.who == b.who; }

namespace {

using ib::Guid;
using ib::wire::SmInfo;

constexpr std::array kStates = {SmState::NotActive, SmState::Discovering, SmState::Standby,
                                SmState::Master};
constexpr std::array kEvents = {Event::NobodyAbove, Event::MasterFound,   Event::HigherFound,
                                Event::MastersMeet, Event::Handover,      Event::Acknowledge,
                                Event::Disable,     Event::Standby,       Event::Discover,
                                Event::MasterGone,  Event::HandoverTaken, Event::HandoverRefused};

SmInfo manager(std::uint64_t guid, unsigned priority, SmState state) {
  return {Guid{guid}, 1, 7, static_cast<std::uint8_t>(priority), state};
}

TEST(Election, TheHigherPriorityRanksAboveAndOfEqualOnesTheLowerGuid) {
  EXPECT_TRUE(ranks_above({2, Guid{9}}, {1, Guid{1}}));
  EXPECT_FALSE(ranks_above({1, Guid{1}}, {2, Guid{9}}));
  EXPECT_TRUE(ranks_above({1, Guid{1}}, {1, Guid{2}}));
  EXPECT_FALSE(ranks_above({1, Guid{2}}, {1, Guid{1}}));
  EXPECT_FALSE(ranks_above({1, Guid{1}}, {1, Guid{1}}));
}

/// From, event, to, what follows; every other pair has no row.
TEST(Election, TheTableIsThatOfTheSpecification) {
  const std::vector<std::string> expected = {
      "DISCOVERING: none above -> MASTER, manage",   "DISCOVERING: master found -> STANDBY, poll",
      "DISCOVERING: HANDOVER -> DISCOVERING, sweep", "STANDBY: master found -> STANDBY, poll",
      "STANDBY: none above -> DISCOVERING, sweep",   "STANDBY: master gone -> DISCOVERING, sweep",
      "STANDBY: DISCOVER -> DISCOVERING, sweep",     "STANDBY: HANDOVER -> MASTER, sweep",
      "STANDBY: ACKNOWLEDGE -> STANDBY, none",       "STANDBY: DISABLE -> NOTACTIVE, none",
      "NOTACTIVE: STANDBY -> STANDBY, poll",         "MASTER: none above -> MASTER, manage",
      "MASTER: higher found -> MASTER, hand over",   "MASTER: handover taken -> STANDBY, poll",
      "MASTER: ACKNOWLEDGE -> STANDBY, poll",        "MASTER: handover refused -> MASTER, sweep",
      "MASTER: masters meet -> MASTER, wait",        "MASTER: master gone -> MASTER, sweep",
      "MASTER: HANDOVER -> MASTER, sweep",
  };
  std::vector<std::string> table;
  for (const Transition& t : transitions())
    table.push_back(fmt::format("{}: {} -> {}, {}", state_name(t.from), event_name(t.event),
                                state_name(t.to), action_name(t.action)));
  EXPECT_EQ(table, expected);
}

TEST(Election, APairHasOneRowAtMost) {
  std::size_t rows = 0;
  std::set<std::pair<SmState, Event>> seen;
  for (const SmState state : kStates)
    for (const Event event : kEvents) {
      const Transition* row = transition(state, event);
      if (row == nullptr) continue;
      ++rows;
      EXPECT_EQ(row->from, state);
      EXPECT_EQ(row->event, event);
      EXPECT_TRUE(seen.emplace(state, event).second);
    }
  EXPECT_EQ(rows, transitions().size());
}

TEST(Election, TheDocumentHasTheSameRowsInTheSameOrder) {
  std::ifstream file(IBKIT_SOURCE_DIR "/doc/ibsm.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  std::size_t at = 0;
  for (const Transition& t : transitions()) {
    const std::string row =
        fmt::format("| {} | {} | {} | {} |", state_name(t.from), event_name(t.event),
                    state_name(t.to), action_name(t.action));
    const std::size_t found = page.find(row, at);
    ASSERT_NE(found, std::string::npos) << row << " does not follow the row before";
    at = found + row.size();
  }
}

TEST(Election, ControlPacketsHaveTheModifiersOfTheSpecification) {
  EXPECT_FALSE(control_packet(0));
  EXPECT_EQ(control_packet(1), Event::Handover);
  EXPECT_EQ(control_packet(2), Event::Acknowledge);
  EXPECT_EQ(control_packet(3), Event::Disable);
  EXPECT_EQ(control_packet(4), Event::Standby);
  EXPECT_EQ(control_packet(5), Event::Discover);
  EXPECT_FALSE(control_packet(6));
  EXPECT_FALSE(control_packet(0xFFFFFFFF));
  EXPECT_EQ(state_of_sender(Event::Acknowledge), SmState::Standby);
  for (const Event e : {Event::Handover, Event::Disable, Event::Standby, Event::Discover})
    EXPECT_EQ(state_of_sender(e), SmState::Master);
}

// ---- judge

const Rank kOwn{5, Guid{50}};

TEST(Election, AloneOneBecomesMaster) {
  EXPECT_EQ(judge(SmState::Discovering, kOwn, {}), (Finding{Event::NobodyAbove, {}}));
}

TEST(Election, OneThatDiscoversStandsByForAnyMasterAndForWhoRanksAbove) {
  struct Case {
    SmInfo other;
    bool stands_by;
  };
  const Case cases[] = {
      {manager(9, 0, SmState::Master), true},      {manager(9, 15, SmState::Master), true},
      {manager(9, 4, SmState::Standby), false},    {manager(9, 6, SmState::Standby), true},
      {manager(9, 5, SmState::Discovering), true}, {manager(90, 5, SmState::Discovering), false},
      {manager(9, 15, SmState::NotActive), false},
  };
  for (const Case& c : cases) {
    const Finding expected = c.stands_by ? Finding{Event::MasterFound, c.other.guid} : Finding{};
    EXPECT_EQ(judge(SmState::Discovering, kOwn, std::array{c.other}), expected)
        << unsigned{c.other.priority} << " " << state_name(c.other.sm_state);
  }
}

TEST(Election, AMasterCountsMoreThanAHigherStandbyAndTheHighestOfSeveral) {
  const std::array others = {manager(1, 15, SmState::Standby), manager(2, 1, SmState::Master),
                             manager(3, 2, SmState::Master)};
  EXPECT_EQ(judge(SmState::Discovering, kOwn, others), (Finding{Event::MasterFound, Guid{3}}));
}

TEST(Election, AMasterHandsOverToTheHighestAndWaitsForAMasterBelowIt) {
  const auto at = [](const SmInfo& other) {
    return judge(SmState::Master, kOwn, std::array{other});
  };
  EXPECT_EQ(at(manager(9, 4, SmState::Standby)), Finding{});
  EXPECT_EQ(at(manager(9, 6, SmState::Standby)), (Finding{Event::HigherFound, Guid{9}}));
  EXPECT_EQ(at(manager(9, 5, SmState::Standby)), (Finding{Event::HigherFound, Guid{9}}));
  EXPECT_EQ(at(manager(9, 6, SmState::Master)), (Finding{Event::HigherFound, Guid{9}}));
  EXPECT_EQ(at(manager(9, 6, SmState::Discovering)), Finding{});
  EXPECT_EQ(at(manager(9, 6, SmState::NotActive)), Finding{});
  EXPECT_EQ(at(manager(9, 4, SmState::Master)), (Finding{Event::MastersMeet, Guid{9}}));
  const std::array several = {manager(9, 6, SmState::Standby), manager(8, 7, SmState::Standby),
                              manager(7, 1, SmState::Master)};
  EXPECT_EQ(judge(SmState::Master, kOwn, several), (Finding{Event::HigherFound, Guid{8}}));
}

}  // namespace
}  // namespace sm::core::election
