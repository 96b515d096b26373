// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Observed: what the devices of a subnet said, filled from answers only. The fabric of it is ready
// for drawing and routing; beside it stands every attribute as it was answered, and the directed
// route to each node.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "libdiag/mad/request.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::discover {

/// One node as it answered.
struct ObservedNode {
  wire::NodeInfo info;                          // LocalPortNum: the port `route` arrives by
  mad::DirectedRoute route;                     // from the local port to this node
  std::optional<wire::SwitchInfo> switch_info;  // switches only; empty: not answered
  bool changed{false};  // PortStateChange was set when the sweep came, cleared since or not
  /// False: quarantined. It said something that cannot be, or fell silent half way; its cables are
  /// not in the fabric, and a trouble names it.
  bool usable{true};
};

/// What a switch says is built in behind a port; `None` of most.
enum class SpecialPort : std::uint8_t { None, AggregationNode, Router, Gateway };

/// PortInfo of one port as its bytes were answered, so that bits this release does not know survive
/// a read-modify-write. Ports are what there is most of: their meaning is read from the bytes when
/// it is asked for.
struct ObservedPort {
  bool known{false};
  bool extended{false};                    // asked with the extended-speeds modifier
  bool fdr10{false};                       // the vendor attribute says FDR10 is active
  SpecialPort special{SpecialPort::None};  // and that this is built in behind it
  std::array<std::byte, 64> bytes{};

  wire::PortInfo info() const;
  /// One field of it: `get<&wire::PortInfo::lid>()`.
  template <auto Member>
  auto get() const {
    return wire::get<Member>(bytes.data());
  }
  wire::PortState state() const { return get<&wire::PortInfo::port_state>(); }
};

/// Something that kept a node, or a port of it, from being observed.
struct Trouble {
  enum class Kind {
    Silent,         // no answer after every attempt
    Refused,        // an answer with a status other than 0
    Garbage,        // a field that cannot be: `message` names it
    DuplicateGuid,  // two nodes have one GUID; `route` is the duplicate's, `other_route` the
                    // first's
    Moved,          // a cable moved while the sweep ran: sweep again
    TooFar,         // more than 63 hops away
  };
  Kind kind{};
  Guid node_guid{};           // 0: never learnt
  std::string description;    // what the node is called, raw, where known
  fabric::PortRef behind;     // the switch port it hangs from, where there is one
  std::uint16_t attribute{};  // what was asked
  std::uint8_t port{};        // of the node, where a port's attribute was asked
  mad::DirectedRoute route;
  mad::DirectedRoute other_route;
  std::string what;     // was wrong: the last part of `message`
  std::string message;  // one printable line: who, where, what
  friend bool operator==(const Trouble&, const Trouble&) = default;
};
std::string_view trouble_name(Trouble::Kind kind);  // "silent", "duplicate GUID", ...

struct Observed {
  fabric::Fabric fabric;            // nodes by GUID once complete; in order of discovery before
  std::vector<ObservedNode> nodes;  // by NodeIndex
  std::vector<ObservedPort> ports;  // all ports of all nodes; index by port_index()
  std::vector<Trouble> troubles;    // in a stable order
  fabric::PortRef local_port;       // where the sweep started
  bool complete{false};             // the sweep ran to its end

  std::size_t port_index(fabric::PortRef p) const {
    return fabric.node(p.node).first_port + std::size_t{p.port};
  }
  const ObservedPort& port(fabric::PortRef p) const { return ports[port_index(p)]; }
  ObservedPort& port(fabric::PortRef p) { return ports[port_index(p)]; }
  /// nullptr when the port's PortInfo is not known. Most want a field or two of it; decoding all
  /// was more than half of publishing a snapshot.
  const ObservedPort* known_port(fabric::PortRef p) const {
    const ObservedPort& o = port(p);
    return o.known ? &o : nullptr;
  }
  /// Puts a PortInfo answer, as bytes and decoded, in its place, here and in `fabric`.
  void update_port(fabric::PortRef p, const std::byte* answer, const wire::PortInfo& info);
};

/// Nodes behind special ports of switches, ascending: no hosts, whatever they call themselves.
std::vector<Guid> special_nodes(const Observed& observed);

/// Puts nodes in the order of their GUIDs: what is built on them must not depend on whose answer
/// came first.
void sort_nodes(Observed& observed);
/// The nodes in this order alone; what is told of others is gone with them.
void keep_nodes(Observed& observed, const std::vector<fabric::NodeIndex>& order);

}  // namespace ib::discover
