// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The schema of the store's file: what each version of it added, and how a file says which it has.
#pragma once

#include <sqlite3.h>

#include <string>

namespace sm::store {

/// user_version of a file.
inline constexpr int kSchemaVersion = 11;

/// The first answer of a pragma or query as text, empty when it gave none; `code` is SQLite's.
std::string ask(sqlite3* db, const char* sql, int& code);

/// What a file says that it is. Since version 4 it says so twice, in user_version and in
/// application_id, so that one of them that is damaged does not pass for another release's.
enum class SchemaState { Empty, Older, Ours, Newer, Damaged };
struct SchemaVersion {
  SchemaState state{SchemaState::Damaged};
  int version{};
};
/// `code` is SQLite's.
SchemaVersion read_schema_version(sqlite3* db, int& code);

/// Brings a file from schema `version` (0: empty) to ours, all or nothing, and gives each row that
/// an older release wrote its sum. A SQLite code.
int migrate(sqlite3* db, int version);

/// Whether the tables are there, as this release makes them. `code` is SQLite's.
bool has_our_tables(sqlite3* db, int& code);

}  // namespace sm::store
