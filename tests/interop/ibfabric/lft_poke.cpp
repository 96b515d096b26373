// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// lft_poke SWITCH_LID TARGET_LID PORT: overwrites one entry of a switch's forwarding table by a raw
// SMP, with libibmad alone.
#include <infiniband/mad.h>
#include <infiniband/umad.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int lid = std::atoi(argv[1]);
  const auto target = static_cast<unsigned>(std::atoi(argv[2]));
  const int out_port = std::atoi(argv[3]);
  std::array<int, 2> classes{IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
  ibmad_port* port = mad_rpc_open_port(nullptr, 0, classes.data(), classes.size());
  if (port == nullptr) return 4;
  ib_portid_t id{};
  ib_portid_set(&id, lid, 0, 0);
  std::array<std::uint8_t, IB_SMP_DATA_SIZE> block{};
  const unsigned number = target / IB_SMP_DATA_SIZE;
  bool done =
      smp_query_via(block.data(), &id, IB_ATTR_LINEARFORWTBL, number, 1000, port) != nullptr;
  if (done) {
    block.at(target % IB_SMP_DATA_SIZE) = static_cast<std::uint8_t>(out_port);
    done = smp_set_via(block.data(), &id, IB_ATTR_LINEARFORWTBL, number, 1000, port) != nullptr;
  }
  mad_rpc_close_port(port);
  if (!done) std::perror("lft_poke");
  return done ? 0 : 1;
}
