// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sweeps of a part: whatever happens to a fabric, what is known after them is what somebody finds
// who sweeps the whole again; and they cost what has changed.
//
// By default some fabrics, with a few dozen events each; with IBKIT_PARTIAL_SWEEPS=all many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"
#include "tests/sim/fresh_sweep.h"
#include "tests/sim/sm_on_model.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

ib::fabric::GenerateCommon without_lids(std::uint64_t seed = 1) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  common.seed = seed;
  common.missing_hosts_percent = 15;
  return common;
}

/// Leaves of `hosts` hosts and one cable to each spine; some hosts are missing, so there are free
/// ports.
Fabric tree(unsigned leaves, unsigned hosts, unsigned spines = 4) {
  ib::fabric::FatTree kind;
  kind.radix = std::max(hosts + spines, leaves);
  hosts = kind.radix - spines;
  kind.leaves = leaves;
  kind.spines = spines;
  kind.hosts_per_leaf = hosts;
  return ib::fabric::generate(kind, without_lids()).value();
}

/// A node that is like `like`, of another GUID, and nothing is plugged into it.
NodeIndex add_spare(Fabric& f, NodeIndex like, std::uint64_t guid) {
  ib::fabric::Node node = f.node(like);
  node.guid = node.system_image_guid = ib::Guid{guid};
  node.description += " spare";
  const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
  const NodeIndex n = f.add_node(std::move(node));
  for (unsigned p = first; p <= last; ++p) {
    f.port(n, p) = f.port(like, p);
    f.port(n, p).peer = {};
    f.port(n, p).guid = ib::Guid{guid + p + 1};
  }
  return n;
}

class PartialSweep : public testing::Test {
 protected:
  explicit PartialSweep(Fabric fabric = tree(8, 6)) : run_(std::move(fabric)) { come_up(); }

  void come_up() {
    EXPECT_TRUE(run_.run_until_reports(1));
    run_.sm().sweep_now(run_.now(), core::Reason::Operator);
    EXPECT_TRUE(run_.run_until_reports(2));
    run_.run_for(12s);  // with a light sweep
    EXPECT_TRUE(run_.last().up());
    remember();
  }
  void remember() {
    counted_ = run_.sm().counters();
    sends_ = run_.sm().mad_counters().sends;
  }
  /// Until nothing happens any more, with time for a light sweep; what was sent for it is left.
  void settle(ib::Duration time = 9s) { run_.run_for(time); }
  std::uint64_t full() { return run_.sm().counters().full_sweeps - counted_.full_sweeps; }
  std::uint64_t partial() { return run_.sm().counters().partial_sweeps - counted_.partial_sweeps; }
  std::uint64_t sent() { return run_.sm().mad_counters().sends - sends_; }

  void expect_known() {
    const auto found = sweep_afresh(run_);
    EXPECT_THAT(KnownAgainstFound(run_.sm().observed(), found).differences(), testing::IsEmpty());
  }
  PortRef host_port(unsigned nth) const {
    const Fabric& f = run_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch() && n != run_.at().node && f.port(n, 1).peer && nth-- == 0)
        return {n, 1};
    return {};
  }
  /// The nth cable between switches, our leaf's aside.
  PortRef trunk(unsigned nth) const {
    const Fabric& f = run_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)}, far = f.port(at).peer;
        if (far && f.node(n).is_switch() && f.node(far.node).is_switch() && at < far && nth-- == 0)
          return at;
      }
    return {};
  }

  SmOnModel run_;
  core::Counters counted_;
  std::uint64_t sends_{0};
};

TEST_F(PartialSweep, ACableThatIsPulledAndPluggedCostsTheSwitchesAtItsEnds) {
  const PortRef cable = trunk(7);
  ASSERT_TRUE(run_.model().link_down(run_.now(), cable));
  run_.run_for(1s);
  EXPECT_EQ(partial(), 1U);
  EXPECT_EQ(full(), 0U);
  expect_known();
  settle();
  remember();
  ASSERT_TRUE(run_.model().link_up(run_.now(), cable));
  run_.run_for(1s);
  EXPECT_EQ(partial(), 1U);
  EXPECT_EQ(full(), 0U);
  EXPECT_TRUE(run_.not_active().empty());
  expect_known();
}

