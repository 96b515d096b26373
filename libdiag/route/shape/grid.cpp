// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/grid.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "libdiag/base/groups.h"
#include "libdiag/route/shape/torus_coordinates.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr std::size_t kNeighboursMax = 32;
constexpr std::size_t kDimensionsMax = 16;
constexpr std::size_t kLooseRatio = 10;
constexpr std::uint8_t kNone = 255;

class GridFinder {
 public:
  explicit GridFinder(const fabric::CompactGraph& graph)
      : graph_(graph), channels_(graph), same_(channels_.size()), loose_(channels_.size(), false) {}

  std::optional<Grid> find() {
    if (!plausible()) return std::nullopt;
    adjacent_.assign(graph_.switch_count() * graph_.switch_count(), false);
    for (Channel c = 0; c < channels_.size(); ++c)
      adjacent_[channels_.from(c) * graph_.switch_count() + channels_.to(c)] = true;
    join_parallel_links();
    set_loose_links_aside();
    join_links_in_line();
    Grid grid;
    std::vector<std::uint8_t> dimension;
    const std::size_t count = number_dimensions(dimension);
    if (count > kDimensionsMax || !place(count, dimension, grid)) return std::nullopt;
    // Any graph is a product of itself alone. Only a ring or a path of that is a grid: a tree of
    // two levels with a node on every switch is not.
    const Grid::Dimension& only = grid.dimensions.front();
    if (count == 1 && !only.ring && !only.path) return std::nullopt;
    grid.dimension.resize(graph_.arc_count());
    for (std::size_t arc = 0; arc < graph_.arc_count(); ++arc)
      grid.dimension[arc] = dimension[channels_.of_arc(arc)];
    return grid;
  }

 private:
  using Span = std::pair<Channel, Channel>;
  Span out(SwitchIndex s) const { return {channels_.first(s), channels_.first(s + 1)}; }

  bool adjacent(SwitchIndex a, SwitchIndex b) const {
    return adjacent_[a * graph_.switch_count() + b];
  }
  Channel between(SwitchIndex a, SwitchIndex b) const {
    if (!adjacent(a, b)) return kNoChannel;
    for (auto [c, end] = out(a); c < end; ++c)
      if (channels_.to(c) == b) return c;
    return kNoChannel;
  }

