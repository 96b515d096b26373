// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Lines of a topology file that say in what devices are unlike others, a comment to everybody else:
//
//   #device "host0001 HCA-1" 1 vl_cap=2 mtu_cap=2048
//   #device S-0002c90200400000 optimized_sl2vl=2 refuse=VLArbitrationTable
#pragma once

#include <string>

#include "libdiag/base/result.h"
#include "libdiag/sim/model.h"

namespace ibfabric {

/// All such lines of a file; the error names it, the line and the column. Lines before that one
/// have been done, so the model is of no use after one.
ib::Result<void> apply_device_lines(ib::sim::Model& model, const std::string& text,
                                    const std::string& file);

}  // namespace ibfabric
