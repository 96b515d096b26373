// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A trace of a multicast group: the tree that the tables give its packets, the members that the SA
// has, and what the agents of both say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libdiag/query/multicast_walk.h"
#include "tools/common/target.h"
#include "tools/ibtracer/trace.h"

namespace ibtracer {

/// A group by its GID or by its LID.
using Group = std::variant<ib::Gid, ib::Lid>;

/// What is to be said of a member of the group.
enum class MemberWord {
  Source,        // the tree begins there
  SendsOnly,     // it is to get nothing
  Confirmed,     // the tree leads to it, and its agent agrees
  Doubtful,      // the tree leads to it, and no agent says so
  Contradicted,  // the tree leads to it, and its agent says otherwise
  Missing,       // the tree does not lead to it
};
std::string_view member_word(MemberWord word);

struct Member {
  ib::Gid port_gid{};
  ib::Guid node_guid{};    // 0: the SA knows no port of that GID
  std::string name;        // of the map, or its own; raw bytes
  std::string own_name{};  // NodeDescription
  bool is_switch{false};
  ib::Lid lid{};
  std::uint8_t port{};        // of the node, as the SA has it
  std::uint8_t join_state{};  // bits: 1 full, 2 non, 4 and 8 send-only
  MemberWord word{MemberWord::Missing};
  AgentWord agent{AgentWord::NotAsked};
  std::optional<std::size_t> place;  // in the tree
  std::string note;                  // why, one line

  bool receives() const { return (join_state & 3) != 0; }
};

struct MulticastReport {
  ib::Gid mgid{};
  ib::Lid mlid{};
  std::string source;  // its name, raw bytes
  ib::query::MulticastTree tree;
  std::vector<AgentWord> agents;  // of the tree's nodes
  std::vector<Member> members;
  std::vector<ib::query::TreeFault> faults;  // that decide the verdict
  std::vector<std::string> errors;           // what could not be read
  Verdict verdict() const;
};

struct MulticastOptions {
  ib::Sl sl{};
  std::optional<ib::tools::Target> from;  // a member; nothing: the local port, or else the first
  std::uint64_t sm_key{};
  std::uint64_t m_key{};
  const ib::fabric::NodeNames* names{nullptr};  // in place of NodeDescriptions
};

/// Traces the group's tree. Error: nobody has such a group or member, the SA does not show the
/// members, or does not answer.
ib::Result<MulticastReport> trace_multicast(ib::mad::Session& session, const Group& group,
                                            const MulticastOptions& options);

/// Lines of the tree (all of it with `verbose`, otherwise where something is wrong), of the members
/// and of the faults; the last begins with VERIFIED, PARTLY VERIFIED, MISMATCH or BROKEN.
std::string text_report(const MulticastReport& report, bool verbose);
std::string json_report(const MulticastReport& report);

}  // namespace ibtracer
