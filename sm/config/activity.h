// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The key activity_report_subjects as a value.
#pragma once

#include <cstdint>
#include <string_view>

#include "libdiag/base/result.h"

namespace sm::config {

/// The subjects as bits: 1 mc, 2 prtn, 4 virt, 8 routing; all; none, alone or not a word at all. An
/// error of kind Usage names the word that is none of them, which may be an empty one.
ib::Result<std::uint8_t> activity_subjects(std::string_view list);

}  // namespace sm::config
