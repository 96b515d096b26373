// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A Set and an earlier one of its block that may still arrive.
#include "libdiag/mad/late_sets.h"

#include <gtest/gtest.h>

#include "libdiag/mad/transactor.h"
#include "tests/unit/mad/steps.h"

namespace ib::mad {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::at;
using wire::Method;
namespace attr = wire::attr;

Request set_block(std::uint32_t block, Cookie cookie) {
  return smp_request(cookie, 7, Lid{7}, Method::Set, attr::kLinearForwarding, block);
}

/// Where MADs overtake each other the repeated one would undo what comes after it.
TEST(LateSets, ASetWaitsForAnEarlierOneOfItsBlockThatWasRepeatedTooSoon) {
  Transactor t;
  t.submit(at(0ms), set_block(3, 1));
  const auto first = t.next_send(at(0ms));
  t.on_time(at(50ms));
  const auto second = t.next_send(at(50ms));
  ASSERT_TRUE(second);
  EXPECT_TRUE(t.on_packet(at(60ms), answer(*first)));

  t.submit(at(60ms), set_block(3, 2));
  EXPECT_FALSE(t.next_send(at(60ms)));
  EXPECT_FALSE(t.on_packet(at(70ms), answer(*second)));
  const auto next = t.next_send(at(70ms));
  ASSERT_TRUE(next);
  EXPECT_TRUE(t.on_packet(at(80ms), answer(*next)));
  EXPECT_EQ(t.pending(), 0U);
}

TEST(LateSets, ASetWaitsNoLongerThanTheAnswerToTheEarlierOneMayTake) {
  Transactor t;
  t.submit(at(0ms), set_block(3, 1));
  const auto first = t.next_send(at(0ms));
  t.on_time(at(50ms));
  ASSERT_TRUE(t.next_send(at(50ms)));
  EXPECT_TRUE(t.on_packet(at(60ms), answer(*first)));

  t.submit(at(60ms), set_block(3, 2));
  EXPECT_FALSE(t.next_send(at(60ms)));
  Instant now = at(60ms);
  std::optional<SendOrder> next;
  while (!next && t.next_deadline() != kNever) {
    now = t.next_deadline();
    t.on_time(now);
    next = t.next_send(now);
  }
  EXPECT_TRUE(next);
  EXPECT_EQ(now, at(50ms + 3 * 60ms)) << "by the round trip of the first";
}

TEST(LateSets, ASetDoesNotWaitForAnEarlierOneThatWasLostOrIsOfAnotherBlock) {
  Transactor t;
  t.submit(at(0ms), set_block(3, 1));
  ASSERT_TRUE(t.next_send(at(0ms)));
  t.on_time(at(50ms));
  const auto second = t.next_send(at(50ms));
  ASSERT_TRUE(second);
  EXPECT_TRUE(t.on_packet(at(51ms), answer(*second)));
  t.submit(at(51ms), set_block(3, 2));
  const auto third = t.next_send(at(51ms));
  ASSERT_TRUE(third) << "what was sent before the answered one was given up before";

  t.on_time(at(61ms));
  ASSERT_TRUE(t.next_send(at(61ms)));
  EXPECT_TRUE(t.on_packet(at(62ms), answer(*third)));
  t.submit(at(62ms), set_block(4, 3));
  EXPECT_TRUE(t.next_send(at(62ms)));
}

}  // namespace
}  // namespace ib::mad
