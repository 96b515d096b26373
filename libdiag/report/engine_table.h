// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engines side by side, a row each, as text and JSON; of a saved topology or a running fabric.
#pragma once

#include <span>
#include <string>

#include "libdiag/report/json.h"
#include "libdiag/route/choose/choose.h"

namespace ib::report {

/// One word or two: "verified", "switches missed" (LIDs of switches are unreachable, which affects
/// no traffic between hosts), "can deadlock", "rejected", "not applicable".
const char* result_of(const route::Tried& row);

/// A line of names, a line for each engine, and below why those that did not pass did not.
std::string engine_table(std::span<const route::Tried> rows);

/// In JSON seconds have three decimals.
std::optional<double> to_milliseconds(std::optional<double> seconds);

/// The same as the member "engines" of a document.
void write_engines(JsonWriter& json, std::span<const route::Tried> rows);

}  // namespace ib::report
