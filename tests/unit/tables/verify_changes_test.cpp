// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_changes.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "libdiag/route/reroute/what_if.h"
#include "tests/unit/tables/cut.h"
#include "tests/unit/tables/patch.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

VerifyOptions strict_without_loads() {
  VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  return options;
}

LinearTables routed_by_minhop(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  return route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr})->lfts;
}

fabric::Fabric three_levels(unsigned radix) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = radix;
  return fabric::generate(kind).value();
}

/// Cables between switches.
std::vector<fabric::PortRef> cables(const fabric::CompactGraph& graph) {
  std::vector<fabric::PortRef> ends;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (s < arc.to) ends.push_back({graph.node_of(s), arc.out_port});
  return ends;
}

void expect_same(const Verdict& a, const Verdict& b, const std::string& what) {
  EXPECT_EQ(a.must_ok(), b.must_ok()) << what;
  EXPECT_EQ(a.pairs, b.pairs) << what;
  EXPECT_EQ(a.unreachable, b.unreachable) << what;
  EXPECT_EQ(a.loops, b.loops) << what;
  EXPECT_EQ(a.credit_loop_channels, b.credit_loop_channels) << what;
  EXPECT_EQ(a.must_failures, b.must_failures) << what;
}

TEST(VerifyChanges, ARerouteAroundACableIsProvedByItsDifference) {
  auto fabric = three_levels(8);
  Verifier verifier(strict_without_loads());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = routed_by_minhop(fabric, graph);
    EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
    EXPECT_FALSE(verifier.by_difference());
    fabric.disconnect(cables(graph).front());
  }
  const fabric::CompactGraph graph(fabric);
  const auto changes = patch(graph, tables);
  ASSERT_FALSE(changes.empty());
  const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_TRUE(verifier.by_difference());
}

/// The tables of `graph`, and what is new in them.
std::vector<EntryChange> rerouted(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                  LinearTables& tables) {
  LinearTables fresh = routed_by_minhop(fabric, graph);
  std::vector<EntryChange> changes;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < fresh.lid_count(); ++i) {
      const Lid lid{static_cast<std::uint16_t>(i)};
      if (fresh.at(s, lid) != tables.at(s, lid)) changes.push_back({s, lid});
    }
  tables = std::move(fresh);
  return changes;
}

TEST(VerifyChanges, AFabricThatFallsApartIsProvedByItsDifferenceAndOneThatGrowsTogetherAnew) {
  const auto whole = fabric::generate(fabric::Grid{{6}, false, 1, 2}).value();
  auto apart = whole;
  cut(apart, [](SwitchIndex a, SwitchIndex b) { return a < 3 && b >= 3; });
  const fabric::CompactGraph graph(whole), split(apart);
  Verifier verifier(strict_without_loads());
  LinearTables tables = routed_by_minhop(whole, graph);
  EXPECT_EQ(verifier.verify(whole, graph, tables).pairs, 6 * 12U);

  auto changes = rerouted(apart, split, tables);
  Verdict verdict = verifier.verify_changes(apart, split, tables, changes);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_TRUE(verifier.by_difference());
  EXPECT_EQ(verdict.pairs, 36U);
  EXPECT_EQ(verdict.pairs_apart, 36U);
  expect_same(verdict, verify(apart, split, tables, strict_without_loads()), "apart");

  // Joined again, with tables that do not know it yet.
  verdict = verifier.verify_changes(whole, graph, tables, {});
  EXPECT_FALSE(verifier.by_difference());
  EXPECT_EQ(verdict.unreachable, 36U);
  EXPECT_FALSE(verdict.must_ok());
}

