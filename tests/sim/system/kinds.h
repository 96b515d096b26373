// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Kinds of events: what can befall a whole system. A new one is a row of the table in kinds.cpp.
#pragma once

#include <span>

#include "tests/sim/system/script.h"

namespace soak {

class System;

struct Kind {
  const char* name;                       // for the trace
  unsigned weight;                        // how often it is drawn
  void (*prepare)(Script&, const Item&);  // before anything runs; null: nothing
  void (*happen)(System&, const Item&);   // null: nothing
};

std::span<const Kind> kinds();

}  // namespace soak
