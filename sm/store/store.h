// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What must survive a restart of the subnet manager: who has which LID, the multicast groups with
// their members, registered services, subscriptions to notices, alias GUIDs, members of partitions
// that were added at run time, P_Keys that were generated, whether SL2VL and VL arbitration of
// devices are of our making, how routes were made, what ports counted, who is to register again,
// and which subnet managers wrote it. One interface, two implementations: a SQLite file in the
// state directory, and memory. Not a cache of the fabric: what a sweep can see again is not kept
// here.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/base/result.h"
#include "libdiag/mad/transport.h"
#include "libdiag/wire/sa_records.h"

namespace sm::store {

/// A port's LID and LMC as last assigned.
struct LidClaim {
  ib::Guid port_guid{};
  ib::Lid lid{};
  std::uint8_t lmc{};
  friend auto operator<=>(const LidClaim&, const LidClaim&) = default;
};

/// A multicast group. Values are codes as MCMemberRecord has them (IBA 15.2.5.17).
struct McGroup {
  ib::Gid mgid{};
  ib::Lid mlid{};
  std::uint32_t q_key{};
  ib::PKey p_key{};
  std::uint8_t mtu{};
  std::uint8_t rate{};
  std::uint8_t packet_life{};
  std::uint8_t traffic_class{};
  ib::Sl sl{};
  std::uint32_t flow_label{};
  std::uint8_t hop_limit{};
  std::uint8_t scope{};
  bool well_known{};  // configured: stays without members
  friend bool operator==(const McGroup&, const McGroup&) = default;
};

/// One port's membership of a group.
struct McMember {
  ib::Gid mgid{};
  ib::Gid port_gid{};
  std::uint8_t join_state{};  // bits: 1 full, 2 non, 4 send-only non, 8 send-only full
  bool proxy_join{};          // another port joined it
  ib::Guid joined_by{};       // ... the GUID of that port; zero: not known
  friend bool operator==(const McMember&, const McMember&) = default;
};

/// What identifies a registered service (IBA 15.2.5.14).
struct ServiceKey {
  std::uint64_t service_id{};
  ib::Gid service_gid{};
  ib::PKey p_key{};
  friend auto operator<=>(const ServiceKey&, const ServiceKey&) = default;
};

/// A registered service as its owner gave it.
struct Service {
  ib::wire::ServiceRecord record;
  std::int64_t expires{kNeverExpires};  // seconds since 1970; a lease outlives a restart
  ib::Guid owner{};                     // port GUID of who registered it
  static constexpr std::int64_t kNeverExpires = INT64_MAX;
  ServiceKey key() const { return {record.service_id, record.service_gid, record.service_p_key}; }
  friend bool operator==(const Service&, const Service&) = default;
};

/// A subscription to notices (IBA 13.4.8.3): where reports go, and of what.
struct Subscription {
  ib::Guid subscriber{};  // port GUID of who subscribed
  ib::mad::Address to;    // of the reports
  ib::wire::InformInfo inform_info;
  bool trusted{};    // subscribed with the SA key
  bool by_secret{};  // ... which was another one than that which everybody knows
  friend bool operator==(const Subscription&, const Subscription&) = default;
};
/// Two subscriptions with equal keys are one: the address of the reports, and what is subscribed
/// to.
std::strong_ordering compare_keys(const Subscription& a, const Subscription& b);

/// One entry of a port's GUIDInfo that is not its hardware GUID.
struct AliasGuid {
  ib::Guid port_guid{};
  std::uint16_t index{};  // block * 8 + place
  ib::Guid guid{};        // 0: one was here, and the port may hold it still
  friend bool operator==(const AliasGuid&, const AliasGuid&) = default;
};

/// A place in the GUIDInfo of a port: the port's GUID, and block * 8 + place in it.
using AliasPlace = std::pair<ib::Guid, std::uint16_t>;

/// A member of a partition that somebody added while the subnet manager ran.
struct PartitionMember {
  std::uint16_t p_key{};  // without the membership bit
  ib::Guid port_guid{};
  std::uint8_t membership{};  // 1 limited, 2 full, 3 both; 0 in a batch: taken away
  std::string owner;          // who added it, as it called itself
  friend bool operator==(const PartitionMember&, const PartitionMember&) = default;
};

/// The P_Key of a partition that was written without one.
struct GeneratedPKey {
  static constexpr std::size_t kNameMost = 512;  // bytes; of longer ones there is no row

  std::string name;
  std::uint16_t p_key{};  // without the membership bit
  friend bool operator==(const GeneratedPKey&, const GeneratedPKey&) = default;
};

/// SL2VL and VL arbitration of devices, as far as this subnet manager is concerned.
enum class DeviceVls : std::uint8_t {
  Untouched = 0,  // nobody told them any
  Told = 1,       // they are to be as they were told
  PutBack = 2,    // all were told the default again; ports without a link then were not
};

/// Which port, and when the window of time began, in seconds since 1970.
struct CountedWindowKey {
  ib::Guid node_guid{};
  std::uint8_t port{};
  std::int64_t began{};
  friend auto operator<=>(const CountedWindowKey&, const CountedWindowKey&) = default;
};

/// What a port had counted at the last reading of a window of time.
struct CountedWindow {
  static constexpr std::size_t kBytesMost = 900;  // of `counters`; of more there is no row

