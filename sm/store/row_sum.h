// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The checksum that each row of the store carries in its last column: FNV-1a over the table's name
// and the values before it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "libdiag/base/fnv.h"
#include "sm/store/row.h"

namespace sm::store {

class RowSum {
 public:
  explicit RowSum(std::string_view table);

  void add_null();
  void add(std::int64_t integer);
  void add(std::span<const std::byte> blob);
  /// As the column has it.
  std::int64_t value() const { return static_cast<std::int64_t>(sum_.value()); }

 private:
  void take(std::uint8_t byte) { sum_.add(byte); }
  void take_number(std::uint64_t number);

  ib::Fnv1a sum_;
};

/// Whether the last value of `row` is the sum of the others, as a row of `table`.
bool fits_its_sum(std::string_view table, const Row& row);

}  // namespace sm::store
