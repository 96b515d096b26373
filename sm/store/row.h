// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Row: one record of a table with the values as they are in the file, read by SQLite or by the
// salvage of a file that SQLite cannot use.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "libdiag/base/ids.h"

namespace sm::store {

struct Value {
  enum class Kind : std::uint8_t { Null, Integer, Blob, Other };  // Other: none that we write
  Kind kind{Kind::Null};
  std::int64_t integer{};
  std::span<const std::byte> bytes{};  // of a blob; the reader's, until its next row
};

class Row {
 public:
  static constexpr std::size_t kColumnsMax = 16;

  void add(const Value& value) {
    assert(size_ < kColumnsMax);
    values_[size_++] = value;
  }
  std::span<const Value> values() const { return {values_.data(), size_}; }
  std::size_t size() const { return size_; }

  // What has another kind or length than the column reads as zero: the row's sum told of it.
  template <class T>
  T integer_as(std::size_t column) const {
    return static_cast<T>(values_[column].integer);
  }
  std::span<const std::byte> bytes(std::size_t column) const { return values_[column].bytes; }
  std::string text(std::size_t column) const {
    const auto b = bytes(column);
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  ib::Gid gid(std::size_t column) const {
    ib::Gid g;
    if (const auto b = bytes(column); b.size() == g.bytes.size())
      std::memcpy(g.bytes.data(), b.data(), b.size());
    return g;
  }
  ib::Guid guid(std::size_t column) const {
    std::uint64_t v = 0;
    if (const auto b = bytes(column); b.size() == 8)
      for (const std::byte byte : b) v = (v << 8) | static_cast<std::uint8_t>(byte);
    return ib::Guid{v};
  }

 private:
  std::array<Value, kColumnsMax> values_{};
  std::size_t size_{0};
};

}  // namespace sm::store
