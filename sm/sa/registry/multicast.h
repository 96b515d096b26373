// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast groups and their members, as they are now. Who may join, create and leave is
// membership.h's to say; nothing is changed but by batches that are handed to apply().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/wire/sa_records.h"
#include "sm/sa/registry/mlid_pool.h"
#include "sm/sa/subnet/paths.h"
#include "sm/store/store.h"

namespace sm::sa {

/// Who receives an MLID: input of the multicast trees.
struct MlidMembers {
  ib::Lid mlid{};
  std::vector<ib::Guid> receivers;  // full members and non-members; ascending port GUIDs
  std::vector<ib::Guid> senders;    // those that only send
  std::uint16_t sls{0};             // of the groups (bits)
  friend bool operator==(const MlidMembers&, const MlidMembers&) = default;
};

namespace mc_bit {
inline constexpr unsigned kMgid = 0, kPortGid = 1, kQKey = 2, kMlid = 3, kMtuSelector = 4, kMtu = 5,
                          kTClass = 6, kPKey = 7, kRateSelector = 8, kRate = 9, kLifeSelector = 10,
                          kLife = 11, kSl = 12, kFlowLabel = 13, kHopLimit = 14, kScope = 15,
                          kJoinState = 16, kProxyJoin = 17;
}
namespace join_state {
inline constexpr std::uint8_t kFull = 1, kNon = 2, kSendOnlyNon = 4, kSendOnlyFull = 8;
inline constexpr std::uint8_t kAll = kFull | kNon | kSendOnlyNon | kSendOnlyFull;
/// A group lives as long as it has such a member.
constexpr bool keeps_group(std::uint8_t state) { return (state & (kFull | kSendOnlyFull)) != 0; }
constexpr bool receives(std::uint8_t state) { return (state & (kFull | kNon)) != 0; }
}  // namespace join_state

class Multicast {
 public:
  struct ByPort {
    using is_transparent = void;
    static const ib::Gid& key(const store::McMember& m) { return m.port_gid; }
    static const ib::Gid& key(const ib::Gid& g) { return g; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key(a) < key(b);
    }
  };
  using Members = std::set<store::McMember, ByPort>;
  struct Group {
    store::McGroup values;
    Members members;
    std::size_t full{0};  // members that keep the group alive
  };
  using Groups = std::map<ib::Gid, Group>;             // by MGID
  using Ports = std::map<ib::Gid, std::set<ib::Gid>>;  // port GID: MGIDs

  /// Members of groups that do not exist are skipped.
  void apply(const store::Batch& batch);
  void add_to(store::Contents& contents) const;

  /// The keys of them that batches change.
  class BatchKeys {
   public:
    void add(const store::Batch& batch);
    /// What makes any groups that differ from `present` in the keys only equal to it.
    void bring(const Multicast& present, store::Batch& batch) const;

   private:
    std::set<ib::Gid> groups_removed_, groups_;
    std::set<std::pair<ib::Gid, ib::Gid>> members_;  // MGID, port GID
  };

  const Groups& groups() const { return groups_; }
  const Group* find_group(const ib::Gid& mgid) const;
  const store::McGroup* find(const ib::Gid& mgid) const;
  const Members& members(const ib::Gid& mgid) const;
  const store::McMember* find_member(const ib::Gid& mgid, const ib::Gid& port) const;
  /// Which groups each port (as it named itself) is a member of.
  const Ports& ports() const { return ports_; }
  /// Memberships that the port of this GUID answers for: its own, and those of ports that it
  /// joined.
  std::size_t charged_to(ib::Guid port) const;
  std::size_t member_count() const { return member_count_; }

  const MlidPool& mlids() const { return mlids_; }
  /// An MGID that no group has: ff1<scope>:a01b:<subnet prefix>:<number>, unique beyond the subnet
  /// as IBA 15.2.5.17 wants.
  ib::Gid free_mgid(std::uint8_t scope, std::uint64_t prefix) const;
  /// A group whose MGID begins with the first `bytes` bytes of `mgid`; nullptr when there is none.
  const store::McGroup* find_alike(const ib::Gid& mgid, std::size_t bytes) const;

  /// Groups by MLID, ascending; groups without members included. `port_of`: the port that a
  /// member's GUID belongs to.
  std::vector<MlidMembers> by_mlid(const std::function<ib::Guid(ib::Guid)>& port_of) const;

 private:
  void remove_group(const ib::Gid& mgid);
  void put_group(const store::McGroup& group);
  void put_member(const store::McMember& member);
  void remove_member(const ib::Gid& mgid, const ib::Gid& port);
  void forget_member(const store::McMember& member);

  Groups groups_;
  Ports ports_;
  std::unordered_map<ib::Guid, std::size_t> charged_to_;
  std::size_t member_count_{0};
  MlidPool mlids_;
  std::uint32_t last_mgid_{0};  // number in the newest MGID of our making
};

/// Whether MTU and rate, where named with their selectors, are codes: else 0x0200 (also for
/// queries).
bool valid_selectors(const ib::wire::McMemberRecord& record, std::uint64_t mask);

/// Group values as MCMemberRecord; selectors say "exactly".
ib::wire::McMemberRecord to_record(const store::McGroup& group);

/// Whether a value meets a condition; `order` is <0, 0, >0 as it is below, equal to, above the
/// wanted one.
bool satisfies(ib::wire::Selector selector, int order);
/// MTU and rate by selector, as queries and joins compare them. A selector that the mask names
/// alone goes by what the field of its value holds, as with every SA in the field.
bool selectors_agree(const store::McGroup& group, const ib::wire::McMemberRecord& wanted,
                     std::uint64_t mask);
/// Q_Key, P_Key, TClass, SL, FlowLabel, HopLimit, where the mask names them.
bool parameters_agree(const store::McGroup& group, const ib::wire::McMemberRecord& wanted,
                      std::uint64_t mask);

}  // namespace sm::sa
