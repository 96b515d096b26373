// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// mft_poke SWITCH_LID MLID MASK: overwrites the ports 0 to 63 of a switch's entry for a multicast
// LID by raw SMPs, with libibmad alone. Bit n of MASK, a hexadecimal number, is port n.
#include <infiniband/mad.h>
#include <infiniband/umad.h>

#include <array>
#include <cstdint>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int lid = static_cast<int>(std::strtol(argv[1], nullptr, 0));
  const auto index = static_cast<unsigned>(std::strtol(argv[2], nullptr, 0)) - 0xC000U;
  const std::uint64_t mask = std::strtoull(argv[3], nullptr, 16);
  std::array<int, 2> classes{IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
  ibmad_port* port = mad_rpc_open_port(nullptr, 0, classes.data(), classes.size());
  if (port == nullptr) return 4;
  ib_portid_t id{};
  ib_portid_set(&id, lid, 0, 0);
  std::array<std::uint8_t, IB_SMP_DATA_SIZE> info{};
  bool done = smp_query_via(info.data(), &id, IB_ATTR_NODE_INFO, 0, 1000, port) != nullptr;
  const unsigned ports = mad_get_field(info.data(), 0, IB_NODE_NPORTS_F);
  constexpr unsigned kPorts = 16;
  constexpr std::size_t kEntries = 32;
  for (unsigned position = 0; done && position <= ports / kPorts && position < 4; ++position) {
    std::array<std::uint8_t, IB_SMP_DATA_SIZE> block{};
    const auto modifier = static_cast<unsigned>(position << 28 | index / kEntries);
    done =
        smp_query_via(block.data(), &id, IB_ATTR_MULTICASTFORWTBL, modifier, 1000, port) != nullptr;
    const auto bits = static_cast<std::uint16_t>(mask >> (position * kPorts));
    block.at(index % kEntries * 2) = static_cast<std::uint8_t>(bits >> 8);
    block.at(index % kEntries * 2 + 1) = static_cast<std::uint8_t>(bits);
    done = done && smp_set_via(block.data(), &id, IB_ATTR_MULTICASTFORWTBL, modifier, 1000, port) !=
                       nullptr;
  }
  mad_rpc_close_port(port);
  return done ? 0 : 1;
}
