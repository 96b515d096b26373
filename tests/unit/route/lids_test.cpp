// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/lids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace {

using ib::Guid;
using ib::kNoLid;
using ib::Lid;
using ib::route::assign_lids;
using ib::route::AstrayLid;
using ib::route::LidConflict;
using ib::route::LidMemory;
using ib::route::LidPlan;
using ib::route::LidRequest;
using ib::route::StoredLids;

constexpr Lid kMax{0xBFFF};

LidRequest port(std::uint64_t guid, std::uint16_t held = 0, bool armed_or_active = false,
                std::uint8_t lmc = 0) {
  LidRequest r;
  r.port = {static_cast<ib::fabric::NodeIndex>(guid), 1};
  r.guid = Guid{guid};
  r.held = Lid{held};
  r.armed_or_active = armed_or_active;
  r.lmc = lmc;
  return r;
}

std::vector<unsigned> lids(const LidPlan& plan) {
  std::vector<unsigned> out;
  out.reserve(plan.assigned.size());
  for (const auto& a : plan.assigned) out.push_back(a.lid.value);
  return out;
}

TEST(LidAssignment, GivesTheFirstRequestTheFirstLidAndTheRestByGuid) {
  const LidRequest requests[] = {port(9), port(3), port(5)};
  EXPECT_THAT(lids(assign_lids(requests, {}, kMax, LidMemory::Store)),
              testing::ElementsAre(1, 2, 3));
}

TEST(LidAssignment, KeepsALidThatAnActivePortHolds) {
  const LidRequest requests[] = {port(1), port(2, 77, true)};
  EXPECT_THAT(lids(assign_lids(requests, {}, kMax, LidMemory::Store)), testing::ElementsAre(1, 77));
}

TEST(LidAssignment, DoesNotTrustTheLidOfAPortThatIsNotInUse) {
  const LidRequest requests[] = {port(1), port(2, 77, false)};
  EXPECT_THAT(lids(assign_lids(requests, {}, kMax, LidMemory::Store)), testing::ElementsAre(1, 2));
}

TEST(LidAssignment, TakesTheStoresLidWhereNoneIsHeld) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}}};
  const LidRequest requests[] = {port(1), port(2, 77, false)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::Store)),
              testing::ElementsAre(1, 40));
}

TEST(LidAssignment, APortThatHoldsAnotherLidThanTheStoresGetsThatBack) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}}, {Guid{3}, {Lid{41}, 0}}};
  const LidRequest requests[] = {port(1), port(2, 77, true), port(3, 41, true)};
  const LidPlan plan = assign_lids(requests, stored, kMax, LidMemory::Store);
  EXPECT_THAT(lids(plan), testing::ElementsAre(1, 40, 41));
  EXPECT_THAT(plan.notes,
              testing::ElementsAre(testing::AllOf(testing::HasSubstr("holds LID 77"),
                                                  testing::HasSubstr("reassigning LID 40"))));
}

TEST(LidAssignment, APortThatHoldsTheLidOfAnotherIsNamedWithThatOne) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}},
                             {Guid{3}, {Lid{41}, 0}},
                             {Guid{4}, {Lid{42}, 0}},
                             {Guid{5}, {Lid{43}, 0}}};
  const LidRequest requests[] = {port(2, 40, true), port(3, 41, true),  port(4, 41, true),
                                 port(5, 43, true), port(6, 40, false), port(7, 43, true)};
  const LidPlan plan = assign_lids(requests, stored, kMax, LidMemory::Store);
  EXPECT_THAT(plan.astray, testing::ElementsAre(AstrayLid{requests[2].port, Guid{4}, Guid{3}}))
      << "7 is not known, and comes from elsewhere";
  const LidRequest others[] = {port(2, 40, true), port(3, 41, true), port(4, 77, true)};
  EXPECT_THAT(assign_lids(others, stored, kMax, LidMemory::Store).astray, testing::IsEmpty());
}

