// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VLs: which SL a pair of end ports uses and which VL that becomes on every link. Routes on more
// than one VL are only as good as these two together.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

/// One row of an SLtoVLMappingTable: the VL of each of the 16 SLs; VL 15 drops (IBA 14.2.5.8).
struct SlToVlRow {
  std::array<std::uint8_t, 16> vl{};

  /// SL i on VL i modulo `vls`, the number of data VLs in operation (1..15).
  static SlToVlRow modulo(unsigned vls);
  friend auto operator<=>(const SlToVlRow&, const SlToVlRow&) = default;
};

/// In place of an SL: there is none, or it is not known.
inline constexpr Sl kNoSl{255};

/// The SL of every pair of end ports, by the switches they hang from. It is the same in both
/// directions, since replies and connections use the request's.
class PathSls {
 public:
  /// SL `sl` for every pair.
  PathSls() = default;
  explicit PathSls(Sl sl) : uniform_(sl) {}
  /// A matrix of `switches` squared, all `sl`.
  PathSls(std::size_t switches, Sl sl)
      : uniform_(switches == 0 ? sl : Sl{}), switches_(switches), sls_(switches * switches, sl) {}

  bool uniform() const { return sls_.empty(); }
  Sl at(fabric::SwitchIndex a, fabric::SwitchIndex b) const {
    return sls_.empty() ? uniform_ : sls_[a * switches_ + b];
  }
  /// Precondition: not uniform().
  void set(fabric::SwitchIndex a, fabric::SwitchIndex b, Sl sl) {
    set_one_way(a, b, sl), set_one_way(b, a, sl);
  }
  /// Makes an asymmetric pair, which verify refuses: for tests, and for tables that were read.
  void set_one_way(fabric::SwitchIndex from, fabric::SwitchIndex to, Sl sl) {
    sls_[from * switches_ + to] = sl;
  }
  /// Switches that the matrix is for; 0: uniform().
  std::size_t switch_count() const { return switches_; }
  friend bool operator==(const PathSls&, const PathSls&) = default;

 private:
  Sl uniform_{};
  std::size_t switches_{0};
  std::vector<Sl> sls_;
};

/// SL2VL of all switches of a CompactGraph, by input and output port (0..max_ports), and of the
/// end ports that inject.
class SlToVl {
 public:
  /// The same row everywhere.
  SlToVl() = default;
  explicit SlToVl(SlToVlRow row) : palette_{row} {}
  /// Room for a row of its own at every (switch, input, output); all start as `row`.
  SlToVl(const fabric::CompactGraph& graph, SlToVlRow row)
      : palette_{row},
        stride_(graph.max_ports() + std::size_t{1}),
        which_(graph.switch_count() * stride_ * stride_, 0) {}

  bool uniform() const { return which_.empty(); }
  const SlToVlRow& row(fabric::SwitchIndex s, std::uint8_t in, std::uint8_t out) const {
    return palette_[which_.empty() ? 0 : which_[(s * stride_ + in) * stride_ + out]];
  }
  std::uint8_t vl(fabric::SwitchIndex s, std::uint8_t in, std::uint8_t out, Sl sl) const {
    return row(s, in, out).vl[sl.value];
  }
  /// Precondition: not uniform(); at most 65,536 different rows.
  void set(fabric::SwitchIndex s, std::uint8_t in, std::uint8_t out, const SlToVlRow& row);
  /// What CA and router ports (and switch ports 0) use to send.
  const SlToVlRow& injection() const { return palette_.front(); }
  /// Every row that occurs.
  std::span<const SlToVlRow> rows() const { return palette_; }
  /// The same rows for the switches of `graph`, of which each was another before; kNoSwitch: it was
  /// not there, and has the row of injection.
  SlToVl of_switches(const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> former) const;
  /// Every row becomes what `change` makes of it, at all places that it stands at.
  void change_rows(const std::function<SlToVlRow(const SlToVlRow&)>& change) {
    for (SlToVlRow& row : palette_) row = change(row);
  }
  friend bool operator==(const SlToVl&, const SlToVl&) = default;

 private:
  std::vector<SlToVlRow> palette_{SlToVlRow{}};  // [0]: where nothing else was set, and injection
  std::size_t stride_{0};
  std::vector<std::uint16_t> which_;
};

/// The same SLs by the switches of another graph, which are known by GUID; kNoSl for pairs of which
/// one was not there.
PathSls carried_over(const PathSls& sls, const fabric::CompactGraph& from,
                     const fabric::CompactGraph& to);
/// And the same rows.
SlToVl carried_over(const SlToVl& rows, const fabric::CompactGraph& from,
                    const fabric::CompactGraph& to);

/// Unordered pairs of switches with end ports of CAs or routers whose SL is another than it was.
/// Those without one before are none.
std::vector<std::pair<fabric::SwitchIndex, fabric::SwitchIndex>> moved_pairs(
    const fabric::CompactGraph& graph, const PathSls& before, const PathSls& after);

/// The SLs that pairs use when several levels of service have VLs of their own: by the SL that a
/// level asks for and the one that the routes have for the pair.
class LevelSls {
 public:
  /// No levels: each pair has the SL of the routes alone.
  bool empty() const { return sls_.empty(); }
  /// nullopt: packets of the level are dropped. Precondition: not empty().
  std::optional<Sl> at(Sl level, Sl routed) const {
    const std::uint8_t sl = sls_[place(level, routed)];
    return sl == kNone ? std::nullopt : std::optional(Sl{sl});
  }
  void set(Sl level, Sl routed, std::optional<Sl> sl) {
    if (sls_.empty()) sls_.assign(kSls * kSls, kNone);
    sls_[place(level, routed)] = sl ? sl->value : kNone;
  }
  /// All SLs that a pair with `routed` may use, a bit each.
  std::uint16_t all(Sl routed) const {
    auto sls = static_cast<std::uint16_t>(1U << (routed.value & 15U));
    for (std::uint8_t level = 0; level < kSls && !empty(); ++level)
      if (const auto sl = at(Sl{level}, routed)) sls |= static_cast<std::uint16_t>(1U << sl->value);
    return sls;
  }
  friend bool operator==(const LevelSls&, const LevelSls&) = default;

 private:
  static constexpr std::uint8_t kNone = 0xFF;
  static constexpr std::size_t kSls = 16;
  static std::size_t place(Sl level, Sl routed) {
    return (level.value & 15U) * kSls + (routed.value & 15U);
  }
  std::vector<std::uint8_t> sls_;  // by level, then by SL of the routes
};

struct VirtualLanes {
  PathSls sls;  // of packets that no level of service is for
  SlToVl sl_to_vl;
  LevelSls levels{};
  /// True when everything is SL 0 on VL 0: nothing to program beyond what one VL needs.
  bool trivial() const {
    return sls.uniform() && sls.at(0, 0) == Sl{0} && sl_to_vl.uniform() &&
           sl_to_vl.injection() == SlToVlRow{};
  }
  friend bool operator==(const VirtualLanes&, const VirtualLanes&) = default;
};

/// Data VLs that every link between switches can operate: the least of all VLCap, capped by
/// `limit` (1..15). A VLCap that is not known counts as `limit`; 0 when a link has none.
unsigned data_vls(const fabric::Fabric& fabric, const fabric::CompactGraph& graph, unsigned limit);

}  // namespace ib::tables
