// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables from what a topology file says at their ends. Ends that name each other come first;
// one-sided claims take what is left. Private to the topology reader.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// What the file says of a cable at one end.
struct CableClaim {
  std::string_view peer_id;
  std::size_t line{}, column{};  // of the peer's id
  PortRef from, to;              // `to` is resolved when every node is known
  std::uint8_t peer_port{};
  wire::LinkWidth width{wire::LinkWidth::Unknown};
  wire::LinkSpeed speed{wire::LinkSpeed::Unknown};
  Guid peer_port_guid{};
  Lid peer_lid{};
};

class CableClaims {
 public:
  std::vector<CableClaim> all;

  void add_ports(std::size_t count) { of_port_.resize(of_port_.size() + count, kNone); }
  bool has(std::size_t port_index) const { return of_port_[port_index] != kNone; }
  void add(std::size_t port_index, const CableClaim& claim) {
    of_port_[port_index] = all.size();
    all.push_back(claim);
  }
  void drop_last(std::size_t port_index) {
    of_port_[port_index] = kNone;
    all.pop_back();
  }
  const CableClaim* at(const Fabric& fabric, PortRef port) const {
    const std::size_t index = of_port_[fabric.node(port.node).first_port + port.port];
    return index == kNone ? nullptr : &all[index];
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> of_port_;  // by the index of a port in the fabric
};

using WarnAt = std::function<void(std::size_t line, std::size_t column, const std::string&)>;

/// Puts the cables into the fabric. `cut`: the node that the file may end in the middle of. Ports
/// stand in a file in their order: how many cables only their other end names, of ports behind
/// those that `cut` describes, is returned.
std::size_t join_cables(Fabric& fabric, const CableClaims& claims, NodeIndex cut,
                        const WarnAt& warn);

/// End ports whose GUID nobody wrote get the node's plus the port number, as vendors do.
void fill_port_guids(Fabric& fabric);

/// Two nodes, or two ports, have one GUID: a lookup of one may find the other. `line_of`: by node.
void warn_of_twins(const Fabric& fabric, const std::vector<std::size_t>& line_of,
                   const WarnAt& warn);

}  // namespace ib::fabric
