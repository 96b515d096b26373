// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether traffic of CAs, routers and the SM really passes a switch on its way to a LID: asked
// where only a few places matter. Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_turns.h"

namespace ib::tables::check {

class Traffic {
 public:
  Traffic(const Terrain& terrain, const LinearTables& tables, Lid sm_lid)
      : terrain_(terrain), tables_(tables), sm_lid_(sm_lid) {}

  /// A CA, a router or the SM: its traffic must flow.
  bool is_end(const fabric::Destination& d) const { return !d.is_switch() || d.lid == sm_lid_; }
  /// Whether it passes s, or starts there: some neighbour with sources leads here, or one that is
  /// passed itself.
  bool passes(SwitchIndex s, Lid lid) const { return passes(s, lid, 0); }

 private:
  bool passes(SwitchIndex s, Lid lid, unsigned depth) const {
    if (terrain_.own[s] != 0 || s == terrain_.sm_leaf || depth > kHopsMax) return true;
    for (const Channel in : terrain_.into(s)) {
      const SwitchIndex neighbour = terrain_.from(in);
      if (tables_.at(neighbour, lid) == terrain_.port(in) && passes(neighbour, lid, depth + 1))
        return true;
    }
    return false;
  }

  const Terrain& terrain_;
  const LinearTables& tables_;
  Lid sm_lid_;
};

/// Which of `turns` (ascending, one VL) it takes to some LID of an end, by their places.
std::vector<std::uint8_t> taken_turns(const Terrain& terrain, const LinearTables& tables,
                                      Lid sm_lid, const std::vector<Turn>& turns);

}  // namespace ib::tables::check
