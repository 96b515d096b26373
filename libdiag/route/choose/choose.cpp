// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "libdiag/base/groups.h"
#include "libdiag/route/option_use.h"
#include "libdiag/route/shape/tree_shape.h"
#include "libdiag/tables/names.h"
#include "libdiag/tables/sl_moves.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::kNoSwitch;
using fabric::SwitchIndex;

/// How many hosts share a switch with the host in the middle when hosts are sorted by that number.
std::uint32_t usual_hosts(const CompactGraph& graph) {
  std::vector<std::uint32_t> counts(graph.attached().begin(), graph.attached().end());
  std::sort(counts.begin(), counts.end());
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::uint64_t before = 0;
  for (const std::uint32_t n : counts) {
    before += n;
    if (before * 2 >= all) return n;
  }
  return 0;
}

/// Distances from the switches that hosts hang off. Those with few hosts beside others with many
/// are tops of a tree with a storage box.
std::vector<std::uint32_t> ranks(const CompactGraph& graph) {
  const std::uint32_t usual = usual_hosts(graph);
  std::vector<std::uint32_t> rank(graph.switch_count(), kNoSwitch);
  std::vector<SwitchIndex> queue;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (graph.attached()[s] != 0 && graph.attached()[s] * 2 >= usual) {
      rank[s] = 0;
      queue.push_back(s);
    }
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const auto& arc : graph.arcs(queue[i]))
      if (rank[arc.to] == kNoSwitch) {
        rank[arc.to] = rank[queue[i]] + 1;
        queue.push_back(arc.to);
      }
  return rank;
}

/// At most one way between any two switches, parallel cables aside.
bool is_forest(const CompactGraph& graph) {
  Groups joined(graph.switch_count());
  std::vector<SwitchIndex> neighbours;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    neighbours.clear();
    for (const auto& arc : graph.arcs(s))
      if (arc.to > s) neighbours.push_back(arc.to);
    std::sort(neighbours.begin(), neighbours.end());
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    for (const SwitchIndex far : neighbours)
      if (!joined.join(s, far)) return false;
  }
  return true;
}

/// Levels with hosts at the bottom and next to no cable within a level.
bool is_tree_like(const CompactGraph& graph) {
  if (is_forest(graph)) return true;
  const auto rank = ranks(graph);
  std::size_t level = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s)) level += rank[s] == rank[arc.to] ? 1 : 0;
  constexpr std::size_t kOneIn = 20;
  return level * kOneIn <= graph.arc_count();
}

std::string why_it_fails(const tables::Verdict& verdict) {
  for (const auto& finding : verdict.findings)
    if (finding.must) return finding.message;
  return std::to_string(verdict.must_failures) + " checks that must hold fail";
}

Result<Routes> followed(Rerouter& rerouter, const fabric::Fabric& fabric,
                        const CompactGraph& graph) {
  if (const auto change = rerouter.update(fabric, graph); !change)
    return tl::unexpected(change.error());
  return rerouter.routes();
}

/// "routing engine ftree is selected by ...": one line on all that were compared.
std::string compared(const Choice& choice) {
  std::string all;
  std::size_t count = 0;
  for (const Tried& row : choice.tried) {
    if (!row.quality) continue;
    const Quality& q = *row.quality;
    all += fmt::format("{}{} {:.0f}{} on {}", all.empty() ? "" : ", ", row.engine, q.load,
                       q.contention ? fmt::format(" and {:.2f}", *q.contention) : "",
                       tables::counted(q.vls, "VL", "VLs"));
    ++count;
  }
  if (count < 2) return {};
  return fmt::format(
      "routing engine {} is selected by maximum load, contention of shifts and VLs: {}",
      choice.routes.engine, all);
}

std::string sentence(const Tried& row) {
  return "routing engine " + row.engine + (row.verdict ? " is rejected: " : " does not fit: ") +
         row.why;
}

}  // namespace

