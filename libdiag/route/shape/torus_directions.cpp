// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sorting the links of a torus by direction. In a torus every square of links (a cycle of four) is
// a face, or a ring of four; either way its opposite sides are parallel. So links fall into
// classes, each one step of one direction wherever that step is taken. Two classes that meet in a
// square differ in direction; two that meet at a switch without a square go straight on.
#include <algorithm>
#include <map>

#include "libdiag/base/groups.h"
#include "libdiag/route/shape/torus_coordinates.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using LinkId = std::uint32_t;

constexpr std::size_t kNeighboursMax = 6;  // two in each of three dimensions

class Bits {
 public:
  explicit Bits(std::size_t n) : words_((n + 63) / 64, 0) {}
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void add(const Bits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool meets(const Bits& other) const { return common(other) != 0; }
  std::size_t common(const Bits& other) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < words_.size(); ++i)
      n += static_cast<std::size_t>(std::popcount(words_[i] & other.words_[i]));
    return n;
  }
  std::size_t count() const { return common(*this); }

 private:
  std::vector<std::uint64_t> words_;
};

/// Two links at one switch, by class, and in how many places they meet so without a square.
struct Straight {
  std::size_t a, b;
  unsigned places;
  double likeness;  // of the sets of classes they make squares with, 0 to 1
};

class Sorter {
 public:
  Sorter(const fabric::CompactGraph& graph, const SwitchNames& named)
      : graph_(graph), named_(named) {}

  Result<LinkDirections> run() {
    if (auto found = collect_links(); !found) return tl::unexpected(found.error());
    find_squares();
    if (squares_ == 0) return one_line();
    if (auto named = number_classes(); !named) return tl::unexpected(named.error());
    relate_classes();
    join_straight_ones();
    join_strangers();
    for (auto& link : result_.links)
      if (link.direction >= 0)
        link.direction = static_cast<int>(groups_.find(static_cast<LinkId>(link.direction)));
    number_directions();
    return std::move(result_);
  }

