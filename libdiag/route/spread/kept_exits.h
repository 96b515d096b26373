// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// KeptExits: what the previous tables chose, where entries are to stay if they still can.
#pragma once

#include <optional>
#include <vector>

#include "libdiag/route/spread/exit_queue.h"
#include "libdiag/route/spread/exits.h"

namespace ib::route {

class KeptExits {
 public:
  /// No `previous` tables: nothing is kept.
  KeptExits(const tables::LinearTables* previous, const fabric::CompactGraph& graph,
            const Exits& exits);

  bool any() const { return previous_ != nullptr; }

  /// The exit of s, as a rank, that the previous tables use for this LID, if it is one of `mask`.
  std::optional<std::size_t> of(fabric::SwitchIndex s, Lid lid, ExitMask mask) const {
    if (previous_ == nullptr || s >= previous_->switch_count()) return std::nullopt;
    const std::uint8_t port = previous_->at(s, lid);
    if (port >= ports_) return std::nullopt;
    const std::uint8_t rank = rank_of_port_[s * ports_ + port];
    if (rank == kNoRank || ((mask[rank / 64] >> (rank % 64)) & 1) == 0) return std::nullopt;
    return rank;
  }

 private:
  static constexpr std::uint8_t kNoRank = 255;  // a switch has at most 254 exits

  const tables::LinearTables* previous_;
  std::size_t ports_{0};
  std::vector<std::uint8_t> rank_of_port_;  // [s * ports_ + port]
};

}  // namespace ib::route
