// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What lies between two switches, by pair: the least MTU, the slowest rate and the number of
// switches that packets pass from one leaf to another. Filled pair by pair as pairs are asked for
// (a few microseconds each), so that publishing a subnet costs nothing and no query waits for more
// than its own pair.
//
// Forwarding is per LID, so a pair of switches has one value only where the tables treat all LIDs
// behind the far one alike, which they do in a fabric without damage. Where they do not, the pair
// keeps a value for each of those LIDs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sm/device/routing.h"

namespace sm::sa {

/// A rate as its place in the order of speed, so that the slower of two is the lesser.
inline constexpr std::uint8_t kNoRank = 31;  // no link was passed
std::uint8_t rank_of_rate(std::uint8_t code);
std::uint8_t rate_of_rank(std::uint8_t rank);

/// What a link or several allow.
struct Allowed {
  std::uint8_t mtu{5};         // code
  std::uint8_t rank{kNoRank};  // of the rate
  friend bool operator==(const Allowed&, const Allowed&) = default;
};
inline Allowed least(Allowed a, Allowed b) {
  return {a.mtu < b.mtu ? a.mtu : b.mtu, a.rank < b.rank ? a.rank : b.rank};
}

/// The way from a switch to the last one before a LID, that one included.
struct Trunk {
  Allowed allowed;
  unsigned switches{};  // 0: packets do not arrive
};

class PathTable {
 public:
  /// Where a port of a switch leads.
  struct Exit {
    ib::fabric::SwitchIndex to{ib::fabric::kNoSwitch};
    Allowed allowed;
    friend bool operator==(const Exit&, const Exit&) = default;
  };
  /// Where a LID hangs: the port of its last switch, 0 when it is the switch's own.
  struct Target {
    ib::fabric::SwitchIndex leaf{ib::fabric::kNoSwitch};
    std::uint8_t port{};
    friend bool operator==(const Target&, const Target&) = default;
  };
  /// Everything that decides; never changes.
  struct Inputs {
    std::shared_ptr<const Routing> routing;
    std::size_t stride{};         // ports of a switch, 0 included
    std::vector<Exit> exits;      // by switch and port
    std::vector<Target> targets;  // by LID
    /// Whether every packet goes the same way over the same links.
    friend bool operator==(const Inputs& a, const Inputs& b) {
      return a.stride == b.stride && a.exits == b.exits && a.targets == b.targets &&
             (a.routing == b.routing || a.routing->lfts == b.routing->lfts);
    }
  };
  /// Beyond this all pairs are forgotten; those that are asked for come back.
  static constexpr std::size_t kBytesMax = 256U << 20;

  explicit PathTable(Inputs inputs, std::size_t bytes_max = kBytesMax);

  const Inputs& inputs() const { return inputs_; }
  /// From a switch to a LID. Fills the pair on first use, so not for several threads at once.
  Trunk at(ib::fabric::SwitchIndex from, ib::Lid dlid) {
    if (dlid.value >= inputs_.targets.size()) return {};
    return at(from, inputs_.targets[dlid.value].leaf, dlid);
  }
  /// The same where it is known which switch the LID hangs from.
  Trunk at(ib::fabric::SwitchIndex from, ib::fabric::SwitchIndex leaf, ib::Lid dlid) {
    if (leaf == ib::fabric::kNoSwitch) return {};
    const auto* row = rows_[from].get();
    const Cell cell = row == nullptr ? kUnknown : row[leaf];
    return unpack((cell & kNotOne) == 0 ? cell : find(from, leaf, dlid));
  }

  /// Memory of what is known.
  std::size_t bytes() const { return bytes_; }

 private:
  // A cell is a packed Trunk, or says that the LIDs of the leaf differ. Two bytes, so that the
  // pairs of a thousand leaves stay in a processor's cache.
  using Cell = std::uint16_t;
  static constexpr Cell kNotOne = 0x8000, kDiffering = kNotOne, kUnknown = 0xFFFF;
  static Cell pack(const Trunk& t) {
    return static_cast<Cell>(t.allowed.mtu | static_cast<unsigned>(t.allowed.rank) << 3 |
                             t.switches << 8);
  }
  static Trunk unpack(Cell cell) {
    return {{static_cast<std::uint8_t>(cell & 7), static_cast<std::uint8_t>(cell >> 3 & 31)},
            static_cast<unsigned>(cell) >> 8};
  }

  Cell find(ib::fabric::SwitchIndex from, ib::fabric::SwitchIndex leaf, ib::Lid dlid);
  Cell fill(ib::fabric::SwitchIndex from, ib::fabric::SwitchIndex leaf);
  std::uint64_t pair_of(ib::fabric::SwitchIndex from, ib::fabric::SwitchIndex leaf) const {
    return std::uint64_t{from} * rows_.size() + leaf;
  }
  /// Packed values of LIDs behind one leaf.
  void walk(ib::fabric::SwitchIndex from, std::span<const ib::Lid> dlids, Cell* result) const;
  void forget();

  Inputs inputs_;
  std::size_t bytes_max_, bytes_{0};
  std::vector<ib::Lid> lids_;                  // by leaf
  std::vector<std::uint32_t> first_;           // of a leaf, in lids_; one more at the end
  std::vector<std::uint32_t> slot_;            // by LID: its place among those of its leaf
  std::vector<std::unique_ptr<Cell[]>> rows_;  // by switch; then by leaf
  // Of pairs whose LIDs differ: where in `differing_` the first of them is.
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<Cell> differing_;
};

}  // namespace sm::sa
