// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Component masks of MCMemberRecord requests.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sm::sa::test {

constexpr std::uint64_t mask_of(std::initializer_list<unsigned> bits) {
  std::uint64_t mask = 0;
  for (const unsigned b : bits) mask |= std::uint64_t{1} << b;
  return mask;
}
inline constexpr auto kJoin = mask_of({0, 1, 16});                   // MGID, PortGID, JoinState
inline constexpr auto kCreate = kJoin | mask_of({2, 6, 7, 12, 13});  // and what a group lives by

}  // namespace sm::sa::test
