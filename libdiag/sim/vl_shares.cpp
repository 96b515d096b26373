// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/vl_shares.h"

#include <algorithm>

namespace ib::sim {
namespace {

using PerVl = std::array<double, kDataVls>;

/// Adds to `got` what each VL gets of `capacity` by its weight, at most what it still wants;
/// returns what is left.
double fill(double capacity, const std::array<std::uint32_t, kDataVls>& weights, PerVl& wanted,
            PerVl& got) {
  while (capacity > 0) {
    double weight = 0;
    for (std::size_t vl = 0; vl < kDataVls; ++vl)
      if (wanted[vl] > 0) weight += weights[vl];
    if (weight == 0) break;
    // Who wants less than its share is served first, and the others share what it leaves.
    const double unit = capacity / weight;
    bool satisfied = false;
    for (std::size_t vl = 0; vl < kDataVls; ++vl) {
      if (weights[vl] == 0 || wanted[vl] <= 0 || wanted[vl] > unit * weights[vl]) continue;
      got[vl] += wanted[vl];
      capacity -= wanted[vl];
      wanted[vl] = 0;
      satisfied = true;
    }
    if (satisfied) continue;
    for (std::size_t vl = 0; vl < kDataVls; ++vl) {
      if (weights[vl] == 0 || wanted[vl] <= 0) continue;
      got[vl] += unit * weights[vl];
      wanted[vl] -= unit * weights[vl];
    }
    return 0;
  }
  return std::max(capacity, 0.0);
}

double sum_of(const PerVl& demand, const std::array<std::uint32_t, kDataVls>& weights) {
  double sum = 0;
  for (std::size_t vl = 0; vl < kDataVls; ++vl)
    if (weights[vl] != 0) sum += demand[vl];
  return sum;
}

}  // namespace

double high_part_of(std::uint8_t limit, std::uint32_t mtu) {
  if (limit == 255) return 1;
  const double packet = mtu;
  const double high = limit == 0 ? packet : std::max(limit * 4096.0, packet);
  return high / (high + packet);
}

PerVl share_link(double capacity, const VlShares& shares, const PerVl& demand) {
  PerVl got{};
  PerVl wanted = demand;
  const double high =
      std::min(sum_of(demand, shares.high),
               std::max(capacity * shares.high_part, capacity - sum_of(demand, shares.low)));
  double left = capacity - high + fill(high, shares.high, wanted, got);
  left = fill(left, shares.low, wanted, got);
  fill(left, shares.high, wanted, got);
  return got;
}

}  // namespace ib::sim
