// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Trees of routes, one after the other, that keep every VL free of credit loops. What may follow
// what on a VL is an order of its channels: a path must go forwards in the order of its VL (its
// VL). The first VL's order is there before the trees, or comes about with them; trees can be
// grown again and again under it, with the loads of all others in place.
#pragma once

#include "libdiag/route/deadlock/escape_tree.h"
#include "libdiag/route/engine.h"
#include "libdiag/route/shape/channels.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/route/up_down/up_down.h"

namespace ib::route {

/// Channels in an order in which exactly the up*/down* paths go forwards.
std::vector<Channel> channel_order(const Channels& channels, const UpDownOrder& order);

class VlTrees {
 public:
  /// VL 0 follows `order`, by which every switch must reach every other of its component in the
  /// way of up*/down* paths: then no choice made on the way leads into a dead end.
  VlTrees(const Request& request, const Targets& targets, std::span<const Channel> order);
  /// VL 0 is empty but for the turns of an escape tree, and fills with what trees use until it
  /// holds no more (the idea of Nue: Domke, Hoefler, Matsuoka). What finds no way otherwise goes
  /// over the escape tree.
  VlTrees(const Request& request, const Targets& targets);

  VlTrees(VlTrees&&) noexcept;
  VlTrees& operator=(VlTrees&&) noexcept;
  ~VlTrees();

  /// About how many arcs growing all trees once looks at.
  static double work(const fabric::CompactGraph& graph, const Targets& targets);

  /// A tree for each target, or several where that is cheap: all on VL 0.
  void grow_all();
  /// Grows every tree again, all others in place, up to `rounds` times or until the greatest load
  /// falls no more; the best is kept.
  void improve(unsigned rounds);
  /// With VLs 1 to VLs-1: as many targets as fit get trees of shortest paths instead, from and
  /// to everybody. Pairs get the VL they had by `previous`, as SL, where it takes them. Returns how
  /// many.
  std::size_t shorten(unsigned vls, const tables::PathSls* previous = nullptr);

  /// Routes over a link of usual capacity, at most.
  double greatest_load() const;
  double total_load() const;
  unsigned vls_used() const;

  struct Tables {
    tables::LinearTables lfts;
    std::size_t switches_beside{};  // without CAs, to which ways go that keep to no VL
  };
  /// With entries for the LIDs of switches without CAs.
  Tables tables();
  /// The VL of every pair of switches, as SL.
  tables::PathSls sls() const;
  const EscapeTree& escape_tree() const { return escape_; }

 private:
  class Vl;
  struct Tree {
    fabric::SwitchIndex leaf{};
    std::vector<Lid> lids;
    std::size_t lids_loaded{0};              // the first of lids; routes to others are no load
    std::vector<fabric::SwitchIndex> order;  // the leaf first, then nearer ones first
    std::vector<Channel> next;               // by switch
  };
  struct Node {
    Channel next{kNoChannel};
    double cost{};
    double best{};            // of what is in the queue
    std::uint32_t covered{};  // VLs in which the whole path from here goes forwards
    bool attached{false};
    Channel pinned{kNoChannel};  // the way over the escape tree
  };
  struct Entry {
    double cost;
    Channel channel;  // from the switch to be attached
    bool operator>(const Entry& o) const {
      return cost != o.cost ? cost > o.cost : channel > o.channel;
    }
  };

  VlTrees(const Request& request, const Targets& targets, bool);

  bool is_source(fabric::SwitchIndex s) const { return graph_->end_ports()[s] != 0; }
  std::uint8_t& vl_of(fabric::SwitchIndex a, fabric::SwitchIndex b) {
    return vl_of_[std::size_t{std::max(a, b)} * graph_->switch_count() + std::min(a, b)];
  }
  Channel channel(fabric::SwitchIndex from, fabric::SwitchIndex to) const;

  bool grow(fabric::SwitchIndex leaf);
  void attach(fabric::SwitchIndex s, const Entry& entry);
  void attached(fabric::SwitchIndex s, std::uint32_t covered);
  std::uint32_t covered_over(Channel c) const;
  bool may_use(fabric::SwitchIndex s, Channel c);
  bool extend(Channel c);
  void grow_or_escape(fabric::SwitchIndex leaf);
  void take(Tree& tree) const;
  void account(const Tree& tree, double sign);
  void set_weight(Channel c);
  void set_weights(double steepness);
  std::vector<Tree> shortest_trees();
  bool shorten_one(fabric::SwitchIndex leaf, std::vector<Tree>& shortest,
                   const tables::PathSls* previous);
  void append_path(const Tree& tree, fabric::SwitchIndex from, std::vector<Dependency>& out) const;
  void write(const Tree& tree, std::vector<double>& arc_load, tables::LinearTables& tables);
  void lead_own(tables::LinearTables& lfts) const;

  const fabric::CompactGraph* graph_;
  const Targets* targets_;
  Channels channels_;
  EscapeTree escape_;
  std::vector<Vl> vls_;
  std::vector<std::uint8_t> vl_of_;  // by pair of switches
  std::vector<Tree> trees_;
  std::vector<std::vector<std::uint32_t>> trees_of_;  // by switch

  std::vector<double> load_;    // by channel: routes
  std::vector<double> cost_;    // by channel: of a route, less where links are many or fast
  std::vector<double> weight_;  // by channel: what a path pays for it
  double steepness_{0}, mean_{1};
  std::vector<std::uint32_t> arc_cost_;
  bool free_{false};  // VLs do not count: shortest paths

  // The tree at hand.
  fabric::SwitchIndex leaf_{};
  std::vector<Node> nodes_;
  std::vector<fabric::SwitchIndex> order_;
  std::vector<Entry> queue_;
  std::vector<Dependency> added_;  // to VL 0
  std::vector<std::uint32_t> through_;
};

}  // namespace ib::route
