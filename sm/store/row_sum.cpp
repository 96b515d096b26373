// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/row_sum.h"

namespace sm::store {

RowSum::RowSum(std::string_view table) {
  for (const char c : table) take(static_cast<std::uint8_t>(c));
}

void RowSum::add_null() { take(static_cast<std::uint8_t>(Value::Kind::Null)); }

void RowSum::add(std::int64_t integer) {
  take(static_cast<std::uint8_t>(Value::Kind::Integer));
  take_number(static_cast<std::uint64_t>(integer));
}

void RowSum::add(std::span<const std::byte> blob) {
  take(static_cast<std::uint8_t>(Value::Kind::Blob));
  take_number(blob.size());
  for (const std::byte b : blob) take(static_cast<std::uint8_t>(b));
}

void RowSum::take_number(std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) take(static_cast<std::uint8_t>(number >> shift));
}

bool fits_its_sum(std::string_view table, const Row& row) {
  const auto values = row.values();
  if (values.empty() || values.back().kind != Value::Kind::Integer) return false;
  RowSum sum(table);
  for (const Value& v : values.first(values.size() - 1)) {
    switch (v.kind) {
      case Value::Kind::Null:
        sum.add_null();
        break;
      case Value::Kind::Integer:
        sum.add(v.integer);
        break;
      case Value::Kind::Blob:
        sum.add(v.bytes);
        break;
      case Value::Kind::Other:
        return false;
    }
  }
  return values.back().integer == sum.value();
}

}  // namespace sm::store
