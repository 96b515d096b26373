// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// In what a node of the model is unlike others: what it can hold, and how its management agent
// misbehaves. Private to libdiag/sim; Model::set_trait() is the way in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/sim/impl.h"
#include "libdiag/sim/virtual_ports.h"

namespace ib::sim {

struct DeviceTraits {
  struct Given {
    std::string name, value;
    std::uint8_t port{};  // of a trait that a port has
  };
  std::vector<Given> given;  // in this order; each name once a port

  std::set<std::uint16_t> refused;      // Sets of these attributes are answered with status 0x1C
  std::set<std::uint16_t> unsupported;  // Gets and Sets of these, with 0x0C
  std::set<std::uint16_t> kept;         // Sets are answered, and change nothing
  std::set<std::uint16_t> unanswered;
  std::uint32_t loses_every{};  // SMP; 0: none
  std::uint32_t served{};
  bool traps_without_lid{};                              // those for its own subnet manager
  std::vector<std::optional<std::uint8_t>> shown_state;  // PortState by port, whatever it is
  std::vector<std::uint8_t> special;  // by port: what a switch has built in behind it; 0: nothing
  std::vector<bool> forgets_speeds;   // by port: what it was told of them, when its link trains
  std::vector<std::uint16_t> fec;     // by port: FECModeActive; empty: no PortInfoExtended
  std::map<std::uint8_t, VirtualPorts> virtual_ports;  // of a CA, by port
  bool only_old_counters{};                            // the PMA has no PortCountersExtended
  bool wide_errors{};                                  // ... has PortErrorsExtended behind it
  Lid redirects_to{};                                  // the PMA answers with it; 0: it answers

  /// An SMP that is served now is lost.
  bool loses(std::uint16_t attribute);
};

}  // namespace ib::sim
