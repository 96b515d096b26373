// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The words of a line of the incumbent's SA dump, by name.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "libdiag/base/ids.h"

namespace sm::sa::dump {

inline constexpr unsigned kGuidsPerBlock = 8;
inline constexpr std::string_view kGuidNames[kGuidsPerBlock] = {
    " guid0=0x", " guid1=0x", " guid2=0x", " guid3=0x",
    " guid4=0x", " guid5=0x", " guid6=0x", " guid7=0x"};

/// The fields of a line, looked up one after the other: text between them is skipped.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  /// The number after the next `name`, which ends in "0x". Without it, or with a number of more
  /// than T, the line is bad.
  template <class T>
  T number(std::string_view name) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos) return bad<T>(name);
    rest_.remove_prefix(at + name.size());
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, 16);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    const bool ended = length == rest_.size() || rest_[length] == ' ' || rest_[length] == ':' ||
                       rest_[length] == '\r' || rest_[length] == '\t';
    if (error != std::errc{} || !ended) return bad<T>(name);
    rest_.remove_prefix(length);
    return value;
  }
  bool has(std::string_view name) const { return rest_.find(name) != std::string_view::npos; }
  ib::Gid gid(std::string_view name) {
    const auto prefix = number<std::uint64_t>(name);
    return ib::Gid::from(prefix, ib::Guid{number<std::uint64_t>(":0x")});
  }
  /// 16 bytes as two halves of 16 digits.
  template <class T, std::size_t N>
  void array(std::string_view name, std::array<T, N>& values) {
    constexpr std::size_t kPerHalf = N / 2;
    for (std::size_t half = 0; half < 2; ++half) {
      const auto v = number<std::uint64_t>(half == 0 ? name : ":0x");
      for (std::size_t i = 0; i < kPerHalf; ++i)
        values[half * kPerHalf + i] = static_cast<T>(v >> (8 * sizeof(T) * (kPerHalf - 1 - i)));
    }
  }
  std::string_view quoted(std::string_view name) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos) return bad<std::string_view>(name);
    rest_.remove_prefix(at + name.size());
    if (rest_.empty()) return bad<std::string_view>(name);
    const char mark = rest_[0] == '\'' || rest_[0] == '"' ? rest_[0] : ' ';
    if (mark != ' ') rest_.remove_prefix(1);
    const auto value = rest_.substr(0, rest_.find(mark));
    rest_.remove_prefix(std::min(rest_.size(), value.size() + (mark != ' ' ? 1U : 0U)));
    return value;
  }
  /// Pairs of digits.
  template <std::size_t N>
  void hex(std::string_view name, std::array<char, N>& to) {
    const auto at = rest_.find(name);
    if (at == std::string_view::npos || rest_.size() - at - name.size() < 2 * N) {
      bad<int>(name);
      return;
    }
    rest_.remove_prefix(at + name.size());
    for (std::size_t i = 0; i < N; ++i) {
      std::uint8_t value{};
      const char* first = rest_.data() + 2 * i;
      const auto [end, error] = std::from_chars(first, first + 2, value, 16);
      if (error != std::errc{} || end != first + 2) bad<int>(name);
      to[i] = static_cast<char>(value);
    }
    rest_.remove_prefix(2 * N);
  }

  /// The first field that was missing or no number; empty when all were fine.
  std::string_view missing() const { return missing_; }

 private:
  template <class T>
  T bad(std::string_view name) {
    if (missing_.empty()) missing_ = name;
    return {};
  }
  std::string_view rest_;
  std::string_view missing_;
};

}  // namespace sm::sa::dump
