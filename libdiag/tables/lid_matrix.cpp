// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/lid_matrix.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "libdiag/base/text.h"

namespace ib::tables {
namespace {

constexpr std::size_t kPortsMax = 255;     // port 0 with them
constexpr std::size_t kMistakesMax = 200;  // that are said of one file

/// Takes hexadecimal digits off the front of `text`; false when there are none or they exceed max.
bool take_hex(std::string_view& text, std::uint64_t max, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data() || value > max) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// nullptr, or what a line should have had; `rest` is the line and then what is behind its last
/// good word.
const char* read_line(std::string_view& rest, std::vector<LidMatrix>& matrix) {
  std::string_view line = rest;
  std::uint64_t value = 0;
  if (take(line, "Switch: guid 0x")) {
    rest = line;
    if (!take_hex(line, ~std::uint64_t{0}, value) || value == 0) return "a GUID after 0x";
    matrix.push_back({Guid{value}, {}});
    return nullptr;
  }
  if (!take(line, "0x")) return "`Switch: guid 0x...` or a row `0x<LID>: <hops>...`";
  if (matrix.empty()) return "`Switch: guid 0x...` before the first row";
  rest = line;
  if (!take_hex(line, kLidUnicastMax.value, value) || value == 0) return "a unicast LID after 0x";
  rest = line;
  if (!take(line, ":")) return "`:` behind the LID";
  std::vector<std::uint8_t> hops;
  for (;;) {
    line = trim(line);
    rest = line;
    if (line.empty() || line.front() == '#') break;
    std::uint64_t count = 0;
    const std::size_t before = line.size();
    if (!take_hex(line, 0xFF, count) || before - line.size() != 2 ||
        (!line.empty() && line.front() != ' '))
      return "hops of two hexadecimal digits";
    if (hops.size() == kPortsMax) return "at most 255 ports";
    hops.push_back(static_cast<std::uint8_t>(count));
  }
  if (hops.empty()) return "hops of two hexadecimal digits";
  matrix.back().hops[Lid{static_cast<std::uint16_t>(value)}] = std::move(hops);
  return nullptr;
}

}  // namespace

Result<std::vector<LidMatrix>> read_lid_matrix(std::string_view text, std::string_view file_name,
                                               std::vector<Diagnostic>* mistakes) {
  std::vector<LidMatrix> matrix;
  std::optional<Error> error;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end), line = trim(whole);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    std::string_view rest = line;
    const char* expected = read_line(rest, matrix);
    if (expected == nullptr) continue;
    const auto column = static_cast<std::size_t>(rest.data() - whole.data()) + 1;
    auto what = fmt::format("expected {}, got '{}'", expected, printable(line.substr(0, 24)));
    if (!error)
      error = {ErrorKind::Usage, fmt::format("{}:{}:{}: {}", file_name, number, column, what), 0};
    if (mistakes == nullptr || mistakes->size() == kMistakesMax) break;
    mistakes->push_back({Severity::Error,
                         std::string(file_name),
                         {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(column)},
                         std::move(what)});
  }
  if (error) return tl::unexpected<Error>(*std::move(error));
  return matrix;
}

}  // namespace ib::tables
