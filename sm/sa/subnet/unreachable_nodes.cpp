// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/unreachable_nodes.h"

namespace sm::sa {

UnreachableNodes::UnreachableNodes(const ib::discover::Observed& now) : fabric_(now.fabric) {
  for (const auto& trouble : now.troubles) {
    using Kind = ib::discover::Trouble::Kind;
    if (trouble.kind != Kind::Silent && trouble.kind != Kind::Garbage &&
        trouble.kind != Kind::Refused)
      continue;
    any_ = true;
    if (trouble.behind) behind_.insert(place(fabric_, trouble.behind));
  }
}

bool UnreachableNodes::may_hide(ib::Guid guid, const Snapshot* before) const {
  if (!any_) return false;
  const auto was = before != nullptr ? before->fabric().find_port_guid(guid) : std::nullopt;
  if (!was) return true;
  const auto& old = before->fabric();
  const auto peer = old.port(*was).peer;
  if (!peer || !fabric_.find_node(old.node(peer.node).guid)) return true;
  return behind_.contains(place(old, peer));
}

}  // namespace sm::sa
