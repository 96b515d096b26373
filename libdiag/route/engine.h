// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A routing engine is a function from a request to complete routes. It reads nothing else, keeps
// nothing, logs nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/graph.h"
#include "libdiag/routes/tables.h"

namespace ib::route {

struct Options {
  bool honour_previous{false};  // keep entries of Request::previous that are still minimal
  std::uint32_t scatter_seed{0};
};

struct Request {
  const fabric::Fabric* fabric{};  // for GUIDs, speeds, names in messages
  const fabric::CompactGraph* graph{};
  Options options;
  const routes::LinearTables* previous{};
};

/// Complete routes. One VL and SL 0 unless an engine says otherwise.
struct Routes {
  std::string engine;
  routes::LinearTables lfts;
  std::uint8_t vls_used{1};
  bool promises_deadlock_freedom{false};
};

/// An error says why the engine does not fit, in one sentence that names a switch.
using Engine = Result<Routes> (*)(const Request&);

struct EngineEntry {
  const char* name;
  const char* summary;
  Engine compute;
};
/// Every engine, by name as opensm spells it.
std::span<const EngineEntry> engines();
/// nullptr when there is none of that name.
const EngineEntry* find_engine(std::string_view name);

}  // namespace ib::route
