// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kinds of records that are kept: one description each, from which the twin in memory, the
// SQLite file, its salvage, batches in etcd and what is said of them are made. To add a kind is to
// add a description here, its lists in store.h and its table to the schema (sqlite_schema.cpp).
//
// A description has
//   Value, Key       what is kept, and what is in the batch's list of removals
//   kept, changed    the lists of Contents and Batch
//   removed          that of removals; kNoRemovals: there is none
//   key, before      the key of a value, and the order of keys
//   removes          whether a changed value takes what has its key away
//   has_row          whether a value can be kept at all
//   word             what several of them are called
//   table, columns   in the file: first the keys, as many as `keys` says, last the sum
//   take             the value of a row
//   bind_key, bind   what a statement gets of the key, and of the rest
#pragma once

#include <array>
#include <compare>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/layout.h"
#include "sm/store/row.h"
#include "sm/store/store.h"

namespace sm::store {

struct NoRemovals {};
inline constexpr NoRemovals kNoRemovals{};

/// What most kinds have: removals by a list alone, and keys in their own order.
template <class ValueType, class KeyType>
struct KindOf {
  using Value = ValueType;
  using Key = KeyType;
  static bool before(const Key& a, const Key& b) { return a < b; }
  static bool removes(const Value&) { return false; }
  /// Whether it can be kept at all.
  static bool has_row(const Value&) { return true; }
};

struct LidKind : KindOf<LidClaim, ib::Guid> {
  static constexpr auto kept = &Contents::lids;
  static constexpr auto changed = &Batch::lids;
  static constexpr auto removed = &Batch::lids_removed;
  static constexpr const char* word = "LIDs";
  static constexpr const char* table = "lid";
  static constexpr const char* columns = "port_guid, lid, lmc, sum";
  static constexpr std::size_t keys = 1;

  static Key key(const Value& v) { return v.port_guid; }
  static Value take(const Row& row) {
    return {row.guid(0), ib::Lid{row.integer_as<std::uint16_t>(1)},
            row.integer_as<std::uint8_t>(2)};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(v.lid.value).bind(v.lmc);
  }
};

/// A group takes its members with it (apply(), Tables::write()).
struct GroupKind : KindOf<McGroup, ib::Gid> {
  static constexpr auto kept = &Contents::groups;
  static constexpr auto changed = &Batch::groups;
  static constexpr auto removed = &Batch::groups_removed;
  static constexpr const char* word = "groups";
  static constexpr const char* table = "mc_group";
  static constexpr const char* columns =
      "mgid, mlid, q_key, p_key, mtu, rate, packet_life, traffic_class, sl, flow_label, hop_limit, "
      "scope, well_known, sum";
  static constexpr std::size_t keys = 1;

  static Key key(const Value& v) { return v.mgid; }
  static Value take(const Row& row) {
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
    return g;
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& g) {
    s.bind(g.mlid.value).bind(g.q_key).bind(g.p_key.value).bind(g.mtu).bind(g.rate);
    s.bind(g.packet_life).bind(g.traffic_class).bind(g.sl.value).bind(g.flow_label);
    s.bind(g.hop_limit).bind(g.scope).bind(g.well_known ? 1U : 0U);
  }
};

struct MemberKind : KindOf<McMember, std::pair<ib::Gid, ib::Gid>> {
  static constexpr auto kept = &Contents::members;
  static constexpr auto changed = &Batch::members;
  static constexpr auto removed = kNoRemovals;
  static constexpr const char* word = "members of groups";
  static constexpr const char* table = "mc_member";
  static constexpr const char* columns = "mgid, port_gid, join_state, proxy_join, joined_by, sum";
  static constexpr std::size_t keys = 2;

  static Key key(const Value& v) { return {v.mgid, v.port_gid}; }
  static bool removes(const Value& v) { return v.join_state == 0; }
  static Value take(const Row& row) {
    return {row.gid(0), row.gid(1), row.integer_as<std::uint8_t>(2), row.integer_as<int>(3) != 0,
            row.guid(4)};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key.first).bind(key.second);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& m) {
    s.bind(m.join_state).bind(m.proxy_join ? 1U : 0U).bind(m.joined_by);
  }
};

/// A record in its bytes as on the wire.
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

