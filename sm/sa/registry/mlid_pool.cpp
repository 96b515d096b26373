// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/mlid_pool.h"

#include <bit>

namespace sm::sa {

void MlidPool::take(ib::Lid mlid) {
  if (!is_ours(mlid)) return;
  const auto i = index(mlid);
  if (i >= users_.size()) users_.resize(i + 1);
  ++users_[i];
  taken_[i / 64] |= std::uint64_t{1} << (i % 64);
}

void MlidPool::release(ib::Lid mlid) {
  if (!is_ours(mlid)) return;
  const auto i = index(mlid);
  if (i < users_.size() && users_[i] != 0 && --users_[i] == 0)
    taken_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}

bool MlidPool::is_free(ib::Lid mlid) const {
  if (!is_ours(mlid)) return false;
  const auto i = index(mlid);
  return (taken_[i / 64] >> (i % 64) & 1) == 0;
}

ib::Lid MlidPool::lowest_free(ib::Lid max) const {
  for (std::size_t word = 0; word < taken_.size(); ++word) {
    if (taken_[word] == ~std::uint64_t{0}) continue;
    const std::size_t i = word * 64 + static_cast<std::size_t>(std::countr_one(taken_[word]));
    if (i >= kCount || i + 0xC000 > max.value) return ib::kNoLid;
    return ib::Lid{static_cast<std::uint16_t>(i + 0xC000)};
  }
  return ib::kNoLid;
}

}  // namespace sm::sa
