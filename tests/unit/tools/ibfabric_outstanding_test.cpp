// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gtest/gtest.h>

#include <memory>

#include "tools/ibfabric/outstanding.h"

namespace ibfabric {
namespace {

constexpr std::uint8_t kSa = 0x03, kPerf = 0x04;
constexpr std::uint32_t kApart = 65536;  // TIDs so far apart share a place

class OutstandingTest : public testing::Test {
 protected:
  std::unique_ptr<Outstanding> requests{new Outstanding()};
};

TEST_F(OutstandingTest, SuspectsWhatIsOnItsWayAndNothingElse) {
  EXPECT_FALSE(requests->may_have(kSa, 0));
  requests->add(kSa, 7);
  EXPECT_TRUE(requests->may_have(kSa, 7));
  EXPECT_FALSE(requests->may_have(kSa, 8));
  EXPECT_FALSE(requests->may_have(kPerf, 7));
  requests->remove(kSa, 7);
  EXPECT_FALSE(requests->may_have(kSa, 7));
}

TEST_F(OutstandingTest, ALostRequestCastsNoDoubtOnLaterOnes) {
  requests->add(kSa, 7);
  for (std::uint32_t turn = 1; turn < 50; ++turn) {
    const std::uint32_t tid = 7 + turn * kApart;
    ASSERT_FALSE(requests->may_have(kSa, tid)) << turn;
    requests->add(kSa, tid);
    ASSERT_TRUE(requests->may_have(kSa, tid));
    ASSERT_TRUE(requests->may_have(kSa, 7));
    requests->remove(kSa, tid);
  }
  EXPECT_TRUE(requests->may_have(kSa, 7));
  requests->remove(kSa, 7);
  EXPECT_FALSE(requests->may_have(kSa, 7));
}

TEST_F(OutstandingTest, ManyInOnePlaceAreEachSuspected) {
  for (std::uint32_t i = 0; i < 5; ++i) requests->add(kSa, 7 + i * kApart);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(requests->may_have(kSa, 7 + i * kApart));
    requests->remove(kSa, 7 + i * kApart);
  }
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_FALSE(requests->may_have(kSa, 7 + i * kApart));
}

TEST_F(OutstandingTest, AnAnswerInSegmentsEndsItsRequestOnce) {
  requests->add(kSa, 7);
  requests->remove(kSa, 7);
  requests->add(kSa, 7 + kApart);
  requests->remove(kSa, 7);
  requests->remove(kSa, 7);
  EXPECT_TRUE(requests->may_have(kSa, 7 + kApart));
}

}  // namespace
}  // namespace ibfabric
