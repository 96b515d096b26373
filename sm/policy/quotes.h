// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Double quotes of policy files, straight and typographic: word processors make the latter of the
// former. Inside sm/policy only.
#pragma once

#include <string_view>

namespace sm::policy {

inline constexpr std::string_view kQuotes[] = {"\"", "\xE2\x80\x9C", "\xE2\x80\x9D",
                                               "\xE2\x80\x9E"};

/// Whether a quote may begin with it.
constexpr bool may_be_quote(char c) { return c == kQuotes[0].front() || c == kQuotes[1].front(); }

/// The length of the quote that `text`, which is not empty, begins with; 0: none.
constexpr std::size_t quote_length(std::string_view text) {
  if (!may_be_quote(text.front())) return 0;
  for (const std::string_view quote : kQuotes)
    if (text.starts_with(quote)) return quote.size();
  return 0;
}

}  // namespace sm::policy
