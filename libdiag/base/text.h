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

/// `text` cut at each `separator`; empty pieces are kept.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace ib