TEST(VerifyChanges, ACircleOfALidInAnotherPieceIsFound) {
  auto fabric = fabric::generate(fabric::Grid{{4}, false, 1, 1}).value();
  cut(fabric, [](SwitchIndex a, SwitchIndex b) { return a < 2 && b >= 2; });
  const fabric::CompactGraph graph(fabric);
  Verifier verifier(strict_without_loads());
  LinearTables tables = routed_by_minhop(fabric, graph);
  EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  const auto& d = graph.destinations();
  const auto far = std::find_if(d.begin(), d.end(), [&](const auto& x) { return x.leaf == 3; });
  const auto& arc = graph.arcs(0)[0];
  tables.set(0, far->lid, arc.out_port);
  EXPECT_TRUE(
      verifier.verify_changes(fabric, graph, tables, std::vector<EntryChange>{{0, far->lid}})
          .must_ok());
  EXPECT_TRUE(verifier.by_difference());
  tables.set(arc.to, far->lid, arc.in_port);
  const Verdict verdict =
      verifier.verify_changes(fabric, graph, tables, std::vector<EntryChange>{{arc.to, far->lid}});
  EXPECT_EQ(verdict.loops, 2U);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, Finding::Kind::Loop);
}

TEST(VerifyChanges, AnEntryThatStillNamesADeadPortIsFound) {
  auto fabric = three_levels(8);
  Verifier verifier(strict_without_loads());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = routed_by_minhop(fabric, graph);
    EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
    fabric.disconnect(cables(graph).front());
  }
  // Nobody says that anything changed.
  const fabric::CompactGraph graph(fabric);
  const Verdict verdict = verifier.verify_changes(fabric, graph, tables, {});
  EXPECT_FALSE(verdict.must_ok());
  EXPECT_FALSE(verdict.findings.empty());
}

TEST(VerifyChanges, ACreditLoopOfNewAndOldEntriesIsFound) {
  // A ring routed along a line; then one pair of hosts after the other turns the short way.
  const auto fabric = fabric::generate(fabric::Grid{{6}, true, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto port = [&](SwitchIndex from, SwitchIndex to) {
    for (const auto& arc : graph.arcs(from))
      if (arc.to == to) return arc.out_port;
    return kNoPort;
  };
  LinearTables tables(graph.switch_count(), graph.max_lid());
  for (const auto& d : graph.destinations())
    for (SwitchIndex s = 0; s < 6; ++s)
      tables.set(s, d.lid, s == d.leaf ? d.port : port(s, d.leaf > s ? s + 1 : s - 1));
  const LinearTables target = routed_by_minhop(fabric, graph);
  Verifier verifier(strict_without_loads());
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  bool closed = false;
  for (const auto& d : graph.destinations()) {
    std::vector<EntryChange> changes;
    for (SwitchIndex s = 0; s < 6; ++s) {
      if (tables.at(s, d.lid) == target.at(s, d.lid)) continue;
      tables.set(s, d.lid, target.at(s, d.lid));
      changes.push_back({s, d.lid});
    }
    const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
    expect_same(verdict, verify(fabric, graph, tables, strict_without_loads()),
                std::to_string(d.lid.value));
    closed |= verdict.credit_loop_channels != 0;
  }
  EXPECT_TRUE(closed);
}

TEST(VerifyChanges, SaysWhatTheFullCheckSays) {
  const std::pair<const char*, fabric::Fabric> fabrics[] = {
      {"tree", three_levels(6)},
      {"dragonfly+", fabric::generate(fabric::DragonflyPlus{3, 2, 2, 2, 2}).value()},
      {"ring", fabric::generate(fabric::Grid{{5}, true, 2, 1}).value()},
      {"hyperx", fabric::generate(fabric::HyperX{{3, 3}, 2, 1}).value()}};
  std::size_t by_difference = 0;
  for (const auto& [name, whole] : fabrics) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      std::mt19937 random(seed);
      auto fabric = whole;
      Verifier verifier(strict_without_loads());
      fabric::CompactGraph graph(fabric);
      LinearTables tables = routed_by_minhop(fabric, graph);
      verifier.verify(fabric, graph, tables);
      for (int step = 0; step < 8; ++step) {
        std::vector<EntryChange> changes;
        if (step % 3 != 2) {  // a cable goes, and routes follow
          const auto ends = cables(graph);
          if (ends.empty()) break;
          fabric.disconnect(ends[random() % ends.size()]);
          graph = fabric::CompactGraph(fabric);
          changes = patch(graph, tables);
        } else {  // a few entries go anywhere
          for (int i = 0; i < 2; ++i) {
            const EntryChange change{
                static_cast<SwitchIndex>(random() % graph.switch_count()),
                graph.destinations()[random() % graph.destinations().size()].lid};
            tables.set(change.at, change.lid,
                       static_cast<std::uint8_t>(random() % (graph.max_ports() + 2)));
            changes.push_back(change);
          }
        }
        const std::string what =
            std::string(name) + ", seed " + std::to_string(seed) + ", step " + std::to_string(step);
        const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
        by_difference += verifier.by_difference();
        expect_same(verdict, verify(fabric, graph, tables, strict_without_loads()), what);
        // Whatever was broken is mended for the next step.
        if (step % 3 == 2) {
          changes = patch(graph, tables);
          expect_same(verifier.verify_changes(fabric, graph, tables, changes),
                      verify(fabric, graph, tables, strict_without_loads()), what + ", mended");
        }
      }
    }
  }
  EXPECT_GT(by_difference, 20U);
}

