// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What policies go by, of an end port of a fabric.
#pragma once

#include "libdiag/fabric/fabric.h"
#include "sm/policy/partitions.h"

namespace sm {

/// `port`: of a switch port 0. The facts are valid as long as the fabric.
policy::EndPortFacts end_port_facts(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port,
                                    bool is_sm);

}  // namespace sm
