// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/congestion_values.h"

#include <fmt/format.h>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/policy/congestion_settings.h"

namespace sm::policy {
namespace {

constexpr std::uint64_t kShiftMax = 3, kMultiplierMax = 0x3FFF;

tl::unexpected<ib::Error> expected(std::string_view what, std::string_view got) {
  constexpr std::size_t kShownMax = 40;
  return ib::fail(ib::ErrorKind::Usage, fmt::format("expected {}, got '{}'", what,
                                                    ib::printable(got.substr(0, kShownMax))));
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<ib::wire::CongestionDelay> read_congestion_delay(std::string_view text) {
  std::uint64_t shift = 0, multiplier = 0;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (!ib::parse_number(text.substr(0, colon), kShiftMax, shift)) return std::nullopt;
    text = text.substr(colon + 1);
  }
  if (!ib::parse_number(text, kMultiplierMax, multiplier)) return std::nullopt;
  return ib::wire::CongestionDelay{static_cast<std::uint8_t>(shift),
                                   static_cast<std::uint16_t>(multiplier)};
}

ib::Result<std::vector<ib::wire::CongestionDelay>> read_congestion_table(std::string_view text) {
  std::vector<ib::wire::CongestionDelay> table;
  if (ib::trim(text).empty()) return table;
  for (const std::string_view item : ib::split(text, ',')) {
    const auto delay = read_congestion_delay(ib::trim(item));
    if (!delay) return expected(kDelayWanted, ib::trim(item));
    if (table.size() == kCongestionTableMax)
      return expected(fmt::format("at most {} entries", kCongestionTableMax), "one more");
    table.push_back(*delay);
  }
  return table;
}

ib::Result<ib::wire::CongestionPortMask> read_port_mask(std::string_view text) {
  ib::wire::CongestionPortMask mask{};
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  constexpr std::string_view kWanted = "at most 64 hexadecimal digits";
  if (digits.empty() || digits.size() > 2 * mask.size()) return expected(kWanted, text);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = digit_of(digits[digits.size() - 1 - i]);
    if (digit < 0) return expected(kWanted, text);
    mask[mask.size() - 1 - i / 2] |= static_cast<std::uint8_t>(digit << (i % 2 * 4));
  }
  return mask;
}

ib::Result<std::array<std::uint16_t, 16>> read_sl_values(std::string_view text, std::uint16_t max) {
  std::array<std::uint16_t, 16> values{};
  for (const std::string_view whole : ib::split(text, ',')) {
    const std::string_view item = ib::trim(whole);
    const auto blank = std::min(item.find_first_of(" \t"), item.size());
    std::uint64_t sl = 0, value = 0;
    if (!ib::parse_number(item.substr(0, blank), values.size() - 1, sl) ||
        !ib::parse_number(ib::trim(item.substr(blank)), max, value))
      return expected(fmt::format("an SL from 0 to 15 and a value from 0 to {}", max), item);
    values[sl] = static_cast<std::uint16_t>(value);
  }
  return values;
}

}  // namespace sm::policy