TEST(VerifyChanges, ANewHostAndAMovedOneAreFollowed) {
  auto fabric = three_levels(6);
  fabric::CompactGraph graph(fabric);
  LinearTables tables = routed_by_minhop(fabric, graph);
  Verifier verifier(strict_without_loads());
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  // Two hosts change places: the tables are not told at first.
  std::vector<fabric::PortRef> hosts;
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts.push_back(d.end_port);
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  EXPECT_FALSE(verifier.verify_changes(fabric, graph, tables, {}).must_ok());

  tables = routed_by_minhop(fabric, graph);
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  const auto changes = patch(graph, tables);
  EXPECT_TRUE(verifier.verify_changes(fabric, graph, tables, changes).must_ok());
  EXPECT_TRUE(verifier.by_difference());
}

// ---- switches that go, come back, or are new ----

fabric::Fabric without_switches(fabric::Fabric fabric, const std::vector<Guid>& gone) {
  route::WhatIf what_if;
  for (const Guid guid : gone) what_if.without.push_back(to_string(guid));
  EXPECT_TRUE(route::take_away(fabric, what_if));
  return fabric;
}

/// Fabrics, one after the other, and the tables that follow them.
class Followed {
 public:
  explicit Followed(const fabric::Fabric& first)
      : fabric(first), graph(first), tables(routed_by_minhop(first, graph)) {
    verifier.verify(fabric, graph, tables);
  }
  /// The tables by the switches that are there now.
  void go_to(const fabric::Fabric& now) {
    const fabric::CompactGraph next(now);
    tables = carried_over(tables, graph, next);
    fabric = now;
    graph = next;
  }
  /// Holds the verdict by difference against the full one.
  void expect_verdict(std::span<const EntryChange> changes, const std::string& what) {
    const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
    by_difference += verifier.by_difference() ? 1 : 0;
    const Verdict full = verify(fabric, graph, tables, strict_without_loads());
    faulty += full.must_ok() ? 0 : 1;
    credit_loops += full.credit_loop_channels != 0 ? 1 : 0;
    expect_same(verdict, full, what);
  }

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  LinearTables tables;
  Verifier verifier{strict_without_loads()};
  std::size_t by_difference{0}, faulty{0}, credit_loops{0};
};

