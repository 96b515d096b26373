// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/stubborn_ports.h"

#include <gtest/gtest.h>

namespace sm::apply {
namespace {

plan::PortWant with_timeout(std::uint16_t lid, std::uint8_t timeout) {
  plan::PortWant want;
  want.managed = want.end_port = true;
  want.lid = ib::Lid{lid};
  want.subnet_timeout = timeout;
  return want;
}

constexpr ib::Guid kNode{0x11}, kOther{0x22};

TEST(StubbornPorts, KnowsWhatWasRefused) {
  StubbornPorts ports;
  ports.note(kNode, 3, with_timeout(7, 18), with_timeout(7, 0));
  EXPECT_TRUE(ports.contains(kNode, 3, with_timeout(7, 18), with_timeout(7, 0)));
  EXPECT_FALSE(ports.contains(kNode, 3, with_timeout(7, 17), with_timeout(7, 0))) << "not asked";
  EXPECT_FALSE(ports.contains(kNode, 3, with_timeout(7, 18), with_timeout(7, 1))) << "it changed";
  EXPECT_FALSE(ports.contains(kNode, 2, with_timeout(7, 18), with_timeout(7, 0)));
  EXPECT_FALSE(ports.contains(kOther, 3, with_timeout(7, 18), with_timeout(7, 0)));
}

TEST(StubbornPorts, ALidThatIsTakenIsNoPartOfIt) {
  StubbornPorts ports;
  ports.note(kNode, 1, with_timeout(7, 18), with_timeout(7, 0));
  EXPECT_TRUE(ports.contains(kNode, 1, with_timeout(8, 18), with_timeout(8, 0)));
  EXPECT_FALSE(ports.contains(kNode, 1, with_timeout(8, 18), with_timeout(7, 0)))
      << "it has not been asked for this LID";
}

TEST(StubbornPorts, WithoutALidOrASubnetManagerItIsOfNoUseAndAskedAgain) {
  StubbornPorts ports;
  ports.note(kNode, 1, with_timeout(7, 18), with_timeout(0, 18));
  EXPECT_FALSE(ports.contains(kNode, 1, with_timeout(7, 18), with_timeout(0, 18)));
  auto want = with_timeout(7, 18), held = want;
  want.sm_lid = ib::Lid{4};
  held.sm_lid = ib::Lid{3};
  ports.note(kNode, 1, want, held);
  EXPECT_FALSE(ports.contains(kNode, 1, want, held));
}

TEST(StubbornPorts, KnowsWhoKeepsTheSubnetManagerOfBefore) {
  StubbornPorts ports;
  auto want = with_timeout(7, 18), held = with_timeout(7, 0);
  want.sm_lid = ib::Lid{4};
  held.sm_lid = ib::Lid{3};
  ports.note(kNode, 1, want, held);
  EXPECT_TRUE(ports.keeps_manager(kNode, 1, ib::Lid{4}, ib::Lid{3}));
  EXPECT_FALSE(ports.keeps_manager(kNode, 2, ib::Lid{4}, ib::Lid{3}));
  EXPECT_FALSE(ports.keeps_manager(kNode, 1, ib::Lid{4}, ib::Lid{4})) << "it took it by itself";
  EXPECT_FALSE(ports.keeps_manager(kNode, 1, ib::Lid{5}, ib::Lid{3})) << "it was not told this one";
  held.sm_lid = want.sm_lid;
  ports.note(kNode, 1, want, held);
  EXPECT_FALSE(ports.keeps_manager(kNode, 1, ib::Lid{4}, ib::Lid{4}));
  EXPECT_FALSE(ports.keeps_manager(kNode, 1, ib::Lid{4}, ib::Lid{3}));
}

TEST(StubbornPorts, WhoGivesInIsForgotten) {
  StubbornPorts ports;
  ports.note(kNode, 1, with_timeout(7, 18), with_timeout(7, 0));
  ports.note(kNode, 1, with_timeout(7, 18), with_timeout(7, 18));
  EXPECT_FALSE(ports.contains(kNode, 1, with_timeout(7, 18), with_timeout(7, 0)));
}

}  // namespace
}  // namespace sm::apply
