// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/kinship.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::store {

bool Kinship::is_foreign() const { return is_judged() && known * kOneIn < std::min(stored, here); }

std::string Kinship::words() const {
  return fmt::format(
      "LIDs of {} ports are stored, and {} of them {} among the {} others on this "
      "fabric",
      stored, known == 0 ? "none" : std::to_string(known), known > 1 ? "are" : "is", here);
}

Kinship kinship(const std::vector<LidClaim>& lids, const std::vector<ib::Guid>& ports) {
  const auto is_known = [&](ib::Guid port) {
    return std::ranges::binary_search(lids, port, {}, &LidClaim::port_guid);
  };
  return {lids.size(), ports.size(),
          static_cast<std::size_t>(std::ranges::count_if(ports, is_known))};
}

}  // namespace sm::store