TEST_F(PartialSweep, AHostThatLeavesAndComesBackCostsItsLeaf) {
  const PortRef host = host_port(5);
  ASSERT_TRUE(run_.model().remove(run_.now(), host.node));
  run_.run_for(1s);
  EXPECT_EQ(partial(), 1U);
  EXPECT_LT(sent(), 80U);
  expect_known();
  EXPECT_EQ(run_.sm().observed().fabric.find_node(run_.model().topology().node(host.node).guid),
            std::nullopt);
  settle();
  remember();
  ASSERT_TRUE(run_.model().bring_back(run_.now(), host.node));
  run_.run_for(1s);
  EXPECT_EQ(partial(), 1U);
  EXPECT_EQ(full(), 0U);
  EXPECT_LT(sent(), 100U);
  EXPECT_TRUE(run_.not_active().empty());
  expect_known();
}

/// Before a light sweep nobody knows which of its cables a switch still has, so all are looked at:
/// by the other of two cables to one switch that switch is met before the one that was pulled is.
TEST(PartialSweepAtAStart, OneOfTwoParallelCablesIsPulled) {
  ib::fabric::FatTree kind;
  kind.radix = 16;
  kind.levels = 2;
  kind.leaves = 8;
  kind.spines = 4;
  kind.hosts_per_leaf = 8;
  SmOnModel run(ib::fabric::generate(kind, without_lids()).value());
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(1s);
  // Answers overtake each other.
  auto faults = run.model().faults();
  faults.jitter = 20us;
  run.model().set_faults(faults);
  const auto before = run.sm().counters();
  const NodeIndex leaf = run.model().topology().port(run.at()).peer.node;
  ASSERT_TRUE(run.model().link_down(run.now(), {leaf, 16}));
  run.run_for(1s);
  EXPECT_EQ(run.sm().counters().full_sweeps, before.full_sweeps)
      << testing::PrintToString(run.log());
  EXPECT_EQ(run.sm().counters().partial_sweeps, before.partial_sweeps + 1);
}

/// A light sweep finds it silent; a sweep, in which it was all that did not answer, leaves out what
/// is behind it: everything.
TEST_F(PartialSweep, OurOwnSwitchThatWasSilentBringsTheFabricBack) {
  const NodeIndex own = run_.model().topology().port(run_.at()).peer.node;
  const std::size_t nodes = run_.sm().observed().nodes.size();
  run_.model().set_behaviour(own, ib::sim::Behaviour::Silent);
  run_.sm().sweep_now(run_.now(), core::Reason::Operator);
  run_.run_for(20s);
  ASSERT_LT(run_.sm().observed().nodes.size(), nodes);
  run_.model().set_behaviour(own, ib::sim::Behaviour::Normal);
  run_.run_for(60s);
  EXPECT_EQ(run_.sm().observed().nodes.size(), nodes);
  EXPECT_TRUE(run_.last().up()) << testing::PrintToString(run_.last().lines);
  expect_known();
}

/// The bit of a switch tells of it, and port states do not: ACTIVE before and ACTIVE now.
TEST_F(PartialSweep, HostsThatAreSwappedBeforeTheirLinksAreTakenToActiveAreFound) {
  auto& model = run_.model();
  const auto& f = model.topology();
  const PortRef a = host_port(5), b = host_port(20);
  const PortRef at_a = f.port(a).peer, at_b = f.port(b).peer;
  PortRef free{at_a.node, 1};
  while (f.port(free).peer) ++free.port;
  for (const PortRef cable : {a, b}) ASSERT_TRUE(model.link_down(run_.now(), cable));
  settle();
  for (const PortRef cable : {a, b}) ASSERT_TRUE(model.link_up(run_.now(), cable));
  run_.hold_plans();
  while (!run_.is_planning()) run_.run_for(1ms);
  ASSERT_TRUE(model.move_cable(run_.now(), at_a, free));
  ASSERT_TRUE(model.move_cable(run_.now(), at_b, at_a));
  ASSERT_TRUE(model.move_cable(run_.now(), free, at_b));
  run_.run_for(200ms);
  ASSERT_EQ(f.port(at_a).peer, b);
  ASSERT_EQ(f.port(at_b).peer, a);
  run_.make_held_plan();
  settle(30s);
  expect_known();
  EXPECT_TRUE(run_.last().up());
}

/// Whatever people do to a fabric, from a seed.
class Turmoil {
 public:
  Turmoil(Fabric fabric, std::uint64_t seed) : random_(seed), run_(with_spares(std::move(fabric))) {
    EXPECT_TRUE(run_.run_until_reports(1));
    run_.run_for(15s);
  }
  SmOnModel& run() { return run_; }
  const std::string& story() const { return story_; }