struct ServiceKind : KindOf<Service, ServiceKey> {
  static constexpr auto kept = &Contents::services;
  static constexpr auto changed = &Batch::services;
  static constexpr auto removed = &Batch::services_removed;
  static constexpr const char* word = "services";
  static constexpr const char* table = "service";
  static constexpr const char* columns =
      "service_id, service_gid, p_key, expires, owner, record, sum";
  static constexpr std::size_t keys = 3;

  static Key key(const Value& v) { return v.key(); }
  static Value take(const Row& row) {
    return {record_of<ib::wire::ServiceRecord>(row.bytes(5)), row.integer_as<std::int64_t>(3),
            row.guid(4)};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind_ordered(key.service_id).bind(key.service_gid).bind(key.p_key.value);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(static_cast<std::uint64_t>(v.expires)).bind(v.owner).bind(bytes_of(v.record));
  }
};

/// The key of a subscription as bytes whose order is that of compare_keys().
class SubscriptionKey {
 public:
  explicit SubscriptionKey(const Subscription& s);
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  void put(std::uint32_t value, unsigned width);
  std::array<std::byte, 48> bytes_{};
  std::size_t size_{0};
};

struct SubscriptionKind : KindOf<Subscription, Subscription> {
  static constexpr auto kept = &Contents::subscriptions;
  static constexpr auto changed = &Batch::subscriptions;
  static constexpr auto removed = &Batch::subscriptions_removed;
  static constexpr const char* word = "subscriptions";
  static constexpr const char* table = "subscription";
  static constexpr const char* columns =
      "key, subscriber, lid, qpn, q_key, sl, path_bits, p_key_index, grh_gid, grh_gid_index, "
      "grh_hop_limit, grh_traffic_class, grh_flow_label, inform_info, trusted, sum";
  static constexpr std::size_t keys = 1;
  static constexpr unsigned kBySecret = 2;  // of the column `trusted`

  static const Key& key(const Value& v) { return v; }
  static bool before(const Key& a, const Key& b) { return std::is_lt(compare_keys(a, b)); }
  static Value take(const Row& row);
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(SubscriptionKey(key).bytes());
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(v.subscriber);
    s.bind(v.to.lid.value).bind(v.to.qpn).bind(v.to.q_key).bind(v.to.sl.value);
    s.bind(v.to.path_bits).bind(v.to.p_key_index);
    const auto grh = v.to.grh.value_or(ib::mad::Grh{});
    if (v.to.grh) {
      s.bind(grh.gid);
    } else {
      s.bind_null();
    }
    s.bind(grh.gid_index).bind(grh.hop_limit).bind(grh.traffic_class).bind(grh.flow_label);
    s.bind(bytes_of(v.inform_info)).bind(!v.trusted ? 0U : v.by_secret ? kBySecret : 1U);
  }
};

struct AliasKind : KindOf<AliasGuid, AliasPlace> {
  static constexpr auto kept = &Contents::aliases;
  static constexpr auto changed = &Batch::aliases;
  static constexpr auto removed = &Batch::aliases_forgotten;
  static constexpr const char* word = "alias GUIDs";
  static constexpr const char* table = "alias_guid";
  static constexpr const char* columns = "port_guid, place, guid, sum";
  static constexpr std::size_t keys = 2;

  static Key key(const Value& v) { return {v.port_guid, v.index}; }
  static Value take(const Row& row) {
    return {row.guid(0), row.integer_as<std::uint16_t>(1), row.guid(2)};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key.first).bind(key.second);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(v.guid);
  }
};

struct PartitionMemberKind : KindOf<PartitionMember, std::pair<std::uint16_t, ib::Guid>> {
  static constexpr auto kept = &Contents::partition_members;
  static constexpr auto changed = &Batch::partition_members;
  static constexpr auto removed = kNoRemovals;
  static constexpr const char* word = "members of partitions";
  static constexpr const char* table = "partition_member";
  static constexpr const char* columns = "p_key, port_guid, membership, owner, sum";
  static constexpr std::size_t keys = 2;

  static Key key(const Value& v) { return {v.p_key, v.port_guid}; }
  static bool removes(const Value& v) { return v.membership == 0; }
  static Value take(const Row& row) {
    return {row.integer_as<std::uint16_t>(0), row.guid(1), row.integer_as<std::uint8_t>(2),
            row.text(3)};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key.first).bind(key.second);
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(v.membership).bind(std::as_bytes(std::span(v.owner)));
  }
};

