// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_tables.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/layout.h"

namespace sm::store {
namespace {

using ib::wire::InformInfo;
using ib::wire::ServiceRecord;

constexpr unsigned kBySecret = 2;  // of a subscription's column `trusted`

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
)sql"};
static_assert(std::size(kSchemas) == kSchemaVersion);

template <class Record>
std::array<std::byte, ib::wire::LayoutOf<Record>::kBytes> bytes_of(const Record& record) {
  std::array<std::byte, ib::wire::LayoutOf<Record>::kBytes> bytes{};
  ib::wire::encode(record, bytes.data());
  return bytes;
}
template <class Record>
Record record_of(std::span<const std::byte> bytes) {
  if (bytes.size() != ib::wire::LayoutOf<Record>::kBytes) return {};
  return ib::wire::decode<Record>(bytes.data());
}

/// The key as bytes whose order is that of compare_keys().
class SubscriptionKey {
 public:
  explicit SubscriptionKey(const Subscription& s) {
    const auto& i = s.inform_info;
    const bool by_gid = !i.gid.is_zero();
    put(s.to.lid.value, 2);
    put(s.to.path_bits, 1);
    put(s.to.qpn, 4);
    put(s.to.q_key, 4);
    put(s.to.p_key_index, 2);
    put(s.to.sl.value, 1);
    for (const auto b : i.gid.bytes) put(b, 1);
    put(by_gid ? 0U : i.lid_range_begin.value, 2);
    put(by_gid ? 0U : i.lid_range_end.value, 2);
    put(i.is_generic, 1);
    put(i.type, 2);
    put(i.trap_number, 2);
    put(i.resp_time_value, 1);
    put(i.producer_type, 4);
  }
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  void put(std::uint32_t value, unsigned width) {
    for (unsigned i = width; i-- > 0;) bytes_[size_++] = static_cast<std::byte>(value >> (8 * i));
  }
  std::array<std::byte, 48> bytes_{};
  std::size_t size_{0};
};

int load_lids(sqlite3* db, Contents& contents) {
  Statement s(db, "SELECT port_guid, lid, lmc FROM lid ORDER BY port_guid");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    contents.lids.push_back(
        {s.guid(0), ib::Lid{s.integer_as<std::uint16_t>(1)}, s.integer_as<std::uint8_t>(2)});
  return code;
}

int load_groups(sqlite3* db, Contents& contents) {
  Statement s(db,
              "SELECT mgid, mlid, q_key, p_key, mtu, rate, packet_life, traffic_class, sl, "
              "flow_label, hop_limit, scope, well_known FROM mc_group ORDER BY mgid");
  int code;
  while ((code = s.step()) == SQLITE_ROW) {
    McGroup g;
    g.mgid = s.gid(0);
    g.mlid = ib::Lid{s.integer_as<std::uint16_t>(1)};
    g.q_key = s.integer_as<std::uint32_t>(2);
    g.p_key = ib::PKey{s.integer_as<std::uint16_t>(3)};
    g.mtu = s.integer_as<std::uint8_t>(4);
    g.rate = s.integer_as<std::uint8_t>(5);
    g.packet_life = s.integer_as<std::uint8_t>(6);
    g.traffic_class = s.integer_as<std::uint8_t>(7);
    g.sl = ib::Sl{s.integer_as<std::uint8_t>(8)};
    g.flow_label = s.integer_as<std::uint32_t>(9);
    g.hop_limit = s.integer_as<std::uint8_t>(10);
    g.scope = s.integer_as<std::uint8_t>(11);
    g.well_known = s.integer(12) != 0;
    contents.groups.push_back(g);
  }
  return code;
}

int load_members(sqlite3* db, Contents& contents) {
  Statement s(db,
              "SELECT mgid, port_gid, join_state, proxy_join, joined_by FROM mc_member "
              "ORDER BY mgid, port_gid");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    contents.members.push_back(
        {s.gid(0), s.gid(1), s.integer_as<std::uint8_t>(2), s.integer(3) != 0, s.guid(4)});
  return code;
}

int load_services(sqlite3* db, Contents& contents) {
  Statement s(db,
              "SELECT record, expires, owner FROM service "
              "ORDER BY service_id, service_gid, p_key");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    contents.services.push_back(
        {record_of<ServiceRecord>(s.bytes(0)), s.integer_as<std::int64_t>(1), s.guid(2)});
  return code;
}

int load_subscriptions(sqlite3* db, Contents& contents) {
  Statement s(db,
              "SELECT subscriber, lid, qpn, q_key, sl, path_bits, p_key_index, grh_gid, "
              "grh_gid_index, grh_hop_limit, grh_traffic_class, grh_flow_label, inform_info, "
              "trusted FROM subscription ORDER BY key");
  int code;
  while ((code = s.step()) == SQLITE_ROW) {
    Subscription one;
    one.subscriber = s.guid(0);
    one.to.lid = ib::Lid{s.integer_as<std::uint16_t>(1)};
    one.to.qpn = s.integer_as<std::uint32_t>(2);
    one.to.q_key = s.integer_as<std::uint32_t>(3);
    one.to.sl = ib::Sl{s.integer_as<std::uint8_t>(4)};
    one.to.path_bits = s.integer_as<std::uint8_t>(5);
    one.to.p_key_index = s.integer_as<std::uint16_t>(6);
    if (!s.bytes(7).empty())
      one.to.grh =
          ib::mad::Grh{s.gid(7), s.integer_as<std::uint8_t>(8), s.integer_as<std::uint8_t>(9),
                       s.integer_as<std::uint8_t>(10), s.integer_as<std::uint32_t>(11)};
    one.inform_info = record_of<InformInfo>(s.bytes(12));
    one.trusted = s.integer(13) != 0;
    one.by_secret = s.integer(13) == kBySecret;
    contents.subscriptions.push_back(one);
  }
  return code;
}

int load_aliases(sqlite3* db, Contents& contents) {
  Statement s(db, "SELECT port_guid, place, guid FROM alias_guid ORDER BY port_guid, place");
  int code;
  while ((code = s.step()) == SQLITE_ROW)
    contents.aliases.push_back({s.guid(0), s.integer_as<std::uint16_t>(1), s.guid(2)});
  return code;
}

}  // namespace

