// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/sqlite_tables.h"

#include <fmt/format.h>

#include <array>

#include "libdiag/base/text.h"
#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/layout.h"

namespace sm::store {
namespace {

using ib::wire::InformInfo;
using ib::wire::ServiceRecord;

constexpr unsigned kBySecret = 2;  // of a subscription's column `trusted`
constexpr std::uint32_t kVls = 1;  // `what` is programmed

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

void take_lid(const Row& row, Contents& contents) {
  contents.lids.push_back(
      {row.guid(0), ib::Lid{row.integer_as<std::uint16_t>(1)}, row.integer_as<std::uint8_t>(2)});
}

void take_group(const Row& row, Contents& contents) {
  McGroup g;
  g.mgid = row.gid(0);
  g.mlid = ib::Lid{row.integer_as<std::uint16_t>(1)};
  g.q_key = row.integer_as<std::uint32_t>(2);
  g.p_key = ib::PKey{row.integer_as<std::uint16_t>(3)};
  g.mtu = row.integer_as<std::uint8_t>(4);
  g.rate = row.integer_as<std::uint8_t>(5);
  g.packet_life = row.integer_as<std::uint8_t>(6);
  g.traffic_class = row.integer_as<std::uint8_t>(7);
  g.sl = ib::Sl{row.integer_as<std::uint8_t>(8)};
  g.flow_label = row.integer_as<std::uint32_t>(9);
  g.hop_limit = row.integer_as<std::uint8_t>(10);
  g.scope = row.integer_as<std::uint8_t>(11);
  g.well_known = row.integer_as<int>(12) != 0;
  contents.groups.push_back(g);
}

void take_member(const Row& row, Contents& contents) {
  contents.members.push_back({row.gid(0), row.gid(1), row.integer_as<std::uint8_t>(2),
                              row.integer_as<int>(3) != 0, row.guid(4)});
}

void take_service(const Row& row, Contents& contents) {
  contents.services.push_back(
      {record_of<ServiceRecord>(row.bytes(5)), row.integer_as<std::int64_t>(3), row.guid(4)});
}

void take_subscription(const Row& row, Contents& contents) {
  Subscription one;
  one.subscriber = row.guid(1);
  one.to.lid = ib::Lid{row.integer_as<std::uint16_t>(2)};
  one.to.qpn = row.integer_as<std::uint32_t>(3);
  one.to.q_key = row.integer_as<std::uint32_t>(4);
  one.to.sl = ib::Sl{row.integer_as<std::uint8_t>(5)};
  one.to.path_bits = row.integer_as<std::uint8_t>(6);
  one.to.p_key_index = row.integer_as<std::uint16_t>(7);
  if (!row.bytes(8).empty())
    one.to.grh =
        ib::mad::Grh{row.gid(8), row.integer_as<std::uint8_t>(9), row.integer_as<std::uint8_t>(10),
                     row.integer_as<std::uint8_t>(11), row.integer_as<std::uint32_t>(12)};
  one.inform_info = record_of<InformInfo>(row.bytes(13));
  one.trusted = row.integer_as<unsigned>(14) != 0;
  one.by_secret = row.integer_as<unsigned>(14) == kBySecret;
  contents.subscriptions.push_back(one);
}

void take_alias(const Row& row, Contents& contents) {
  contents.aliases.push_back({row.guid(0), row.integer_as<std::uint16_t>(1), row.guid(2)});
}

void take_partition_member(const Row& row, Contents& contents) {
  PartitionMember member{
      row.integer_as<std::uint16_t>(0), row.guid(1), row.integer_as<std::uint8_t>(2), {}};
  for (const std::byte b : row.bytes(3)) member.owner += static_cast<char>(b);
  contents.partition_members.push_back(std::move(member));
}

void take_generated_p_key(const Row& row, Contents& contents) {
  GeneratedPKey key{{}, row.integer_as<std::uint16_t>(1)};
  for (const std::byte b : row.bytes(0)) key.name += static_cast<char>(b);
  contents.generated_p_keys.push_back(std::move(key));
}

void take_programmed(const Row& row, Contents& contents) {
  if (row.integer_as<std::uint32_t>(0) == kVls) contents.vls_programmed = true;
}

constexpr Table kTables[] = {
    {"lid", "port_guid, lid, lmc, sum", 4, 1, take_lid},
    {"mc_group",
     "mgid, mlid, q_key, p_key, mtu, rate, packet_life, traffic_class, sl, flow_label, hop_limit, "
     "scope, well_known, sum",
     14, 1, take_group},
    {"mc_member", "mgid, port_gid, join_state, proxy_join, joined_by, sum", 6, 2, take_member},
    {"service", "service_id, service_gid, p_key, expires, owner, record, sum", 7, 3, take_service},
    {"subscription",
     "key, subscriber, lid, qpn, q_key, sl, path_bits, p_key_index, grh_gid, grh_gid_index, "
     "grh_hop_limit, grh_traffic_class, grh_flow_label, inform_info, trusted, sum",
     16, 1, take_subscription},
    {"alias_guid", "port_guid, place, guid, sum", 4, 2, take_alias},
    {"partition_member", "p_key, port_guid, membership, owner, sum", 5, 2, take_partition_member},
    {"generated_p_key", "name, p_key, sum", 3, 1, take_generated_p_key},
    {"programmed", "what, sum", 2, 1, take_programmed},
};

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

Tables::Tables(sqlite3* db)
    : forget_lids_(db, "DELETE FROM lid"),
      remove_lid_(db, "DELETE FROM lid WHERE port_guid = ?"),
      put_lid_(db, "INSERT OR REPLACE INTO lid VALUES (?, ?, ?, ?)", "lid"),
      remove_group_(db, "DELETE FROM mc_group WHERE mgid = ?"),
      remove_members_(db, "DELETE FROM mc_member WHERE mgid = ?"),
      put_group_(db, "INSERT OR REPLACE INTO mc_group VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                 "mc_group"),
      remove_member_(db, "DELETE FROM mc_member WHERE mgid = ? AND port_gid = ?"),
      put_member_(db, "INSERT OR REPLACE INTO mc_member VALUES (?, ?, ?, ?, ?, ?)", "mc_member"),
      remove_service_(db,
                      "DELETE FROM service WHERE service_id = ? AND service_gid = ? AND p_key = ?"),
      put_service_(db, "INSERT OR REPLACE INTO service VALUES (?, ?, ?, ?, ?, ?, ?)", "service"),
      remove_subscription_(db, "DELETE FROM subscription WHERE key = ?"),
      put_subscription_(
          db, "INSERT OR REPLACE INTO subscription VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
          "subscription"),
      remove_alias_(db, "DELETE FROM alias_guid WHERE port_guid = ? AND place = ?"),
      put_alias_(db, "INSERT OR REPLACE INTO alias_guid VALUES (?, ?, ?, ?)", "alias_guid"),
      remove_partition_member_(db,
                               "DELETE FROM partition_member WHERE p_key = ? AND port_guid = ?"),
      put_partition_member_(db, "INSERT OR REPLACE INTO partition_member VALUES (?, ?, ?, ?, ?)",
                            "partition_member"),
      put_generated_p_key_(db, "INSERT OR REPLACE INTO generated_p_key VALUES (?, ?, ?)",
                           "generated_p_key"),
      remove_programmed_(db, "DELETE FROM programmed WHERE what = ?"),
      put_programmed_(db, "INSERT OR REPLACE INTO programmed VALUES (?, ?)", "programmed") {}

int Tables::write(const Batch& batch) {
  for (const auto part :
       {&Tables::write_lids, &Tables::write_groups, &Tables::write_members, &Tables::write_services,
        &Tables::write_subscriptions, &Tables::write_aliases, &Tables::write_partition_members,
        &Tables::write_generated_p_keys, &Tables::write_programmed})
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
    if (const int code = put_lid_.bind_sum().run(); code != SQLITE_DONE) return code;
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
    if (const int code = put_group_.bind_sum().run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_members(const Batch& batch) {
  for (const auto& m : batch.members) {
    auto& statement = m.join_state == 0 ? remove_member_ : put_member_;
    statement.bind(m.mgid).bind(m.port_gid);
    if (m.join_state != 0)
      statement.bind(m.join_state).bind(m.proxy_join ? 1U : 0U).bind(m.joined_by).bind_sum();
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
    if (const int code = put_service_.bind_sum().run(); code != SQLITE_DONE) return code;
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
    if (const int code = put.bind_sum().run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_aliases(const Batch& batch) {
  for (const auto& [port, index] : batch.aliases_forgotten)
    if (const int code = remove_alias_.bind(port).bind(index).run(); code != SQLITE_DONE)
      return code;
  for (const auto& alias : batch.aliases) {
    put_alias_.bind(alias.port_guid).bind(alias.index).bind(alias.guid);
    if (const int code = put_alias_.bind_sum().run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_partition_members(const Batch& batch) {
  for (const auto& m : batch.partition_members) {
    auto& statement = m.membership == 0 ? remove_partition_member_ : put_partition_member_;
    statement.bind(m.p_key).bind(m.port_guid);
    if (m.membership != 0)
      statement.bind(m.membership).bind(std::as_bytes(std::span(m.owner))).bind_sum();
    if (const int code = statement.run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_generated_p_keys(const Batch& batch) {
  for (const auto& key : batch.generated_p_keys) {
    if (key.name.empty() || key.name.size() > GeneratedPKey::kNameMost) continue;
    put_generated_p_key_.bind(std::as_bytes(std::span(key.name))).bind(key.p_key);
    if (const int code = put_generated_p_key_.bind_sum().run(); code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

int Tables::write_programmed(const Batch& batch) {
  if (!batch.vls_programmed) return SQLITE_OK;
  auto& statement = *batch.vls_programmed ? put_programmed_ : remove_programmed_;
  statement.bind(kVls);
  if (*batch.vls_programmed) statement.bind_sum();
  const int code = statement.run();
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

}  // namespace sm::store
