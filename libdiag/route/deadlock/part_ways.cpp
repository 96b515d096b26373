// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/part_ways.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "libdiag/route/shape/channels.h"
#include "libdiag/route/spread/exits.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr unsigned kMoreHops = 2;
/// What a link may carry in one round after the other, by the greatest load before: ways that cost
/// nothing come first. What changed in one lets others change in the next.
constexpr std::array kMoreLoad = {1.0, 1.05, 1.10};
constexpr std::size_t kTries = 12;              // exits that are tried for a pair of switches
constexpr std::uint64_t kWorkMax = 50'000'000;  // arcs times trees: beyond, all stays as it is

/// The trees of the LIDs of one end port, or of all behind a switch where they share trees.
struct Siblings {
  SwitchIndex to{};
  std::vector<std::size_t> trees;
  std::vector<std::uint64_t> lids;  // that are load, by position in `trees`
};

class WayParter {
 public:
  WayParter(const Request& request, const Targets& targets, Ways& ways, AdmitWay admit)
      : graph_(*request.graph),
        targets_(targets),
        admit_(std::move(admit)),
        ways_(ways),
        channels_(graph_, ways.tree_count() < targets.columns().size() ? Parallel::OneChannel
                                                                       : Parallel::Apart),
        cables_(channels_.size(), 0),
        used_(channels_.size(), 0),
        price_(channels_.size(), 0),
        load_(channels_.size(), 0) {
    const Exits exits(request);
    for (std::size_t i = 0; i < graph_.arc_count(); ++i) {
      const Channel c = channels_.of_arc(exits.arc[i]);
      ++cables_[c];
      price_[c] = std::max<double>(price_[c], exits.all[i].cost);
    }
    find_siblings();
  }

  std::size_t run() {
    for (const Siblings& siblings : all_) count_loads(siblings);
    const double greatest = ways_.kept ? ways_.kept->load_max : greatest_load();
    std::size_t changed = ways_.kept ? ways_.kept->parted : 0;
    for (const double more : kMoreLoad) {
      load_max_ = greatest * more;
      changed += part_all();
    }
    return changed;
  }

  bool keep(const tables::LinearTables& previous) {
    for (const Siblings& siblings : all_) count_loads(siblings);
    ways_.kept = Ways::Kept();
    ways_.kept->load_max = greatest_load();
    ways_.kept->ways.assign(ways_.tree_count() * ways_.switch_count(), false);
    bool any = false;
    for (const Siblings& siblings : all_) {
      if (siblings.trees.size() < 2) continue;
      find_hops(siblings.to);
      read(siblings, previous);
      for (const SwitchIndex s : near_first_)
        if (s != siblings.to) find_worthy(siblings, s);
      for (std::size_t k = 0; k < former_.size(); ++k)
        for (const SwitchIndex s : near_first_)
          if (s != siblings.to && stays(siblings, s, k)) {
            const std::size_t tree = siblings.trees[k];
            ways_.kept->ways[tree * ways_.switch_count() + s] = true;
            Path path;
            walk_former(siblings, s, k, path);
            if (graph_.end_ports()[s] != 0 && path.size() > hops_[s]) ++ways_.kept->parted;
            any |= std::exchange(ways_.tree(tree)[s], former_[k][s]) != former_[k][s];
          }
    }
    return any;
  }

 private:
  using Path = std::vector<Channel>;
  struct Candidate {
    std::size_t k;  // position in Siblings::trees
    std::uint8_t exit;
    std::size_t apart;
    std::size_t in_need;  // switches on the way that could not change theirs any more
    double load;          // of the most loaded link on the way, with it
    Path path;
  };

  void find_siblings() {
    std::vector<std::size_t> at(ways_.tree_count(), ~std::size_t{0});  // by first tree
    lid_of_tree_.assign(ways_.tree_count(), kNoLid);
    for (std::size_t c = 0; c < targets_.columns().size(); ++c)
      lid_of_tree_[ways_.of_column[c]] = targets_.columns()[c].lid;
    for (std::size_t i = 0; i < targets_.all().size(); ++i) {
      const Target& target = targets_.all()[i];
      for (std::size_t c = target.first_column; c < target.last_column;) {
        std::size_t end = c + 1;
        while (end < target.last_column && targets_.columns()[end].offset != 0) ++end;
        std::size_t& mine = at[ways_.of_column[c]];
        if (mine == ~std::size_t{0}) {
          mine = all_.size();
          all_.push_back({target.leaf, {}, {}});
        }
        Siblings& siblings = all_[mine];
        for (std::size_t k = 0; c < end; ++c, ++k) {
          if (k == siblings.trees.size()) {
            siblings.trees.push_back(ways_.of_column[c]);
            siblings.lids.push_back(0);
          }
          siblings.lids[k] += targets_.columns()[c].counts ? 1 : 0;
        }
      }
    }
  }

