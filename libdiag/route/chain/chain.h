// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Chain: what an operator says of a routing chain, as values: topologies, which are parts of the
// fabric by port groups, and steps, each an engine for one of them. Files become these values in
// sm/config/chain_files.h; engine `chain` (engines/chain.cpp) computes the routes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/fabric/port_groups.h"
#include "libdiag/route/options.h"

namespace ib::route {

struct ChainTopology {
  std::uint64_t id{};           // 0 is all of the fabric, and none of these
  std::string switches, hosts;  // port groups: switches and their ports, and hosts
  std::uint32_t line{};         // of the file
};

struct ChainStep {
  std::uint64_t id{};
  std::string engine, use;
  std::string config;  // options file of this step; empty: none
  std::uint64_t topology{0};
  std::optional<std::uint64_t> fallback_to;  // it takes the place of this step where that fails
  std::uint8_t path_bit{0};                  // which LID of each port, from its first one
  std::uint32_t line{};
  std::shared_ptr<const Options> options;  // what `config` made; nullptr: those of the request
};

struct Chain {
  std::string file;  // of the steps
  fabric::PortGroups groups;
  std::vector<ChainTopology> topologies;  // by ID
  std::vector<ChainStep> steps;           // by ID; the first is of topology 0 and no fallback
  bool allow_credit_loops{false};         // as ChoiceOptions has it
  std::string text;                       // all that it was made from

  /// nullptr: all of the fabric.
  const ChainTopology* topology_of(const ChainStep& step) const;
};

}  // namespace ib::route