std::vector<std::string> default_engines(const CompactGraph& graph) {
  static constexpr const char* kTrees[] = {"ftree", "updn", "dnup", "minhop", "dfsssp", "nue"};
  // The engines of one kind of network look for it themselves and say when it is not there.
  static constexpr const char* kOthers[] = {"updn", "torus-2QoS", "dfsssp", "dnup",   "dfp",
                                            "lash", "nue",        "ftree",  "valley", "minhop"};
  std::vector<std::string> names;
  const auto add = [&](std::span<const char* const> list) {
    for (const char* name : list)
      if (find_engine(name) != nullptr &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.emplace_back(name);
  };
  if (is_tree_like(graph)) {
    // Behind ftree, so that it is tried on trees of any size.
    static constexpr const char* kHostsAbove[] = {"ftree", "valley"};
    Request request;
    request.graph = &graph;
    if (!is_forest(graph) && has_hosts_above(graph, *ranks_from_roots(request))) add(kHostsAbove);
    add(kTrees);
    // Where CAs hang off spines it may be the best, and finding out takes long on large trees.
    constexpr std::size_t kArcsTimesLids = 1'000'000;
    static constexpr const char* kSmallTrees[] = {"dfp"};
    if (graph.arc_count() * graph.destinations().size() <= kArcsTimesLids) add(kSmallTrees);
  } else {
    add(kOthers);
  }
  return names;
}

Result<void> check_engine_names(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (find_engine(name) != nullptr) continue;
    std::string known;
    for (const EngineEntry& e : engines()) known.append(known.empty() ? "" : ", ").append(e.name);
    std::string message = "no routing engine is called '";
    message.append(name).append("'; there are: ").append(known);
    return fail(ErrorKind::Usage, std::move(message));
  }
  return {};
}

Result<void> read_engine_list(std::string_view list, ChoiceOptions& choice) {
  choice.engines.clear();
  choice.no_fallback = false;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name == "no_fallback") {
      choice.no_fallback = true;
    } else if (!name.empty()) {
      choice.engines.emplace_back(name);
    }
  }
  if (choice.engines.empty() && !choice.no_fallback)
    return fail(ErrorKind::Usage, "expected an engine, got ''");
  if (auto known = check_engine_names(choice.engines); !known)
    return fail(ErrorKind::Usage, "expected engines; " + known.error().message);
  return {};
}

bool fails_less(const tables::Verdict& a, const tables::Verdict& b) {
  if (a.credit_loop_channels != 0 && b.credit_loop_channels == 0) return false;
  return a.unreachable < b.unreachable ||
         (a.unreachable == b.unreachable && a.credit_loop_channels == 0 &&
          b.credit_loop_channels != 0);
}

namespace {

/// One choice under way.
class Chooser {
 public:
  Chooser(const fabric::Fabric& fabric, const CompactGraph& graph, const ChoiceOptions& options,
          const tables::VerifyOptions& verify, const Before& before, tables::Verifier* keep)
      : fabric_(fabric),
        graph_(graph),
        options_(options),
        checks_(verify),
        before_(before),
        keep_(keep),
        // Routes need one VL at least; verify names the link that has none.
        request_{&fabric, &graph, options.engine, nullptr,
                 std::max(1U, tables::data_vls(fabric, graph, options.vls_max))} {
    checks_.credit_loops_are_must = !options.allow_credit_loops;
    request_.previous_sls = before.sls;
  }

  Choice run() {
    for (const std::string& name : options_.engines) {
      if (choice_.passed && !options_.compare) break;
      if (auto candidate = tried(name, true)) take_if_better(std::move(*candidate));
    }
    if (!choice_.passed && (options_.engines.empty() || !options_.no_fallback)) compare();
    if (choice_.passed && keep_ != nullptr) *keep_ = std::move(proof_);
    note_unused_options();
    return std::move(choice_);
  }

 private:
  struct Candidate {
    std::size_t row{};  // of Choice::tried
    Routes routes;
    tables::Verdict verdict;
    tables::Verifier proof;
    Quality quality;
    bool stays{false};  // of the engine in use
  };