  CountedWindowKey key;
  std::int64_t read_ms{};           // when that was, in ms since 1970
  std::vector<std::byte> counters;  // as the performance manager writes them
  friend bool operator==(const CountedWindow&, const CountedWindow&) = default;
};

/// Among port GUIDs whose clients are to be asked to register again: those of every port.
inline constexpr ib::Guid kAllClients{};

/// Everything kept, each list in ascending order of its key.
struct Contents {
  std::vector<LidClaim> lids;                      // by port GUID
  std::vector<McGroup> groups;                     // by MGID
  std::vector<McMember> members;                   // by MGID, then port GID
  std::vector<Service> services;                   // by key()
  std::vector<Subscription> subscriptions;         // by compare_keys()
  std::vector<AliasGuid> aliases;                  // by port GUID, then index
  std::vector<PartitionMember> partition_members;  // by P_Key, then port GUID
  std::vector<GeneratedPKey> generated_p_keys;     // by name
  std::vector<CountedWindow> counted_windows;      // by key
  /// Port GUIDs, or kAllClients: whose clients are to be asked to register again, and were not.
  std::vector<ib::Guid> clients_to_ask;
  /// Port GUIDs whose registrations are in doubt (sa::Doubts), since another subnet manager may
  /// have answered them.
  std::vector<ib::Guid> clients_in_doubt;
  /// Port GUIDs of the subnet managers that wrote this as masters.
  std::vector<ib::Guid> writers;
  DeviceVls vls{DeviceVls::Untouched};
  /// How the routes that switches hold were made (plan::RouteMemory); empty: nobody knows.
  std::vector<std::byte> routes;
  friend bool operator==(const Contents&, const Contents&) = default;
};

/// Changes that become durable together or not at all. Applied in the order of the members.
struct Batch {
  bool forget_lids{false};  // first forget every LID (ibsm -r)
  std::vector<ib::Guid> lids_removed;
  std::vector<LidClaim> lids;           // added or replaced, by port GUID
  std::vector<ib::Gid> groups_removed;  // with their members
  std::vector<McGroup> groups;          // added or replaced, by MGID
  std::vector<McMember> members;        // added or replaced; join state 0 removes
  std::vector<ServiceKey> services_removed;
  std::vector<Service> services;  // added or replaced, by key()
  std::vector<Subscription> subscriptions_removed;
  std::vector<Subscription> subscriptions;    // added or replaced, by compare_keys()
  std::vector<AliasPlace> aliases_forgotten;  // places whose ports hold nothing of ours any more
  std::vector<AliasGuid> aliases;             // added or replaced; GUID 0 takes one back
  std::vector<PartitionMember> partition_members;  // added or replaced; membership 0 removes
  std::vector<GeneratedPKey> generated_p_keys;     // added or replaced
  std::vector<CountedWindowKey> counted_windows_removed;
  std::vector<CountedWindow> counted_windows;  // added or replaced, by key
  std::vector<ib::Guid> clients_asked;         // or they need not be any more
  std::vector<ib::Guid> clients_to_ask;        // added
  std::vector<ib::Guid> clients_sure;          // whose registrations are in doubt no more
  std::vector<ib::Guid> clients_in_doubt;      // added
  std::vector<ib::Guid> writers;               // added
  std::optional<DeviceVls> vls;
  std::optional<std::vector<std::byte>> routes;
  bool empty() const;
};

/// Not thread-safe: one thread owns a store.
class Store {
 public:
  virtual ~Store() = default;
  virtual ib::Result<Contents> load() = 0;
  /// When this returns success the batch survives what Sync promises. Otherwise nothing of it is
  /// kept. Refused: another one has taken the store.
  virtual ib::Result<void> commit(const Batch& batch) = 0;

  /// From now on this one alone writes, where several share a store; what is kept then. What is
  /// committed before reaches no other. An error: not yet, and what is committed waits.
  virtual ib::Result<Contents> take() { return load(); }
  /// Another one may write from now on.
  virtual void stand_by() {}

  /// How long until on_time() is worth a call; nullopt: it is not.
  virtual std::optional<ib::Duration> rest() const { return std::nullopt; }
  /// What there is to say of what it did.
  virtual std::vector<ib::LogEvent> on_time() { return {}; }
  /// False: a take() or a commit() waits until what it was for can be reached.
  virtual bool is_whole() const { return true; }
};

/// The twin for tests and for programs that keep nothing.
std::unique_ptr<Store> make_memory_store(Contents contents = {});

/// What of a store was found in its directory.
enum class Found {
  Nothing,  // this is a first start
  All,
  Part,  // some of what was kept is gone, or all: a backup may have it
};

/// A store in a directory as it was opened.
struct Opened {
  std::unique_ptr<Store> store;
  Contents contents;                // what it holds
  std::vector<ib::LogEvent> lines;  // what was odd about it; never empty in silence
  Found found{Found::All};
};

/// What a commit that returned survives: the death of the process; or a power cut too, at the price
/// of waiting for the disk (option store_sync).
enum class Sync { Normal, Full };

/// Opens (creates) `directory`/ibsm.db and takes the directory's lock for the store's lifetime. A
/// damaged file is kept under another name, and a new one has every record of it that can be read.
/// Unavailable when another ibsm holds the lock or the file is of a newer release; Io when the
/// directory or the file cannot be used. The message names the directory.
ib::Result<Opened> open_directory(const std::string& directory, Sync sync = Sync::Normal);

/// Likewise; but where that says Io, a store in memory stands in until the directory can be used.
/// It begins with what can be read there, and its lines are alarms.
ib::Result<Opened> open_or_stand_in(const std::string& directory, Sync sync = Sync::Normal);

/// What writes all of `contents`.
Batch batch_of(Contents contents);

/// Applies `batch` to plain contents; what every implementation must agree with.
void apply(const Batch& batch, Contents& contents);

}  // namespace sm::store
