// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Values of rows as text, and as fields of Settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/ids.h"
#include "sm/config/row.h"

namespace sm::config {

/// Puts `text` into the row's field. The error says what was expected; the field is left alone
/// then. A row without a field checks the text all the same.
ib::Result<void> read_value(const Row& row, std::string_view text, Settings& to);

/// As read_value() takes it; "(null)" where nothing was said, and "" of a row without a field.
std::string value_text(const Row& row, const Settings& settings);

void copy_value(const Row& row, const Settings& from, Settings& to);

/// Whether two texts are one value: 0 and 0x00 are.
bool same_value(const Row& row, std::string_view a, std::string_view b);

/// GUIDs with commas between them; none of an empty text or "null".
ib::Result<std::vector<ib::Guid>> read_guids(std::string_view text);

/// TRUE, FALSE, or what is meant by yes, on and the like (`odd` is set then).
ib::Result<bool> read_truth(std::string_view text, bool& odd);

inline constexpr std::string_view kNothing = "(null)";

}  // namespace sm::config
