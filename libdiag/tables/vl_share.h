// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VlShare: what VL arbitration gives one VL of a port beside the others, as an operator reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "libdiag/wire/smp_attributes.h"

namespace ib::tables {

/// Weights in units of 64 bytes (IBA 7.6.9): of the VL, and of all VLs of the same priority. A VL
/// that is in a table several times has the sum.
struct VlShare {
  unsigned low{}, low_total{}, high{}, high_total{};
  friend bool operator==(const VlShare&, const VlShare&) = default;
};

/// The blocks of the low and of the high priority table, one or two each.
VlShare vl_share(std::uint8_t vl, std::span<const wire::VlArbitrationTable> low,
                 std::span<const wire::VlArbitrationTable> high);

/// "weight 64 of 320 low, 4 of 4 high"; a priority in which the VL has no weight is left out.
std::string to_string(const VlShare& share);

}  // namespace ib::tables
