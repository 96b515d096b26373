// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "libdiag/base/text.h"

namespace ibpath {
namespace {

using ib::wire::NamedValue;

struct Quantity {
  double number{};
  std::string unit;  // "gb/s", "x", or nothing
};

std::optional<Quantity> read(std::string_view text) {
  text = ib::trim(text);
  Quantity q;
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0)
    return std::nullopt;
  if (text.starts_with("0x") || text.starts_with("0X")) return std::nullopt;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), q.number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(q.number)) return std::nullopt;
  for (const char c : ib::trim({end, static_cast<std::size_t>(text.data() + text.size() - end)}))
    q.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (q.unit == "gbps") q.unit = "gb/s";
  return q;
}

bool same_kind(const Quantity& wanted, const Quantity& named) {
  return wanted.unit.empty() || wanted.unit == named.unit;
}

}  // namespace

bool are_quantities(Names names) {
  return std::ranges::any_of(names, [](const NamedValue& n) { return read(n.name).has_value(); });
}

std::optional<std::uint64_t> code_of_quantity(Names names, std::string_view text) {
  const auto wanted = read(text);
  if (!wanted) return std::nullopt;
  for (const NamedValue& name : names) {
    const auto named = read(name.name);
    if (named && named->number == wanted->number && same_kind(*wanted, *named)) return name.value;
    // "No Extended Speed"
    if (!named && name.value == 0 && wanted->number == 0 && wanted->unit.empty()) return 0;
  }
  return std::nullopt;
}

std::string quantities_that_fit(Names names, std::string_view text) {
  const auto wanted = read(text);
  std::vector<std::pair<double, std::string_view>> there;
  bool of_that_kind = false;
  for (const NamedValue& name : names) {
    const auto named = read(name.name);
    if (!named) continue;
    there.emplace_back(named->number, name.name);
    of_that_kind = of_that_kind || (wanted && same_kind(*wanted, *named));
  }
  std::ranges::sort(there);
  if (!of_that_kind) {
    std::string all;
    for (const auto& quantity : there)
      all += fmt::format("{}{}", all.empty() ? "" : ", ", quantity.second);
    return "one of " + all;
  }
  const auto above = std::ranges::lower_bound(there, std::pair(wanted->number, std::string_view{}));
  if (above == there.begin() || above == there.end())
    return fmt::format("one that there is: the nearest is {}",
                       (above == there.end() ? there.back() : *above).second);
  return fmt::format("one that there is: the nearest are {} and {}", std::prev(above)->second,
                     above->second);
}

}  // namespace ibpath
