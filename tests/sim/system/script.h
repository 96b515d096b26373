// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Script: all that a seed decides: a fabric, how its subnet managers are configured, who its
// clients are, and what befalls it when. Pure: the same case gives the same script on every
// machine.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "libdiag/sim/model.h"
#include "sm/core/subnet_manager.h"
#include "tests/sim/system/case.h"

namespace soak {

struct Kind;  // of events: kinds.h

/// One thing that happens. What it happens to, and how, is made of `picks` when it does, so that it
/// means something on a smaller fabric, too.
struct Item {
  const Kind* kind{};
  ib::Duration at{0};
  std::array<std::uint64_t, 4> picks{};
  unsigned number{};  // in the script before anything was left out
};

/// A host on which a subnet manager may run, and how.
struct SeatDraw {
  std::uint64_t host{};  // a pick
  std::uint8_t priority{};
  bool old_fashioned{false};  // polls every 10 s, as opensm does, and keeps a store of its own
};

struct Script {
  ib::fabric::Fabric fabric;
  std::string topology;  // in a few words
  ib::sim::ModelOptions model;
  sm::core::Options managers;
  std::string engine;  // of routing, as the operator names it; empty: none
  bool shares_store{false};
  bool has_partitions{false};
  bool has_state_tables{false};              // switches tell the states of all ports in one MAD
  std::vector<SeatDraw> seats;               // the first one starts by itself
  unsigned clients{};                        // hosts that register things
  std::vector<ib::fabric::NodeIndex> twins;  // that have a GUID of another node, and those others
  std::vector<Item> items;                   // by time
};

Script draw(const Case& c);

}  // namespace soak
