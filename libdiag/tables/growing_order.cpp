// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/growing_order.h"

#include <algorithm>
#include <bit>

namespace ib::tables::check {

GrowingOrder::GrowingOrder(const SwitchGraph& switch_graph, Dependencies& turns,
                           std::vector<std::uint32_t> position, std::size_t steps_max)
    : switch_graph_(switch_graph),
      turns_(turns),
      position_(std::move(position)),
      steps_max_(steps_max) {}

bool GrowingOrder::add(Turn turn) {
  if (turns_.has(turn)) return true;
  if (turn.before == turn.after) return false;
  if (position_[turn.before] > position_[turn.after]) {
    if (steps_ > steps_max_) return false;
    prepare();
    if (!search_ahead(turn)) return false;
    search_behind(turn);
    mend();
  }
  turns_.add(turn);
  note(turn);
  return true;
}

void GrowingOrder::prepare() {
  if (!node_at_.empty()) return;
  node_at_.resize(position_.size());
  for (Node n = 0; n < position_.size(); ++n) node_at_[position_[n]] = n;
  const std::size_t switches = switch_graph_.graph.switch_count();
  met_.assign(switches * turns_.words(), 0);
  before_.resize(switches);
}

/// What `after` leads to and that stands before `before`. False: `before` is among it. Of the nodes
/// out of a switch each is looked at once, however many lead to it.
bool GrowingOrder::search_ahead(Turn turn) {
  const std::uint32_t high = position_[turn.before];
  ahead_.assign(1, turn.after);
  bool closes = false;
  for (std::size_t i = 0; i < ahead_.size() && !closes; ++i) {
    const Node from = ahead_[i];
    const SwitchIndex s = switch_graph_.to[turns_.channel(from)];
    if (s == fabric::kNoSwitch) continue;
    const std::size_t met = s * turns_.words();
    for (std::size_t w = 0; w < turns_.words(); ++w) {
      std::uint64_t bits = turns_.word(from, w) & ~met_[met + w];
      if (bits == 0) continue;
      if (met_[met + w] == 0) met_words_.push_back(met + w);
      met_[met + w] |= bits;
      for (; bits != 0; bits &= bits - 1) {
        const Node n = turns_.first_out(s) +
                       static_cast<Node>(w * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        closes |= n == turn.before;
        if (position_[n] < high && n != turn.after) ahead_.push_back(n);
      }
    }
  }
  for (const std::size_t w : met_words_) met_[w] = 0;
  met_words_.clear();
  steps_ += ahead_.size();
  return !closes;
}

GrowingOrder::Before& GrowingOrder::before(SwitchIndex s) {
  Before& before = before_[s];
  if (before.words != 0) return before;
  const auto into = switch_graph_.into(s);
  before.words = std::max<std::size_t>(1, (into.size() * turns_.vls() + 63) / 64);
  before.bits.assign(switch_graph_.stride * turns_.vls() * before.words, 0);
  before.met.assign(before.words, 0);
  for (std::size_t i = 0; i < into.size(); ++i)
    for (unsigned vl = 0; vl < turns_.vls(); ++vl) {
      const std::size_t bit = i * turns_.vls() + vl;
      turns_.for_next(switch_graph_, turns_.node(into[i], vl), [&](Node n) {
        before.bits[(n - turns_.first_out(s)) * before.words + bit / 64] |= std::uint64_t{1}
                                                                            << (bit % 64);
      });
    }
  return before;
}

/// Of a turn that was added.
void GrowingOrder::note(Turn turn) {
  const SwitchIndex s = switch_graph_.from(turns_.channel(turn.after));
  if (before_.empty() || before_[s].words == 0) return;
  const auto into = switch_graph_.into(s);
  const auto at = std::find(into.begin(), into.end(), turns_.channel(turn.before));
  const std::size_t bit =
      static_cast<std::size_t>(at - into.begin()) * turns_.vls() + turns_.vl(turn.before);
  before_[s].bits[(turn.after - turns_.first_out(s)) * before_[s].words + bit / 64] |=
      std::uint64_t{1} << (bit % 64);
}

/// What leads to `before` and stands after `after`.
void GrowingOrder::search_behind(Turn turn) {
  const std::uint32_t low = position_[turn.after];
  behind_.assign(1, turn.before);
  for (std::size_t i = 0; i < behind_.size(); ++i) {
    const SwitchIndex s = switch_graph_.from(turns_.channel(behind_[i]));
    Before& known = before(s);
    if (!known.has_met) met_at_.push_back(s);
    known.has_met = true;
    const std::uint64_t* row = &known.bits[(behind_[i] - turns_.first_out(s)) * known.words];
    for (std::size_t w = 0; w < known.words; ++w) {
      std::uint64_t bits = row[w] & ~known.met[w];
      known.met[w] |= bits;
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t bit = w * 64 + static_cast<unsigned>(std::countr_zero(bits));
        const Node n = turns_.node(switch_graph_.into(s)[bit / turns_.vls()],
                                   static_cast<unsigned>(bit % turns_.vls()));
        if (position_[n] > low && n != turn.before) behind_.push_back(n);
      }
    }
  }
  for (const SwitchIndex s : met_at_) {
    std::fill(before_[s].met.begin(), before_[s].met.end(), 0);
    before_[s].has_met = false;
  }
  met_at_.clear();
  steps_ += behind_.size();
}

/// The places of both sets go first to those behind, then to those ahead, each in the order it had.
void GrowingOrder::mend() {
  places_of(behind_, behind_places_);
  places_of(ahead_, ahead_places_);
  nodes_.clear();
  for (const auto* side : {&behind_places_, &ahead_places_})
    for (const std::uint32_t place : *side) nodes_.push_back(node_at_[place]);
  places_.resize(nodes_.size());
  std::merge(behind_places_.begin(), behind_places_.end(), ahead_places_.begin(),
             ahead_places_.end(), places_.begin());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    position_[nodes_[i]] = places_[i];
    node_at_[places_[i]] = nodes_[i];
  }
}

void GrowingOrder::places_of(const std::vector<Node>& nodes,
                             std::vector<std::uint32_t>& places) const {
  places.clear();
  for (const Node n : nodes) places.push_back(position_[n]);
  std::sort(places.begin(), places.end());
}

}  // namespace ib::tables::check
