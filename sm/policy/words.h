// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words of policy files: comparison without regard to case, and the nearest right one. Inside
// sm/policy only.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "libdiag/base/diagnostic.h"

namespace sm::policy {

/// Whether two words are the same, whatever the case of their ASCII letters.
inline bool equal_words(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// "; did you mean 'ipoib'?", or nothing.
inline std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  // A beginning first: ALL_S is nearer to ALL_SWITCHES than to ALL.
  std::string_view whole;
  bool several = false;
  for (const std::string_view candidate : known) {
    if (word.empty() || !equal_words(candidate.substr(0, word.size()), word)) continue;
    several = !whole.empty();
    whole = candidate;
  }
  if (several) whole = {};
  if (whole.empty()) whole = ib::nearest_word(word, known);
  return whole.empty() ? std::string() : "; did you mean '" + std::string(whole) + "'?";
}

}  // namespace sm::policy
