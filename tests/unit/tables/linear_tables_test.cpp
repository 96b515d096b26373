// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rows of linear tables that go and come, against rows kept one by one.
#include <gtest/gtest.h>

#include <random>

#include "libdiag/tables/tables.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;
using Rows = std::vector<std::vector<std::uint8_t>>;

constexpr std::size_t kLids = 7;

Rows rows_of(const LinearTables& tables) {
  Rows rows;
  for (SwitchIndex s = 0; s < tables.switch_count(); ++s)
    rows.emplace_back(tables.row(s).begin(), tables.row(s).end());
  return rows;
}

/// Some of so many indexes, ascending.
std::vector<SwitchIndex> some_of(std::size_t count, std::mt19937_64& random) {
  std::vector<SwitchIndex> some;
  const std::uint64_t most = 1 + random() % 4;
  for (SwitchIndex s = 0; s < count; ++s)
    if (random() % 4 < most) some.push_back(s);
  return some;
}

LinearTables random_tables(std::size_t switches, std::mt19937_64& random) {
  LinearTables tables(switches, Lid{kLids - 1});
  for (SwitchIndex s = 0; s < switches; ++s)
    for (std::uint8_t& port : tables.row(s)) port = static_cast<std::uint8_t>(random());
  return tables;
}

TEST(LinearTablesInPlace, RowsGoAndCome) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 300; ++run) {
    LinearTables tables = random_tables(random() % 12, random);
    Rows wanted = rows_of(tables);
    const std::vector<SwitchIndex> gone = some_of(wanted.size(), random);
    tables.erase_rows(gone);
    for (std::size_t i = gone.size(); i-- > 0;) wanted.erase(wanted.begin() + gone[i]);
    ASSERT_EQ(rows_of(tables), wanted);
    std::vector<SwitchIndex> come;
    for (const SwitchIndex s : some_of(wanted.size() + 4, random))
      if (s <= wanted.size() + come.size()) come.push_back(s);
    tables.insert_rows(come);
    for (const SwitchIndex s : come)
      wanted.insert(wanted.begin() + s, std::vector<std::uint8_t>(kLids, kNoPort));
    ASSERT_EQ(rows_of(tables), wanted);
  }
}

TEST(LinearTablesInPlace, ARowThatComesBackTakesNoOtherMemory) {
  std::mt19937_64 random(2);
  LinearTables tables = random_tables(5, random);
  const auto* place = tables.row(0).data();
  tables.erase_rows(std::vector<SwitchIndex>{1, 3});
  tables.insert_rows(std::vector<SwitchIndex>{1, 3});
  EXPECT_EQ(tables.row(0).data(), place);
}

}  // namespace
}  // namespace ib::tables