  /// Engines that suit the fabric, that in use first; of those that pass the best.
  void compare() {
    std::vector<std::string> names;
    if (before_.rerouter != nullptr) names.emplace_back(before_.rerouter->engine());
    for (std::string& name : default_engines(graph_))
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    std::erase_if(names, [&](const std::string& name) { return is_listed(name); });
    const double floor = least_load(request_);
    double work = 0;
    std::vector<Candidate> passed;
    for (const std::string& name : names) {
      if (!passed.empty() && !options_.compare) {
        const auto enough = [&](const Candidate& c) {
          return is_perfect(c.quality, floor) || (work > kWorkForAHundredth && is_near(c, floor));
        };
        if (std::ranges::any_of(passed, enough)) break;
        const double more = work_of(name);
        if (work + more > kWorkMax || is_of_no_use(name, work)) continue;
        work += more;
      } else {
        work += work_of(name);
      }
      auto candidate = tried(name, false);
      if (!candidate) continue;
      if (!choice_.tried[candidate->row].passed) {
        if (passed.empty()) take_if_better(std::move(*candidate));
        continue;
      }
      candidate->stays = before_.rerouter != nullptr && name == before_.rerouter->engine();
      measure(*candidate, passed, floor);
      passed.push_back(std::move(*candidate));
      drop_the_worse(passed);
    }
    if (passed.empty()) return;
    std::vector<Quality> qualities;
    qualities.reserve(passed.size());
    for (const Candidate& candidate : passed) qualities.push_back(candidate.quality);
    std::size_t best = best_of(qualities);
    const double least = least_load_of(passed);
    const auto in_use = std::ranges::find(passed, true, &Candidate::stays);
    if (in_use != passed.end() && stays_near(*in_use, least))
      best = static_cast<std::size_t>(in_use - passed.begin());
    else if (sls_matter(passed))
      best = least_trouble(passed, best);
    take(std::move(passed[best]));
  }

  /// Whether it matters that connections go on with the SLs of before: on one VL it never does.
  bool sls_matter(std::span<const Candidate> passed) const {
    return before_.sls != nullptr && !std::ranges::all_of(passed, [](const Candidate& c) {
             return c.routes.virtual_lanes.trivial();
           });
  }

  static double least_load_of(std::span<const Candidate> of) {
    double least = of.front().quality.load;
    for (const Candidate& candidate : of) least = std::min(least, candidate.quality.load);
    return least;
  }
  static bool stays_near(const Candidate& candidate, double least) {
    return candidate.quality.load <= least * kStays;
  }
  /// Nobody's routes are better by much.
  static bool is_near(const Candidate& candidate, double floor) {
    return candidate.quality.load <= floor * kNearLeast && candidate.quality.vls == 1 &&
           candidate.verdict.switch_turns_refused == 0;
  }

  /// On an event: whose routes close no credit loop together with the SLs of before, that in use
  /// first, then the least loaded; where all close one, that by which the fewest pairs of switches
  /// get another SL. `first` where that is as good.
  std::size_t least_trouble(const std::vector<Candidate>& passed, std::size_t first) const {
    std::size_t best = first;
    std::vector<tables::SlMoves> moves;
    moves.reserve(passed.size());
    for (const Candidate& candidate : passed)
      moves.push_back(tables::sl_moves(fabric_, graph_, candidate.routes.lfts,
                                       candidate.routes.virtual_lanes, *before_.sls, checks_));
    const auto trouble = [&](std::size_t i) {
      const bool loops = moves[i].credit_loop_channels != 0;
      return std::tuple(loops, loops ? moves[i].pairs.size() : 0, !loops && !passed[i].stays);
    };
    for (std::size_t i = 0; i < passed.size(); ++i)
      if (trouble(i) < trouble(best) || (best != first && trouble(i) == trouble(best) &&
                                         passed[i].quality.load < passed[best].quality.load))
        best = i;
    return best;
  }

  bool is_listed(const std::string& name) const {
    return std::ranges::find(options_.engines, name) != options_.engines.end();
  }

  /// Contention is looked at where it tells between two, or may end the comparison.
  void measure(Candidate& candidate, std::vector<Candidate>& others, double floor) {
    Quality& own = candidate.quality;
    own.load = greatest_load(request_, candidate.routes.lfts);
    own.vls = candidate.routes.vls_used;
    const auto know = [&](Candidate& of) {
      if (!of.quality.contention)
        of.quality.contention = sampled_contention(graph_, of.routes.lfts);
      choice_.tried[of.row].quality = of.quality;
    };
    if (own.load <= floor * kEqualLoad) know(candidate);
    for (Candidate& other : others)
      if (own.load <= other.quality.load * kEqualLoad &&
          other.quality.load <= own.load * kEqualLoad)
        know(other), know(candidate);
    choice_.tried[candidate.row].quality = own;
  }