TEST(VerifyChanges, SwitchesThatGoAndComeBackAreProvedByTheDifference) {
  const auto whole = three_levels(6);
  const fabric::CompactGraph all(whole);
  Followed followed(whole);
  for (SwitchIndex s = 0; s < all.switch_count(); ++s) {
    const std::string name = "switch " + std::to_string(s);
    followed.go_to(without_switches(whole, {all.guid(s)}));
    followed.expect_verdict(patch(followed.graph, followed.tables), name + " goes");
    followed.go_to(whole);
    followed.expect_verdict(patch(followed.graph, followed.tables), name + " comes back");
  }
  EXPECT_EQ(followed.by_difference, 2 * all.switch_count());
  EXPECT_EQ(followed.faulty, 0U);
}

TEST(VerifyChanges, WhatANewLeafOrTheOthersGetWrongIsFound) {
  const auto whole = three_levels(6);
  const fabric::CompactGraph all(whole);
  const auto is_needed = [&](const EntryChange& change) {
    const auto to = std::ranges::find(all.destinations(), change.lid, &fabric::Destination::lid);
    return all.end_ports()[change.at] != 0 && !to->is_switch();
  };
  for (SwitchIndex s = 0; s < all.switch_count(); ++s) {
    if (all.end_ports()[s] == 0) continue;
    const std::string name = "switch " + std::to_string(s);
    const auto without = without_switches(whole, {all.guid(s)});
    Followed followed(without);
    followed.go_to(whole);
    followed.expect_verdict({}, name + " is not known");
    EXPECT_EQ(followed.faulty, 1U) << name;
    auto changes = patch(followed.graph, followed.tables);
    std::erase_if(changes, [&](const EntryChange& change) { return !is_needed(change); });
    ASSERT_FALSE(changes.empty());
    for (std::size_t i = 0; i < changes.size(); i += 7) {
      Followed lacking(without);
      lacking.go_to(whole);
      lacking.tables = followed.tables;
      lacking.expect_verdict({}, name + " with all entries, which are not told");
      EXPECT_EQ(lacking.by_difference, 1U) << name;
      lacking.tables.set(changes[i].at, changes[i].lid, kNoPort);
      lacking.expect_verdict(std::span(&changes[i], 1), name + " without one");
      EXPECT_EQ(lacking.faulty, 1U) << name;
      Followed never(without);
      never.go_to(whole);
      never.tables = lacking.tables;
      never.expect_verdict({}, name + " without one from the beginning");
      EXPECT_EQ(never.faulty, 1U) << name;
    }
  }
}

TEST(VerifyChanges, EntriesForASwitchThatIsGoneAreFound) {
  const auto whole = three_levels(6);
  const fabric::CompactGraph all(whole);
  for (SwitchIndex s = 0; s < all.switch_count(); ++s) {
    if (all.end_ports()[s] != 0) continue;
    Followed followed(whole);
    followed.go_to(without_switches(whole, {all.guid(s)}));
    followed.expect_verdict({}, "switch " + std::to_string(s));
    EXPECT_EQ(followed.faulty, 1U) << s;
  }
}

/// A ring of which one switch is missing is a line. With it the shortest ways close a circle.
TEST(VerifyChanges, ACreditLoopThroughANewSwitchIsFound) {
  const auto ring = fabric::generate(fabric::Grid{{6}, true, 1, 1}).value();
  const fabric::CompactGraph all(ring);
  for (SwitchIndex s = 0; s < all.switch_count(); ++s) {
    Followed followed(without_switches(ring, {all.guid(s)}));
    followed.go_to(ring);
    followed.expect_verdict(rerouted(ring, followed.graph, followed.tables), std::to_string(s));
    EXPECT_EQ(followed.credit_loops, 1U);
  }
}

