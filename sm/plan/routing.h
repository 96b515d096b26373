// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing: computed or programmed routes with the graph that gives their switch indexes a meaning.
#pragma once

#include <string>

#include "libdiag/fabric/graph.h"
#include "libdiag/routes/tables.h"

namespace sm {

/// Routes as programmed, with the graph whose switch indexes they use.
struct Routing {
  ib::fabric::CompactGraph graph;
  ib::routes::LinearTables lfts;
  std::string engine;
};

}  // namespace sm
