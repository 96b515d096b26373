// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which multicast LIDs are in use. Several groups may share one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libdiag/base/ids.h"

namespace sm::sa {

class MlidPool {
 public:
  /// LIDs that are no multicast LIDs are ignored.
  void take(ib::Lid mlid);
  void release(ib::Lid mlid);
  bool is_free(ib::Lid mlid) const;
  /// kNoLid when all up to `max` are in use.
  ib::Lid lowest_free(ib::Lid max) const;

 private:
  static constexpr std::size_t kCount = 0xFFFE - 0xC000 + 1;
  static bool is_ours(ib::Lid mlid) { return mlid.is_multicast() && mlid.value <= 0xFFFE; }
  static std::size_t index(ib::Lid mlid) { return mlid.value - std::size_t{0xC000}; }

  std::array<std::uint64_t, (kCount + 63) / 64> taken_{};  // bit: in use
  std::vector<std::uint32_t> users_;                       // as far as the highest was ever in use
};

}  // namespace sm::sa
