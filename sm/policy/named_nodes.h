// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// NamedNodes: which node a name in a partition file means. The node name map is the operator's, a
// NodeDescription whatever a host says of itself: a name of the map means the node that the map
// calls so. A name that several nodes have means none of them, so that nobody becomes a member of a
// partition by taking a name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sm/policy/partitions.h"

namespace sm::policy {

class NamedNodes {
 public:
  /// `ports` outlive this.
  explicit NamedNodes(std::span<const EndPortFacts> ports);

  /// GUIDs of all nodes that have the name, ascending.
  std::vector<ib::Guid> nodes(std::string_view name) const;
  /// Indexes of the ports of the one node that is meant; none where nobody is.
  std::vector<std::size_t> ports(std::string_view name) const;
  /// Whether `port`, one of the ports, is of the node that is meant.
  bool means(std::string_view name, const EndPortFacts& port) const;

 private:
  struct Entry {
    std::string_view name;
    bool described;  // by the node itself, not by the map
    std::size_t port;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  std::span<const Entry> entries(std::string_view name) const;

  std::span<const EndPortFacts> ports_;
  std::vector<Entry> entries_;  // ascending
};

struct PartitionPolicy;
/// A line for each name in `policy`'s member lists, and in the port groups that they name, that
/// several nodes have.
std::vector<std::string> ambiguous_names(const PartitionPolicy& policy,
                                         std::span<const EndPortFacts> ports);

}  // namespace sm::policy
