// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PartitionFile: what an operator's partition file says, definition by definition, as values. The
// grammar is opensm's (opensm(8), PARTITION CONFIGURATION) with the extensions of
// doc/partitions.md. What the definitions amount to together is policy::Partitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"

namespace sm::policy {

enum class Membership : std::uint8_t { Limited, Full, Both };

/// Whom an entry of a member list names.
struct Selector {
  enum class Kind : std::uint8_t {
    Guids,  // end ports whose GUID is from `first` to `last`, both included
    Node,   // end ports of the nodes with NodeDescription `name`, or its port `port` alone
    Group,  // the port group `name` of the QoS policy file or of pgrp_policy_file
    All,    // every end port
    AllCas,
    AllSwitches,
    AllRouters,
    AllVirtual,  // virtual ports (ALL_VCAS)
    Self,        // the subnet manager's port
    None
  };
  Kind kind{Kind::None};
  ib::Guid first{}, last{};
  std::string name;
  std::optional<std::uint8_t> port;
  friend bool operator==(const Selector&, const Selector&) = default;
};

struct Member {
  Selector who;
  Membership membership{Membership::Limited};
  ib::TextPlace place;
};

/// What may be said of multicast groups, in a header for all of the definition and in an mgid line
/// for that group. Codes are those of MCMemberRecord (IBA 15.2.5.17); empty: not said.
struct GroupFlags {
  std::optional<std::uint8_t> rate, mtu, sl;
  std::vector<std::uint8_t> scopes;  // 1 to 15
  std::optional<std::uint32_t> q_key;
  std::optional<std::uint8_t> traffic_class;
  std::optional<std::uint32_t> flow_label;  // 20 bits
  friend bool operator==(const GroupFlags&, const GroupFlags&) = default;
};

/// An mgid line.
struct GroupLine {
  ib::Gid mgid;
  GroupFlags flags;
  ib::TextPlace place;
};

struct PartitionDefinition {
  std::string name;                    // may be empty
  std::optional<std::uint16_t> p_key;  // without the membership bit, 1 to 0x7FFF; empty: generated
  bool ipoib{false};                   // the IPv4 broadcast group is created
  bool index0{false};                  // the key is at index 0 of the members' tables
  GroupFlags flags;
  std::vector<GroupLine> groups;
  std::vector<Member> members;
  ib::TextPlace place;  // of the header
};

struct PartitionFile {
  std::vector<PartitionDefinition> definitions;
  std::vector<ib::Diagnostic> diagnostics;  // in the order of their places
};

/// Reads the whole of `text`; after an error it goes on behind the next ';', so that every error is
/// found at once. With an error among the diagnostics the definitions are not to be used.
PartitionFile read_partition_file(std::string_view text, const std::string& file);

}  // namespace sm::policy