  /// Hosts on nearly every switch and not too many neighbours: cheap to tell trees from grids.
  bool plausible() const {
    std::size_t with_hosts = 0, most = 0;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      with_hosts += graph_.attached()[s] != 0;
      most = std::max<std::size_t>(most, out(s).second - out(s).first);
    }
    return channels_.size() > 0 && most <= kNeighboursMax &&
           with_hosts * 10 >= graph_.switch_count() * 9;
  }

  /// Opposite links of a square run in the same dimension, and so do all links of a triangle.
  void join_parallel_links() {
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      for (auto [a, end] = out(s); a < end; ++a) {
        const SwitchIndex x = channels_.to(a);
        if (const Channel back = between(x, s); back != kNoChannel) same_.join(a, back);
        for (Channel b = a + 1; b < end; ++b) {
          const SwitchIndex y = channels_.to(b);
          if (adjacent(x, y)) same_.join(a, b);
          for (auto [c, end_x] = out(x); c < end_x; ++c) {
            if (channels_.to(c) == s || channels_.to(c) == y) continue;
            const Channel d = between(y, channels_.to(c));
            if (d == kNoChannel) continue;
            same_.join(a, d);
            same_.join(b, c);
          }
        }
      }
  }

  /// Where much is missing, a link may be part of no square, or of few: such links say nothing
  /// about dimensions. They are told from the others by how few run parallel to them.
  void set_loose_links_aside() {
    std::vector<std::size_t> size(channels_.size(), 0);
    for (Channel c = 0; c < channels_.size(); ++c) ++size[same_.find(c)];
    const std::size_t most = *std::max_element(size.begin(), size.end());
    for (Channel c = 0; c < channels_.size(); ++c)
      loose_[c] = size[same_.find(c)] * kLooseRatio < most;
  }

  bool on_a_square(SwitchIndex s, SwitchIndex x, SwitchIndex y) const {
    for (auto [c, end] = out(x); c < end; ++c)
      if (channels_.to(c) != s && adjacent(y, channels_.to(c))) return true;
    return false;
  }

  /// Two links of a switch that are sides of no square run in the same dimension. A missing link
  /// takes squares away, so the majority of switches decides, and groups that grow vote together.
  void join_links_in_line() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> votes;  // > 0: in line
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
      for (auto [a, end] = out(s); a < end; ++a)
        for (Channel b = a + 1; b < end; ++b) {
          const auto one = same_.find(a), other = same_.find(b);
          if (one == other || loose_[a] || loose_[b]) continue;
          votes[std::minmax(one, other)] +=
              on_a_square(s, channels_.to(a), channels_.to(b)) ? -1 : 1;
        }
    while (!votes.empty()) {
      std::vector<std::pair<int, std::pair<std::uint32_t, std::uint32_t>>> ballot;
      for (const auto& [pair, vote] : votes)
        if (vote > 0) ballot.emplace_back(-vote, pair);
      if (ballot.empty()) break;
      std::sort(ballot.begin(), ballot.end());
      std::set<std::uint32_t> grown;
      for (const auto& [vote, pair] : ballot)
        if (!grown.contains(pair.first) && !grown.contains(pair.second)) {
          grown.insert({pair.first, pair.second});
          same_.join(pair.first, pair.second);
        }
      auto before = std::exchange(votes, {});
      for (const auto& [pair, vote] : before) {
        const auto one = same_.find(pair.first), other = same_.find(pair.second);
        if (one != other) votes[std::minmax(one, other)] += vote;
      }
    }
  }

  /// Numbers for the dimensions of all links that are not loose; how many there are.
  std::size_t number_dimensions(std::vector<std::uint8_t>& dimension) {
    dimension.assign(channels_.size(), kNone);
    std::map<std::uint32_t, std::uint8_t> numbers;
    for (Channel c = 0; c < channels_.size() && numbers.size() <= kDimensionsMax; ++c)
      if (!loose_[c])
        dimension[c] =
            numbers.emplace(same_.find(c), static_cast<std::uint8_t>(numbers.size())).first->second;
    return numbers.size();
  }

  /// Without the links of one dimension the graph falls into slices; which slice a switch is in is
  /// its coordinate. False when two switches come to lie in the same place.
  bool place(std::size_t count, std::vector<std::uint8_t>& dimension, Grid& grid) {
    const std::size_t switches = graph_.switch_count();
    grid.coordinates.resize(switches * count);
    std::uint64_t places = 1;
    for (std::size_t d = 0; d < count; ++d) {
      Groups slices(switches);
      for (Channel c = 0; c < channels_.size(); ++c)
        if (dimension[c] != d && !loose_[c]) slices.join(channels_.from(c), channels_.to(c));
      std::size_t size = 0;
      auto slice = slices.numbers(size);
      places *= size;
      if (size < 2 || places > 2 * switches) return false;
      grid.dimensions.push_back({static_cast<unsigned>(size), false, false});
      line_up(d, dimension, slice, grid.dimensions.back());
      for (SwitchIndex s = 0; s < switches; ++s)
        grid.coordinates[s * count + d] = static_cast<std::uint16_t>(slice[s]);
    }
    std::set<std::vector<std::uint16_t>> taken;
    for (SwitchIndex s = 0; s < switches; ++s)
      if (!taken.insert({grid.at(s).begin(), grid.at(s).end()}).second) return false;
    for (Channel c = 0; c < channels_.size(); ++c) {
      if (!loose_[c]) continue;
      dimension[c] = only_difference(c, grid);
      if (dimension[c] == kNone) return false;
    }
    return true;
  }

  std::uint8_t only_difference(Channel c, const Grid& grid) const {
    const auto here = grid.at(channels_.from(c)), there = grid.at(channels_.to(c));
    std::uint8_t found = kNone;
    for (std::size_t d = 0; d < here.size(); ++d) {
      if (here[d] == there[d]) continue;
      if (found != kNone) return kNone;
      found = static_cast<std::uint8_t>(d);
    }
    return found;
  }

  /// Renumbers slices along the ring or path they form, if they do.
  void line_up(std::size_t d, const std::vector<std::uint8_t>& dimension,
               std::vector<std::uint32_t>& slice, Grid::Dimension& shape) const {
    std::vector<std::set<std::uint32_t>> next(shape.size);
    for (Channel c = 0; c < channels_.size(); ++c)
      if (dimension[c] == d) next[slice[channels_.from(c)]].insert(slice[channels_.to(c)]);
    std::uint32_t start = 0, ends = 0;
    for (std::uint32_t i = shape.size; i-- > 0;) {
      if (next[i].size() > 2) return;
      if (next[i].size() == 1) start = i, ++ends;
    }
    std::vector<std::uint32_t> position(shape.size, shape.size);
    std::uint32_t placed = 0;
    for (std::uint32_t at = start; position[at] == shape.size;) {
      position[at] = placed++;
      for (const std::uint32_t n : next[at])
        if (position[n] == shape.size) {
          at = n;
          break;
        }
    }
    if (placed != shape.size || (ends != 0 && ends != 2)) return;
    shape.ring = ends == 0 && shape.size > 2;
    shape.path = ends == 2;
    for (auto& number : slice) number = position[number];
  }

  const fabric::CompactGraph& graph_;
  const Channels channels_;
  std::vector<bool> adjacent_;  // by two switches
  Groups same_;                 // channels of one dimension
  std::vector<bool> loose_;     // channels of which it is not known at first
};