  double per_cable(Channel c, std::uint64_t more) const {
    return static_cast<double>(load_[c] + more) * price_[c] / cables_[c];
  }

  double greatest_load() const {
    double greatest = 0;
    for (Channel c = 0; c < load_.size(); ++c) greatest = std::max(greatest, per_cable(c, 0));
    return greatest;
  }

  void count_loads(const Siblings& siblings) {
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      if (targets_.sources(s) == 0) continue;
      const auto& paths = walk_all(siblings, s);
      for (std::size_t k = 0; k < paths.size(); ++k)
        for (const Channel c : paths[k]) load_[c] += targets_.sources(s) * siblings.lids[k];
    }
  }

  /// Adds the channels of a way; none where there is no way.
  void walk(SwitchIndex from, SwitchIndex to, std::size_t tree, Path& path) const {
    const auto exits = ways_.tree(tree);
    for (SwitchIndex s = from; s != to && exits[s] != kNoExit; s = channels_.to(path.back()))
      path.push_back(channels_.of_arc(graph_.arc_index(s, exits[s])));
  }

  std::size_t part_all() {
    std::size_t changed = 0;
    for (const Siblings& siblings : all_) {
      if (siblings.trees.size() < 2) continue;
      find_hops(siblings.to);
      if (!find_need(siblings)) continue;
      count_through(siblings);
      for (std::size_t i = near_first_.size(); i-- > 1;)
        if (in_need_[near_first_[i]]) changed += part(siblings, near_first_[i]);
    }
    return changed;
  }

  /// Which switches with end ports have fewer ways apart than there are LIDs and links. False:
  /// none.
  bool find_need(const Siblings& siblings) {
    in_need_.assign(graph_.switch_count(), false);
    bool any = false;
    for (const SwitchIndex s : near_first_) {
      if (s == siblings.to || graph_.end_ports()[s] == 0) continue;
      in_need_[s] = !is_kept(siblings, s) && apart(walk_all(siblings, s)) < most_apart(siblings, s);
      any = any || in_need_[s];
    }
    return any;
  }

  /// All its ways are those of before, and as far apart as they were.
  bool is_kept(const Siblings& siblings, SwitchIndex s) const {
    return ways_.kept && std::ranges::all_of(siblings.trees, [&](std::size_t tree) {
             return ways_.kept->ways[tree * ways_.switch_count() + s];
           });
  }

  std::vector<Path>& walk_all(const Siblings& siblings, SwitchIndex s) {
    paths_.resize(siblings.trees.size());
    for (std::size_t k = 0; k < paths_.size(); ++k) {
      paths_[k].clear();
      walk(s, siblings.to, siblings.trees[k], paths_[k]);
    }
    return paths_;
  }

  std::size_t most_apart(const Siblings& siblings, SwitchIndex s) const {
    return std::min(
        {siblings.trees.size(), graph_.arcs(s).size(), graph_.arcs(siblings.to).size()});
  }

  void find_hops(SwitchIndex to) {
    hops_.assign(graph_.switch_count(), ~0U);
    hops_[to] = 0;
    near_first_.assign(1, to);
    for (std::size_t i = 0; i < near_first_.size(); ++i)
      for (const auto& arc : graph_.arcs(near_first_[i]))
        if (hops_[arc.to] == ~0U) {
          hops_[arc.to] = hops_[near_first_[i]] + 1;
          near_first_.push_back(arc.to);
        }
  }

  /// By tree and switch, how many others send through it.
  void count_through(const Siblings& siblings) {
    through_.assign(siblings.trees.size() * graph_.switch_count(), 0);
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const auto& paths = walk_all(siblings, s);
      for (std::size_t k = 0; k < paths.size(); ++k) count(paths[k], k, 1);
    }
  }
  void count(const Path& path, std::size_t k, std::uint32_t by) {
    for (std::size_t i = 1; i < path.size(); ++i)
      through_[k * graph_.switch_count() + channels_.from(path[i])] += by;
  }

  /// How many ways share no link with those counted before, in the order of the LIDs.
  std::size_t apart(const std::vector<Path>& paths) {
    std::size_t count = 0;
    touched_.clear();
    for (const Path& path : paths) {
      if (path.empty() ||
          std::ranges::any_of(path, [&](Channel c) { return used_[c] == cables_[c]; }))
        continue;
      ++count;
      for (const Channel c : path) ++used_[c];
      touched_.insert(touched_.end(), path.begin(), path.end());
    }
    for (const Channel c : touched_) used_[c] = 0;
    return count;
  }

  /// Ways from s that share links change one by one, as long as more of them then share none.
  std::size_t part(const Siblings& siblings, SwitchIndex s) {
    auto& paths = walk_all(siblings, s);
    const std::size_t most = most_apart(siblings, s);
    std::size_t changed = 0;
    std::size_t now = apart(paths);
    for (; now < most; ++changed) {
      auto candidates = better(siblings, s, paths, now);
      std::ranges::stable_sort(candidates, {}, [](const Candidate& c) {
        return std::tuple(-static_cast<int>(c.apart), c.in_need, c.path.size(), c.load);
      });
      if (candidates.size() > kTries) candidates.resize(kTries);
      const auto taken = std::ranges::find_if(
          candidates, [&](const Candidate& c) { return take(siblings, s, c, paths[c.k]); });
      if (taken == candidates.end()) break;
      now = taken->apart;
    }
    in_need_[s] = now < most;
    return changed;
  }

  std::vector<Candidate> better(const Siblings& siblings, SwitchIndex s, std::vector<Path>& paths,
                                std::size_t now) {
    std::vector<Candidate> candidates;
    for (std::size_t k = siblings.trees.size(); k-- > 0;) {
      if (through_[k * graph_.switch_count() + s] != 0) continue;
      const std::uint64_t routes = targets_.sources(s) * siblings.lids[k];
      for (std::uint8_t exit = 0; exit < graph_.arcs(s).size(); ++exit) {
        Path path = way_by(siblings, s, k, exit);
        if (path.empty() || path == paths[k]) continue;
        std::swap(path, paths[k]);
        const std::size_t then = apart(paths);
        std::swap(path, paths[k]);
        if (then <= now) continue;
        double load = 0;
        std::size_t in_need = 0;
        for (const Channel c : path) {
          load = std::max(load, per_cable(c, routes));
          in_need += channels_.from(c) != s && in_need_[channels_.from(c)];
        }
        if (load > load_max_) continue;
        candidates.push_back({k, exit, then, in_need, load, std::move(path)});
      }
    }
    return candidates;
  }

  // What previous tables have.

  /// Exits by the tables, as far as there are links.
  void read(const Siblings& siblings, const tables::LinearTables& previous) {
    former_.assign(siblings.trees.size(),
                   std::vector<std::uint8_t>(graph_.switch_count(), kNoExit));
    worthy_.assign(siblings.trees.size(), std::vector<bool>(graph_.switch_count(), false));
    for (std::size_t k = 0; k < former_.size(); ++k) {
      const Lid lid = lid_of_tree_[siblings.trees[k]];
      for (SwitchIndex s = 0; s < std::min(graph_.switch_count(), previous.switch_count()); ++s) {
        const auto arcs = graph_.arcs(s);
        const auto at = std::ranges::find(arcs, previous.at(s, lid), &fabric::Arc::out_port);
        if (at != arcs.end()) former_[k][s] = static_cast<std::uint8_t>(at - arcs.begin());
      }
    }
  }

  /// The former way of LID k, if it is complete and at most two hops longer than need be.
  bool walk_former(const Siblings& siblings, SwitchIndex from, std::size_t k, Path& path) const {
    SwitchIndex s = from;
    for (; s != siblings.to && former_[k][s] != kNoExit; s = channels_.to(path.back())) {
      if (path.size() == hops_[from] + kMoreHops) return false;
      path.push_back(channels_.of_arc(graph_.arc_index(s, former_[k][s])));
    }
    return s == siblings.to;
  }

  /// Former ways are worth keeping that are the shortest, or share no link with those of the other
  /// LIDs.
  void find_worthy(const Siblings& siblings, SwitchIndex s) {
    paths_.assign(siblings.trees.size(), {});
    for (std::size_t k = 0; k < paths_.size(); ++k) {
      if (!walk_former(siblings, s, k, paths_[k])) paths_[k].clear();
      for (const Channel c : paths_[k]) ++used_[c];
    }
    for (std::size_t k = 0; k < paths_.size(); ++k)
      worthy_[k][s] =
          !paths_[k].empty() &&
          (paths_[k].size() == hops_[s] ||
           std::ranges::all_of(paths_[k], [&](Channel c) { return used_[c] <= cables_[c]; }));
    for (const Path& path : paths_)
      for (const Channel c : path) used_[c] = 0;
  }

  /// All switches on the way keep theirs. What then leads from elsewhere into a former way is the
  /// shortest up to there, so nothing goes round in circles.
  bool stays(const Siblings& siblings, SwitchIndex from, std::size_t k) const {
    SwitchIndex s = from;
    while (s != siblings.to && worthy_[k][s]) s = graph_.arcs(s)[former_[k][s]].to;
    return s == siblings.to;
  }

  /// Empty where it is too long, or comes back.
  Path way_by(const Siblings& siblings, SwitchIndex s, std::size_t k, std::uint8_t exit) const {
    const SwitchIndex next = graph_.arcs(s)[exit].to;
    if (hops_[next] + 1 > hops_[s] + kMoreHops) return {};
    Path path{channels_.of_arc(graph_.arc_index(s, exit))};
    walk(next, siblings.to, siblings.trees[k], path);
    const auto comes_back = [&](Channel c) { return channels_.to(c) == s; };
    if (channels_.to(path.back()) != siblings.to || path.size() > hops_[s] + kMoreHops ||
        std::ranges::any_of(path, comes_back))
      return {};
    return path;
  }

  bool take(const Siblings& siblings, SwitchIndex s, const Candidate& candidate, Path& path) {
    const std::size_t tree = siblings.trees[candidate.k];
    const std::uint8_t former = std::exchange(ways_.tree(tree)[s], candidate.exit);
    if (!admit_(s, siblings.to, tree)) {
      ways_.tree(tree)[s] = former;
      return false;
    }
    const std::uint64_t routes = targets_.sources(s) * siblings.lids[candidate.k];
    for (const Channel c : path) load_[c] -= routes;
    count(path, candidate.k, ~0U);
    path = candidate.path;
    for (const Channel c : path) load_[c] += routes;
    count(path, candidate.k, 1);
    return true;
  }

  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const AdmitWay admit_;
  Ways& ways_;
  const Channels channels_;            // what siblings may share if it has cables for each
  std::vector<std::uint32_t> cables_;  // by channel
  std::vector<std::uint32_t> used_;    // by channel, while ways are counted
  std::vector<double> price_;          // by channel, of a route: more on slow links
  std::vector<std::uint64_t> load_;    // by channel, in routes
  double load_max_{0};                 // of a cable, in prices
  std::vector<Siblings> all_;
  std::vector<Lid> lid_of_tree_;  // one that follows it
  std::vector<Channel> touched_;
  std::vector<Path> paths_;  // from the switch at hand
  // To the target at hand.
  std::vector<std::uint32_t> hops_, through_;
  std::vector<SwitchIndex> near_first_;
  std::vector<bool> in_need_;                      // by switch
  std::vector<std::vector<std::uint8_t>> former_;  // by LID of a port and switch
  std::vector<std::vector<bool>> worthy_;
};

bool applies(const Request& request, const Targets& targets, const Ways& ways) {
  return targets.lids_of_a_port() > 1 &&
         request.graph->arc_count() * std::uint64_t{ways.tree_count()} <= kWorkMax;
}

}  // namespace

std::size_t part_ways(const Request& request, const Targets& targets, Ways& ways,
                      const AdmitWay& admit) {
  return applies(request, targets, ways) ? WayParter(request, targets, ways, admit).run() : 0;
}

bool keep_parted_ways(const Request& request, const Targets& targets, Ways& ways) {
  return request.options.honour_previous && request.previous != nullptr &&
         applies(request, targets, ways) &&
         WayParter(request, targets, ways, {}).keep(*request.previous);
}

}  // namespace ib::route