/// Never removed. Of names that are too long, or empty, there is no row.
struct GeneratedPKeyKind : KindOf<GeneratedPKey, std::string> {
  static constexpr auto kept = &Contents::generated_p_keys;
  static constexpr auto changed = &Batch::generated_p_keys;
  static constexpr auto removed = kNoRemovals;
  static constexpr const char* word = "generated P_Keys";
  static constexpr const char* table = "generated_p_key";
  static constexpr const char* columns = "name, p_key, sum";
  static constexpr std::size_t keys = 1;

  static const Key& key(const Value& v) { return v.name; }
  static Value take(const Row& row) { return {row.text(0), row.integer_as<std::uint16_t>(1)}; }
  static bool has_row(const Value& v) {
    return !v.name.empty() && v.name.size() <= GeneratedPKey::kNameMost;
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(std::as_bytes(std::span(key)));
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(v.p_key);
  }
};

struct CountedWindowKind : KindOf<CountedWindow, CountedWindowKey> {
  static constexpr auto kept = &Contents::counted_windows;
  static constexpr auto changed = &Batch::counted_windows;
  static constexpr auto removed = &Batch::counted_windows_removed;
  static constexpr const char* word = "windows of counters";
  static constexpr const char* table = "counted_window";
  static constexpr const char* columns = "node_guid, port, began, read_ms, counters, sum";
  static constexpr std::size_t keys = 3;

  static Key key(const Value& v) { return v.key; }
  static bool has_row(const Value& v) {
    return !v.counters.empty() && v.counters.size() <= CountedWindow::kBytesMost;
  }
  static Value take(const Row& row) {
    const auto bytes = row.bytes(4);
    return {{row.guid(0), row.integer_as<std::uint8_t>(1), row.integer_as<std::int64_t>(2)},
            row.integer_as<std::int64_t>(3),
            {bytes.begin(), bytes.end()}};
  }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key.node_guid).bind(key.port).bind(static_cast<std::uint64_t>(key.began));
  }
  template <class Statement>
  static void bind(Statement& s, const Value& v) {
    s.bind(static_cast<std::uint64_t>(v.read_ms)).bind(v.counters);
  }
};

/// A row that is its key, a port GUID.
struct PortGuidKind : KindOf<ib::Guid, ib::Guid> {
  static constexpr const char* columns = "port_guid, sum";
  static constexpr std::size_t keys = 1;

  static Key key(const Value& v) { return v; }
  static Value take(const Row& row) { return row.guid(0); }
  template <class Statement>
  static void bind_key(Statement& s, const Key& key) {
    s.bind(key);
  }
  template <class Statement>
  static void bind(Statement&, const Value&) {}
};

struct ClientToAskKind : PortGuidKind {
  static constexpr auto kept = &Contents::clients_to_ask;
  static constexpr auto changed = &Batch::clients_to_ask;
  static constexpr auto removed = &Batch::clients_asked;
  static constexpr const char* word = "clients to ask";
  static constexpr const char* table = "client_to_ask";
};

struct ClientInDoubtKind : PortGuidKind {
  static constexpr auto kept = &Contents::clients_in_doubt;
  static constexpr auto changed = &Batch::clients_in_doubt;
  static constexpr auto removed = &Batch::clients_sure;
  static constexpr const char* word = "clients in doubt";
  static constexpr const char* table = "client_in_doubt";
};

/// Never removed: who wrote it once is known by that whenever it was master.
struct WriterKind : PortGuidKind {
  static constexpr auto kept = &Contents::writers;
  static constexpr auto changed = &Batch::writers;
  static constexpr auto removed = kNoRemovals;
  static constexpr const char* word = "writers";
  static constexpr const char* table = "writer";
};

/// All of them, in the order in which a batch is applied. What is no list (Batch::forget_lids,
/// vls) is not among them.
using Kinds = std::tuple<LidKind, GroupKind, MemberKind, ServiceKind, SubscriptionKind, AliasKind,
                         PartitionMemberKind, GeneratedPKeyKind, CountedWindowKind, ClientToAskKind,
                         ClientInDoubtKind, WriterKind>;

/// Calls run(kind) for each, an object of its type.
template <class Run>
void for_each_kind(Run run) {
  std::apply([&](const auto&... kind) { (run(kind), ...); }, Kinds{});
}

template <class Kind>
inline constexpr bool kHasRemovals =
    !std::is_same_v<std::remove_cvref_t<decltype(Kind::removed)>, NoRemovals>;

}  // namespace sm::store
