// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast groups and their members: the rules of joining, creating and leaving (IBA 15.2.5.17,
// o15-0.2.3) as functions from the present state and a request to a change. Nothing is changed
// until the change was made durable and handed to apply().
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "libdiag/wire/sa_records.h"
#include "sm/sa/change.h"
#include "sm/sa/paths.h"
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
}

/// A Set or Delete of MCMemberRecord.
struct MembershipRequest {
  ib::wire::McMemberRecord record;
  std::uint64_t mask{};
  const EndPort* requester{};  // by source LID; nullptr: not known
};

/// Selectors without their value, or a value that is no code: 0x0200 (also for queries).
bool valid_selectors(const ib::wire::McMemberRecord& record, std::uint64_t mask);

class Multicast {
 public:
  explicit Multicast(const store::Contents& contents = {});

  const store::Contents& contents() const { return contents_; }
  const store::McGroup* find(const ib::Gid& mgid) const;
  std::span<const store::McMember> members(const ib::Gid& mgid) const;
  const store::McMember* find_member(const ib::Gid& mgid, const ib::Gid& port) const;

  Outcome join(const Paths& paths, const MembershipRequest& request) const;
  Outcome leave(const Paths& paths, const MembershipRequest& request) const;
  void apply(const store::Batch& batch);

  std::vector<MlidMembers> by_mlid() const;

 private:
  std::variant<store::McGroup, std::uint16_t> create(const Paths& paths,
                                                     const MembershipRequest& request,
                                                     const EndPort& port) const;
  ib::Lid free_mlid(ib::Lid max) const;
  ib::Gid free_mgid(std::uint8_t scope, std::uint64_t prefix) const;

  store::Contents contents_;  // groups and members
};

/// The IPoIB broadcast group of the default partition (RFC 4391 section 4).
store::McGroup default_ipoib_group();

/// Group values as MCMemberRecord; selectors say "exactly".
ib::wire::McMemberRecord to_record(const store::McGroup& group);

/// MTU and rate, both by selector, as queries and joins compare them.
bool selectors_agree(const store::McGroup& group, const ib::wire::McMemberRecord& wanted,
                     std::uint64_t mask);
/// Q_Key, P_Key, TClass, SL, FlowLabel, HopLimit, where the mask names them.
bool parameters_agree(const store::McGroup& group, const ib::wire::McMemberRecord& wanted,
                      std::uint64_t mask);

/// Highest MLID that every switch of the snapshot can forward.
ib::Lid mlid_max(const Snapshot& snapshot);

}  // namespace sm::sa
