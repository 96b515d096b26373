// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_known.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace ib::tables::check {
namespace {

/// By switch of before; kNoSwitch: it is gone. Nothing when a GUID is there twice.
std::optional<std::vector<SwitchIndex>> places_of(const std::vector<Guid>& before,
                                                  const fabric::CompactGraph& graph) {
  std::unordered_map<Guid, SwitchIndex> named;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (!named.emplace(graph.guid(s), s).second) return std::nullopt;
  std::vector<SwitchIndex> places;
  std::vector<bool> taken(graph.switch_count(), false);
  for (const Guid guid : before) {
    const auto at = named.find(guid);
    places.push_back(at != named.end() ? at->second : fabric::kNoSwitch);
    if (at == named.end()) continue;
    if (taken[at->second]) return std::nullopt;
    taken[at->second] = true;
  }
  return places;
}

/// Where the channels of before are. A node is a channel: there is one VL.
class Mover {
 public:
  Mover(std::vector<SwitchIndex> places, const SwitchGraph& now)
      : places_(std::move(places)), now_(now) {}

  SwitchIndex place(SwitchIndex before) const {
    return before == fabric::kNoSwitch ? fabric::kNoSwitch : places_[before];
  }
  Channel channel(Channel before) const {
    const SwitchIndex s = place(static_cast<SwitchIndex>(before / now_.stride));
    return s == fabric::kNoSwitch ? kNoChannel
                                  : static_cast<Channel>(s * now_.stride + before % now_.stride);
  }

  void links(const Known& before, Known& after) const {
    after.to.assign(now_.channels(), fabric::kNoSwitch);
    after.proof.turns = Dependencies(now_, 1);
    for (Channel c = 0; c < before.to.size(); ++c) {
      const Channel is = channel(c);
      if (is == kNoChannel || before.to[c] == fabric::kNoSwitch) continue;
      const SwitchIndex next = place(before.to[c]);
      after.to[is] = next != fabric::kNoSwitch ? next : kGoneSwitch;
      for (std::size_t w = 0; next != fabric::kNoSwitch && w < before.proof.turns.words(); ++w)
        after.proof.turns.add_word(is, w, before.proof.turns.word(c, w));
    }
  }

  /// Those that are left keep their order. New ones, of which no turn is known, may be anywhere.
  void positions(const Known& before, Known& after) const {
    constexpr std::uint32_t kNone = 0xFFFFFFFF;
    std::vector<Channel> at(before.proof.position.size());
    for (Channel c = 0; c < at.size(); ++c) at[before.proof.position[c]] = c;
    auto& position = after.proof.position;
    position.assign(now_.channels(), kNone);
    std::uint32_t next = 0;
    for (const Channel c : at)
      if (const Channel is = channel(c); is != kNoChannel) position[is] = next++;
    for (std::uint32_t& place : position)
      if (place == kNone) place = next++;
  }

 private:
  std::vector<SwitchIndex> places_;
  const SwitchGraph& now_;
};

}  // namespace

std::vector<Guid> guids_of(const fabric::CompactGraph& graph) {
  std::vector<Guid> guids;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) guids.push_back(graph.guid(s));
  return guids;
}

std::vector<Known::Followed> followed_in(const SwitchGraph& switch_graph) {
  std::vector<Known::Followed> followed(switch_graph.own.size(), Known::Followed::ItsOwn);
  for (const SwitchIndex s : switch_graph.sources) followed[s] = Known::Followed::Ends;
  return followed;
}

bool carry_over(Known& known, const SwitchGraph& now) {
  if (known.to.size() != known.guids.size() * now.stride || !known.virtual_lanes.trivial() ||
      known.switch_sources_unreachable != 0)
    return false;
  auto places = places_of(known.guids, now.graph);
  if (!places) return false;
  const Mover mover(*std::move(places), now);
  Known moved;
  mover.links(known, moved);
  mover.positions(known, moved);
  for (const auto& [before, after] : known.proof.refused)
    if (const Turn turn{mover.channel(before), mover.channel(after)};
        turn.before != kNoChannel && turn.after != kNoChannel)
      moved.proof.refused.push_back(turn);
  for (fabric::Destination d : known.destinations)
    if (d.leaf = mover.place(d.leaf); d.leaf != fabric::kNoSwitch) moved.destinations.push_back(d);
  moved.guids = guids_of(now.graph);
  moved.followed.assign(moved.guids.size(), Known::Followed::Nobodys);
  moved.pieces = {std::vector<std::uint32_t>(moved.guids.size(), fabric::kNoSwitch),
                  known.pieces.count};
  for (SwitchIndex s = 0; s < known.guids.size(); ++s) {
    const SwitchIndex is = mover.place(s);
    if (is == fabric::kNoSwitch) continue;
    moved.followed[is] = known.followed[s];
    moved.pieces.of[is] = known.pieces.of[s];
  }
  moved.sm_leaf = mover.place(known.sm_leaf);
  known = std::move(moved);
  return true;
}

}  // namespace ib::tables::check
