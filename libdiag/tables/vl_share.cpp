// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/vl_share.h"

namespace ib::tables {
namespace {

void add(std::uint8_t vl, std::span<const wire::VlArbitrationTable> blocks, unsigned& own,
         unsigned& total) {
  for (const wire::VlArbitrationTable& block : blocks)
    for (std::size_t i = 0; i < block.vl.size(); ++i) {
      total += block.weight[i];
      if (block.vl[i] == vl) own += block.weight[i];
    }
}

std::string part(unsigned own, unsigned total, const char* priority) {
  return std::to_string(own) + " of " + std::to_string(total) + ' ' + priority;
}

}  // namespace

VlShare vl_share(std::uint8_t vl, std::span<const wire::VlArbitrationTable> low,
                 std::span<const wire::VlArbitrationTable> high) {
  VlShare share;
  add(vl, low, share.low, share.low_total);
  add(vl, high, share.high, share.high_total);
  return share;
}

std::string to_string(const VlShare& share) {
  if (share.low == 0 && share.high == 0) return "no weight";
  std::string text = "weight ";
  if (share.low != 0) text += part(share.low, share.low_total, "low");
  if (share.low != 0 && share.high != 0) text += ", ";
  if (share.high != 0) text += part(share.high, share.high_total, "high");
  return text;
}

}  // namespace ib::tables
