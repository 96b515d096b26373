// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The tree that packets to a multicast LID take from one port on, as the multicast forwarding
// tables have it now: every switch on the way is asked by directed-route SMPs. It names what no
// tree of a healthy subnet has.
#pragma once

#include <bitset>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/query/path_walk.h"

namespace ib::query {

using PortSet = std::bitset<256>;

/// "1, 3, 17"; "none" of an empty set.
std::string to_string(const PortSet& ports);

struct TreeNode {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  Hop hop;  // its egress_port stays 0: a tree's node may have several
  std::size_t parent{kNone};
  std::uint8_t parent_port{};  // by which the parent sends to it
  std::uint8_t depth{};        // hops from the source
  PortSet entry;               // of a switch: its table's entry for the MLID
  PortSet out;             // by which it sends on what comes in by its ingress port; 0: to itself
  bool by_default_port{};  // no entry, and SwitchInfo names a port for such packets
};

enum class TreeFaultKind : std::uint8_t {
  NoEntry,   // a switch that packets come to has no entry, and drops them
  LinkDown,  // the entry names a port whose link is not ACTIVE, or that the switch has not
  Twice,     // packets come to a node twice: by a loop or by two branches
  NoWayUp,   // the entry does not name the port packets come in by: what members beyond it send
             // stays there. None, where all that is on the other side only sends
  Stranger,  // the tree ends at a port that is no member; who knows the members says so
  NotThere,  // the entry has not a port behind which members are; likewise
  Unread,    // a node does not answer, or refuses: what is beyond it is not known
};
/// The word for it: "no MFT entry", "link down", ...
std::string_view tree_fault_name(TreeFaultKind kind);

struct TreeFault {
  TreeFaultKind kind{};
  Guid node_guid{};     // of the switch that is to blame
  std::uint8_t port{};  // of it; 0: none in particular
  std::string message;  // one line that names both
};

/// Parents stand before their children; entry 0 is the source.
struct MulticastTree {
  std::vector<TreeNode> nodes;
  std::vector<TreeFault> faults;

  /// The node of `guid`, entered by `port` where that is not 0; nullptr: the tree does not have it.
  const TreeNode* find(Guid node_guid, std::uint8_t port = 0) const;
};

struct TreeStart {
  mad::DirectedRoute route;     // to the source: the local port where empty, otherwise a switch
  std::uint8_t ingress_port{};  // of that switch: where the source's packets come in
  std::uint64_t m_key{};
  const fabric::NodeNames* names{nullptr};  // in place of NodeDescriptions, where it names a node
};

/// The tree of `mlid`. Error: the local port failed, or nobody answers at the start.
Result<MulticastTree> walk_multicast_tree(mad::Session& session, Lid mlid, const TreeStart& start);

}  // namespace ib::query
