// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whom managers can ask: the end ports of a snapshot that are in use, and their addresses.
#pragma once

#include <string>
#include <vector>

#include "libdiag/mad/request.h"
#include "sm/device/snapshot.h"

namespace sm::managers {

struct EndPort {
  ib::fabric::PortRef port;  // of a switch port 0
  ib::wire::NodeType type{};
  ib::Guid node_guid{}, port_guid{};
  ib::mad::Address address;  // QP1, by the SL of the path; without routes by its MasterSMSL
  std::string name;          // for messages: the node's description, and a CA's or router's port

  /// What window and round-trip time a Transactor keeps belong to: the node.
  std::uint64_t target_key() const { return node_guid.value; }
};

/// End ports with a LID, of nodes that are managed: CA and router ports that are ACTIVE, port 0 of
/// switches. In the order of the fabric's nodes, which is that of their GUIDs.
std::vector<EndPort> end_ports(const Snapshot& subnet);

/// How messages call port `port` of a node: `"node042 HCA-1" port 1`; of port 0 the switch alone.
std::string place_name(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port);

/// Get or Set of `attribute` at `target`; the body is the caller's to fill in.
ib::mad::Request gmp_request(ib::mad::Cookie cookie, const EndPort& target,
                             ib::wire::MgmtClass mgmt_class, ib::wire::Method method,
                             std::uint16_t attribute, std::uint32_t modifier = 0);

}  // namespace sm::managers
