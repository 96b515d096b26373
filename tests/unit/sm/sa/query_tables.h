// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables of records as an SA under test answers them.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "libdiag/query/sa_client.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {

constexpr std::uint64_t at_bit(unsigned n) { return std::uint64_t{1} << n; }

template <class Record>
std::vector<Record> table(Bench& bench, std::uint16_t attribute, const Record& wanted = {},
                          std::uint64_t mask = 0, std::uint32_t modifier = 0) {
  auto answer = bench.ask_table(bench.request(Method::GetTable, attribute, wanted, mask, modifier));
  EXPECT_EQ(answer.mad.method(), Method::GetTableResp);
  auto records = ib::query::read_table<Record>(answer);
  EXPECT_TRUE(records) << records.error().message;
  return records ? std::move(*records) : std::vector<Record>{};
}

}  // namespace sm::sa::test
