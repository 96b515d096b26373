// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How a port shares its link among VLs, as a fluid: what VL arbitration (IBA 7.6.9) gives each VL
// on average when it has so much to send.
#pragma once

#include <array>
#include <cstdint>

namespace ib::sim {

inline constexpr std::size_t kDataVls = 15;

/// The arbitration tables of a port. Weights are sums over the entries of a VL, so in units of 64
/// bytes; 0: the table does not name it.
struct VlShares {
  std::array<std::uint32_t, kDataVls> high{}, low{};
  /// What the high priority table gets of the link while both tables have something to send, 0..1.
  double high_part{};
};

/// High priority may send `limit` times 4096 bytes (0: one packet, 255: without end) before a
/// packet of `mtu` bytes of low priority gets its turn (IBA 7.6.9.2).
double high_part_of(std::uint8_t limit, std::uint32_t mtu);

/// What of `capacity` each VL gets that could use `demand` of it, in any unit, infinity included.
/// No capacity is left over while a VL that one of the tables names could use more.
std::array<double, kDataVls> share_link(double capacity, const VlShares& shares,
                                        const std::array<double, kDataVls>& demand);

}  // namespace ib::sim
