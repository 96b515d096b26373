// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Spreads destinations over candidate arcs. For every switch and target switch somebody says which
// arcs may be used; this chooses one per LID so that links carry equal numbers of CA-to-CA routes.
//
// A switch looks at its own links only, but knows how many source ports really come through it for
// a LID: targets are walked from the farthest switches inwards, and each choice adds its sources to
// the next switch. Equal loads fall to the exit that Exits prefers: without orders of the operator
// the neighbour with the smaller GUID, then the smaller port.
#pragma once

#include <vector>

#include "libdiag/route/engine.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {

/// A switch that is a destination, itself or for what is attached to it.
struct Target {
  fabric::SwitchIndex leaf{};
  std::size_t first_column{}, last_column{};  // LIDs of its hosts
  bool has_siblings{false};                   // an end port with more than one LID
  bool has_ignored{false};                    // a column that does not count
  bool lids_in_a_row{true};                   // LIDs of the columns follow each other
  std::size_t columns() const { return last_column - first_column; }
};

/// The targets of a graph in the order they are routed: what Options::guid_routing_order lists,
/// then switches with CAs by GUID, then others by GUID. A switch is there more than once when some
/// of its end ports are routed ahead of the rest.
class Targets {
 public:
  struct Column {
    Lid lid{};
    std::uint8_t port{};    // of the leaf
    std::uint8_t offset{};  // among the LIDs of one end port
    bool counts{true};      // routes to it are load
  };

  explicit Targets(const Request& request);
  std::span<const Target> all() const { return targets_; }
  std::span<const Column> columns() const { return columns_; }
  std::span<const Column> columns(const Target& target) const {
    return columns().subspan(target.first_column, target.columns());
  }
  /// The most LIDs that an end port has: 2^LMC.
  std::size_t lids_of_a_port() const { return lids_of_a_port_; }
  /// A LID that is no host's: of a switch (port 0) or of the aggregation node at a port of it.
  struct SwitchLid {
    Lid lid{};
    std::uint8_t port{};  // of the switch
  };
  /// LIDs of switch s itself and of its aggregation nodes: reached, and no load.
  std::span<const SwitchLid> switch_lids(fabric::SwitchIndex s) const {
    return {switch_lids_.data() + first_switch_lid_[s],
            first_switch_lid_[s + 1] - first_switch_lid_[s]};
  }
  /// End ports of hosts with a LID behind s: how many sources send from there.
  std::uint32_t sources(fabric::SwitchIndex s) const { return sources_[s]; }
  std::size_t batch_count() const {
    return (targets_.size() + tables::kTargetsPerBatch - 1) / tables::kTargetsPerBatch;
  }
  std::span<const Target> batch(std::size_t i) const {
    const std::size_t first = i * tables::kTargetsPerBatch;
    return all().subspan(first, std::min(tables::kTargetsPerBatch, targets_.size() - first));
  }

 private:
  void add(const Request& request, const fabric::Destination& destination);

  std::vector<Target> targets_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> sources_;
  std::vector<SwitchLid> switch_lids_;
  std::vector<std::size_t> first_switch_lid_;
  std::size_t lids_of_a_port_{1};
};

/// Candidates of every batch.
std::vector<tables::LeastHops> candidates_of(const CandidatesOf& rule,
                                             const fabric::CompactGraph& graph,
                                             const Targets& targets);

/// Tables from candidates. `hops[i]` belongs to targets.batch(i); its levels say in which order
/// switches are walked, so every candidate arc must lead to a lower level of its target.
tables::LinearTables spread(const Request& request, const Targets& targets,
                            std::span<const tables::LeastHops> hops);

}  // namespace ib::route
