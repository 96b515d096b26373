// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/vl_trees.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <numeric>

namespace ib::route {

using fabric::SwitchIndex;

namespace {

constexpr double kWorkMax = 2e6;   // for which a target gets more than one tree
constexpr double kHopsOnly = 1e9;  // routes on a link that weigh as much as one more hop
constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

/// What may follow what on one VL.
class VlTrees::Vl {
 public:
  explicit Vl(const Channels& channels) : used_(channels), refused_(channels) {}
  Vl(const Dependencies& start, std::span<const Channel> order)
      : used_(start, order), refused_(start.channels()) {}

  /// From now on all that goes forwards in the order that came out may be used.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }
  bool goes_forwards(Channel a, Channel b) const { return used_.position(a) < used_.position(b); }
  bool contains(Channel a, Channel b) const {
    return frozen_ ? goes_forwards(a, b) : used_.contains(a, b);
  }
  /// Precondition: not contained. Cycles once closed stay closed while nothing is removed, so each
  /// is looked for once.
  bool add(Channel a, Channel b) {
    if (frozen_ || refused_.contains(a, b)) return false;
    if (used_.add(a, b)) return true;
    refused_.insert(a, b);
    refusals_.emplace_back(a, b);
    return false;
  }
  void remove(std::span<const Dependency> added) {
    for (const auto& [a, b] : added) used_.remove(a, b);
  }
  void keep() { refusals_.clear(); }
  /// Takes back what was added, and what was refused, since the last keep().
  void take_back(std::span<const Dependency> added) {
    remove(added);
    for (const auto& [a, b] : refusals_) refused_.erase(a, b);
    refusals_.clear();
  }

