// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The InfiniBand ports of this host as libibumad finds them, and which of them a choice means.
// Private to libdiag/mad/umad; others see list_umad_ports() and PortChoice of umad_port.h.
#pragma once

#include <infiniband/umad.h>

#include "libdiag/mad/umad/umad_port.h"

namespace ib::mad {

/// The errno behind the result of a function of libibumad: they return -1 or a negative errno, by
/// function and version; errno, which the caller sets to 0 before, knows more.
int errno_of(int result);

/// What libibumad says of a port of the node with that GUID.
PortFacts facts_of(const umad_port_t& port, Guid node_guid);

/// The port that `choice` means, by the order that PortChoice describes. Unavailable: there is
/// none; the error names those that there are.
Result<PortFacts> choose(const PortChoice& choice);

}  // namespace ib::mad
