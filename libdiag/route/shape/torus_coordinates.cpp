// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/torus_coordinates.h"

#include <algorithm>
#include <map>
#include <set>

#include "libdiag/base/groups.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::SwitchIndex;
using Place = TorusCoordinates::Place;

constexpr unsigned kUnknown = ~0U;
constexpr const char* kAxisNames = "xyz";

tl::unexpected<Error> unfit(std::string why) { return fail(ErrorKind::NotFound, std::move(why)); }

/// A coordinate along one direction, by switch.
struct Coordinate {
  unsigned radix{0};
  bool wraps{false};
  std::vector<unsigned> of;  // kUnknown where nothing tells
};

/// Finds the coordinate along direction `d`. What is connected by links of other directions is one
/// layer across d; layers and the links between them form a chain or a ring.
class Layers {
 public:
  Layers(const CompactGraph& graph, const SwitchNames& named, const LinkDirections& directions,
         int d)
      : graph_(graph),
        named_(named),
        directions_(directions),
        d_(d),
        joined_(graph.switch_count()) {}

  Result<Coordinate> run() {
    for (const auto& link : directions_.links)
      if (link.direction >= 0 && link.direction != d_) join(link.a, link.b);
    do {
      if (auto sound = check_neighbours(); !sound) return tl::unexpected(sound.error());
    } while (join_pieces());
    return walk();
  }

 private:
  struct Layer {
    std::set<SwitchIndex> neighbours;                        // layers, by root
    std::set<std::pair<SwitchIndex, SwitchIndex>> opposite;  // of these, pairs on opposite sides
  };

  SwitchIndex layer_of(SwitchIndex s) { return joined_.find(s); }
  bool join(SwitchIndex a, SwitchIndex b) { return joined_.join(a, b); }

  Result<void> check_neighbours() {
    layers_.clear();
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      std::vector<SwitchIndex> next;
      for (const auto link : directions_.of_switch[s]) {
        if (directions_.links[link].direction != d_) continue;
        next.push_back(layer_of(directions_.far(link, s)));
        if (next.back() == layer_of(s))
          return unfit("links of " + named_(s) + " lead on in a way no torus or mesh has");
      }
      if (next.empty()) continue;
      Layer& layer = layers_[layer_of(s)];
      layer.neighbours.insert(next.begin(), next.end());
      if (next.size() > 2 || (next.size() == 2 && next[0] == next[1]))
        return unfit(named_(s) + " has links in one direction that no torus or mesh has");
      if (next.size() == 2) layer.opposite.insert(std::minmax(next[0], next[1]));
    }
    return {};
  }

  /// Damage may disconnect a layer. Two that lie opposite the same third across a layer are one,
  /// and so are all neighbours of a layer through which nothing goes straight, the end of a chain.
  bool join_pieces() {
    bool joined = false;
    const auto join_if_apart = [&](SwitchIndex a, SwitchIndex b) { joined |= join(a, b); };
    for (const auto& [root, layer] : layers_) {
      if (layer.neighbours.size() < 2) continue;
      if (layer.opposite.empty()) {
        for (const SwitchIndex n : layer.neighbours) join_if_apart(*layer.neighbours.begin(), n);
        continue;
      }
      std::map<SwitchIndex, SwitchIndex> first_opposite;
      for (const auto& [a, b] : layer.opposite) {
        join_if_apart(first_opposite.emplace(a, b).first->second, b);
        join_if_apart(first_opposite.emplace(b, a).first->second, a);
      }
    }
    return joined;
  }

  Result<Coordinate> walk() {
    // The piece with most layers; what is not joined to it stays unknown.
    std::map<SwitchIndex, SwitchIndex> start_of;
    std::map<SwitchIndex, std::size_t> size_of;
    for (const auto& [root, layer] : layers_) {
      if (layer.neighbours.size() > 2)
        return unfit(named_(root) + " lies in a layer with more than two neighbours");
      if (start_of.contains(root)) continue;
      std::vector<SwitchIndex> piece{root};
      start_of[root] = root;
      for (std::size_t i = 0; i < piece.size(); ++i)
        for (const SwitchIndex n : layers_[piece[i]].neighbours)
          if (start_of.emplace(n, root).second) piece.push_back(n);
      size_of[root] = piece.size();
    }
    const auto largest =
        std::max_element(size_of.begin(), size_of.end(),
                         [](const auto& x, const auto& y) { return x.second < y.second; });
    SwitchIndex start = largest->first;
    Coordinate result;
    result.wraps = true;
    for (const auto& [layer, piece] : start_of)
      if (piece == largest->first && layers_[layer].neighbours.size() == 1) {
        start = layer;
        result.wraps = false;
        break;
      }
    std::map<SwitchIndex, unsigned> place;
    for (SwitchIndex at = start;;) {
      place[at] = result.radix++;
      const auto& next = layers_[at].neighbours;
      const auto onward =
          std::find_if(next.begin(), next.end(), [&](SwitchIndex n) { return !place.contains(n); });
      if (onward == next.end()) break;
      at = *onward;
    }
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const auto found = place.find(layer_of(s));
      result.of.push_back(found == place.end() ? kUnknown : found->second);
    }
    return result;
  }

  const CompactGraph& graph_;
  const SwitchNames& named_;
  const LinkDirections& directions_;
  int d_;
  Groups joined_;
  std::map<SwitchIndex, Layer> layers_;
};

