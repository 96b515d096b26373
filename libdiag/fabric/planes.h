// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Planes of multi-plane HCAs (XDR): several ports of one CA that have one PortGUID are one end port
// that sends over all of them. They are no parallel links: the first is the end port here, with its
// LID and routes, and the others are seen and left alone.
#pragma once

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// Whether a lower port of the same CA has this port's GUID.
bool is_further_plane(const Fabric& fabric, PortRef port);

}  // namespace ib::fabric
