// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwarding: the LFT and MFT of one switch as far as answers reported them. Apart from other
// tables (node_tables.h), since blocks are many, hardly two are alike, and routes read them entry
// by entry.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sm::device {

inline constexpr std::size_t kLidsInBlock = 64, kMlidsInBlock = 32, kPortsInPosition = 16;

struct Forwarding {
  using MftBlock = std::array<std::uint16_t, kMlidsInBlock>;  // a bit for each port of the position

  std::vector<std::uint8_t> lft;  // by LID, as far as known
  std::vector<bool> lft_known;    // by block of LIDs
  /// By block of MLIDs and position.
  std::map<std::pair<std::uint16_t, std::uint8_t>, MftBlock> mft;

  bool knows_lft_block(std::size_t block) const {
    return block < lft_known.size() && lft_known[block];
  }
};

}  // namespace sm::device
