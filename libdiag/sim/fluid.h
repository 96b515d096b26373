// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Traffic as a fluid: the rates at which flows settle on a lossless fabric. Pure: no packet, no
// time, no table; where flows go and what links can do is handed in.
//
// All flows grow alike until something stops them (max-min fairness): what they want to send, or a
// VL of one direction of a link that is full. InfiniBand loses nothing, so packets that a
// full VL cannot take wait in the buffers before it, and whatever shares these buffers waits
// behind them: every flow on a VL that leads to the full one goes no faster than the flow that is
// stopped (congestion spreads). Congestion control prevents this where the full VL marks packets
// and the flow's sender can be slowed down that far: then the sender waits, and nobody behind it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "libdiag/sim/vl_shares.h"

namespace ib::sim {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr std::uint32_t kNoVl = 0xFFFFFFFF, kUnmarked = 0xFFFFFFFF;

/// One direction of a link, in bytes a second.
struct FluidLink {
  double capacity{};
  VlShares shares;
};

/// A VL of one direction of a link.
struct FluidVl {
  std::uint32_t link{};
  std::uint8_t number{};
  std::uint32_t marks_from{
      kUnmarked};  // packets of so many bytes that wait for it are marked (FECN)
};

struct FluidFlow {
  std::vector<std::uint32_t> vls;  // on its way, in order
  double demand{kUnlimited};
  double slowest{kUnlimited};  // to what congestion control slows its sender down at most
  std::uint32_t packet{};      // bytes of a packet
};

enum class Stopped : std::uint8_t {
  Demand,  // it sends what it wants to
  Full,    // `vl` is full
  Behind,  // on `vl` packets wait for a VL further on that is full
  Slowed,  // `vl` is full, and congestion control keeps its packets back at the sender
};

struct FluidRate {
  double rate{};  // bytes a second
  Stopped by{Stopped::Demand};
  std::uint32_t vl{kNoVl};
};

struct FluidRates {
  std::vector<FluidRate> flows;
  std::vector<bool> waits;  // by VL: packets on it wait for a VL further on
};

/// A VL that no arbitration table names carries nothing. Where VLs of a link compete, their shares
/// are found by repetition; fabrics where they depend on each other in a circle get rates that are
/// possible and leave no VL idle, though others might be as fair.
FluidRates fluid_rates(const std::vector<FluidLink>& links, const std::vector<FluidVl>& vls,
                       const std::vector<FluidFlow>& flows);

}  // namespace ib::sim
