// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/multicast.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "tools/ibtracer/multicast_blame.h"
#include "tools/ibtracer/multicast_group.h"
#include "tools/ibtracer/multicast_questions.h"

namespace ibtracer {

using ib::query::MulticastTree;
using ib::query::SaClient;
using ib::query::TreeFault;
using ib::query::TreeFaultKind;
using ib::query::TreeNode;
using ib::query::TreeStart;
namespace mad = ib::mad;
namespace wire = ib::wire;

namespace {

/// The member the tree is to begin at: the one that was named, the local port, or the first whose
/// node is known.
ib::Result<const Member*> choose_source(const GroupMembers& group, const MulticastOptions& options,
                                        ib::Guid own_port) {
  if (options.from) {
    const auto named = find_member(group, *options.from, options.names);
    if (!named || *named != nullptr) return named;
    return ib::fail(ib::ErrorKind::NotFound,
                    fmt::format("--from {}: group {} (lid 0x{:04x}) has no such member",
                                ib::tools::to_string(*options.from), ib::to_string(group.mgid),
                                group.mlid.value));
  }
  const Member* first = nullptr;
  for (const Member& member : group.members) {
    if (member.port_gid.guid() == own_port) return &member;
    if (first == nullptr && member.node_guid.value != 0) first = &member;
  }
  if (first != nullptr) return first;
  return ib::fail(ib::ErrorKind::NotFound,
                  fmt::format("group {}: of none of its members the SA knows the node",
                              ib::to_string(group.mgid)));
}

/// Whether the tree leads to a port, and where in it that is.
std::optional<std::size_t> place_of(const MulticastTree& tree, const Member& member) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    if (node.hop.node_guid != member.node_guid || member.node_guid.value == 0) continue;
    const bool is_switch = node.hop.type == wire::NodeType::Switch;
    if (is_switch ? node.out.test(0) : node.hop.ingress_port == member.port) return i;
  }
  return std::nullopt;
}

void place_members(MulticastReport& report, const ib::Gid& source) {
  for (Member& member : report.members) {
    if (member.port_gid == source) {
      member.word = MemberWord::Source;
      continue;
    }
    member.place = place_of(report.tree, member);
    if (!member.receives()) {
      member.word = MemberWord::SendsOnly;
    } else if (member.place) {
      member.word = MemberWord::Doubtful;  // until its agent has been asked
    } else {
      member.word = MemberWord::Missing;
      if (member.node_guid.value == 0)
        member.note = fmt::format("the SA knows no port {}", ib::to_string(member.port_gid.guid()));
    }
  }
}

/// Nobody misses the way up from a switch where all who are to get what is sent are beyond it: what
/// comes in there comes from ports that only send.
bool is_missed(const MulticastReport& report, const TreeFault& no_way_up) {
  const auto& nodes = report.tree.nodes;
  std::vector<bool> beyond(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    beyond[i] = nodes[i].hop.node_guid == no_way_up.node_guid ||
                (nodes[i].parent != TreeNode::kNone && beyond[nodes[i].parent]);
  return std::ranges::any_of(report.members, [&](const Member& member) {
    const bool is_source = member.word == MemberWord::Source;
    return member.receives() && (is_source || (member.place && !beyond[*member.place]));
  });
}

/// Hosts that the tree leads to, though they did not ask for it.
void blame_strangers(MulticastReport& report, const GroupMembers& group) {
  std::set<ib::Guid> known(group.others.begin(), group.others.end());
  for (const Member& member : group.members) known.insert(member.port_gid.guid());
  for (const TreeNode& node : report.tree.nodes) {
    if (node.hop.type != wire::NodeType::ChannelAdapter || node.parent == TreeNode::kNone ||
        known.contains(node.hop.port_guid))
      continue;
    const bool is_member_elsewhere = std::ranges::any_of(group.members, [&](const Member& m) {
      return m.node_guid == node.hop.node_guid && m.port == node.hop.ingress_port;
    });
    if (is_member_elsewhere) continue;  // by an alias of its port's GUID
    const auto& parent = report.tree.nodes[node.parent].hop;
    report.faults.push_back(
        {TreeFaultKind::Stranger, parent.node_guid, node.parent_port,
         fmt::format("{} sends lid 0x{:04x} out by port {} to {} port {}, which is no member",
                     ib::query::hop_label(parent), report.mlid.value, node.parent_port,
                     ib::query::hop_label(node.hop), node.hop.ingress_port)});
  }
}

ib::Result<TreeStart> start_at(mad::Session& session, SaClient& sa, const Member& source,
                               const MulticastOptions& options, bool is_local) {
  TreeStart start;
  start.m_key = options.m_key;
  start.names = options.names;
  if (is_local) return start;
  auto attached = switch_of(session, sa, source, options.m_key);
  if (!attached) return tl::unexpected(std::move(attached.error()));
  start.route = attached->route;
  start.ingress_port = attached->port;
  return start;
}

}  // namespace

