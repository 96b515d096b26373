// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "libdiag/base/text.h"

namespace sm::store {
namespace {

/// Of what is longer than a record may be (salvage.h) each row has so much.
constexpr std::size_t kPartBytes = 900;

constexpr std::size_t columns_in(std::string_view columns) {
  return static_cast<std::size_t>(std::ranges::count(columns, ',')) + 1;
}

template <class Kind>
constexpr Table table_of(Kind) {
  return {Kind::table, Kind::columns, columns_in(Kind::columns), Kind::keys,
          [](const Row& row, Contents& contents) {
            (contents.*Kind::kept).push_back(Kind::take(row));
          }};
}

constexpr Table kProgrammed{"programmed", "what, sum", 2, 1,
                            [](const Row& row, Contents& contents) {
                              const auto vls = static_cast<DeviceVls>(row.integer_as<int>(0));
                              if (vls == DeviceVls::Told || vls == DeviceVls::PutBack)
                                contents.vls = vls;
                            }};

constexpr Table kRoutes{
    "routes", "part, memory, sum", 3, 1, [](const Row& row, Contents& contents) {
      const auto memory = row.bytes(1);
      contents.routes.insert(contents.routes.end(), memory.begin(), memory.end());
    }};

constexpr auto kTables = std::apply(
    [](auto... kind) {
      return std::array{table_of(kind)..., kProgrammed, kRoutes};
    },
    Kinds{});

std::string removal(std::string_view table, std::string_view columns, std::size_t keys) {
  std::string sql = fmt::format("DELETE FROM {} WHERE ", table);
  const auto names = ib::split(columns, ',');
  for (std::size_t i = 0; i < keys; ++i)
    sql += fmt::format("{}{} = ?", i == 0 ? "" : " AND ", ib::trim(names[i]));
  return sql;
}

std::string insertion(std::string_view table, std::size_t columns) {
  std::string sql = fmt::format("INSERT OR REPLACE INTO {} VALUES (?", table);
  for (std::size_t i = 1; i < columns; ++i) sql += ", ?";
  return sql + ')';
}

}  // namespace

std::span<const Table> tables() { return kTables; }

std::string describe(const Table& table, const Row& row) {
  std::string text = table.name;
  const auto names = ib::split(table.columns, ',');
  for (std::size_t i = 0; i < table.keys && i < row.size(); ++i) {
    text += fmt::format(" {}=", ib::trim(names[i]));
    const Value& key = row.values()[i];
    if (key.kind == Value::Kind::Integer) text += std::to_string(key.integer);
    for (const std::byte b : key.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  }
  return text;
}

int load_rows(sqlite3* db, Contents& contents, std::vector<std::string>* bad) {
  for (const Table& table : kTables) {
    // The keys come first, in the order in which SQLite keeps the rows.
    std::string order = "1";
    for (std::size_t i = 2; i <= table.keys; ++i) order += fmt::format(", {}", i);
    Statement s(
        db, fmt::format("SELECT {} FROM {} ORDER BY {}", table.columns, table.name, order).c_str());
    int code;
    while ((code = s.step()) == SQLITE_ROW) {
      const Row row = s.row();
      if (bad == nullptr || fits_its_sum(table.name, row)) {
        table.take(row, contents);
      } else {
        bad->push_back(describe(table, row));
      }
    }
    if (code != SQLITE_DONE) return code;
  }
  return SQLITE_DONE;
}

template <class Kind>
Tables::Statements<Kind>::Statements(sqlite3* db)
    : remove(db, removal(Kind::table, Kind::columns, Kind::keys).c_str()),
      put(db, insertion(Kind::table, columns_in(Kind::columns)).c_str(), Kind::table) {}

template <class Kind>
int Tables::Statements<Kind>::write(const Batch& batch) {
  const auto take_away = [&](const typename Kind::Key& key) {
    Kind::bind_key(remove, key);
    return remove.run();
  };
  if constexpr (kHasRemovals<Kind>)
    for (const auto& key : batch.*Kind::removed)
      if (const int code = take_away(key); code != SQLITE_DONE) return code;
  for (const auto& value : batch.*Kind::changed) {
    int code = SQLITE_DONE;
    if (Kind::removes(value)) {
      code = take_away(Kind::key(value));
    } else if (Kind::has_row(value)) {
      Kind::bind_key(put, Kind::key(value));
      Kind::bind(put, value);
      code = put.bind_sum().run();
    }
    if (code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

Tables::Tables(sqlite3* db)
    : forget_lids_(db, "DELETE FROM lid"),
      remove_members_(db, "DELETE FROM mc_member WHERE mgid = ?"),
      of_kinds_(std::apply(
          [db](auto... kind) { return std::tuple{Statements<decltype(kind)>(db)...}; }, Kinds{})),
      remove_programmed_(db, "DELETE FROM programmed"),
      put_programmed_(db, "INSERT OR REPLACE INTO programmed VALUES (?, ?)", "programmed"),
      remove_routes_(db, "DELETE FROM routes"),
      put_routes_(db, "INSERT OR REPLACE INTO routes VALUES (?, ?, ?)", "routes") {}

int Tables::write(const Batch& batch) {
  if (batch.forget_lids)
    if (const int code = forget_lids_.run(); code != SQLITE_DONE) return code;
  for (const auto& mgid : batch.groups_removed)
    if (const int code = remove_members_.bind(mgid).run(); code != SQLITE_DONE) return code;
  int code = SQLITE_OK;
  std::apply([&](auto&... kind) { ((code = code == SQLITE_OK ? kind.write(batch) : code), ...); },
             of_kinds_);
  if (code == SQLITE_OK) code = write_programmed(batch);
  return code == SQLITE_OK ? write_routes(batch) : code;
}

int Tables::write_programmed(const Batch& batch) {
  if (!batch.vls) return SQLITE_OK;
  if (const int code = remove_programmed_.run(); code != SQLITE_DONE) return code;
  if (*batch.vls == DeviceVls::Untouched) return SQLITE_OK;
  put_programmed_.bind(static_cast<std::uint8_t>(*batch.vls));
  const int code = put_programmed_.bind_sum().run();
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

int Tables::write_routes(const Batch& batch) {
  if (!batch.routes) return SQLITE_OK;
  if (const int code = remove_routes_.run(); code != SQLITE_DONE) return code;
  const std::span<const std::byte> all = *batch.routes;
  for (std::size_t part = 0; part * kPartBytes < all.size(); ++part) {
    const auto rest = all.subspan(part * kPartBytes);
    put_routes_.bind(part).bind(rest.first(std::min(kPartBytes, rest.size())));
    if (const int code = put_routes_.bind_sum().run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

}  // namespace sm::store
