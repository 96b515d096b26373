// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The files of a routing chain (doc/routing-chains.md): topologies, and the steps over them. The
// grammar is that of NVIDIA's manuals. Pure: the caller reads files, those that steps name
// included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/route/chain/chain.h"

namespace sm::config {

/// With an error among the diagnostics, which are in the order of their places, there is nothing
/// else.
struct TopologyFile {
  std::vector<ib::route::ChainTopology> topologies;  // by ID
  std::vector<ib::Diagnostic> diagnostics;
};
/// `groups` are those that topologies may name; `groups_file` is where they are defined (empty:
/// nowhere, and only the predefined ones are there).
TopologyFile read_topology_file(std::string_view text, const std::string& file,
                                const ib::fabric::PortGroups& groups,
                                const std::string& groups_file);

struct ChainFile {
  std::vector<ib::route::ChainStep> steps;  // by ID, without those that are ignored
  std::vector<ib::Diagnostic> diagnostics;
};
/// `topologies_file` is where `topologies` are from; empty: nowhere.
ChainFile read_chain_file(std::string_view text, const std::string& file,
                          const std::vector<ib::route::ChainTopology>& topologies,
                          const std::string& topologies_file);

}  // namespace sm::config
