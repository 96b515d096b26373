// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What nodes are called: the node-name map file, and finding a node by what a person typed. All
// programs find nodes by these functions, whether the nodes are of a sweep, a file or the SA.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// A node-name map: lines of `0x<node guid> "<name>"`, # comments. Of a GUID named twice the first
/// name counts.
class NodeNames {
 public:
  /// The names of the lines that can be read; of the others each adds an error to `problems`.
  static NodeNames read(std::string_view text, std::string_view file_name,
                        std::vector<Diagnostic>& problems);
  /// The first error, `FILE:LINE:COL: expected X, got Y`, where there is one.
  static Result<NodeNames> read(std::string_view text, std::string_view file_name);
  static Result<NodeNames> read_file(const std::string& path);
  /// The file at `path`; without one the first of kDefaultMaps that exists, or no names.
  static Result<NodeNames> read_file_or_default(const std::string& path);

  std::optional<std::string_view> find(Guid node_guid) const;
  /// The node that the map calls so.
  std::optional<Guid> find_guid(std::string_view name) const;
  /// Gives it the name that the map has for it; one that it had from a map of before goes.
  void name(Node& node) const;
  void name_all(Fabric& fabric) const;
  /// The mapped name, else the printable NodeDescription.
  std::string name_of(const Node& node) const;
  std::size_t size() const { return names_.size(); }

 private:
  std::unordered_map<Guid, std::string> names_;
};

/// The name that a map has for a node, else its NodeDescription as it is; no map: that.
std::string name_in(const NodeNames* names, Guid node_guid, std::string description);

/// Where the stock tools and opensm have their node-name map.
inline constexpr const char* kDefaultMaps[] = {"/etc/rdma/ib-node-name-map",
                                               "/etc/infiniband-diags/ib-node-name-map",
                                               "/etc/opensm/ib-node-name-map"};

/// The name without what vendors add: "node0254" of "node0254 HCA-1", "sw95" of
/// "MF0;sw95:MQM8700/U1", "Director-1 L05/U1" of "MF0;Director-1:IS5600/L05/U1".
std::string short_name(const Node& node);

/// What of a node its names are made of. Views: the owner outlives the search.
struct NamedNode {
  Guid guid{};
  bool is_switch{false};
  std::string_view description;
  std::string_view file_id;     // of a topology file ("S-0002c9..."); empty: none
  std::string_view map_name{};  // that a node-name map gave it already; empty: none
};
/// Says of a node what tells it from another of the same name: "LID 7, leaf-01 port 3".
using DescribeNode = std::function<std::string(std::size_t index)>;

/// The one of `nodes` that `text` means: by its id in the file, its GUID (0x...), its name in a map
/// (`names`, or the one that it was given), its whole NodeDescription, its short name, or HOST:HCA
/// ("a06:HCA-1"), tried in this order. Errors: NotFound, none is called so (the nearest names
/// follow); Usage, several are (each follows, a line each).
Result<std::size_t> find_named(std::span<const NamedNode> nodes, std::string_view text,
                               const NodeNames* names, const DescribeNode& describe);

/// The same of the nodes of a fabric, where the GUID may also be that of a port.
Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text,
                            const NodeNames* names = nullptr);

struct NodeAndPort {
  NodeIndex node{kNoNode};
  std::optional<std::uint8_t> port;
};
/// `NODE[:PORT]`. A name may hold colons: what is a node as a whole is one.
Result<NodeAndPort> find_node_and_port(const Fabric& fabric, std::string_view text,
                                       const NodeNames* names = nullptr);

/// A word that can only be a LID: decimal, or 0x and up to four digits. Nothing: it is none; Usage:
/// it is no unicast LID ("expected a LID up to 0xbfff, got '70000'").
std::optional<Result<Lid>> read_lid_word(std::string_view text);

/// The end port that a word means: a LID, the GUID of a port, or NODE[:PORT]; of a host without a
/// port the first that has a LID. NotFound: nothing is called so; Usage: several are, or there is
/// no such port.
Result<PortRef> find_end_port(const Fabric& fabric, std::string_view text,
                              const NodeNames* names = nullptr);

}  // namespace ib::fabric
