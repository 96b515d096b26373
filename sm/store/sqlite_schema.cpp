// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <set>

#include "sm/store/sqlite_tables.h"

namespace sm::store {
namespace {

constexpr int kFirstVersionWithId = 4;
constexpr int kApplicationId = 0x69620000;  // "ib", and the version

/// What each schema version adds to the one before; never changed once released.
constexpr const char* kSchemas[] = {
    R"sql(
CREATE TABLE IF NOT EXISTS lid (
  port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  lid INTEGER NOT NULL CHECK(lid BETWEEN 1 AND 49151),
  lmc INTEGER NOT NULL CHECK(lmc BETWEEN 0 AND 7)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mc_group (
  mgid BLOB PRIMARY KEY CHECK(length(mgid) = 16),
  mlid INTEGER NOT NULL, q_key INTEGER NOT NULL, p_key INTEGER NOT NULL, mtu INTEGER NOT NULL,
  rate INTEGER NOT NULL, packet_life INTEGER NOT NULL, traffic_class INTEGER NOT NULL,
  sl INTEGER NOT NULL, flow_label INTEGER NOT NULL, hop_limit INTEGER NOT NULL,
  scope INTEGER NOT NULL, well_known INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mc_member (
  mgid BLOB NOT NULL CHECK(length(mgid) = 16),
  port_gid BLOB NOT NULL CHECK(length(port_gid) = 16),
  join_state INTEGER NOT NULL, proxy_join INTEGER NOT NULL,
  PRIMARY KEY (mgid, port_gid)) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS service (
  service_id BLOB NOT NULL CHECK(length(service_id) = 8),
  service_gid BLOB NOT NULL CHECK(length(service_gid) = 16),
  p_key INTEGER NOT NULL,
  expires INTEGER NOT NULL, owner BLOB NOT NULL CHECK(length(owner) = 8),
  record BLOB NOT NULL CHECK(length(record) = 176),
  PRIMARY KEY (service_id, service_gid, p_key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subscription (
  key BLOB PRIMARY KEY,
  subscriber BLOB NOT NULL CHECK(length(subscriber) = 8),
  lid INTEGER NOT NULL, qpn INTEGER NOT NULL, q_key INTEGER NOT NULL, sl INTEGER NOT NULL,
  path_bits INTEGER NOT NULL, p_key_index INTEGER NOT NULL,
  grh_gid BLOB CHECK(grh_gid IS NULL OR length(grh_gid) = 16),
  grh_gid_index INTEGER NOT NULL, grh_hop_limit INTEGER NOT NULL,
  grh_traffic_class INTEGER NOT NULL, grh_flow_label INTEGER NOT NULL,
  inform_info BLOB NOT NULL CHECK(length(inform_info) = 36),
  trusted INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS alias_guid (
  port_guid BLOB NOT NULL CHECK(length(port_guid) = 8),
  place INTEGER NOT NULL,
  guid BLOB NOT NULL CHECK(length(guid) = 8),
  PRIMARY KEY (port_guid, place)) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE mc_member ADD COLUMN joined_by BLOB NOT NULL DEFAULT x'0000000000000000'
  CHECK(length(joined_by) = 8);
)sql",
    // The sums of rows that are there already follow in fill_sums().
    R"sql(
ALTER TABLE lid ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mc_group ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mc_member ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE service ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subscription ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alias_guid ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS partition_member (
  p_key INTEGER NOT NULL CHECK(p_key BETWEEN 1 AND 32767),
  port_guid BLOB NOT NULL CHECK(length(port_guid) = 8),
  membership INTEGER NOT NULL CHECK(membership BETWEEN 1 AND 3),
  owner BLOB NOT NULL,
  sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (p_key, port_guid)) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS generated_p_key (
  name BLOB PRIMARY KEY CHECK(length(name) BETWEEN 1 AND 512),
  p_key INTEGER NOT NULL CHECK(p_key BETWEEN 1 AND 32766),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS programmed (
  what INTEGER PRIMARY KEY CHECK(what = 1),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS routes (
  part INTEGER PRIMARY KEY CHECK(part >= 0),
  memory BLOB NOT NULL CHECK(length(memory) BETWEEN 1 AND 900),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TEMP TABLE programmed_before AS SELECT what FROM programmed;
DROP TABLE programmed;
CREATE TABLE programmed (
  what INTEGER PRIMARY KEY CHECK(what BETWEEN 1 AND 2),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO programmed (what) SELECT what FROM programmed_before;
DROP TABLE programmed_before;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS counted_window (
  node_guid BLOB NOT NULL CHECK(length(node_guid) = 8),
  port INTEGER NOT NULL CHECK(port BETWEEN 0 AND 254),
  began INTEGER NOT NULL, read_ms INTEGER NOT NULL,
  counters BLOB NOT NULL CHECK(length(counters) BETWEEN 1 AND 900),
  sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (node_guid, port, began)) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS client_to_ask (
  port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS client_in_doubt (
  port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writer (
  port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql"};
static_assert(std::size(kSchemas) == kSchemaVersion);

/// Rows of an older release get their sums by being written once more.
int fill_sums(sqlite3* db) {
  Contents contents;
  if (const int code = load_rows(db, contents, nullptr); code != SQLITE_DONE) return code;
  return Tables(db).write(batch_of(std::move(contents)));
}

/// "table|lid|CREATETABLElid(..." for each: the text of a statement without its blanks.
std::set<std::string> tables_of(sqlite3* db, int& code) {
  std::set<std::string> tables;
  code = sqlite3_exec(
      db, "SELECT type || '|' || name || '|' || sql FROM sqlite_schema WHERE sql NOT NULL",
      [](void* to, int, char** values, char**) {
        std::string text;
        for (const char* c = values[0]; c != nullptr && *c != '\0'; ++c)
          if (std::isspace(static_cast<unsigned char>(*c)) == 0) text += *c;
        static_cast<std::set<std::string>*>(to)->insert(std::move(text));
        return 0;
      },
      &tables, nullptr);
  return tables;
}

}  // namespace

std::string ask(sqlite3* db, const char* sql, int& code) {
  std::string text;
  code = sqlite3_exec(
      db, sql,
      [](void* to, int columns, char** values, char**) {
        if (columns > 0 && values[0] != nullptr) static_cast<std::string*>(to)->assign(values[0]);
        return 0;
      },
      &text, nullptr);
  return text;
}

SchemaVersion read_schema_version(sqlite3* db, int& code) {
  const int version = std::atoi(ask(db, "PRAGMA user_version", code).c_str());
  if (code != SQLITE_OK) return {};
  const int id = std::atoi(ask(db, "PRAGMA application_id", code).c_str());
  if (code != SQLITE_OK) return {};
  const std::string objects = ask(db, "SELECT count(*) FROM sqlite_schema", code);
  if (code != SQLITE_OK) return {};
  if (version == 0 && id == 0 && objects == "0") return {SchemaState::Empty, 0};
  if (version > 0 && version < kFirstVersionWithId && id == 0) return {SchemaState::Older, version};
  if (version < kFirstVersionWithId || id != kApplicationId + version)
    return {SchemaState::Damaged, version};
  if (version > kSchemaVersion) return {SchemaState::Newer, version};
  return {version < kSchemaVersion ? SchemaState::Older : SchemaState::Ours, version};
}

int migrate(sqlite3* db, int version) {
  const auto execute = [db](const std::string& sql) {
    return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  };
  std::string sql = "BEGIN IMMEDIATE;";
  for (int v = version; v < kSchemaVersion; ++v) sql += kSchemas[v];
  sql += fmt::format("PRAGMA user_version={};PRAGMA application_id={};", kSchemaVersion,
                     kApplicationId + kSchemaVersion);
  int code = execute(sql);
  if (code == SQLITE_OK) code = fill_sums(db);
  if (code == SQLITE_OK) code = execute("COMMIT");
  if (code != SQLITE_OK) execute("ROLLBACK");
  return code;
}

bool has_our_tables(sqlite3* db, int& code) {
  const std::set<std::string> found = tables_of(db, code);
  if (code != SQLITE_OK) return false;
  sqlite3* raw = nullptr;
  code = sqlite3_open(":memory:", &raw);
  const Database fresh(raw);
  if (code == SQLITE_OK) code = migrate(raw, 0);
  if (code != SQLITE_OK) return false;
  const std::set<std::string> ours = tables_of(raw, code);
  return code == SQLITE_OK && std::includes(found.begin(), found.end(), ours.begin(), ours.end());
}

}  // namespace sm::store
