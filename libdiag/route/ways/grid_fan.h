// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways through a grid in which something is missing: one dimension after the other, the other way
// round a ring that has a gap, and where a row is broken on both sides beside it. They are longer
// than the shortest here and there, and nearly all keep to the order of dimensions, which shortest
// ones would not.
#pragma once

#include "libdiag/route/shape/grid_rows.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/route/ways/fan.h"

namespace ib::route {

class GridFans {
 public:
  GridFans(const fabric::CompactGraph& graph, const Grid& grid, const Exits& exits);
  GridFans(const GridFans&) = delete;  // rows_ knows channels_

  void make(fabric::SwitchIndex leaf, Fan& fan) const;

 private:
  class Maker;

  const fabric::CompactGraph& graph_;
  const Grid& grid_;
  const Exits& exits_;
  Channels channels_;
  GridRows rows_;
};

}  // namespace ib::route
