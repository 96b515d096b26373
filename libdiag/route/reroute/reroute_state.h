// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What reroute.h keeps between updates, and the moves on it. Invariant: load_ is what the tables
// make of it, whatever entry was changed last.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "libdiag/route/reroute/own_ways.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/route/up_down/live_ways.h"
#include "libdiag/route/up_down/load_floor.h"

namespace ib::route {

/// What a link can carry.
using LinkKind = std::pair<wire::LinkWidth, wire::LinkSpeed>;
LinkKind kind_of(const fabric::Fabric& fabric, fabric::NodeIndex node, std::uint8_t port);

/// The same switches, and end ports behind the same of their ports.
bool same_ends(const fabric::CompactGraph& a, const fabric::CompactGraph& b);
bool same_arc(const fabric::Arc& a, const fabric::Arc& b);

/// By switch, then LID. Of several changes of one entry the first knows what was before and the
/// last what is now.
std::vector<Difference::Entry> net_changes(std::vector<Difference::Entry> changes);
/// A difference of these entries, which are in its order.
Difference with_blocks(std::vector<Difference::Entry> entries);

class Rerouter::State {
 public:
  /// `targets` tell what counts as load.
  State(const Request& request, fabric::CompactGraph graph, Routes routes, Targets targets);
  State(const State&) = delete;  // ways_ look at the graph
  State& operator=(const State&) = delete;

  /// Follows the links to those of the request; false when they cannot be followed. Routes have not
  /// changed then.
  bool follow(const Request& request);
  /// Whether it found any that were lost, or came.
  bool has_moved() const {
    return !links.lost.empty() || !links.found.empty() || !went_.empty() || !came_.empty();
  }
  bool has_lost_switches() const { return !went_.empty(); }
  /// Whether switches are gone that were there once.
  bool is_short_of_switches() const { return here_.has_value(); }
  /// Whether it has gone back to the tables it had when the links were the same.
  bool has_returned() const { return returned_; }
  /// The routes that it began with.
  Routes first_routes() const;
  const std::vector<LinkKind>& kinds() const { return kinds_; }
  /// What has changed since, or since the state began.
  Difference take_changes();

  /// Own ways (own_ways.h) follow from all else, so they are no part of it: they are laid when that
  /// is settled, and lifted before anything is asked of the tables or changed in them. `now`: the
  /// links that are alive.
  void lay_own_ways(const fabric::CompactGraph& now);
  void lift_own_ways();
  /// Lays those that were lifted last: nothing has changed.
  void restore_own_ways();
  /// Those that were laid last, by the switches of `now`.
  std::vector<OwnWay> own_ways(const fabric::CompactGraph& now) const;

  Routes routes;    // of the switches that are there, see here()
  LiveLinks links;  // all that there ever were since it was adopted; of gone switches all are down
  std::uint64_t load_max() const;
  std::uint64_t most_routes() const;
  /// No routes that the engine could make have a lower maximum.
  double load_floor() const;
  /// The most loaded link of other routes over the same links, at the costs of these.
  std::uint64_t load_max_of(const State& other) const;
  /// Moves single entries off links that carry more than `limit`; false when some still do.
  bool lower_to(std::uint64_t limit) {
    looks_ = 0;
    return lower_to(limit, std::vector<std::uint8_t>(goals_.size(), 0));
  }
  /// The same, and takes the ways that `fresh` has to a LID, for as many LIDs as it needs: for all
  /// at most, if those keep within the limit and are candidates.
  bool approach(const State& fresh, std::uint64_t limit);

