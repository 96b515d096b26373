// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engines side by side, a row each, as text and JSON; of a saved topology or a running fabric.
#pragma once

#include <span>
#include <string>

#include "libdiag/report/json.h"
#include "libdiag/route/choose/choose.h"

namespace ib::report {

/// One word or two: "verified", "reaches not all" (switches are missed, which blocks nothing), "can
/// deadlock", "refused", "does not fit".
const char* standing(const route::Tried& row);

/// A line of names, a line for each engine, and below why those that did not pass did not.
std::string engine_table(std::span<const route::Tried> rows);

/// The same as the member "engines" of a document.
void write_engines(JsonWriter& json, std::span<const route::Tried> rows);

}  // namespace ib::report