int migrate(sqlite3* db, int version) {
  std::string sql = "BEGIN IMMEDIATE;";
  for (int v = version; v < kSchemaVersion; ++v) sql += kSchemas[v];
  sql += fmt::format("PRAGMA user_version={};COMMIT;", kSchemaVersion);
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  return code;
}

int Tables::load(sqlite3* db, Contents& contents) {
  for (const auto part :
       {load_lids, load_groups, load_members, load_services, load_subscriptions, load_aliases})
    if (const int code = part(db, contents); code != SQLITE_DONE) return code;
  return SQLITE_DONE;
}

Tables::Tables(sqlite3* db)
    : forget_lids_(db, "DELETE FROM lid"),
      remove_lid_(db, "DELETE FROM lid WHERE port_guid = ?"),
      put_lid_(db, "INSERT OR REPLACE INTO lid VALUES (?, ?, ?)"),
      remove_group_(db, "DELETE FROM mc_group WHERE mgid = ?"),
      remove_members_(db, "DELETE FROM mc_member WHERE mgid = ?"),
      put_group_(db, "INSERT OR REPLACE INTO mc_group VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      remove_member_(db, "DELETE FROM mc_member WHERE mgid = ? AND port_gid = ?"),
      put_member_(db, "INSERT OR REPLACE INTO mc_member VALUES (?, ?, ?, ?, ?)"),
      remove_service_(db,
                      "DELETE FROM service WHERE service_id = ? AND service_gid = ? AND p_key = ?"),
      put_service_(db, "INSERT OR REPLACE INTO service VALUES (?, ?, ?, ?, ?, ?)"),
      remove_subscription_(db, "DELETE FROM subscription WHERE key = ?"),
      put_subscription_(
          db, "INSERT OR REPLACE INTO subscription VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      remove_alias_(db, "DELETE FROM alias_guid WHERE port_guid = ? AND place = ?"),
      put_alias_(db, "INSERT OR REPLACE INTO alias_guid VALUES (?, ?, ?)") {}

int Tables::write(const Batch& batch) {
  for (const auto part :
       {&Tables::write_lids, &Tables::write_groups, &Tables::write_members, &Tables::write_services,
        &Tables::write_subscriptions, &Tables::write_aliases})
    if (const int code = (this->*part)(batch); code != SQLITE_OK) return code;
  return SQLITE_OK;
}

int Tables::write_lids(const Batch& batch) {
  if (batch.forget_lids)
    if (const int code = forget_lids_.run(); code != SQLITE_DONE) return code;
  for (const auto guid : batch.lids_removed)
    if (const int code = remove_lid_.bind(guid).run(); code != SQLITE_DONE) return code;
  for (const auto& claim : batch.lids) {
    put_lid_.bind(claim.port_guid).bind(claim.lid.value).bind(claim.lmc);
    if (const int code = put_lid_.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_groups(const Batch& batch) {
  for (const auto& mgid : batch.groups_removed) {
    if (const int code = remove_group_.bind(mgid).run(); code != SQLITE_DONE) return code;
    if (const int code = remove_members_.bind(mgid).run(); code != SQLITE_DONE) return code;
  }
  for (const auto& g : batch.groups) {
    put_group_.bind(g.mgid).bind(g.mlid.value).bind(g.q_key).bind(g.p_key.value).bind(g.mtu);
    put_group_.bind(g.rate).bind(g.packet_life).bind(g.traffic_class).bind(g.sl.value);
    put_group_.bind(g.flow_label).bind(g.hop_limit).bind(g.scope).bind(g.well_known ? 1U : 0U);
    if (const int code = put_group_.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_members(const Batch& batch) {
  for (const auto& m : batch.members) {
    auto& statement = m.join_state == 0 ? remove_member_ : put_member_;
    statement.bind(m.mgid).bind(m.port_gid);
    if (m.join_state != 0)
      statement.bind(m.join_state).bind(m.proxy_join ? 1U : 0U).bind(m.joined_by);
    if (const int code = statement.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_services(const Batch& batch) {
  const auto bind_key = [](Statement& s, const ServiceKey& key) {
    s.bind_ordered(key.service_id).bind(key.service_gid).bind(key.p_key.value);
  };
  for (const auto& key : batch.services_removed) {
    bind_key(remove_service_, key);
    if (const int code = remove_service_.run(); code != SQLITE_DONE) return code;
  }
  for (const auto& service : batch.services) {
    bind_key(put_service_, service.key());
    put_service_.bind(static_cast<std::uint64_t>(service.expires)).bind(service.owner);
    put_service_.bind(bytes_of(service.record));
    if (const int code = put_service_.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_subscriptions(const Batch& batch) {
  for (const auto& gone : batch.subscriptions_removed) {
    remove_subscription_.bind(SubscriptionKey(gone).bytes());
    if (const int code = remove_subscription_.run(); code != SQLITE_DONE) return code;
  }
  for (const auto& one : batch.subscriptions) {
    auto& put = put_subscription_;
    put.bind(SubscriptionKey(one).bytes()).bind(one.subscriber);
    put.bind(one.to.lid.value).bind(one.to.qpn).bind(one.to.q_key).bind(one.to.sl.value);
    put.bind(one.to.path_bits).bind(one.to.p_key_index);
    const auto grh = one.to.grh.value_or(ib::mad::Grh{});
    if (one.to.grh) {
      put.bind(grh.gid);
    } else {
      put.bind_null();
    }
    put.bind(grh.gid_index).bind(grh.hop_limit).bind(grh.traffic_class).bind(grh.flow_label);
    put.bind(bytes_of(one.inform_info)).bind(!one.trusted ? 0U : one.by_secret ? kBySecret : 1U);
    if (const int code = put.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_aliases(const Batch& batch) {
  for (const auto& [port, index] : batch.aliases_forgotten)
    if (const int code = remove_alias_.bind(port).bind(index).run(); code != SQLITE_DONE)
      return code;
  for (const auto& alias : batch.aliases) {
    put_alias_.bind(alias.port_guid).bind(alias.index).bind(alias.guid);
    if (const int code = put_alias_.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

}  // namespace sm::store
