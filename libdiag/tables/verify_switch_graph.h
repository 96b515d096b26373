// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The switch graph as verification sees it: channels by switch and port, so that ids survive the
// loss of a link. Inside libdiag/tables only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables::check {

using fabric::SwitchIndex;
/// A link in one direction: switch * stride + the port it leaves by.
using Channel = std::uint32_t;
inline constexpr Channel kNoChannel = 0xFFFFFFFF;
inline constexpr unsigned kHopsMax = 64;

/// What every walk needs, made once.
struct SwitchGraph {
  const fabric::CompactGraph& graph;
  std::size_t stride;                   // ports of a switch, port 0 included
  std::vector<SwitchIndex> to;          // by channel; kNoSwitch: no switch is behind it
  std::vector<std::uint8_t> in_port;    // by channel: at that switch
  std::vector<std::uint32_t> own;       // by switch: its CA and router ports that have a LID
  std::vector<std::uint32_t> hosts;     // of these, those of hosts: what counts as load
  std::vector<SwitchIndex> sources;     // switches with such ports, and the one that the SM is on
  std::vector<SwitchIndex> bystanders;  // the other switches: only their own LIDs send
  std::vector<fabric::Destination> destinations;  // ascending, one a LID
  /// Pieces that no link joins; sources and bystanders above are sorted by them.
  fabric::Pieces pieces;
  SwitchIndex sm_leaf{fabric::kNoSwitch};  // that the SM hangs from, or is

  SwitchGraph(const fabric::CompactGraph& graph, Lid sm_lid);

  std::size_t channels() const { return to.size(); }
  Channel channel(SwitchIndex s, std::uint8_t port) const {
    return static_cast<Channel>(s * stride + port);
  }
  /// kNoChannel unless another switch is behind `port`.
  Channel link(SwitchIndex s, std::uint8_t port) const {
    if (port >= stride) return kNoChannel;
    const Channel c = channel(s, port);
    return to[c] == fabric::kNoSwitch ? kNoChannel : c;
  }
  SwitchIndex from(Channel c) const { return static_cast<SwitchIndex>(c / stride); }
  std::uint8_t port(Channel c) const { return static_cast<std::uint8_t>(c % stride); }
  bool apart(SwitchIndex a, SwitchIndex b) const { return pieces.of[a] != pieces.of[b]; }
  /// Those in the piece of switch s.
  std::span<const SwitchIndex> sources_near(SwitchIndex s) const {
    return near(sources, first_source_, s);
  }
  std::span<const SwitchIndex> bystanders_near(SwitchIndex s) const {
    return near(bystanders, first_bystander_, s);
  }
  /// (source, LID) within one piece, of which a walk must arrive.
  std::uint64_t pairs() const;
  /// The others.
  std::uint64_t pairs_apart() const {
    return std::uint64_t{destinations.size()} * sources.size() - pairs();
  }
  /// Channels that lead to switch s.
  std::span<const Channel> into(SwitchIndex s) const {
    return {into_.data() + first_into_[s], first_into_[s + 1] - first_into_[s]};
  }
  /// nullptr when nobody has it.
  const fabric::Destination* find(Lid lid) const;

 private:
  std::span<const SwitchIndex> near(const std::vector<SwitchIndex>& all,
                                    const std::vector<std::size_t>& first, SwitchIndex s) const {
    const std::uint32_t piece = pieces.of[s];
    return std::span(all).subspan(first[piece], first[piece + 1] - first[piece]);
  }

  std::vector<std::size_t> first_source_, first_bystander_;  // by piece
  std::vector<std::size_t> first_into_;
  std::vector<Channel> into_;
};

}  // namespace ib::tables::check
