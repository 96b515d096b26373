// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What nodes are called: the node-name map file, and finding a node by what a person typed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// A node-name map: lines of `0x<node guid> "<name>"`, # comments. Of a GUID named twice the first
/// name counts.
class NodeNames {
 public:
  /// An error begins with `FILE:LINE:COL: expected X, got Y`.
  static Result<NodeNames> read(std::string_view text, std::string_view file_name);
  static Result<NodeNames> read_file(const std::string& path);

  std::optional<std::string_view> find(Guid node_guid) const;
  /// The mapped name, else the printable NodeDescription.
  std::string name_of(const Node& node) const;
  std::size_t size() const { return names_.size(); }

 private:
  std::unordered_map<Guid, std::string> names_;
};

/// The name without what vendors add: "node0254" of "node0254 HCA-1", "sw95" of
/// "MF0;sw95:MQM8700/U1", "Director-1 L05/U1" of "MF0;Director-1:IS5600/L05/U1".
std::string short_name(const Node& node);

/// The node that `text` means: the id a topology file gave it ("S-0002c9..."), a node's or port's
/// GUID (0x...), a name of `names`, its whole NodeDescription, or its short name, tried in this
/// order. Errors: NotFound, nobody is called so; Usage, several are (their GUIDs are listed).
Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text,
                            const NodeNames* names = nullptr);

struct NodeAndPort {
  NodeIndex node{kNoNode};
  std::optional<std::uint8_t> port;
};
/// `NODE[:PORT]`. A name may hold colons: what is a node as a whole is one.
Result<NodeAndPort> find_node_and_port(const Fabric& fabric, std::string_view text,
                                       const NodeNames* names = nullptr);

}  // namespace ib::fabric