std::string_view member_word(MemberWord word) {
  switch (word) {
    case MemberWord::Source:
      return "source";
    case MemberWord::SendsOnly:
      return "sends only";
    case MemberWord::Confirmed:
      return "confirmed";
    case MemberWord::Doubtful:
      return "doubtful";
    case MemberWord::Contradicted:
      return "contradicted";
    case MemberWord::Missing:
      return "missing";
  }
  return "";
}

Verdict MulticastReport::verdict() const {
  Verdict worst = Verdict::Verified;
  for (const Member& member : members) {
    if (member.word == MemberWord::Missing) return Verdict::Broken;
    if (member.word == MemberWord::Contradicted) worst = std::max(worst, Verdict::Mismatch);
    if (member.word == MemberWord::Doubtful) worst = std::max(worst, Verdict::Partly);
  }
  for (const TreeFault& fault : faults) {
    if (fault.kind == TreeFaultKind::Twice) return Verdict::Broken;
    worst =
        std::max(worst, fault.kind == TreeFaultKind::Unread ? Verdict::Partly : Verdict::Mismatch);
  }
  return worst;
}

ib::Result<MulticastReport> trace_multicast(mad::Session& session, const Group& group,
                                            const MulticastOptions& options) {
  const auto facts = session.port().facts();
  if (!facts) return tl::unexpected(facts.error());
  const auto address = ib::query::sa_address(*facts, options.sm_key);
  if (!address) return tl::unexpected(address.error());
  SaClient sa(session, *address);
  const auto members = read_group(sa, group, options.names);
  if (!members) return tl::unexpected(members.error());
  const auto source = choose_source(*members, options, facts->port_guid);
  if (!source) return tl::unexpected(source.error());
  const bool is_local = (*source)->port_gid.guid() == facts->port_guid;
  const auto start = start_at(session, sa, **source, options, is_local);
  if (!start) return tl::unexpected(start.error());

  MulticastReport report;
  report.mgid = members->mgid;
  report.mlid = members->mlid;
  report.members = members->members;
  report.source = (*source)->name;
  auto tree = ib::query::walk_multicast_tree(session, report.mlid, *start);
  if (!tree) return tl::unexpected(tree.error());
  report.tree = std::move(*tree);
  place_members(report, (*source)->port_gid);
  for (const TreeFault& fault : report.tree.faults)
    if (fault.kind != TreeFaultKind::NoWayUp || is_missed(report, fault))
      report.faults.push_back(fault);
  blame_strangers(report, *members);
  if (auto asked = ask_agents(session, options, report); !asked)
    return tl::unexpected(std::move(asked.error()));
  if (auto blamed = blame_for_missing(session, sa, options, report); !blamed)
    return tl::unexpected(std::move(blamed.error()));
  return report;
}

}  // namespace ibtracer
