// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How good routes are, in numbers: load against what the topology allows, lengths of paths, and how
// many flows meet on a link under shifts and permutations. On request only; judges nothing.
#pragma once

#include <cstdint>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/disjoint_paths.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/weighed_loads.h"

namespace ib::tables {

struct FiguresOptions {
  std::uint64_t seed{1};
  std::size_t samples{1000};           // of shifts, permutations and bisections each
  std::size_t all_shifts_up_to{2048};  // hosts; more are sampled
  std::size_t path_samples{200};       // pairs of switches, and of a switch and a port
};

struct Figures {
  std::size_t hosts{};  // end ports of CAs and routers that have a LID

  // CA-to-CA routes over a link in one direction, links between switches.
  std::uint64_t load_max{};
  double load_mean{};
  /// No routing has a smaller maximum: what must cross the links of some switch, and all shortest
  /// paths shared out evenly.
  std::uint64_t load_floor{};

  WeighedLoads weighed;
  /// All hosts send to all LIDs at once: what the most loaded link carries by what the link of a
  /// host does, at least 1. So many times longer it takes than with nothing but hosts to wait for.
  double all_to_all{};

  // Hops between switches from each host to each LID of another, where it arrives.
  double hops_mean{}, hops_least_mean{};
  std::uint32_t hops_max{}, extra_hops_max{};

  /// Flows on the most loaded link between switches, per pattern.
  struct Contention {
    std::size_t patterns{};
    std::uint32_t worst{};
    double mean{};
  };
  Contention shifts;        // host i sends to host i + k, hosts in the order of leaves and ports
  Contention permutations;  // random

  /// Hosts in two random halves, in pairs across, both directions: the share of its link a flow
  /// gets when each divides the most loaded link of its path evenly.
  double bisection_mean{}, bisection_least{};

  DisjointPaths paths;          // between switches with hosts, to all LIDs behind the other
  DisjointPaths paths_of_port;  // to the LIDs of one port, where it has several
};

/// Parallel; the same numbers for the same seed however many threads there are.
Figures figures(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                const LinearTables& tables, const FiguresOptions& options = {});

/// Figures::shifts alone.
Figures::Contention shift_contention(const fabric::CompactGraph& graph, const LinearTables& tables,
                                     const FiguresOptions& options = {});

}  // namespace ib::tables
