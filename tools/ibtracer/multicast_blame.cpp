// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/multicast_blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/base/text.h"
#include "tools/ibtracer/multicast_group.h"

namespace ibtracer {

using ib::query::MulticastTree;
using ib::query::PathWalk;
using ib::query::SaClient;
using ib::query::TreeFault;
using ib::query::TreeFaultKind;
using ib::query::TreeNode;
namespace mad = ib::mad;
namespace wire = ib::wire;

namespace {

bool is_switch(const TreeNode& node) { return node.hop.type == wire::NodeType::Switch; }

/// What `tree` itself says of the port of a switch that it passes.
const TreeFault* known_fault(const MulticastTree& tree, ib::Guid node_guid, std::uint8_t port) {
  for (const TreeFault& fault : tree.faults)
    if (fault.node_guid == node_guid && fault.port == port) return &fault;
  return nullptr;
}

TreeFault not_there(const TreeNode& at, std::uint8_t port, ib::Lid mlid) {
  if (at.entry.none())
    return {TreeFaultKind::NoEntry, at.hop.node_guid, 0,
            fmt::format("{} has no entry for lid 0x{:04x} and drops what comes in by port {}",
                        ib::query::hop_label(at.hop), mlid.value, at.hop.ingress_port)};
  return {TreeFaultKind::NotThere, at.hop.node_guid, port,
          fmt::format("the entry of {} for lid 0x{:04x} has not port {}",
                      ib::query::hop_label(at.hop), mlid.value, port)};
}

void add_once(std::vector<TreeFault>& faults, const TreeFault& fault) {
  const bool is_known = std::ranges::any_of(faults, [&](const TreeFault& f) {
    return f.kind == fault.kind && f.node_guid == fault.node_guid && f.port == fault.port;
  });
  if (!is_known) faults.push_back(fault);
}

/// Looks for who is to blame, once for all members of one part of the tree.
class Search {
 public:
  Search(mad::Session& session, const MulticastOptions& options, MulticastReport& report)
      : session_(session), options_(options), report_(report) {}

  ib::Result<void> look(const Attachment& at, Member& member) {
    if (const TreeNode* own = report_.tree.find(at.node_guid); own != nullptr) {
      // The tree comes to the member's own switch, and does not leave it by its port.
      const TreeFault* known = known_fault(report_.tree, at.node_guid, at.port);
      conclude(known != nullptr ? *known : not_there(*own, at.port, report_.mlid), member);
      return {};
    }
    if (const auto known = found_.find(at.node_guid); known != found_.end()) {
      conclude(known->second, member);
      return {};
    }
    const auto side = ib::query::walk_multicast_tree(
        session_, report_.mlid, {at.route, at.port, options_.m_key, options_.names});
    if (!side && side.error().kind != ib::ErrorKind::Unavailable)
      return tl::unexpected(side.error());
    if (!side) {
      member.note = side.error().message;
      return {};
    }
    const TreeFault fault = judge(*side);
    for (const TreeNode& node : side->nodes) {
      if (report_.tree.find(node.hop.node_guid) == nullptr)
        found_.try_emplace(node.hop.node_guid, fault);
    }
    conclude(fault, member);
    return {};
  }

 private:
  TreeFault judge(const MulticastTree& side) const {
    if (auto met = where_they_meet(report_.tree, side, report_.mlid)) return *met;
    if (!side.faults.empty()) return side.faults.front();
    const TreeNode& first = side.nodes.front();
    return {TreeFaultKind::NotThere, first.hop.node_guid, 0,
            fmt::format("the tree around {}, of {} nodes, is a piece of its own",
                        ib::query::hop_label(first.hop), side.nodes.size())};
  }

  void conclude(const TreeFault& fault, Member& member) {
    member.note = fault.message;
    add_once(report_.faults, fault);
  }

  mad::Session& session_;
  const MulticastOptions& options_;
  MulticastReport& report_;
  std::map<ib::Guid, TreeFault> found_;  // by switch
};

}  // namespace

ib::Result<Attachment> switch_of(mad::Session& session, SaClient& sa, const Member& member,
                                 std::uint64_t m_key) {
  Attachment attachment;
  ib::Lid lid = member.lid;
  if (member.port != 0) {
    const auto link = link_of(sa, member);
    if (!link) return tl::unexpected(link.error());
    lid = link->to_lid;
    attachment.port = link->to_port.value;
  }
  ib::query::WalkOptions options;
  options.m_key = m_key;
  options.descriptions = false;
  PathWalk walk(lid, options);
  if (auto ran = session.run(walk); !ran) return tl::unexpected(ran.error());
  if (!walk.walk().arrived())
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("the way to the switch of \"{}\", lid {}: {}",
                                ib::printable(member.name), lid.value, walk.walk().failure));
  const ib::query::Hop& end = walk.walk().hops.back();
  if (end.type != wire::NodeType::Switch)
    return ib::fail(
        ib::ErrorKind::Unavailable,
        fmt::format("\"{}\" is cabled to {}, which is no switch and has no multicast table",
                    ib::printable(member.name), ib::query::hop_label(end)));
  attachment.route = end.route;
  attachment.node_guid = end.node_guid;
  return attachment;
}

std::optional<TreeFault> where_they_meet(const MulticastTree& tree, const MulticastTree& side,
                                         ib::Lid mlid) {
  for (const TreeNode& node : side.nodes) {
    if (!is_switch(node) || node.parent == TreeNode::kNone) continue;
    const TreeNode* met = tree.find(node.hop.node_guid);
    if (met == nullptr) continue;
    const std::uint8_t port = node.hop.ingress_port;
    if (const TreeFault* known = known_fault(tree, met->hop.node_guid, port)) return *known;
    TreeFault fault = not_there(*met, port, mlid);
    fault.message +=
        fmt::format(", where {} is", ib::query::hop_label(side.nodes[node.parent].hop));
    return fault;
  }
  return std::nullopt;
}

ib::Result<void> blame_for_missing(mad::Session& session, SaClient& sa,
                                   const MulticastOptions& options, MulticastReport& report) {
  Search search(session, options, report);
  for (Member& member : report.members) {
    if (member.word != MemberWord::Missing || member.node_guid.value == 0) continue;
    const auto at = switch_of(session, sa, member, options.m_key);
    if (!at) {
      member.note = at.error().message;
      continue;
    }
    if (auto looked = search.look(*at, member); !looked) return looked;
  }
  return {};
}

}  // namespace ibtracer
