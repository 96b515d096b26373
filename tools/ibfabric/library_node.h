// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The node that a program with the library sits at, as the server describes it. No C++ library.
#pragma once

#include "tools/ibfabric/protocol.h"

namespace ibfabric {

/// Asks the server for the node. 0 or -errno; -EIO where what it says is no node.
int describe(Description* d);

/// Asks for the node, and makes `port_num` one of its ports: of 0 and less the one that libibumad
/// would take. 0 or -errno; -ENODEV where there is no such device or port.
int resolve(const char* ca_name, int* port_num, Description* d);

}  // namespace ibfabric
