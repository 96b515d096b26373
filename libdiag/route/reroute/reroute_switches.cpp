// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Switches that go and come back while the others stay. What the state knows of links keeps them:
// all their links are down while they are gone, so candidates and loads follow as they follow
// links. Only the tables lack their rows, by the switches that are there. LIDs that went with a
// switch, its own and those of its hosts, lead nowhere. A switch that was never seen is not
// followed; nor is one whose LID was the highest, since all tables end with that.
#include <algorithm>
#include <numeric>

#include "libdiag/route/reroute/reroute_state.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Switches by their numbers.
std::vector<SwitchIndex> sorted_by(const std::vector<std::uint32_t>& numbers) {
  std::vector<SwitchIndex> order(numbers.size());
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  std::ranges::sort(order, {}, [&](SwitchIndex s) { return numbers[s]; });
  return order;
}

}  // namespace

/// Finds the switches of `now` among those that there ever were, and who went or came. False: they
/// cannot be followed.
bool Rerouter::State::match(const fabric::CompactGraph& now) {
  const fabric::CompactGraph& all = links.graph;
  went_.clear();
  came_.clear();
  next_.assign(all.switch_count(), fabric::kNoSwitch);
  SwitchIndex at = 0;
  for (SwitchIndex s = 0; s < all.switch_count(); ++s) {
    if (at < now.switch_count() && now.guid(at) == all.guid(s)) next_[s] = at++;
    const bool is = next_[s] != fabric::kNoSwitch;
    if (is == is_gone(s)) (is ? came_ : went_).push_back(s);
  }
  if (at != now.switch_count() || !(went_.empty() || came_.empty())) return false;
  return at == all.switch_count() ? same_ends(now, all) : same_rest(now);
}

/// Whether on the switches that are there is what was there, and nothing else is kept by switch.
bool Rerouter::State::same_rest(const fabric::CompactGraph& now) const {
  const fabric::CompactGraph& all = links.graph;
  if (now.max_lid() != all.max_lid() || !routes.virtual_lanes.trivial() ||
      !routes.multicast.parent.empty())
    return false;
  auto is = now.destinations().begin();
  for (const auto& to : all.destinations()) {
    const SwitchIndex leaf = next_[to.leaf];
    if (leaf == fabric::kNoSwitch) continue;
    if (is == now.destinations().end() || is->lid != to.lid || is->leaf != leaf ||
        is->port != to.port)
      return false;
    ++is;
  }
  return is == now.destinations().end();
}

/// Tables by the switches of `now`; those that came hold nothing. They are what is largest here, so
/// they are not copied.
void Rerouter::State::move_rows(const fabric::CompactGraph& now) {
  std::vector<SwitchIndex> rows;
  rows.reserve(std::max(went_.size(), came_.size()));
  for (const SwitchIndex s : went_) rows.push_back(place_[s]);
  routes.lfts.erase_rows(rows);
  rows.clear();
  for (const SwitchIndex s : came_) rows.push_back(next_[s]);
  routes.lfts.insert_rows(rows);
  place_ = next_;
  here_.reset();
  if (now.switch_count() != links.graph.switch_count()) here_ = now;
  routes.multicast.up_order.clear();
  for (SwitchIndex s = 0; s < up_order_.size(); ++s)
    if (!is_gone(s)) routes.multicast.up_order.push_back(up_order_[s]);
}

void Rerouter::State::admit(const fabric::CompactGraph& now) {
  move_rows(now);
  for (const SwitchIndex s : came_) senders_[s] = targets_.sources(s);
  for (const auto& to : links.graph.destinations())
    if (std::ranges::binary_search(came_, to.leaf)) set(to.leaf, to.lid, to.port);
}

/// Takes what went off the tables, while the ways are still those of before: what it sent, and what
/// was sent to it. Of `fixes` those stay that others need.
void Rerouter::State::withdraw(std::vector<Fix>& fixes) {
  if (went_.empty()) return;
  for (const SwitchIndex s : went_) {
    for (std::size_t lid = 1; senders_[s] != 0 && lid < goals_.size(); ++lid)
      if (goals_[lid].counts) drop_load(s, Lid{static_cast<std::uint16_t>(lid)}, senders_[s]);
    senders_[s] = 0;
  }
  const auto leaves = [&](SwitchIndex s) { return std::ranges::binary_search(went_, s); };
  const auto lead_nowhere = [&](Lid lid) {
    const Goal& goal = goals_[lid.value];
    for (SwitchIndex s = 0; goal.counts && s < senders_.size(); ++s)
      if (senders_[s] != 0) drop_load(s, lid, senders_[s]);
    for (SwitchIndex s = 0; s < senders_.size(); ++s)
      if (s != goal.leaf && row(s)[lid.value] != tables::kNoPort) set(s, lid, tables::kNoPort);
  };
  for (std::uint32_t t = 0; t < targets_.all().size(); ++t)
    if (leaves(targets_.all()[t].leaf)) for_lids(t, lead_nowhere);
  std::erase_if(
      fixes, [&](const Fix& fix) { return leaves(fix.at) || leaves(goals_[fix.lid.value].leaf); });
}

/// Nothing passes those that went any more.
void Rerouter::State::dismiss(const fabric::CompactGraph& now) {
  for (const SwitchIndex s : went_) {
    senders_[s] = 0;
    for (std::size_t lid = 1; lid < goals_.size(); ++lid)
      if (row(s)[lid] != tables::kNoPort)
        set(s, Lid{static_cast<std::uint16_t>(lid)}, tables::kNoPort);
  }
  move_rows(now);
}

bool Rerouter::State::keeps(const std::vector<std::uint32_t>& up_order) const {
  if (!here_) return up_order == rule_.up_order;
  if (up_order.empty() || rule_.up_order.empty()) return up_order.empty() == rule_.up_order.empty();
  std::vector<SwitchIndex> own;
  for (const SwitchIndex s : sorted_by(rule_.up_order))
    if (!is_gone(s)) own.push_back(place_[s]);
  return own == sorted_by(up_order);
}

}  // namespace ib::route