  /// Fills candidates and loads. False: the tables hold entries that are no candidates.
  bool take_stock(CandidateRule of);
  /// The same, of tables that were made for another fabric, keeping what is a candidate; the rest
  /// is mended as after a failure, and links that `old` did not have get their share. Returns to
  /// how many switches that cables join with them switches with CAs have no way, in all; nothing
  /// when there are CAs at both.
  std::optional<std::size_t> take_over(CandidateRule of, const LiveLinks& old);
  /// The same, of tables that were made for this fabric: nothing moves but what must be mended.
  std::optional<std::size_t> take_up(CandidateRule of);
  /// Gives links that carry nothing their share, and takes from those that carry most.
  void relieve_all();
  /// Relieves the most loaded links as long as that helps. Of `Mended` only entries move whose way
  /// was mended in this update: those that led over lost links. `Fresh` routes, which nobody holds
  /// yet, are relieved further, to kNearLeast.
  enum class Moving { Mended, All, Fresh };
  void level_out(Moving moving);
  /// The rule for the switches of `now`; nothing when the engine must make one.
  std::optional<CandidateRule> rule_among(const fabric::CompactGraph& now) const {
    return rule_.among ? rule_.among(now) : std::nullopt;
  }
  /// Whether links can be followed; not without a rule.
  bool follows() const { return ways_ != nullptr; }
  const CandidateRule& rule() const { return rule_; }
  /// Whether an order of the switches that are there is the one that is kept.
  bool keeps(const std::vector<std::uint32_t>& up_order) const;
  bool keeps_order_of(const State& other) const { return keeps(other.rule_.up_order); }
  /// Whose indexes `routes` have: the graph that was followed last, less than that of `links` while
  /// switches are gone.
  const fabric::CompactGraph& here() const { return here_ ? *here_ : links.graph; }

 private:
  static constexpr std::uint32_t kNoArc = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoTarget = 0xFFFFFFFF;

  /// What a LID stands for.
  struct Goal {
    std::uint32_t target{kNoTarget};
    fabric::SwitchIndex leaf{};
    bool counts{false};  // as load
    std::uint8_t offset{};
  };
  /// Longer ways that the tables of a batch had when they were adopted. Those of a target stand
  /// while its candidates only become fewer.
  struct Detours {
    std::vector<std::uint64_t> words;  // as candidates_, or empty
    std::vector<std::uint32_t> arcs;   // that have some, or had
  };
  /// An entry whose port is no candidate any more.
  struct Fix {
    Lid lid{};
    std::uint32_t level{};  // of its switch: nearer ones are mended first
    fabric::SwitchIndex at{};
    friend auto operator<=>(const Fix&, const Fix&) = default;
  };

  std::uint32_t arc_by_port(fabric::SwitchIndex s, std::uint8_t port) const {
    return port < ports_ ? arc_by_port_[s * ports_ + port] : kNoArc;
  }
  bool is_gone(fabric::SwitchIndex s) const { return place_[s] == fabric::kNoSwitch; }
  std::span<const std::uint8_t> row(fabric::SwitchIndex s) const {
    return is_gone(s) ? std::span(none_) : routes.lfts.row(place_[s]);
  }
  std::uint32_t arc_of(fabric::SwitchIndex s, Lid lid) const {
    return arc_by_port(s, row(s)[lid.value]);
  }
  const fabric::Arc& arc(std::uint32_t index) const { return links.arc(index); }
  bool is_candidate(std::uint32_t arc, std::uint32_t target) const {
    const std::size_t batch = target / tables::kTargetsPerBatch;
    std::uint64_t word = candidates_[batch][arc];
    if (!detours_[batch].words.empty()) word |= detours_[batch].words[arc];
    return ((word >> (target % tables::kTargetsPerBatch)) & 1) != 0;
  }
  template <class Function>
  void along(fabric::SwitchIndex s, Lid lid, fabric::SwitchIndex leaf, Function function) const;
  template <class Function>
  void for_lids(std::uint32_t target, Function function) const;

  /// One update, to be undone when the links are again what they were before it.
  struct Step {
    std::vector<std::uint32_t> dead;                            // arcs that were down before it
    std::vector<Difference::Entry> entries;                     // that it changed
    std::vector<std::pair<std::uint32_t, std::uint64_t>> load;  // before it, where it changed
    struct DetourWord {
      std::size_t batch{};
      std::uint32_t arc{};
      std::uint64_t targets{};
    };
    std::vector<DetourWord> detours;  // all there were before it
  };

  // Switches that go and come back, see reroute_switches.cpp.
  bool match(const fabric::CompactGraph& now);
  bool same_rest(const fabric::CompactGraph& now) const;
  void move_rows(const fabric::CompactGraph& now);
  void admit(const fabric::CompactGraph& now);
  void withdraw(std::vector<Fix>& fixes);
  void dismiss(const fabric::CompactGraph& now);

