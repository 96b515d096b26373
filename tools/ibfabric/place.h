// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a person means by NODE and NODE:PORT: a name, the file's node id, a GUID, or @ and the
// number of the node in the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"

namespace ibfabric {

/// An error names the GUIDs when several nodes have the name.
ib::Result<ib::fabric::NodeIndex> find_node(const ib::fabric::Fabric& fabric,
                                            std::string_view text);

struct Place {
  ib::fabric::NodeIndex node{ib::fabric::kNoNode};
  std::optional<std::uint8_t> port;
};
/// NODE or NODE:PORT; empty is the first CA. The port exists; of a switch it is 0.
ib::Result<Place> find_place(const ib::fabric::Fabric& fabric, std::string_view text);

/// "name (0x...)" for messages.
std::string describe_node(const ib::fabric::Fabric& fabric, ib::fabric::NodeIndex node);

/// The ports of a node that software can sit at: 0 of a switch, 1.. of the others.
bool is_host_port(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port);

}  // namespace ibfabric