 private:
  Result<void> collect_links() {
    result_.of_switch.resize(graph_.switch_count());
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      for (const auto& arc : graph_.arcs(s)) {
        if (arc.to < s || find_link(s, arc.to)) continue;
        const auto id = static_cast<LinkId>(result_.links.size());
        result_.links.push_back({s, arc.to, -1});
        result_.of_switch[s].push_back(id);
        result_.of_switch[arc.to].push_back(id);
      }
    }
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (const std::size_t n = result_.of_switch[s].size(); n > kNeighboursMax)
        return fail(ErrorKind::NotFound, named_(s) + " has " + std::to_string(n) +
                                             " neighbours, one of a torus has at most " +
                                             std::to_string(kNeighboursMax));
    return {};
  }

  std::optional<LinkId> find_link(SwitchIndex s, SwitchIndex to) const {
    for (const LinkId link : result_.of_switch[s])
      if (result_.far(link, s) == to) return link;
    return std::nullopt;
  }

  /// Calls function(e, f, e', f') for each square with sides e and f at s, and opposite to them e'
  /// and f'; function(e, f) where there is none.
  template <class Square, class NoSquare>
  void over_corners(Square square, NoSquare no_square) const {
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const auto& own = result_.of_switch[s];
      for (std::size_t i = 0; i < own.size(); ++i) {
        for (std::size_t j = i + 1; j < own.size(); ++j) {
          const SwitchIndex a = result_.far(own[i], s), b = result_.far(own[j], s);
          bool closed = false;
          for (const LinkId from_a : result_.of_switch[a]) {
            const SwitchIndex c = result_.far(from_a, a);
            if (c == s) continue;
            const auto from_b = find_link(b, c);
            if (!from_b) continue;
            closed = true;
            square(own[i], own[j], *from_b, from_a);
          }
          if (!closed) no_square(own[i], own[j]);
        }
      }
    }
  }

  void find_squares() {
    links_ = Groups(result_.links.size());
    over_corners(
        [&](LinkId e, LinkId f, LinkId e2, LinkId f2) {
          ++squares_;
          links_.join(e, e2);
          links_.join(f, f2);
          for (const LinkId link : {e, f, e2, f2}) result_.links[link].direction = 0;
        },
        [](LinkId, LinkId) {});
  }

  /// No square at all: a ring or a chain, all one direction.
  Result<LinkDirections> one_line() {
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      if (result_.of_switch[s].size() > 2)
        return fail(ErrorKind::NotFound, named_(s) + " is in no square of links with its " +
                                             std::to_string(result_.of_switch[s].size()) +
                                             " neighbours");
    for (auto& link : result_.links) link.direction = 0;
    result_.count = result_.links.empty() ? 0 : 1;
    return std::move(result_);
  }

  /// Numbers the classes; two links of one at the same switch cannot be in a torus.
  Result<void> number_classes() {
    std::map<LinkId, int> numbers;
    for (LinkId link = 0; link < result_.links.size(); ++link) {
      auto& direction = result_.links[link].direction;
      if (direction < 0) continue;
      direction =
          numbers.emplace(links_.find(link), static_cast<int>(numbers.size())).first->second;
    }
    classes_ = numbers.size();
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      std::vector<int> own;
      for (const LinkId link : result_.of_switch[s])
        if (result_.links[link].direction >= 0) own.push_back(result_.links[link].direction);
      std::sort(own.begin(), own.end());
      if (std::adjacent_find(own.begin(), own.end()) != own.end())
        return fail(ErrorKind::NotFound,
                    named_(s) + " is linked with its neighbours as in no torus or mesh");
    }
    return {};
  }

  std::size_t class_of(LinkId link) const {
    return static_cast<std::size_t>(result_.links[link].direction);
  }

  void relate_classes() {
    differs_.assign(classes_, Bits(classes_));
    std::map<std::pair<std::size_t, std::size_t>, unsigned> straight;
    over_corners(
        [&](LinkId e, LinkId f, LinkId, LinkId) {
          differs_[class_of(e)].set(class_of(f));
          differs_[class_of(f)].set(class_of(e));
        },
        [&](LinkId e, LinkId f) {
          if (result_.links[e].direction < 0 || result_.links[f].direction < 0) return;
          ++straight[std::minmax(class_of(e), class_of(f))];
        });
    for (const auto& [pair, places] : straight) {
      const Bits &x = differs_[pair.first], &y = differs_[pair.second];
      const std::size_t common = x.common(y);
      straight_.push_back(
          {pair.first, pair.second, places,
           static_cast<double>(common) / static_cast<double>(x.count() + y.count() - common)});
    }
  }

  bool same_or_differ(LinkId x, LinkId y) {
    x = groups_.find(x), y = groups_.find(y);
    return x == y || differs_[x].meets(members_[y]);
  }
  void join_groups(LinkId x, LinkId y) {
    x = groups_.find(x), y = groups_.find(y);
    if (x < y) std::swap(x, y);  // y will stand for both
    groups_.join(x, y);
    members_[y].add(members_[x]);
    differs_[y].add(differs_[x]);
  }

  /// Where a switch is missing, two links that are not in line meet without a square too. So the
  /// most alike come first: classes of one direction make squares with the same others. What is
  /// already known to differ is not joined.
  void join_straight_ones() {
    groups_ = Groups(classes_);
    members_.assign(classes_, Bits(classes_));
    for (std::size_t c = 0; c < classes_; ++c) members_[c].set(c);
    std::stable_sort(straight_.begin(), straight_.end(), [](const auto& x, const auto& y) {
      return std::pair(x.likeness, x.places) > std::pair(y.likeness, y.places);
    });
    for (const Straight& s : straight_) {
      const auto a = static_cast<LinkId>(s.a), b = static_cast<LinkId>(s.b);
      if (!same_or_differ(a, b)) join_groups(a, b);
    }
  }

  /// Pieces of one direction that damage has cut apart: they meet nowhere, and differ from the same
  /// others. Whole directions meet at every switch.
  void join_strangers() {
    std::vector<LinkId> roots;
    for (LinkId c = 0; c < classes_; ++c)
      if (groups_.find(c) == c) roots.push_back(c);
    for (const LinkId a : roots)
      for (const LinkId b : roots) {
        if (a >= b || same_or_differ(a, b)) continue;
        const LinkId x = groups_.find(a), y = groups_.find(b);
        const bool met = std::any_of(straight_.begin(), straight_.end(), [&](const auto& s) {
          const LinkId p = groups_.find(static_cast<LinkId>(s.a));
          const LinkId q = groups_.find(static_cast<LinkId>(s.b));
          return (p == x && q == y) || (p == y && q == x);
        });
        const bool alike = std::all_of(roots.begin(), roots.end(), [&](LinkId c) {
          const LinkId other = groups_.find(c);
          return differs_[x].meets(members_[other]) == differs_[y].meets(members_[other]);
        });
        if (!met && alike) join_groups(a, b);
      }
  }

  void number_directions() {
    std::map<int, int> numbers;
    for (auto& link : result_.links)
      if (link.direction >= 0)
        link.direction =
            numbers.emplace(link.direction, static_cast<int>(numbers.size())).first->second;
    result_.count = static_cast<unsigned>(numbers.size());
  }

  const fabric::CompactGraph& graph_;
  const SwitchNames& named_;
  LinkDirections result_;
  Groups links_{0};
  std::size_t squares_{0}, classes_{0};
  std::vector<Bits> differs_;  // by class, then by root of a group: makes squares with
  std::vector<Bits> members_;
  std::vector<Straight> straight_;
  Groups groups_{0};
};

}  // namespace

std::string SwitchNames::operator()(SwitchIndex s) const {
  return "switch " + (fabric_ != nullptr ? tables::switch_name(*fabric_, graph_, s)
                                         : to_string(graph_.guid(s)));
}

Result<LinkDirections> find_directions(const fabric::CompactGraph& graph,
                                       const SwitchNames& named) {
  return Sorter(graph, named).run();
}

}  // namespace ib::route
