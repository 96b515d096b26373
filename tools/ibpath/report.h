// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Path records as text, field by field as saquery prints them, and as JSON.
#pragma once

#include <span>
#include <string>

#include "libdiag/wire/sa_records.h"

namespace ibpath {

inline constexpr const char* kSchema = "ibkit.ibpath/1";

/// saquery's "PathRecord dump:". With `explained` a line before each says in words what the codes
/// mean.
std::string text_report(std::span<const ib::wire::PathRecord> paths, bool explained);

/// The document of doc/formats.md.
std::string json_report(std::span<const ib::wire::PathRecord> paths, const std::string& version);

}  // namespace ibpath
