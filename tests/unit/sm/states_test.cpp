// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The table of what the subnet manager does.
#include "sm/core/states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sm::core {
namespace {

/// States that are reached from `from`, itself included.
std::set<State> reached_from(State from) {
  std::set<State> reached{from};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Transition& t : state_transitions())
      if (reached.contains(t.from)) reached.insert(t.to);
  }
  return reached;
}

TEST(States, EachIsReachedFromIdleAndLeadsBackToIt) {
  const auto all = reached_from(State::Idle);
  EXPECT_EQ(all.size(), 9U);
  for (const State state : all) EXPECT_TRUE(reached_from(state).contains(State::Idle));
}

TEST(States, AnEventLeadsToOneState) {
  for (const Transition& t : state_transitions()) EXPECT_EQ(transition(t.from, t.event), t.to);
}

TEST(States, WhatIsUnderWayIsNotInterruptedByWhatIsDue) {
  for (const State state : reached_from(State::Idle)) {
    if (state == State::Idle) continue;
    for (const Event due : {Event::SweepDue, Event::RerouteDue, Event::MembersDue, Event::LookDue})
      EXPECT_FALSE(transition(state, due)) << static_cast<int>(state);
  }
}

TEST(States, NothingIsSetBeforeItIsDecidedWhoManagesTheSubnet) {
  // Without being told to manage, a sweep leads to no state that programs devices.
  std::set<State> reached{State::Sweeping};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Transition& t : state_transitions())
      if (t.event != Event::ToBeManaged && t.event != Event::ToBeRecalled &&
          t.from != State::Idle && reached.contains(t.from))
        reached.insert(t.to);
  }
  EXPECT_THAT(reached,
              ::testing::UnorderedElementsAre(State::Sweeping, State::Deciding, State::Idle));
}

TEST(States, WhoStandsDownIsIdle) {
  for (const State state : reached_from(State::Idle))
    EXPECT_EQ(transition(state, Event::StoodDown), State::Idle) << static_cast<int>(state);
}

}  // namespace
}  // namespace sm::core