/// Two directions of two are one ring of four: 00, 01, 11, 10.
Coordinate ring_of_four(const Coordinate& x, const Coordinate& y) {
  Coordinate ring{4, true, x.of};
  for (std::size_t s = 0; s < ring.of.size(); ++s) {
    if (x.of[s] == kUnknown || y.of[s] == kUnknown)
      ring.of[s] = kUnknown;
    else
      ring.of[s] = x.of[s] == 0 ? y.of[s] : 3 - y.of[s];
  }
  return ring;
}

class Finder {
 public:
  Finder(const CompactGraph& graph, const SwitchNames& named,
         const std::optional<TorusConfig>& config, Squares squares)
      : graph_(graph), named_(named), config_(config), squares_(squares) {}

  Result<TorusCoordinates> run() {
    if (auto whole = check_connected(); !whole) return tl::unexpected(whole.error());
    auto directions = find_directions(graph_, named_);
    if (!directions) return tl::unexpected(directions.error());
    directions_ = std::move(*directions);
    for (unsigned d = 0; d < directions_.count; ++d) {
      auto coordinate = Layers(graph_, named_, directions_, static_cast<int>(d)).run();
      if (!coordinate) return tl::unexpected(coordinate.error());
      along_.push_back(std::move(*coordinate));
    }
    auto axes = config_ ? axes_by_config() : axes_by_ports();
    if (!axes) return tl::unexpected(axes.error());
    if (auto placed = place(); !placed) return tl::unexpected(placed.error());
    return std::move(result_);
  }