 private:
  AcyclicDependencies used_;
  Dependencies refused_;
  std::vector<Dependency> refusals_;
  bool frozen_{false};
};

std::vector<Channel> channel_order(const Channels& channels, const UpDownOrder& order) {
  // Those that climb, by the switch they climb to, the highest last; then those that descend, by
  // the switch they descend to.
  const auto positions = order.positions();
  const auto key = [&](Channel c) {
    const auto to = static_cast<std::int64_t>(positions[channels.to(c)]);
    const bool climbs = order.is_up(channels.from(c), channels.to(c));
    return std::tuple(!climbs, climbs ? -to : to, c);
  };
  std::vector<Channel> sorted(channels.size());
  std::iota(sorted.begin(), sorted.end(), Channel{0});
  std::sort(sorted.begin(), sorted.end(), [&](Channel a, Channel b) { return key(a) < key(b); });
  return sorted;
}

VlTrees::VlTrees(const Request& request, const Targets& targets, bool)
    : graph_(request.graph),
      targets_(&targets),
      channels_(*request.graph),
      escape_(find_escape_tree(*request.graph, targets)),
      vl_of_(request.graph->switch_count() * request.graph->switch_count(), 0),
      trees_of_(request.graph->switch_count()),
      load_(channels_.size(), 0),
      cost_(channels_.size(), 0),
      weight_(channels_.size(), 1),
      arc_cost_(request.graph->arc_count(), 0),
      nodes_(request.graph->switch_count()),
      through_(request.graph->switch_count()) {
  const Exits exits(request);
  double least = kInfinite;
  for (std::size_t i = 0; i < exits.all.size(); ++i) {
    arc_cost_[exits.arc[i]] = exits.all[i].cost;
    if (exits.all[i].cost != 0) least = std::min<double>(least, exits.all[i].cost);
  }
  for (std::size_t arc = 0; arc < arc_cost_.size(); ++arc)
    if (arc_cost_[arc] != 0) cost_[channels_.of_arc(arc)] += least / arc_cost_[arc];
  for (double& cost : cost_)
    if (cost != 0) cost = 1 / cost;
}

VlTrees::VlTrees(const Request& request, const Targets& targets, std::span<const Channel> order)
    : VlTrees(request, targets, true) {
  vls_.emplace_back(Dependencies(channels_), order).freeze();
}

VlTrees::VlTrees(const Request& request, const Targets& targets)
    : VlTrees(request, targets, false) {
  Dependencies turns(channels_);
  for (const auto& [from, via, to] : escape_.turns())
    turns.insert(channel(from, via), channel(via, to));
  vls_.emplace_back(turns, turns.order());
}

VlTrees::VlTrees(VlTrees&&) noexcept = default;
VlTrees& VlTrees::operator=(VlTrees&&) noexcept = default;
VlTrees::~VlTrees() = default;

double VlTrees::work(const fabric::CompactGraph& graph, const Targets& targets) {
  const auto leaves = std::count_if(targets.all().begin(), targets.all().end(),
                                    [](const Target& t) { return t.columns() != 0; });
  return static_cast<double>(leaves + 1) * static_cast<double>(graph.arc_count() + 1);
}

Channel VlTrees::channel(SwitchIndex from, SwitchIndex to) const {
  Channel c = channels_.first(from);
  while (channels_.to(c) != to) ++c;
  return c;
}

// ---- one tree ----

/// A tree towards `leaf`; false when a source found no way.
bool VlTrees::grow(SwitchIndex leaf) {
  leaf_ = leaf;
  for (Node& node : nodes_) node = Node{.best = kInfinite, .pinned = node.pinned};
  order_.clear();
  queue_.clear();
  attached(leaf, ~std::uint32_t{0});
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Entry entry = queue_.back();
    queue_.pop_back();
    const SwitchIndex s = channels_.from(entry.channel);
    if (!nodes_[s].attached) attach(s, entry);
  }
  for (SwitchIndex s = 0; s < graph_->switch_count(); ++s)
    if (is_source(s) && !nodes_[s].attached && escape_.component[s] == escape_.component[leaf])
      return false;
  return true;
}

void VlTrees::attach(SwitchIndex s, const Entry& entry) {
  if (!free_ && !vls_[0].frozen() && is_source(s) && !extend(entry.channel)) return;
  nodes_[s].next = entry.channel;
  nodes_[s].cost = entry.cost;
  attached(s, free_ ? 0 : covered_over(entry.channel));
}

void VlTrees::attached(SwitchIndex s, std::uint32_t covered) {
  nodes_[s].attached = true;
  nodes_[s].covered = covered;
  order_.push_back(s);
  for (const Channel c : channels_.into(s)) {
    Node& from = nodes_[channels_.from(c)];
    if (from.attached || (from.pinned != kNoChannel && from.pinned != c)) continue;
    const double cost = nodes_[s].cost + weight_[c];
    // While VL 0 fills, whether a channel may be used is found out when its turn comes.
    if (free_ || vls_[0].frozen()) {
      if (cost >= from.best || !(free_ || may_use(channels_.from(c), c))) continue;
      from.best = cost;
    }
    queue_.push_back({cost, c});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }
}

/// VLs in which the path over c goes forwards all the way.
std::uint32_t VlTrees::covered_over(Channel c) const {
  const Node& parent = nodes_[channels_.to(c)];
  if (parent.next == kNoChannel) return parent.covered;
  std::uint32_t covered = 0;
  for (std::size_t vl = 0; vl < vls_.size(); ++vl)
    if (((parent.covered >> vl) & 1) != 0 && vls_[vl].contains(c, parent.next))
      covered |= std::uint32_t{1} << vl;
  return covered;
}

bool VlTrees::may_use(SwitchIndex s, Channel c) {
  const std::uint32_t covered = covered_over(c);
  return is_source(s) ? ((covered >> vl_of(s, leaf_)) & 1) != 0 : covered != 0;
}

/// Adds the dependencies of the whole path that begins with c to VL 0, or none.
bool VlTrees::extend(Channel c) {
  Vl& vl = vls_[0];
  const std::size_t before = added_.size();
  Channel held = c;
  for (SwitchIndex at = channels_.to(c); at != leaf_; at = channels_.to(held)) {
    const Channel wanted = nodes_[at].next;
    if (!vl.contains(held, wanted)) {
      if (!vl.add(held, wanted)) {
        vl.remove({added_.begin() + static_cast<std::ptrdiff_t>(before), added_.end()});
        added_.resize(before);
        return false;
      }
      added_.emplace_back(held, wanted);
    }
    if ((nodes_[at].covered & 1) != 0) break;
    held = wanted;
  }
  for (SwitchIndex at = channels_.to(c); (nodes_[at].covered & 1) == 0;
       at = channels_.to(nodes_[at].next))
    nodes_[at].covered |= 1;
  return true;
}

/// Grows a tree on VL 0 while it fills. Sources that find no way are put on the escape tree, with
/// all that lies on their way there, and the rest grows again around them.
void VlTrees::grow_or_escape(SwitchIndex leaf) {
  while (!grow(leaf)) {
    assert(!vls_[0].frozen() && "an order of up*/down* paths has no dead end");
    vls_[0].take_back(added_);
    added_.clear();
    for (SwitchIndex s = 0; s < graph_->switch_count(); ++s) {
      if (!is_source(s) || nodes_[s].attached || escape_.component[s] != escape_.component[leaf])
        continue;
      const auto path = escape_.path(s, leaf);
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        nodes_[path[i]].pinned = channel(path[i], path[i + 1]);
    }
  }
  vls_[0].keep();
  added_.clear();
  for (Node& node : nodes_) node.pinned = kNoChannel;
}

// ---- all trees ----

void VlTrees::take(Tree& tree) const {
  tree.order = order_;
  tree.next.resize(nodes_.size());
  for (SwitchIndex s = 0; s < nodes_.size(); ++s) tree.next[s] = nodes_[s].next;
}

/// Adds the load of a tree, or takes it away.
void VlTrees::account(const Tree& tree, double sign) {
  std::fill(through_.begin(), through_.end(), 0U);
  for (std::size_t i = tree.order.size(); i-- > 1;) {
    const SwitchIndex s = tree.order[i];
    const Channel c = tree.next[s];
    through_[s] += targets_->sources(s);
    through_[channels_.to(c)] += through_[s];
    load_[c] += sign * through_[s] * static_cast<double>(tree.lids_loaded);
    set_weight(c);
  }
}

/// Hops come first while trees are grown the first time. When they are grown again, a link twice as
/// busy as the mean is worth a detour.
void VlTrees::set_weight(Channel c) {
  const double load = load_[c] * cost_[c];
  weight_[c] =
      steepness_ == 0 ? 1 + load / kHopsOnly : 1 + steepness_ * (load / mean_) * (load / mean_);
}

void VlTrees::set_weights(double steepness) {
  steepness_ = steepness;
  mean_ = 0;
  for (Channel c = 0; c < channels_.size(); ++c) mean_ += load_[c] * cost_[c];
  mean_ = std::max(mean_ / static_cast<double>(channels_.size() + 1), 1e-9);
  for (Channel c = 0; c < channels_.size(); ++c) set_weight(c);
}

void VlTrees::grow_all() {
  std::size_t most = 1;
  for (const Target& target : targets_->all()) most = std::max(most, target.columns());
  const std::size_t each = std::clamp(static_cast<std::size_t>(kWorkMax / work(*graph_, *targets_)),
                                      std::size_t{1}, most);
  set_weights(0);
  for (std::size_t turn = 0; turn < each; ++turn)
    for (const Target& target : targets_->all()) {
      if (turn >= target.columns() && (turn != 0 || !is_source(target.leaf))) continue;
      Tree tree;
      tree.leaf = target.leaf;
      // Siblings follow each other, so they come into different trees.
      for (std::size_t i = turn; i < target.columns(); i += each) {
        tree.lids.push_back(targets_->columns(target)[i].lid);
      }
      tree.lids_loaded = tree.lids.size();
      if (turn == 0)
        for (const auto& own : targets_->switch_lids(target.leaf)) tree.lids.push_back(own.lid);
      grow_or_escape(target.leaf);
      take(tree);
      account(tree, 1);
      trees_of_[target.leaf].push_back(static_cast<std::uint32_t>(trees_.size()));
      trees_.push_back(std::move(tree));
    }
  vls_[0].freeze();
}

void VlTrees::improve(unsigned rounds) {
  std::vector<Tree> best = trees_;
  std::vector<double> best_load = load_;
  double least = greatest_load();
  for (unsigned round = 0, idle = 0; round < rounds && idle < 2; ++round) {
    set_weights(round == 0 ? 0.3 : 1);
    for (Tree& tree : trees_) {
      account(tree, -1);
      if (grow(tree.leaf)) take(tree);
      account(tree, 1);
    }
    ++idle;
    if (greatest_load() >= least) continue;
    least = greatest_load();
    best = trees_;
    best_load = load_;
    idle = 0;
  }
  trees_ = std::move(best);
  load_ = std::move(best_load);
}

double VlTrees::greatest_load() const {
  double most = 0;
  for (Channel c = 0; c < channels_.size(); ++c) most = std::max(most, load_[c] * cost_[c]);
  return most;
}

double VlTrees::total_load() const { return std::accumulate(load_.begin(), load_.end(), 0.0); }

unsigned VlTrees::vls_used() const { return static_cast<unsigned>(vls_.size()); }

// ---- more VLs ----

std::vector<VlTrees::Tree> VlTrees::shortest_trees() {
  std::vector<double> load(channels_.size(), 0);
  load.swap(load_);
  free_ = true;
  std::vector<Tree> shortest = trees_;
  set_weights(0);
  for (const bool again : {false, true})
    for (Tree& tree : shortest) {
      if (again) account(tree, -1);
      grow(tree.leaf);
      take(tree);
      account(tree, 1);
    }
  free_ = false;
  load.swap(load_);
  return shortest;
}

std::size_t VlTrees::shorten(unsigned vls, const tables::PathSls* previous) {
  auto shortest = shortest_trees();
  while (vls_.size() < vls) vls_.emplace_back(channels_);
  std::size_t shortened = 0;
  for (SwitchIndex leaf = 0; leaf < graph_->switch_count(); ++leaf)
    if (!trees_of_[leaf].empty() && shorten_one(leaf, shortest, previous)) ++shortened;
  for (Vl& vl : vls_) vl.freeze();
  std::fill(load_.begin(), load_.end(), 0.0);
  for (const Tree& tree : trees_) account(tree, 1);
  return shortened;
}

bool VlTrees::shorten_one(SwitchIndex leaf, std::vector<Tree>& shortest,
                          const tables::PathSls* previous) {
  const auto swap_trees = [&] {
    for (const std::uint32_t t : trees_of_[leaf]) std::swap(trees_[t], shortest[t]);
  };
  swap_trees();
  std::vector<std::vector<Dependency>> added(vls_.size());
  std::vector<std::pair<SwitchIndex, std::uint8_t>> moved;
  std::vector<Dependency> wanted;
  const auto fits = [&](std::size_t l) {
    Vl& vl = vls_[l];
    const std::size_t before = added[l].size();
    for (const auto& [a, b] : wanted) {
      if (vl.contains(a, b)) continue;
      if (vl.add(a, b)) {
        added[l].emplace_back(a, b);
        continue;
      }
      vl.remove({added[l].begin() + static_cast<std::ptrdiff_t>(before), added[l].end()});
      added[l].resize(before);
      return false;
    }
    return true;
  };
  for (SwitchIndex other = 0; other < graph_->switch_count(); ++other) {
    if (other == leaf || !is_source(other) || escape_.component[other] != escape_.component[leaf])
      continue;
    wanted.clear();
    for (const std::uint32_t t : trees_of_[leaf]) append_path(trees_[t], other, wanted);
    if (is_source(leaf))
      for (const std::uint32_t t : trees_of_[other]) append_path(trees_[t], leaf, wanted);
    const std::size_t former = previous != nullptr ? previous->at(other, leaf).value : vls_.size();
    const bool stays = former < vls_.size() && fits(former);
    std::size_t vl = stays ? former : 0;
    while (!stays && vl < vls_.size() && !fits(vl)) ++vl;
    if (vl == vls_.size()) {
      for (std::size_t l = 0; l < vls_.size(); ++l) vls_[l].take_back(added[l]);
      for (const auto& [s, was] : moved) vl_of(s, leaf) = was;
      swap_trees();
      return false;
    }
    moved.emplace_back(other, vl_of(other, leaf));
    vl_of(other, leaf) = static_cast<std::uint8_t>(vl);
  }
  for (Vl& vl : vls_) vl.keep();
  return true;
}

void VlTrees::append_path(const Tree& tree, SwitchIndex from, std::vector<Dependency>& out) const {
  Channel held = tree.next[from];
  for (SwitchIndex at = channels_.to(held); at != tree.leaf; at = channels_.to(held)) {
    out.emplace_back(held, tree.next[at]);
    held = tree.next[at];
  }
}

// ---- results ----

void VlTrees::write(const Tree& tree, std::vector<double>& arc_load, tables::LinearTables& tables) {
  std::fill(through_.begin(), through_.end(), 0U);
  for (std::size_t n = tree.order.size(); n-- > 1;) {
    const SwitchIndex s = tree.order[n];
    const Channel c = tree.next[s];
    through_[s] += targets_->sources(s);
    through_[channels_.to(c)] += through_[s];
    const auto arcs = graph_->arcs(s);
    const std::size_t first = graph_->arc_index(s, 0);
    for (std::size_t l = 0; l < tree.lids.size(); ++l) {
      // Of parallel links the least loaded; what carries nothing is dealt as well.
      std::size_t best = arcs.size();
      for (std::size_t i = 0; i < arcs.size(); ++i)
        if (channels_.of_arc(first + i) == c &&
            (best == arcs.size() || arc_load[first + i] < arc_load[first + best]))
          best = i;
      const double routes = l < tree.lids_loaded ? through_[s] : 0;
      arc_load[first + best] += (routes + 1e-3) * arc_cost_[first + best];
      tables.set(s, tree.lids[l], arcs[best].out_port);
    }
  }
}

VlTrees::Tables VlTrees::tables() {
  Tables result;
  result.lfts = tables::LinearTables(graph_->switch_count(), graph_->max_lid());
  for (const Target& target : targets_->all()) {
    for (const auto& column : targets_->columns(target))
      result.lfts.set(target.leaf, column.lid, column.port);
    for (const auto& [lid, port] : targets_->switch_lids(target.leaf))
      result.lfts.set(target.leaf, lid, port);
  }
  std::vector<double> arc_load(graph_->arc_count(), 0);
  for (const Tree& tree : trees_) write(tree, arc_load, result.lfts);
  // Switches without CAs: the same way, but where that leads nowhere any way does.
  for (const Target& target : targets_->all()) {
    const auto lids = targets_->switch_lids(target.leaf);
    if (target.columns() != 0 || lids.empty() || !trees_of_[target.leaf].empty()) continue;
    Tree tree;
    tree.leaf = target.leaf;
    for (const auto& own : lids) tree.lids.push_back(own.lid);
    if (!grow(target.leaf)) {
      ++result.switches_beside;
      free_ = true;
      grow(target.leaf);
      free_ = false;
    }
    take(tree);
    write(tree, arc_load, result.lfts);
  }
  lead_own(result.lfts);
  return result;
}

/// A switch without CAs that a tree leaves out sends what is its own to a neighbour that knows the
/// way. Nobody else's packets come by.
void VlTrees::lead_own(tables::LinearTables& lfts) const {
  std::vector<SwitchIndex> without;
  for (SwitchIndex s = 0; s < graph_->switch_count(); ++s)
    if (!is_source(s)) without.push_back(s);
  const auto lead = [&](Lid lid) {
    bool any = true;
    while (any) {
      any = false;
      for (const SwitchIndex s : without) {
        if (lfts.at(s, lid) != tables::kNoPort) continue;
        const auto arcs = graph_->arcs(s);
        const auto knows = std::ranges::find_if(
            arcs, [&](const auto& arc) { return lfts.at(arc.to, lid) != tables::kNoPort; });
        if (knows == arcs.end()) continue;
        lfts.set(s, lid, knows->out_port);
        any = true;
      }
    }
  };
  for (const Target& target : targets_->all()) {
    for (const auto& column : targets_->columns(target)) lead(column.lid);
    for (const auto& own : targets_->switch_lids(target.leaf)) lead(own.lid);
  }
}

tables::PathSls VlTrees::sls() const {
  if (vls_.size() == 1) return tables::PathSls(Sl{0});
  tables::PathSls sls(graph_->switch_count(), Sl{0});
  for (SwitchIndex a = 0; a < graph_->switch_count(); ++a)
    for (SwitchIndex b = 0; b < a; ++b)
      sls.set(a, b, Sl{vl_of_[std::size_t{a} * graph_->switch_count() + b]});
  return sls;
}

}  // namespace ib::route
