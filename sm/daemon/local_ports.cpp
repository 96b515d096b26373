// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/local_ports.h"

#include <fmt/format.h>

#include <istream>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/wire/words.h"

namespace sm::daemon {
std::string describe_port(const ib::mad::PortFacts& port) {
  return fmt::format("{} port {}: GUID {} LID {} {}", port.device, port.port_num,
                     to_string(port.port_guid), port.lid.value, ib::wire::state_word(port.state));
}

std::optional<ib::Guid> ask_for_port(std::span<const ib::mad::PortFacts> ports, std::istream& in,
                                     std::ostream& out) {
  for (std::size_t i = 0; i < ports.size(); ++i)
    out << fmt::format("{}: {}\n", i + 1, describe_port(ports[i]));
  const auto ask = [&] {
    out << fmt::format("Which port, 1 to {}; 0 ends ibsm: ", ports.size()) << std::flush;
  };
  std::string line;
  for (ask(); std::getline(in, line); ask()) {
    std::uint64_t number = 0;
    if (!ib::parse_number(line, ports.size(), number)) continue;
    if (number == 0) return std::nullopt;
    return ports[number - 1].port_guid;
  }
  out << '\n';
  return std::nullopt;
}

}  // namespace sm::daemon