  /// One to four things at once, or one shortly after the other.
  void burst() {
    story_.clear();
    for (unsigned i = 1 + random_() % 4; i > 0; --i) {
      one_event();
      if (random_() % 2 == 0) run_.run_for(std::chrono::milliseconds(random_() % 300));
    }
    // What flapped is believed again, and light sweeps have been.
    run_.run_for(40s);
  }

 private:
  Fabric with_spares(Fabric f) {
    NodeIndex host = 0, leaf = 0;
    while (f.node(host).is_switch()) ++host;
    while (!f.node(leaf).is_switch()) ++leaf;
    spares_ = {add_spare(f, host, 0xABC0000000000100), add_spare(f, host, 0xABC0000000000200),
               add_spare(f, leaf, 0xABC0000000000300)};
    return f;
  }
  const Fabric& f() const { return run_.model().topology(); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  void tell(const std::string& what, PortRef at) {
    story_ += fmt::format("{} {}/{}; ", what, f().node(at.node).description, at.port);
  }
  bool may_touch(NodeIndex n) const {
    return n != run_.at().node && n != f().port(run_.at()).peer.node;
  }
  /// A port with a cable that may be touched, on a node of this kind.
  std::optional<PortRef> any_cable(bool of_switches_alone) {
    for (int tries = 0; tries < 1000; ++tries) {
      const auto n = static_cast<NodeIndex>(below(f().nodes().size()));
      const PortRef at{n, static_cast<std::uint8_t>(1 + below(f().node(n).num_ports))};
      const PortRef far = f().port(at).peer;
      if (!far || n == run_.at().node || far.node == run_.at().node) continue;
      if (of_switches_alone ? f().node(n).is_switch() && f().node(far.node).is_switch()
                            : !f().node(n).is_switch())
        return at;
    }
    return std::nullopt;
  }
  std::optional<PortRef> free_port_of_a_switch() {
    for (int tries = 0; tries < 1000; ++tries) {
      const auto n = static_cast<NodeIndex>(below(f().nodes().size()));
      const PortRef at{n, static_cast<std::uint8_t>(1 + below(f().node(n).num_ports))};
      if (f().node(n).is_switch() && may_touch(n) && !f().port(at).peer) return at;
    }
    return std::nullopt;
  }
  NodeIndex any_node() {
    while (true) {
      const auto n = static_cast<NodeIndex>(below(f().nodes().size()));
      if (may_touch(n)) return n;
    }
  }

  void one_event() {
    auto& model = run_.model();
    const auto now = run_.now();
    switch (below(10)) {
      case 0:
      case 1:
        if (const auto cable = any_cable(true)) {
          tell("down", *cable);
          (void)model.link_down(now, *cable);
          down_.push_back(*cable);
        }
        return;
      case 2:
        for (const PortRef cable : std::exchange(down_, {})) {
          tell("up", cable);
          (void)model.link_up(now, cable);
        }
        return;
      case 3: {
        const NodeIndex n = any_node();
        tell("off", {n, 0});
        if (model.remove(now, n)) off_.push_back(n);
        return;
      }
      case 4:
        for (const NodeIndex n : std::exchange(off_, {})) {
          tell("on", {n, 0});
          EXPECT_TRUE(model.bring_back(now, n));
        }
        return;
      case 5: {
        const NodeIndex n = any_node();
        tell("reboot", {n, 0});
        (void)model.reboot(now, n);
        return;
      }
      case 6:
        return move_host();
      case 7:
        return swap_hosts();
      case 8:
        return replace_node();
      default:
        return split();
    }
  }
  void move_host() {
    const auto host = any_cable(false);
    const auto to = free_port_of_a_switch();
    if (!host || !to) return;
    tell("moved", *host);
    EXPECT_TRUE(run_.model().move_cable(run_.now(), f().port(*host).peer, *to));
  }
  void swap_hosts() {
    const auto a = any_cable(false), b = any_cable(false);
    const auto between = free_port_of_a_switch();
    if (!a || !b || !between || a->node == b->node) return;
    tell("swapped", *a);
    tell("with", *b);
    const PortRef at_a = f().port(*a).peer, at_b = f().port(*b).peer;
    auto& model = run_.model();
    EXPECT_TRUE(model.move_cable(run_.now(), at_a, *between));
    EXPECT_TRUE(model.move_cable(run_.now(), at_b, at_a));
    EXPECT_TRUE(model.move_cable(run_.now(), *between, at_b));
  }
  /// All its cables are plugged into another one of its kind, of another GUID.
  void replace_node() {
    const NodeIndex spare = spares_[below(spares_.size())];
    for (int tries = 0; tries < 1000; ++tries) {
      const NodeIndex n = any_node();
      if (n == spare || f().node(n).type != f().node(spare).type ||
          f().node(n).num_ports != f().node(spare).num_ports)
        continue;
      const auto has_cable = [](const auto& port) { return static_cast<bool>(port.peer); };
      if (std::ranges::any_of(f().ports(spare), has_cable)) return;
      tell("replaced", {n, 0});
      for (unsigned p = 1; p <= f().node(n).num_ports; ++p)
        if (f().port(n, p).peer) {
          const PortRef from{n, static_cast<std::uint8_t>(p)};
          EXPECT_TRUE(run_.model().move_cable(run_.now(), from, {spare, from.port}));
        }
      return;
    }
  }
  /// Cables between one half and the other.
  void split() {
    std::vector<bool> side(f().nodes().size());
    for (std::size_t n = 0; n < side.size(); ++n) side[n] = random_() % 4 == 0;
    side[run_.at().node] = side[f().port(run_.at()).peer.node] = false;
    for (NodeIndex n = 0; n < side.size(); ++n)
      for (unsigned p = 1; p <= f().node(n).num_ports; ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)}, far = f().port(at).peer;
        if (!far || !f().node(n).is_switch() || !f().node(far.node).is_switch() || far < at ||
            side[n] == side[far.node])
          continue;
        (void)run_.model().link_down(run_.now(), at);
        down_.push_back(at);
      }
    story_ += "split; ";
  }

  std::mt19937_64 random_;
  std::vector<NodeIndex> spares_;  // before the run, whose fabric has them
  SmOnModel run_;
  std::vector<PortRef> down_;
  std::vector<NodeIndex> off_;
  std::string story_;
};