/// What a switch without CAs sends may get lost; what CAs send may not.
TEST(VerifyChanges, AHostAtASwitchThatHadNoneIsASource) {
  const auto line = fabric::generate(fabric::Grid{{4}, false, 1, 1}).value();
  const fabric::CompactGraph all(line);
  const auto host_at = [&](SwitchIndex s) {
    return *std::ranges::find_if(all.destinations(),
                                 [&](const auto& d) { return d.leaf == s && !d.is_switch(); });
  };
  auto without = line;
  without.disconnect(host_at(0).end_port);
  without.port(host_at(0).end_port).lid = Lid{};
  without.reindex();

  Followed followed(without);
  const Lid far = host_at(3).lid;
  followed.tables.set(0, far, kNoPort);
  EXPECT_TRUE(followed.verifier.verify(without, followed.graph, followed.tables).must_ok());
  followed.go_to(line);
  auto changes = patch(followed.graph, followed.tables);
  followed.tables.set(0, far, kNoPort);
  std::erase(changes, EntryChange{0, far});
  followed.expect_verdict(changes, "a host");
  EXPECT_EQ(followed.faulty, 1U);
  EXPECT_EQ(followed.credit_loops, 0U);
}

/// Switches and cables go and come back, routes follow, and entries go anywhere, which is told.
TEST(VerifyChanges, SaysWhatTheFullCheckSaysWhateverSwitchesGo) {
  const std::pair<const char*, fabric::Fabric> fabrics[] = {
      {"tree", three_levels(6)},
      {"dragonfly+", fabric::generate(fabric::DragonflyPlus{3, 2, 2, 2, 2}).value()},
      {"ring", fabric::generate(fabric::Grid{{6}, true, 2, 1}).value()},
      {"hyperx", fabric::generate(fabric::HyperX{{3, 3}, 2, 1}).value()}};
  std::size_t by_difference = 0, faulty = 0, credit_loops = 0;
  for (const auto& [name, whole] : fabrics)
    for (unsigned seed = 1; seed <= 12; ++seed) {
      std::mt19937 random(seed);
      const fabric::CompactGraph all(whole);
      const auto ends = cables(all);
      Followed followed(whole);
      std::vector<Guid> gone;
      std::vector<fabric::PortRef> cut;
      for (int step = 0; step < 12; ++step) {
        const Guid guid = all.guid(static_cast<SwitchIndex>(random() % all.switch_count()));
        if (random() % 3 == 0)
          cut.push_back(ends[random() % ends.size()]);
        else if (std::erase(gone, guid) == 0 && gone.size() < 3)
          gone.push_back(guid);
        if (random() % 4 == 0) gone.clear(), cut.clear();
        auto damaged = whole;
        for (const auto& end : cut)
          if (damaged.port(end).peer) damaged.disconnect(end);
        followed.go_to(without_switches(damaged, gone));
        const std::string what =
            std::string(name) + ", seed " + std::to_string(seed) + ", step " + std::to_string(step);
        if (random() % 5 == 0) followed.expect_verdict({}, what + ", not followed");
        auto changes = patch(followed.graph, followed.tables);
        followed.expect_verdict(changes, what);
        if (random() % 2 == 0) continue;
        const fabric::CompactGraph& graph = followed.graph;
        const EntryChange fault{static_cast<SwitchIndex>(random() % graph.switch_count()),
                                graph.destinations()[random() % graph.destinations().size()].lid};
        const std::uint8_t was = followed.tables.at(fault.at, fault.lid);
        followed.tables.set(fault.at, fault.lid,
                            static_cast<std::uint8_t>(random() % (graph.max_ports() + 2)));
        followed.expect_verdict(std::span(&fault, 1), what + ", an entry goes anywhere");
        followed.tables.set(fault.at, fault.lid, was);
        followed.expect_verdict(std::span(&fault, 1), what + ", and back");
      }
      by_difference += followed.by_difference;
      faulty += followed.faulty;
      credit_loops += followed.credit_loops;
    }
  EXPECT_GT(by_difference, 200U);
  EXPECT_GT(faulty, 50U);
  EXPECT_GT(credit_loops, 10U);
}

}  // namespace
}  // namespace ib::tables