  bool compare(const fabric::CompactGraph& now);
  bool same_kinds(const Request& request) const;
  /// Candidates after links went and came, and the entries that are none any more. False: the rule
  /// leaves hosts without a way that cables would give them.
  /// What a processor adds up while stock is taken.
  struct Stock {
    std::vector<std::uint64_t> load;  // by arc
    std::vector<Fix> fixes;           // of take_over()
    std::vector<OwnWay> left_out;     // entries where the rule has no way
    std::size_t apart{0};             // pairs of switches, one with CAs, without a way
    bool hosts_apart{false};          // and two with hosts
    // Of the targets at hand, see take_load().
    struct Longer {
      fabric::SwitchIndex from;
      Lid lid;
      std::uint32_t sources;
    };
    std::vector<std::pair<Lid, bool>> columns;  // and whether they count
    std::vector<std::uint16_t> arriving;
    std::vector<Longer> longer;
  };
  void begin(CandidateRule of);
  std::optional<std::size_t> keep_candidates(CandidateRule of);
  template <class Function>
  Stock take_batches(Function function);
  void write_own();
  void leave_out(std::size_t batch, const tables::LeastHops& hops,
                 std::span<const std::uint32_t> parts, Stock& stock) const;
  void clear(const std::vector<OwnWay>& entries);
  bool take_load(std::size_t batch, const tables::LeastHops& hops, const tables::LeastHops* keeping,
                 Stock& stock);
  bool take_load(std::size_t batch, std::size_t first, std::size_t end,
                 const tables::LeastHops& hops, const tables::LeastHops* keeping, Stock& stock);
  /// Targets of a batch that have detours.
  std::uint64_t detoured(std::size_t batch) const;
  /// Takes away the detours of a target that are none any more by `wider`, what the rule allows in
  /// all, whose arcs are those of `now` and whose bit for the target is `place`.
  void review_detours(const fabric::CompactGraph& now, std::uint32_t target,
                      const tables::LeastHops& hops, const tables::LeastHops& wider,
                      std::size_t place, std::vector<Fix>& fixes);
  /// The same of several targets, to which `hops` leads.
  void review(const fabric::CompactGraph& now, std::span<const std::uint32_t> targets,
              const tables::LeastHops& hops, std::vector<Fix>& fixes);
  std::vector<fabric::SwitchIndex> leaves_of(std::span<const std::uint32_t> targets) const;
  /// And those of `targets` of a batch over lost links.
  void drop_lost_detours(std::size_t batch, std::uint64_t targets, std::vector<Fix>& fixes);
  bool choose_again(const fabric::CompactGraph& now, std::vector<Fix>& fixes);
  /// The same for targets that the rule looks at as a whole.
  bool ask_again(const fabric::CompactGraph& now, const std::vector<std::uint32_t>& targets,
                 std::vector<Fix>& fixes);

  std::uint64_t sources(fabric::SwitchIndex s, Lid lid) const;
  std::uint64_t sources_of(fabric::SwitchIndex s, Lid lid) const {
    return goals_[lid.value].counts ? sources(s, lid) : 0;
  }
  void add_load(fabric::SwitchIndex s, Lid lid, std::uint64_t sources);
  void drop_load(fabric::SwitchIndex s, Lid lid, std::uint64_t sources);
  std::uint64_t crest(std::uint32_t arc, Lid lid, std::uint64_t sources) const;
  void set(fabric::SwitchIndex s, Lid lid, std::uint8_t port);
  void note_lack(fabric::SwitchIndex s, Lid lid);
  void note_lacks_of_what_came();
  int overlap(fabric::SwitchIndex s, Lid lid, fabric::SwitchIndex to) const;
  std::uint32_t best(fabric::SwitchIndex s, Lid lid, std::uint64_t sources) const;
  void check(fabric::SwitchIndex s, std::uint32_t target, bool way, std::uint32_t level,
             std::vector<Fix>& fixes) const;
  bool must_reach(fabric::SwitchIndex s, const Target& target) const;
  bool leaves_hosts_apart() const;
  void mend_all(std::vector<Fix>& fixes);
  void mend(const Fix& fix);
  void use(std::uint32_t found);
  bool relieve(std::uint32_t arc);
  bool shift(std::uint32_t arc, fabric::SwitchIndex s, Lid lid);
  bool may_shift(fabric::SwitchIndex s, Lid lid) const;
  bool even_with_peers(std::uint32_t arc) const;

