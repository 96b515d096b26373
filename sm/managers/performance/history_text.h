// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Texts of what ports counted in each window of time that is kept, the one that runs last.
#pragma once

#include <string>

#include "sm/managers/performance/dump.h"

namespace sm::managers::performance {

/// A table for each port: when the window began, the seconds between its readings, rates of data a
/// second, and what errors there were.
std::string history_text(const PortRecords& records, const Which& which, const Windows& windows);
/// A document (doc/formats.md); times are seconds since 1970.
std::string history_json(const PortRecords& records, const Which& which, const Windows& windows,
                         const std::string& version);

}  // namespace sm::managers::performance
