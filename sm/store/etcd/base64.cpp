// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/base64.h"

#include <array>
#include <cstdint>

namespace sm::store::etcd {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  for (auto& v : values) v = kNoDigit;
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto piece = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < piece.size() ? static_cast<std::uint8_t>(piece[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= piece.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const auto piece = text.substr(at, 4);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint8_t value =
          i < piece.size() ? kValues[static_cast<std::uint8_t>(piece[i])] : std::uint8_t{0};
      if (value == kNoDigit) return std::nullopt;
      bits = bits << 6 | value;
    }
    for (std::size_t i = 0; i + 1 < piece.size(); ++i)
      bytes += static_cast<char>(bits >> (16 - 8 * i));
  }
  return bytes;
}

}  // namespace sm::store::etcd