Fabric any_fabric(std::uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return tree(4 + unsigned(seed % 7), 2 + unsigned(seed % 5), 2 + unsigned(seed % 3));
    case 1: {
      ib::fabric::Grid kind;
      kind.sizes = {4, 4};
      return ib::fabric::generate(kind, without_lids(seed)).value();
    }
    case 2: {
      ib::fabric::RandomGraph kind;
      kind.switches = 16;
      kind.links = 30;
      kind.hosts = 2;
      return ib::fabric::generate(kind, without_lids(seed)).value();
    }
    default: {
      ib::fabric::DragonflyPlus kind;
      kind.groups = 3;
      kind.leaves = kind.spines = 2;
      kind.hosts = 3;
      kind.cables = 2;
      return ib::fabric::generate(kind, without_lids(seed)).value();
    }
  }
}

TEST(PartialSweeps, WhatIsKnownAfterAnyEventsIsWhatAWholeSweepFinds) {
  const char* all = std::getenv("IBKIT_PARTIAL_SWEEPS");
  const bool is_long = all != nullptr && *all != '\0';
  std::uint64_t partial = 0, full = 0;
  for (std::uint64_t seed = 1; seed <= (is_long ? 400U : 8U); ++seed) {
    Turmoil turmoil(any_fabric(seed), seed);
    const auto before = turmoil.run().sm().counters();
    for (int i = 0; i < 12; ++i) {
      turmoil.burst();
      const auto found = sweep_afresh(turmoil.run());
      const auto differences =
          KnownAgainstFound(turmoil.run().sm().observed(), found).differences();
      ASSERT_THAT(differences, testing::IsEmpty())
          << "seed " << seed << ", burst " << i << ": " << turmoil.story();
      ASSERT_TRUE(turmoil.run().last().up()) << "seed " << seed << ": " << turmoil.story();
    }
    partial += turmoil.run().sm().counters().partial_sweeps - before.partial_sweeps;
    full += turmoil.run().sm().counters().full_sweeps - before.full_sweeps;
  }
  EXPECT_GT(partial, 4 * full) << "most of what happens is nothing of the whole";
  RecordProperty("partial", static_cast<int>(partial));
  RecordProperty("full", static_cast<int>(full));
}

}  // namespace
}  // namespace sm::test