  /// Drops candidates that cannot be taken any more. Those whose paths between CAs and switches may
  /// close a credit loop are so once there is one without; what is in use goes last.
  void drop_the_worse(std::vector<Candidate>& passed) const {
    const auto doubtful = [](const Candidate& of) {
      return of.verdict.switch_turns_refused != 0 && !of.stays;
    };
    if (!std::ranges::all_of(passed, doubtful)) std::erase_if(passed, doubtful);
    const double least = least_load_of(passed);
    const bool loops_may_close = sls_matter(passed);
    std::erase_if(passed, [&](const Candidate& candidate) {
      const double most = loops_may_close ? kForFewerMoves : candidate.stays ? kStays : kEqualLoad;
      return candidate.quality.load > least * most;
    });
  }

  /// Engines whose routes are those of others, which are there already; after `work` also one
  /// whose routes are hardly better.
  bool is_of_no_use(const std::string& name, double work) const {
    const auto was = [&](std::string_view engine, bool passed) {
      return std::ranges::any_of(choice_.tried, [&](const Tried& row) {
        return row.engine == engine && row.passed == passed;
      });
    };
    // With enough VLs it asks these.
    if (name == "nue")
      return was("dfsssp", true) || was("ftree", true) || was("torus-2QoS", true) ||
             was("dfp", true);
    // What it tries, dfsssp has tried; its links are loaded no less, at best on fewer VLs.
    return name == "lash" &&
           (was("dfsssp", false) || (work > kWorkForAHundredth && was("dfsssp", true)));
  }

  /// How long an engine takes, in entries that are written.
  double work_of(const std::string& name) const {
    const double lids = static_cast<double>(graph_.destinations().size());
    const double entries = static_cast<double>(graph_.switch_count()) * lids;
    const double arcs = static_cast<double>(graph_.arc_count()) * lids;
    for (const auto& [engine, by_entries, by_arcs] : kWork)
      if (name == engine) return by_entries * entries + by_arcs * arcs;
    return entries;
  }

  /// Computes and verifies. Nothing: it does not fit.
  std::optional<Candidate> tried(const std::string& name, bool named) {
    const auto failed = std::ranges::find(before_.failed, name, &Tried::engine);
    if (failed != before_.failed.end()) {
      choice_.tried.push_back(*failed);
      choice_.tried.back().named = named;
      return std::nullopt;
    }
    Candidate candidate;
    candidate.row = choice_.tried.size();
    Tried& row = choice_.tried.emplace_back();
    row.engine = name;
    row.named = named;
    const EngineEntry* entry = find_engine(name);
    if (entry == nullptr) {
      row.why = "there is no such engine";
      return std::nullopt;
    }
    unfit_.clear();
    for (const Tried& other : choice_.tried)
      if (!other.passed && other.engine != name) unfit_.push_back(other.engine);
    request_.unfit = unfit_;
    const double start = options_.clock ? options_.clock() : 0;
    const bool follows = before_.rerouter != nullptr && before_.rerouter->engine() == name;
    auto routes = follows ? followed(*before_.rerouter, fabric_, graph_) : entry->compute(request_);
    if (options_.clock) row.seconds = options_.clock() - start;
    if (!routes) {
      row.why = std::move(routes.error().message);
      return std::nullopt;
    }
    candidate.proof = tables::Verifier(checks_);
    candidate.verdict = verdict_of(*routes, candidate.proof);
    if (follows && !candidate.verdict.must_ok())
      if (auto fresh = entry->compute(request_)) {
        routes = std::move(fresh);
        candidate.verdict = verdict_of(*routes, candidate.proof);
      }
    candidate.routes = std::move(*routes);
    row.vls_used = candidate.routes.vls_used;
    row.passed = candidate.verdict.must_ok();
    if (!row.passed) row.why = why_it_fails(candidate.verdict);
    row.verdict = candidate.verdict;
    if (options_.compare)
      row.figures = tables::figures(fabric_, graph_, candidate.routes.lfts, {1, 0, 0, 0});
    return candidate;
  }

