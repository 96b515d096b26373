// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which port `-g 0` takes by what is typed.
#include "sm/daemon/local_ports.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

namespace sm::daemon {
namespace {

std::array<ib::mad::PortFacts, 2> two_ports() {
  std::array<ib::mad::PortFacts, 2> ports;
  for (std::uint8_t i = 0; i < 2; ++i) {
    ports[i].device = "mlx5_0";
    ports[i].port_num = static_cast<std::uint8_t>(i + 1);
    ports[i].port_guid = ib::Guid{0x11ULL + i};
  }
  ports[1].lid = ib::Lid{4};
  ports[1].state = ib::wire::PortState::Active;
  return ports;
}

struct Asked {
  std::optional<ib::Guid> guid;
  std::string said;
};
Asked ask(const std::string& typed) {
  std::istringstream in(typed);
  std::ostringstream out;
  const auto ports = two_ports();
  auto guid = ask_for_port(ports, in, out);
  return {guid, out.str()};
}

TEST(AskForPort, ShowsThePortsAndTakesTheOneOfTheNumber) {
  const auto [guid, said] = ask("2\n");
  EXPECT_EQ(guid, ib::Guid{0x12});
  EXPECT_EQ(said,
            "1: mlx5_0 port 1: GUID 0x0000000000000011 LID 0 DOWN\n"
            "2: mlx5_0 port 2: GUID 0x0000000000000012 LID 4 ACTIVE\n"
            "Which port, 1 to 2; 0 ends ibsm: ");
}

TEST(AskForPort, AsksUntilTheAnswerIsAPort) {
  EXPECT_EQ(ask("3\n\nx\n-1\n1 2\n1\n").guid, ib::Guid{0x11});
}

TEST(AskForPort, TakesNoneAtZeroAndAtTheEnd) {
  EXPECT_EQ(ask("0\n2\n").guid, std::nullopt);
  EXPECT_EQ(ask("").guid, std::nullopt);
  EXPECT_EQ(ask("9\n").guid, std::nullopt);
}

}  // namespace
}  // namespace sm::daemon
