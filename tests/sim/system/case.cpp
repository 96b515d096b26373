// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libdiag/base/ids.h"

namespace soak {

std::string to_text(const Case& c) {
  if (c.size == 100 && !c.kept) return std::to_string(c.seed);
  if (!c.kept) return fmt::format("{}:{}", c.seed, c.size);
  return fmt::format("{}:{}:{}", c.seed, c.size, fmt::join(*c.kept, ","));
}

namespace {

/// Up to `end`, which is taken off with it; the whole rest where it does not come.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view word = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return word;
}

}  // namespace

std::optional<Case> parse_case(std::string_view text) {
  Case c;
  std::uint64_t size = c.size;
  const bool has_items = text.find(':') != text.rfind(':');
  const bool is_seed_alone = text.find(':') == text.npos;
  const std::string_view seed = take(text, ':');
  if (!ib::parse_number(seed, UINT64_MAX, c.seed)) return std::nullopt;
  if (is_seed_alone) return c;
  const std::string_view percent = take(text, ':');
  if (!ib::parse_number(percent, 100, size) || size == 0) return std::nullopt;
  c.size = static_cast<unsigned>(size);
  if (!has_items) return c;
  c.kept.emplace();
  while (!text.empty()) {
    std::uint64_t number = 0;
    if (!ib::parse_number(take(text, ','), 9999, number)) return std::nullopt;
    c.kept->push_back(static_cast<unsigned>(number));
  }
  return c;
}

}  // namespace soak
