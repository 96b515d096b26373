// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/prefix_routes.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "libdiag/base/text.h"

namespace sm::sa {
namespace {

constexpr std::size_t kQuotedMax = 80;
constexpr std::string_view kBlanks = " \t\r\f\v";

/// The first word of `rest`, which is moved behind it.
std::string_view next_word(std::string_view& rest) {
  const auto begin = std::min(rest.find_first_not_of(kBlanks), rest.size());
  rest.remove_prefix(begin);
  const auto end = std::min(rest.find_first_of(kBlanks), rest.size());
  const auto word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

/// Any, or a number; false: neither.
bool read(std::string_view word, std::optional<std::uint64_t>& value) {
  if (word == "*") return true;
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, 16);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return false;
  value = number;
  return true;
}

}  // namespace

std::vector<PrefixRoute> read_prefix_routes(std::string_view text, std::string_view file_name,
                                            std::vector<ib::Diagnostic>& problems) {
  std::vector<PrefixRoute> routes;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view line = whole.substr(0, whole.find('#'));
    const auto left = next_word(line), right = next_word(line), more = next_word(line);
    if (left.empty()) continue;
    PrefixRoute route;
    std::optional<std::uint64_t> guid;
    const bool good = read(left, route.prefix);
    if (!good || !read(right, guid) || !more.empty()) {
      const std::string_view wrong = !good ? left : !more.empty() ? more : right;
      problems.push_back(
          {ib::Severity::Error,
           std::string(file_name),
           {number, static_cast<std::uint32_t>(wrong.data() - whole.data() + 1)},
           fmt::format("expected a subnet prefix and a router's port GUID, each in hex or * for "
                       "any, got '{}'",
                       ib::printable(ib::trim(whole.substr(0, kQuotedMax))))});
      continue;
    }
    if (guid) route.router = ib::Guid{*guid};
    routes.push_back(route);
  }
  return routes;
}

}  // namespace sm::sa
