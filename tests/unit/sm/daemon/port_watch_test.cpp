// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/port_watch.h"

#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::Instant;
using ib::mad::PortFacts;
using ib::wire::PortState;

PortFacts port(std::uint64_t guid, PortState state) {
  PortFacts facts;
  facts.port_guid = Guid{guid};
  facts.state = state;
  return facts;
}
const std::vector<Guid> kListed{Guid{1}, Guid{2}, Guid{3}};

TEST(PortWatch, GoesOnFromTheNextOfTheListWhoseLinkIsUp) {
  const std::vector ports{port(1, PortState::Active), port(2, PortState::Down),
                          port(3, PortState::Initialize), port(4, PortState::Active)};
  EXPECT_EQ(next_port(kListed, Guid{1}, ports), Guid{3});
  EXPECT_EQ(next_port(kListed, Guid{3}, ports), Guid{1});
  EXPECT_EQ(next_port(kListed, Guid{2}, ports), Guid{3});
  EXPECT_EQ(next_port(kListed, Guid{9}, ports), Guid{1});
  EXPECT_EQ(next_port({}, Guid{1}, ports), std::nullopt);
  EXPECT_EQ(next_port(kListed, Guid{1}, {}), std::nullopt);
}

TEST(PortWatch, TheLastToBeAskedIsThePortItself) {
  const std::vector ports{port(1, PortState::Active), port(2, PortState::Down)};
  EXPECT_EQ(next_port(kListed, Guid{1}, ports), Guid{1});
}

TEST(PortWatch, BeginsByTheFirstWhoseLinkIsUp) {
  const std::vector ports{port(1, PortState::Down), port(2, PortState::Armed)};
  EXPECT_EQ(first_port(kListed, ports), Guid{2});
  EXPECT_EQ(first_port(kListed, {}), Guid{1});
  EXPECT_EQ(first_port({}, ports), std::nullopt);
}

TEST(PortWatch, ALinkThatIsBackSoonIsNoDeath) {
  PortWatch watch;
  Instant now{};
  EXPECT_TRUE(watch.is_due(now));
  EXPECT_FALSE(watch.look(now, false));
  EXPECT_FALSE(watch.is_due(now + PortWatch::kEvery - 1ms));
  EXPECT_FALSE(watch.look(now + 2900ms, false));
  EXPECT_FALSE(watch.look(now + 2950ms, true));
  EXPECT_FALSE(watch.look(now + 3500ms, false));
  EXPECT_FALSE(watch.look(now + 6400ms, false));
  EXPECT_TRUE(watch.look(now + 6500ms, false));
}

}  // namespace
}  // namespace sm::daemon