  using Lids = std::vector<std::uint8_t>;  // a flag for each
  bool lower_to(std::uint64_t limit, const Lids& kept);
  bool unload(std::uint32_t arc, std::uint64_t limit, const Lids& kept);
  bool divert(std::uint32_t arc, fabric::SwitchIndex s, Lid lid, std::uint64_t limit);
  bool turn_aside(fabric::SwitchIndex s, Lid lid, std::uint64_t limit);
  std::uint64_t excess(std::uint32_t arc, Lid lid, std::uint64_t sources,
                       std::uint64_t limit) const;
  std::vector<Lid> helped_by(const State& fresh, std::uint64_t limit, const Lids& without) const;
  bool fits(const State& fresh, Lid lid) const;
  void take_ways(const State& fresh, Lid lid);

  // What was, see reroute_return.cpp.
  void begin_step();
  void end_step(const std::vector<Difference::Entry>& entries);
  void follow_dead();
  void forget_a_step();
  bool go_back();
  void go_home();

  CandidateRule rule_;
  std::unique_ptr<LiveWays> ways_;
  std::uint64_t looks_{0};  // of the relief at hand
  bool astray_{false};      // what is known of links is not what the tables were made for
  bool weighted_{false};    // hops are not all alike
  Targets targets_;
  std::vector<std::vector<std::uint64_t>> candidates_;  // by batch and arc, a bit a target
  std::vector<Detours> detours_;                        // by batch
  std::vector<std::uint32_t> cost_;                     // of a route, by arc
  std::vector<std::uint64_t> load_;                     // by arc
  std::vector<LinkKind> kinds_;                         // by arc
  LoadFloor floor_;
  std::vector<std::uint8_t> in_motion_;  // by target: some other switch waits to be mended
  std::size_t ports_;
  std::vector<std::uint32_t> arc_by_port_;                   // [s * ports_ + port]
  std::vector<Goal> goals_;                                  // by LID
  std::vector<Guid> system_;                                 // by switch
  std::vector<Difference::Entry> changed_;                   // in the order of changes
  Moving moving_{Moving::All};                               // of the relief at hand
  std::vector<std::pair<Lid, fabric::SwitchIndex>> mended_;  // ascending; where moving_ says so
  std::vector<Step> steps_;            // since it began; all of them undone, all links are alive
  Step step_;                          // under way
  std::vector<std::uint64_t> loaded_;  // load_ before the step at hand
  std::vector<std::uint32_t> dead_;    // ascending
  bool returned_{false};
  std::vector<fabric::SwitchIndex> place_;        // in here(); kNoSwitch: it is gone
  std::vector<fabric::SwitchIndex> next_;         // likewise, in the graph that is being followed
  std::vector<fabric::SwitchIndex> went_, came_;  // in this update
  std::optional<fabric::CompactGraph> here_;      // while switches are gone
  std::vector<std::uint32_t> senders_;            // Targets::sources of those that are there
  std::vector<std::uint32_t> up_order_;           // of all, as routes.multicast had it
  std::vector<std::uint8_t> none_;                // the row of a switch that is gone
  std::vector<OwnWay> own_ways_;                  // by the switches of here()
  std::vector<std::uint8_t> may_lack_;            // by switch: ways to hosts
};

template <class Function>
void Rerouter::State::along(fabric::SwitchIndex s, Lid lid, fabric::SwitchIndex leaf,
                            Function function) const {
  while (s != leaf) {
    const std::uint32_t a = arc_of(s, lid);
    if (a == kNoArc) return;
    function(a);
    s = arc(a).to;
  }
}

template <class Function>
void Rerouter::State::for_lids(std::uint32_t target, Function function) const {
  const Target& t = targets_.all()[target];
  for (const auto& column : targets_.columns(t)) function(column.lid);
  for (const auto& own : targets_.switch_lids(t.leaf))
    if (goals_[own.lid.value].target == target) function(own.lid);
}

}  // namespace ib::route
