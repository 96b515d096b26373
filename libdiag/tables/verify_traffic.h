// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether traffic of CAs, routers and the SM really passes a switch on its way to a LID: asked
// where only a few places matter. Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_turns.h"

namespace ib::tables::check {

class Traffic {
 public:
  Traffic(const SwitchGraph& switch_graph, const LinearTables& tables, Lid sm_lid)
      : switch_graph_(switch_graph), tables_(tables), sm_lid_(sm_lid) {}

  /// A CA, a router or the SM: its traffic must flow.
  bool is_end(const fabric::Destination& d) const { return !d.is_switch() || d.lid == sm_lid_; }
  /// Whether it passes s, or starts there: some neighbour with sources leads here, or one that is
  /// passed itself.
  bool passes(SwitchIndex s, Lid lid) const { return passes(s, lid, 0); }

 private:
  bool passes(SwitchIndex s, Lid lid, unsigned depth) const {
    if (switch_graph_.own[s] != 0 || s == switch_graph_.sm_leaf || depth > kHopsMax) return true;
    for (const Channel in : switch_graph_.into(s)) {
      const SwitchIndex neighbour = switch_graph_.from(in);
      if (tables_.at(neighbour, lid) == switch_graph_.port(in) && passes(neighbour, lid, depth + 1))
        return true;
    }
    return false;
  }

  const SwitchGraph& switch_graph_;
  const LinearTables& tables_;
  Lid sm_lid_;
};

/// Which of `turns` (ascending, one VL) it takes to some LID of an end, by their places.
std::vector<std::uint8_t> taken_turns(const SwitchGraph& switch_graph, const LinearTables& tables,
                                      Lid sm_lid, const std::vector<Turn>& turns);

}  // namespace ib::tables::check
