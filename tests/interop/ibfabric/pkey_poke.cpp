// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// pkey_poke LID P_KEY: forges the entry at index 0 of an end port's P_Key table by a raw SMP, as
// root of a host can with its own port, with libibmad alone.
#include <infiniband/mad.h>
#include <infiniband/umad.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int lid = std::atoi(argv[1]);
  const auto p_key = static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 0));
  std::array<int, 2> classes{IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
  ibmad_port* port = mad_rpc_open_port(nullptr, 0, classes.data(), classes.size());
  if (port == nullptr) return 4;
  ib_portid_t id{};
  ib_portid_set(&id, lid, 0, 0);
  std::array<std::uint8_t, IB_SMP_DATA_SIZE> block{};
  bool done = smp_query_via(block.data(), &id, IB_ATTR_PKEY_TBL, 0, 1000, port) != nullptr;
  if (done) {
    block[0] = static_cast<std::uint8_t>(p_key >> 8);
    block[1] = static_cast<std::uint8_t>(p_key);
    done = smp_set_via(block.data(), &id, IB_ATTR_PKEY_TBL, 0, 1000, port) != nullptr;
  }
  mad_rpc_close_port(port);
  if (!done) std::perror("pkey_poke");
  return done ? 0 : 1;
}
