// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Case: what names one run of the whole system, in a word: SEED, or SEED:SIZE:ITEMS as shrinking
// leaves it. SIZE is per cent of the fabric that the seed draws, ITEMS what of its events is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace soak {

struct Case {
  std::uint64_t seed{};
  unsigned size{100};                         // per cent, 1 to 100
  std::optional<std::vector<unsigned>> kept;  // numbers of items, ascending; none: all
  friend bool operator==(const Case&, const Case&) = default;
};

/// "17", "17:40:", "17:40:0,3,8"
std::string to_text(const Case& c);
/// nullopt: it is no such word.
std::optional<Case> parse_case(std::string_view text);

}  // namespace soak