TEST(LidAssignment, TwoPortsWhoseLidsWereExchangedGetThemBack) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}},
                             {Guid{3}, {Lid{41}, 0}},
                             {Guid{4}, {Lid{42}, 0}},
                             {Guid{5}, {Lid{43}, 0}}};
  const LidRequest requests[] = {port(2, 41, true), port(3, 40, true), port(4, 42, true),
                                 port(5, 43, true)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::Store)),
              testing::ElementsAre(40, 41, 42, 43));
}

TEST(LidAssignment, WhereAPortUnknownToTheStoreHoldsTheStoresLidBothKeepWhatTheyHold) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}}, {Guid{3}, {Lid{41}, 0}}};
  const LidRequest requests[] = {port(9, 40, true), port(2, 77, true), port(3, 41, true)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::Store)),
              testing::ElementsAre(40, 77, 41));
}

TEST(LidAssignment, WhereMostPortsHoldOtherLidsThanTheStoresTheyKeepThem) {
  const StoredLids stored = {
      {Guid{2}, {Lid{40}, 0}}, {Guid{3}, {Lid{41}, 0}}, {Guid{4}, {Lid{42}, 0}}};
  const LidRequest requests[] = {port(2, 77, true), port(3, 78, true), port(4, 42, true)};
  const LidPlan plan = assign_lids(requests, stored, kMax, LidMemory::Store);
  EXPECT_THAT(lids(plan), testing::ElementsAre(77, 78, 42));
  EXPECT_THAT(plan.notes, testing::ElementsAre(testing::HasSubstr("2 of 3 ports in use")));
}

TEST(LidAssignment, OfTwoClaimantsTheOneTheStoreAgreesWithKeepsIt) {
  const StoredLids stored = {{Guid{8}, {Lid{5}, 0}}};
  const LidRequest requests[] = {port(2, 5, true), port(8, 5, true)};
  const LidPlan plan = assign_lids(requests, stored, kMax, LidMemory::Store);
  EXPECT_THAT(lids(plan), testing::ElementsAre(1, 5));
  EXPECT_THAT(plan.conflicts, testing::ElementsAre(LidConflict{Lid{5}, 1, 0}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(LidAssignment, OfTwoClaimantsUnknownToTheStoreTheSmallerGuidKeepsIt) {
  const LidRequest requests[] = {port(8, 5, true), port(2, 5, true)};
  EXPECT_THAT(lids(assign_lids(requests, {}, kMax, LidMemory::Store)), testing::ElementsAre(1, 5));
}

TEST(LidAssignment, MovesAPortWhoseLidIsNotAlignedForTheLmc) {
  const LidRequest requests[] = {port(1, 5, true, 2), port(2, 8, true, 2)};
  EXPECT_THAT(lids(assign_lids(requests, {}, kMax, LidMemory::Store)), testing::ElementsAre(4, 8));
}

TEST(LidAssignment, RangesOfDifferentWidthDoNotOverlap) {
  const LidRequest requests[] = {port(1, 0, false, 3), port(2, 9, true, 0), port(3, 8, true, 3)};
  const auto got = lids(assign_lids(requests, {}, kMax, LidMemory::Store));
  EXPECT_EQ(got[1], 9U);   // the smaller GUID of the two claimants of 9
  EXPECT_EQ(got[0], 16U);  // 8..15 holds a 9
  EXPECT_EQ(got[2], 24U);
}

TEST(LidAssignment, RefusesLidsBeyondTheSmallestTable) {
  const LidRequest requests[] = {port(1, 900, true), port(2)};
  EXPECT_THAT(lids(assign_lids(requests, {}, Lid{100}, LidMemory::Store)),
              testing::ElementsAre(1, 2));
}

TEST(LidAssignment, LeavesLidsOfAbsentPortsAloneWhileOthersAreFree) {
  const StoredLids stored = {{Guid{50}, {Lid{1}, 0}}, {Guid{51}, {Lid{2}, 0}}};
  const LidRequest requests[] = {port(7)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::Store)), testing::ElementsAre(3));
  EXPECT_THAT(lids(assign_lids(requests, stored, Lid{2}, LidMemory::Store)),
              testing::ElementsAre(1));
}

TEST(LidAssignment, LeavesLidsOfPortsThatAreLeftAloneWhileOthersAreFree) {
  const LidRequest left_alone[] = {port(50, 1, true), port(51, 2, false), port(52, 4, true, 2)};
  const LidRequest requests[] = {port(7), port(8), port(9)};
  for (const LidMemory memory : {LidMemory::Store, LidMemory::Devices, LidMemory::None}) {
    EXPECT_THAT(lids(assign_lids(requests, {}, kMax, memory, left_alone)),
                testing::ElementsAre(2, 3, 8));
    EXPECT_THAT(lids(assign_lids(requests, {}, Lid{3}, memory, left_alone)),
                testing::ElementsAre(2, 3, 1));
  }
}

TEST(LidAssignment, WhoHoldsALidOrHasItInTheStoreKeepsItBesideOneThatIsLeftAlone) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}}};
  const LidRequest left_alone[] = {port(50, 40, true), port(51, 41, true)};
  const LidRequest requests[] = {port(2), port(3, 41, true)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::Store, left_alone)),
              testing::ElementsAre(40, 41));
}