 private:
  Result<void> check_connected() {
    std::vector<bool> met(graph_.switch_count(), false);
    std::vector<SwitchIndex> queue;
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      if (met[s] || (graph_.arcs(s).empty() && graph_.attached()[s] == 0)) continue;
      if (!queue.empty()) return unfit(named_(s) + " cannot be reached from " + named_(queue[0]));
      queue.push_back(s);
      met[s] = true;
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const auto& arc : graph_.arcs(queue[i]))
          if (!met[arc.to]) {
            met[arc.to] = true;
            queue.push_back(arc.to);
          }
    }
    members_ = std::move(queue);
    return {};
  }

  // ---- axes without a configuration ----

  Result<void> axes_by_ports() {
    for (;;) {
      std::vector<std::size_t> twos;
      for (std::size_t d = 0; d < along_.size(); ++d)
        if (along_[d].radix == 2) twos.push_back(d);
      if (along_.size() <= 3 && (squares_ == Squares::Lines || twos.size() < 2)) break;
      if (twos.size() < 2)
        return unfit("the links of " + named_(smallest()) + " lead in " +
                     std::to_string(along_.size()) + " directions, and a torus has at most three");
      along_[twos[0]] = ring_of_four(along_[twos[0]], along_[twos[1]]);
      along_.erase(along_.begin() + static_cast<std::ptrdiff_t>(twos[1]));
    }
    if (members_.empty()) return {};
    std::stable_sort(along_.begin(), along_.end(),
                     [&](const auto& x, const auto& y) { return lowest_port(x) < lowest_port(y); });
    for (Coordinate& c : along_) {
      const SwitchIndex origin = smallest();
      if (c.of[origin] == kUnknown) continue;
      if (c.wraps) {
        shift(c, c.of[origin]);
        // The lower port of the origin leads to 1.
        for (const auto& arc : graph_.arcs(origin))
          if (const unsigned next = c.of[arc.to]; next == 1 || next + 1 == c.radix) {
            if (next != 1) turn(c), shift(c, c.radix - 1);
            break;
          }
      } else if (c.of[origin] > c.radix - 1 - c.of[origin]) {
        turn(c);
      }
    }
    for (std::size_t axis = 0; axis < along_.size(); ++axis)
      result_.axes[axis] = {along_[axis].radix, along_[axis].wraps && along_[axis].radix > 2};
    along_.resize(3, Coordinate{1, false, std::vector<unsigned>(graph_.switch_count(), 0)});
    return {};
  }

  SwitchIndex smallest() const {
    return *std::min_element(members_.begin(), members_.end(), [&](SwitchIndex a, SwitchIndex b) {
      return graph_.guid(a) < graph_.guid(b);
    });
  }
  /// The lowest port along this coordinate, of the switch of the smallest GUID that has one.
  std::pair<Guid, unsigned> lowest_port(const Coordinate& c) const {
    std::pair best(Guid{~0ULL}, 256U);
    for (const SwitchIndex s : members_)
      for (const auto& arc : graph_.arcs(s))
        if (c.of[s] != kUnknown && c.of[arc.to] != kUnknown && c.of[s] != c.of[arc.to])
          best = std::min(best, std::pair(graph_.guid(s), unsigned{arc.out_port}));
    return best;
  }
  /// Counts from where c is now `by`.
  static void shift(Coordinate& c, unsigned by) {
    for (unsigned& at : c.of)
      if (at != kUnknown) at = (at + c.radix - by % c.radix) % c.radix;
  }
  static void turn(Coordinate& c) {
    for (unsigned& at : c.of)
      if (at != kUnknown) at = c.radix - 1 - at;
  }

  // ---- axes as torus-2QoS.conf has them ----

  tl::unexpected<Error> wrong(std::uint32_t line, const std::string& what) const {
    return fail(ErrorKind::Usage, config_->file + ": line " + std::to_string(line) + ": " + what);
  }
  /// The first line of what a seed says: of what it says nothing of.
  static std::uint32_t first_line(const TorusConfig::Seed& seed) {
    std::uint32_t line = 0;
    for (const auto* side : {&seed.plus, &seed.minus})
      for (const auto& link : *side)
        if (link && (line == 0 || link->line < line)) line = link->line;
    return std::max(line, 1U);
  }

  std::optional<SwitchIndex> find_switch(Guid guid) const {
    for (const SwitchIndex s : members_)
      if (graph_.guid(s) == guid) return s;
    return std::nullopt;
  }

  /// The direction of a seed link and which way it counts, or why there is none.
  struct Step {
    std::size_t direction;
    SwitchIndex from;
    bool upwards;  // as along_ counts
  };
  Result<Step> step_of(const TorusConfig::Link& link) const {
    const auto from = find_switch(link.from), to = find_switch(link.to);
    if (!from || !to)
      return wrong(link.line, "there is no switch " + to_string(from ? link.to : link.from));
    for (std::size_t d = 0; d < along_.size(); ++d) {
      const unsigned a = along_[d].of[*from], b = along_[d].of[*to];
      if (a == b || a == kUnknown || b == kUnknown) continue;
      const unsigned last = along_[d].wraps ? along_[d].radix - 1 : kUnknown;
      if (a + 1 == b || (a == last && b == 0)) return Step{d, *from, true};
      if (b + 1 == a || (b == last && a == 0)) return Step{d, *from, false};
    }
    return wrong(link.line, "there is no link from switch " + to_string(link.from) + " to switch " +
                                to_string(link.to) + " along a torus or mesh");
  }

  Result<void> axes_by_config() {
    if (config_->seeds.empty()) return wrong(1, "no seed link is given");
    std::optional<Error> why;
    for (const auto& seed : config_->seeds) {
      auto axes = axes_by_seed(seed);
      if (axes) return {};
      if (!why) why = axes.error();
    }
    return tl::unexpected(*why);
  }

  Result<void> axes_by_seed(const TorusConfig::Seed& seed) {
    std::vector<bool> taken(along_.size(), false);
    std::array<std::optional<Step>, 3> plus, minus;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (const bool up : {true, false}) {
        const auto& link = up ? seed.plus[axis] : seed.minus[axis];
        if (!link) continue;
        auto step = step_of(*link);
        if (!step) return tl::unexpected(step.error());
        if (taken[step->direction] && !(plus[axis] && plus[axis]->direction == step->direction))
          return wrong(link->line, "the link of switch " + to_string(link->from) +
                                       " runs along an axis that another link has named");
        taken[step->direction] = true;
        (up ? plus : minus)[axis] = *step;
      }
    }
    std::vector<Coordinate> axes;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      auto coordinate = axis_by_seed(axis, seed, plus[axis], minus[axis], taken);
      if (!coordinate) return tl::unexpected(coordinate.error());
      axes.push_back(std::move(*coordinate));
      result_.axes[axis] = {config_->radix[axis], !config_->mesh[axis] && config_->radix[axis] > 2};
    }
    if (const auto left = std::find(taken.begin(), taken.end(), false); left != taken.end()) {
      const auto& spare = along_[static_cast<std::size_t>(left - taken.begin())];
      return wrong(first_line(seed), "links of " + named_(member_beyond(spare)) +
                                         " run along an axis that no seed link names");
    }
    along_ = std::move(axes);
    return {};
  }

  SwitchIndex member_beyond(const Coordinate& c) const {
    const auto found = std::find_if(members_.begin(), members_.end(), [&](SwitchIndex s) {
      return c.of[s] != kUnknown && c.of[s] != 0;
    });
    return found == members_.end() ? members_.front() : *found;
  }

  Result<Coordinate> axis_by_seed(std::size_t axis, const TorusConfig::Seed& seed,
                                  const std::optional<Step>& plus, const std::optional<Step>& minus,
                                  std::vector<bool>& taken) const {
    const unsigned radix = config_->radix[axis];
    const std::string name(1, kAxisNames[axis]);
    const auto& link = plus ? seed.plus[axis] : seed.minus[axis];
    const std::uint32_t line = link ? link->line : first_line(seed);
    if (radix <= 1) {
      if (plus || minus) return wrong(line, "axis " + name + " is flat, yet has a seed link");
      return Coordinate{1, false, std::vector<unsigned>(graph_.switch_count(), 0)};
    }
    if (!plus && !minus) return wrong(line, "axis " + name + " has no seed link");
    const Step& step = plus ? *plus : *minus;
    Coordinate c = along_[step.direction];
    bool upwards = plus ? step.upwards : !step.upwards;
    if (radix == 4 && c.radix == 2 && !config_->mesh[axis]) {
      std::size_t other = along_.size();
      for (std::size_t d = 0; d < along_.size(); ++d) {
        if (plus && minus ? d != minus->direction || d == plus->direction
                          : taken[d] || along_[d].radix != 2)
          continue;
        if (other != along_.size())
          return wrong(line, "axis " + name + " has four places: it needs a seed link both ways");
        other = d;
      }
      if (other == along_.size())
        return wrong(line, "axis " + name + " should have 4 places, " + named_(step.from) +
                               " is in a line of 2");
      taken[other] = true;
      c = ring_of_four(along_[other], c);
      // The far end of the seed link lies one step up or down on the ring that came out.
      upwards = (plus != std::nullopt) == goes_up(c, step);
    } else if (plus && minus && plus->direction != minus->direction) {
      return wrong(line, "the two seed links of axis " + name + " at " + named_(step.from) +
                             " are not in line");
    } else if (plus && minus && c.radix > 2 && plus->upwards == minus->upwards) {
      return wrong(line, "the two seed links of axis " + name + " at " + named_(step.from) +
                             " lead the same way");
    }
    if (c.radix > radix || (c.wraps && c.radix != radix) || (c.wraps && config_->mesh[axis]))
      return wrong(line, "axis " + name + " should be a " +
                             (config_->mesh[axis] ? "mesh" : "torus") + " of " +
                             std::to_string(radix) + ", " + named_(step.from) + " is in a " +
                             (c.wraps ? "ring" : "line") + " of " + std::to_string(c.radix));
    if (!upwards) turn(c);
    c.radix = radix;
    if (!config_->mesh[axis]) {
      const auto n = static_cast<int>(radix);
      shift(c, static_cast<unsigned>(
                   ((static_cast<int>(c.of[step.from]) + seed.dateline[axis]) % n + n) % n));
    }
    return c;
  }

  /// True when the seed link's far end is one place up on ring c.
  bool goes_up(const Coordinate& c, const Step& step) const {
    const Coordinate& line = along_[step.direction];
    for (const auto link : directions_.of_switch[step.from]) {
      const SwitchIndex to = directions_.far(link, step.from);
      if (line.of[to] != kUnknown && line.of[to] != line.of[step.from])
        return (c.of[step.from] + 1) % c.radix == c.of[to];
    }
    return false;
  }

  // ---- switches to places ----

  Result<void> place() {
    auto& axes = result_.axes;
    std::size_t places = 1;
    for (const auto& axis : axes) places *= axis.radix;
    result_.at_place.assign(places, fabric::kNoSwitch);
    result_.of_switch.resize(graph_.switch_count());
    std::vector<SwitchIndex> lost;
    for (const SwitchIndex s : members_) {
      const Place at{along_[0].of[s], along_[1].of[s], along_[2].of[s]};
      if (std::find(at.begin(), at.end(), kUnknown) != at.end())
        lost.push_back(s);
      else if (auto put_down = put(s, at); !put_down)
        return put_down;
    }
    // A switch with no link in a square can only be where one is missing beside its neighbours.
    while (!lost.empty()) {
      const auto found = std::find_if(lost.begin(), lost.end(), [&](SwitchIndex s) {
        const auto choices = free_places(s);
        if (choices.size() != 1) return false;
        result_.of_switch[s] = choices[0];
        result_.at_place[result_.index(choices[0])] = s;
        return true;
      });
      if (found == lost.end())
        return unfit("nothing tells where in the torus " + named_(lost[0]) + " stands");
      lost.erase(found);
    }
    for (const auto& link : directions_.links)
      if (!neighbours(*result_.of_switch[link.a], *result_.of_switch[link.b]))
        return unfit("the link between " + named_(link.a) + " and " + named_(link.b) +
                     " does not fit into a torus or mesh");
    return {};
  }

  Result<void> put(SwitchIndex s, const Place& at) {
    SwitchIndex& there = result_.at_place[result_.index(at)];
    if (there != fabric::kNoSwitch)
      return unfit(named_(there) + " and " + named_(s) + " come out at the same place of a torus");
    there = s;
    result_.of_switch[s] = at;
    return {};
  }

  bool neighbours(const Place& p, const Place& q) const {
    unsigned steps = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto [low, high] = std::minmax(p[axis], q[axis]);
      const unsigned n = result_.axes[axis].radix;
      if (low == high) continue;
      ++steps;
      if (high - low != 1 && !(result_.axes[axis].wraps && high - low == n - 1)) return false;
    }
    return steps == 1;
  }

  std::vector<Place> free_places(SwitchIndex s) const {
    std::vector<Place> fitting;
    const auto& axes = result_.axes;
    for (unsigned x = 0; x < axes[0].radix; ++x)
      for (unsigned y = 0; y < axes[1].radix; ++y)
        for (unsigned z = 0; z < axes[2].radix; ++z) {
          const Place p{x, y, z};
          if (result_.at(p) != fabric::kNoSwitch) continue;
          unsigned beside = 0;
          bool fits = true;
          for (const auto& arc : graph_.arcs(s)) {
            const auto& far = result_.of_switch[arc.to];
            if (!far) continue;
            ++beside;
            fits = fits && neighbours(p, *far);
          }
          if (fits && beside > 0) fitting.push_back(p);
        }
    return fitting;
  }

  const CompactGraph& graph_;
  const SwitchNames& named_;
  const std::optional<TorusConfig>& config_;
  Squares squares_;
  std::vector<SwitchIndex> members_;  // switches with a link
  LinkDirections directions_;
  std::vector<Coordinate> along_;  // by direction, then by axis
  TorusCoordinates result_;
};

}  // namespace

Result<TorusCoordinates> find_torus(const CompactGraph& graph,
                                    const std::optional<TorusConfig>& config, Squares squares,
                                    const SwitchNames& named) {
  return Finder(graph, named, config, squares).run();
}

}  // namespace ib::route