  tables::Verdict verdict_of(const Routes& routes, tables::Verifier& proof) const {
    return proof.verify(fabric_, graph_, routes.lfts, routes.virtual_lanes);
  }

  void take_if_better(Candidate candidate) {
    const bool passed = choice_.tried[candidate.row].passed;
    if (choice_.routes.engine.empty() ||
        (passed ? !choice_.passed
                : !choice_.passed && fails_less(candidate.verdict, choice_.verdict)))
      take(std::move(candidate));
  }

  void take(Candidate candidate) {
    choice_.passed = choice_.tried[candidate.row].passed;
    choice_.routes = std::move(candidate.routes);
    choice_.verdict = std::move(candidate.verdict);
    proof_ = std::move(candidate.proof);
  }

  void note_unused_options() {
    if (choice_.routes.engine.empty()) return;
    auto& notes = choice_.routes.notes;
    const auto unused = unused_options(options_.engine, choice_.routes.engine, options_.engines);
    if (!unused.empty() && std::ranges::find(notes, unused) == notes.end()) notes.push_back(unused);
  }

  struct Work {
    const char* engine;
    double by_entries, by_arcs;
  };
  static constexpr Work kWork[] = {
      {"ftree", 1, 0},  {"minhop", 12, 0}, {"valley", 2, 0}, {"sssp", 0, 1},
      {"dfsssp", 0, 8}, {"lash", 0, 8},    {"nue", 0, 8},
  };
  static constexpr double kWorkMax = 3e8;
  /// After so much no more is done for the last hundredths of the load, nor for fewer VLs.
  static constexpr double kWorkForAHundredth = 1e7;
  /// How much more load is taken on an event where with less more pairs would get another SL, and a
  /// credit loop might close until they know.
  static constexpr double kForFewerMoves = 1.5;

  const fabric::Fabric& fabric_;
  const CompactGraph& graph_;
  const ChoiceOptions& options_;
  tables::VerifyOptions checks_;
  const Before before_;
  tables::Verifier* keep_;
  Request request_;
  std::vector<std::string> unfit_;
  Choice choice_;
  tables::Verifier proof_;  // of what was taken
};

}  // namespace

Choice choose_routes(const fabric::Fabric& fabric, const CompactGraph& graph,
                     const ChoiceOptions& options, const tables::VerifyOptions& verify,
                     const Before& before, tables::Verifier* keep) {
  return Chooser(fabric, graph, options, verify, before, keep).run();
}

std::vector<std::string> Choice::alarms() const {
  std::vector<std::string> lines;
  bool any_named = false;
  for (const Tried& row : tried) {
    any_named |= row.named;
    if (row.named && !row.passed) lines.push_back(sentence(row));
  }
  const auto taken = std::find_if(tried.begin(), tried.end(), [&](const Tried& t) {
    return t.passed && t.engine == routes.engine;
  });
  if (taken == tried.end()) {
    lines.push_back(routes.engine.empty()
                        ? "no routing engine fits this fabric"
                        : "no routing engine passes all checks; " + routes.engine + " fails least");
  } else if (any_named && !taken->named) {
    lines.push_back("none of the engines named can route this fabric; " + taken->engine + " does");
  }
  if (passed && verdict.credit_loop_channels != 0)
    lines.push_back("routes of " + routes.engine + " can deadlock, which is allowed: " +
                    std::to_string(verdict.credit_loop_channels) + " channels in credit loops");
  return lines;
}

std::vector<std::string> Choice::notes() const {
  std::vector<std::string> lines;
  for (const Tried& row : tried)
    if (!row.named && !row.passed) lines.push_back(sentence(row));
  if (std::string line = compared(*this); !line.empty()) lines.push_back(std::move(line));
  lines.insert(lines.end(), routes.notes.begin(), routes.notes.end());
  return lines;
}

}  // namespace ib::route