TEST(LidAssignment, ForgettingLooksAtNeitherPortNorStore) {
  const StoredLids stored = {{Guid{2}, {Lid{40}, 0}}};
  const LidRequest requests[] = {port(1, 77, true), port(2)};
  EXPECT_THAT(lids(assign_lids(requests, stored, kMax, LidMemory::None)),
              testing::ElementsAre(1, 2));
}

TEST(LidAssignment, SaysWhoGetsNone) {
  const LidRequest requests[] = {port(1), port(2), port(3)};
  const LidPlan plan = assign_lids(requests, {}, Lid{2}, LidMemory::Store);
  EXPECT_EQ(plan.unassigned, 1U);
  EXPECT_THAT(lids(plan), testing::ElementsAre(1, 2, 0));
}

// Whatever ports claim and a store remembers: ranges are disjoint, aligned and in range, and the
// answer does not depend on the order of the requests behind the first.
TEST(LidAssignment, IsSoundAndIndependentOfOrder) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Lid max{static_cast<std::uint16_t>(60 + random() % 200)};
    std::vector<LidRequest> requests;
    StoredLids stored;
    const auto lmc = static_cast<std::uint8_t>(random() % 4);
    for (std::uint64_t guid = 1; guid <= 25; ++guid) {
      requests.push_back(port(guid, static_cast<std::uint16_t>(random() % 300), random() % 2 == 0,
                              random() % 3 == 0 ? std::uint8_t{0} : lmc));
      if (random() % 2 == 0)
        stored[Guid{guid}] = {Lid{static_cast<std::uint16_t>(random() % 300)}, lmc};
    }
    const LidPlan plan = assign_lids(requests, stored, max, LidMemory::Store);
    std::set<unsigned> used;
    for (const auto& a : plan.assigned) {
      if (a.lid == kNoLid) continue;
      const unsigned width = 1U << a.lmc;
      EXPECT_EQ(a.lid.value % width, 0U);
      EXPECT_LE(a.lid.value + width - 1, max.value);
      for (unsigned i = 0; i < width; ++i) EXPECT_TRUE(used.insert(a.lid.value + i).second);
    }
    std::shuffle(requests.begin() + 1, requests.end(), random);
    const LidPlan again = assign_lids(requests, stored, max, LidMemory::Store);
    auto by_guid = [](const auto& a, const auto& b) { return a.guid < b.guid; };
    auto first = plan.assigned, second = again.assigned;
    std::ranges::sort(first, by_guid);
    std::ranges::sort(second, by_guid);
    EXPECT_EQ(first, second);
  }
}

}  // namespace