/// A torus or mesh of up to three dimensions that has lost so much that squares alone do not tell
/// its dimensions: places are found one after the other then, which more damage lets through.
std::optional<Grid> grid_of_torus(const fabric::CompactGraph& graph) {
  constexpr std::size_t kAxesMax = 3;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    std::set<SwitchIndex> neighbours;
    for (const auto& arc : graph.arcs(s)) neighbours.insert(arc.to);
    if (neighbours.size() > 2 * kAxesMax) return std::nullopt;
  }
  const auto torus = find_torus(graph, std::nullopt);
  if (!torus) return std::nullopt;
  Grid grid;
  std::array<std::size_t, kAxesMax> dimension_of{};  // by axis
  for (std::size_t axis = 0; axis < kAxesMax; ++axis) {
    const auto& shape = torus->axes[axis];
    dimension_of[axis] = grid.dimensions.size();
    if (shape.radix > 1) grid.dimensions.push_back({shape.radix, shape.wraps, !shape.wraps});
  }
  const auto place = [&](SwitchIndex s) {
    return torus->of_switch[s].value_or(TorusCoordinates::Place{});
  };
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (std::size_t axis = 0; axis < kAxesMax; ++axis)
      if (torus->axes[axis].radix > 1)
        grid.coordinates.push_back(static_cast<std::uint16_t>(place(s)[axis]));
    for (const auto& arc : graph.arcs(s)) {
      std::size_t axis = 0;
      while (axis + 1 < kAxesMax && place(s)[axis] == place(arc.to)[axis]) ++axis;
      grid.dimension.push_back(static_cast<std::uint8_t>(dimension_of[axis]));
    }
  }
  return grid;
}

}  // namespace

Grid with_last_dimension_first(const Grid& grid) {
  Grid turned = grid;
  const std::size_t count = grid.dimensions.size();
  std::reverse(turned.dimensions.begin(), turned.dimensions.end());
  for (std::uint8_t& d : turned.dimension) d = static_cast<std::uint8_t>(count - 1 - d);
  for (auto at = turned.coordinates.begin(); at != turned.coordinates.end();
       at += static_cast<std::ptrdiff_t>(count))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(count));
  return turned;
}

std::optional<Grid> find_grid(const fabric::CompactGraph& graph) {
  auto grid = GridFinder(graph).find();
  return grid ? std::move(grid) : grid_of_torus(graph);
}

}  // namespace ib::route
