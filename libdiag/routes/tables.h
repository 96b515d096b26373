// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwarding tables as values: what a dump file holds, what an engine produces, what was read from
// switches.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::routes {

inline constexpr std::uint8_t kNoPort = 255;

/// Linear forwarding tables of all switches of a CompactGraph: one dense row per switch, LIDs
/// 0..max_lid.
class LinearTables {
 public:
  LinearTables() = default;
  LinearTables(std::size_t switches, Lid max_lid)
      : lids_(max_lid.value + std::size_t{1}), ports_(switches * lids_, kNoPort) {}

  std::size_t switch_count() const { return lids_ == 0 ? 0 : ports_.size() / lids_; }
  std::size_t lid_count() const { return lids_; }
  std::uint8_t at(fabric::SwitchIndex s, Lid lid) const {
    return lid.value < lids_ ? ports_[s * lids_ + lid.value] : kNoPort;
  }
  void set(fabric::SwitchIndex s, Lid lid, std::uint8_t port) {
    ports_[s * lids_ + lid.value] = port;
  }
  std::span<std::uint8_t> row(fabric::SwitchIndex s) { return {ports_.data() + s * lids_, lids_}; }
  std::span<const std::uint8_t> row(fabric::SwitchIndex s) const {
    return {ports_.data() + s * lids_, lids_};
  }
  friend bool operator==(const LinearTables&, const LinearTables&) = default;

 private:
  std::size_t lids_{0};
  std::vector<std::uint8_t> ports_;
};

/// Ports a multicast LID leaves by, one bit a port.
struct PortMask {
  std::array<std::uint64_t, 4> bits{};
  void set(unsigned port) { bits[port / 64] |= std::uint64_t{1} << (port % 64); }
  void clear(unsigned port) { bits[port / 64] &= ~(std::uint64_t{1} << (port % 64)); }
  bool test(unsigned port) const { return (bits[port / 64] >> (port % 64)) & 1; }
  bool empty() const { return (bits[0] | bits[1] | bits[2] | bits[3]) == 0; }
  friend bool operator==(const PortMask&, const PortMask&) = default;
};

/// Multicast forwarding: by MLID, then by switch. Absent means an empty mask.
using MulticastTables = std::map<Lid, std::map<fabric::SwitchIndex, PortMask>>;

}  // namespace ib::routes
