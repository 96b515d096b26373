// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Text that came from the wire or a file is hostile until it went through here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ib {

/// `text` with every control character, DEL, and byte that is not valid UTF-8 turned into a blank;
/// for logs, terminals and every text format. Cut at the first NUL.
std::string printable(std::string_view text);

/// `text` without blanks at either end.
std::string_view trim(std::string_view text);

/// Empty when `text` is a number from `min` to `max`, else what is wrong: "expected a number from 0
/// to 100, got 'x'". Neither "nan" nor "inf" is a number.
std::string range_complaint(std::string_view text, double min, double max);

/// `text` cut at each `separator`; empty pieces are kept.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace ib
