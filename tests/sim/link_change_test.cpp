// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A link that changes while the subnet manager looks at it is not lost. One link goes down for a
// moment, or comes up, at every event of a bring-up, of a sweep, of memberships being programmed
// and of a restart, on fabrics that are drawn from a seed; an event is an SMP that leaves or
// reaches the subnet manager. Whatever the instant: SUBNET UP is said only where it is true, or
// where a switch says by PortStateChange that something changed since; and after the next light
// sweep every port with a working neighbour is ACTIVE on both sides.
//
// By default a few fabrics; with IBKIT_LINK_CHANGES=all at least 50.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::Duration;
using ib::Instant;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;

bool all_of_them() {
  const char* mode = std::getenv("IBKIT_LINK_CHANGES");
  return mode != nullptr && std::string_view(mode) == "all";
}

Fabric draw_fabric(std::mt19937_64& random) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  common.seed = random();
  const auto from = [&](unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random() % (high - low + 1));
  };
  switch (from(0, 4)) {
    case 0: {
      ib::fabric::FatTree tree;
      tree.radix = 4;
      tree.leaves = from(1, 4);
      tree.hosts_per_leaf = from(1, 3);
      tree.spines = tree.radix - tree.hosts_per_leaf;
      return ib::fabric::generate(tree, common).value();
    }
    case 1:
      return ib::fabric::generate(ib::fabric::Grid{{from(2, 3), 2}, false, from(1, 2), from(1, 2)},
                                  common)
          .value();
    case 2:
      return ib::fabric::generate(ib::fabric::HyperX{{from(2, 4)}, from(1, 2)}, common).value();
    case 3:
      return ib::fabric::generate(ib::fabric::Hypercube{2, from(1, 2), from(1, 2)}, common).value();
    default: {
      const unsigned switches = from(3, 5);
      return ib::fabric::generate(ib::fabric::RandomGraph{switches, switches + from(0, 2), 1},
                                  common)
          .value();
    }
  }
}

/// One end of each cable.
std::vector<PortRef> cables(const Fabric& f) {
  std::vector<PortRef> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef a{n, static_cast<std::uint8_t>(p)};
      if (const PortRef b = f.port(a).peer; b && a < b) out.push_back(a);
    }
  }
  return out;
}

/// A subnet manager on a model whose reports are held against the devices as they are said.
class Watched {
 public:
  Watched(Fabric fabric, std::uint64_t seed, Duration sma_service)
      : run_(std::move(fabric), model_options(seed, sma_service), options()) {
    run_.watch([this](const ib::mad::Packet&) {
      on_event();
      return true;
    });
    run_.listen([this](const ib::mad::Packet&) { on_event(); });
    run_.on_report([this](const core::Report& report) { check(report); });
  }

  SmOnModel& run() { return run_; }
  std::size_t events() const { return events_; }
  const std::string& wrong() const { return wrong_; }

  /// What happens at the event with this number, counted from now on.
  void at_event(std::size_t number, std::function<void()> what) {
    events_ = 0;
    number_ = number;
    what_ = std::move(what);
    if (number == 0) catch_up();
  }
  /// It happens now, if there were not so many events.
  void catch_up() {
    if (what_) std::exchange(what_, {})();
  }
  void after(Duration d, std::function<void()> what) {
    later_.emplace(run_.now() + d, std::move(what));
  }
  void take_down(PortRef link) { (void)run_.model().link_down(run_.now(), link); }
  void bring_up(PortRef link) { (void)run_.model().link_up(run_.now(), link); }
  void flap(PortRef link, Duration how_long) {
    take_down(link);
    after(how_long, [this, link] { bring_up(link); });
  }

  void run_for(Duration d) {
    const Instant end = run_.now() + d;
    while (!later_.empty() && later_.begin()->first <= end) {
      const auto next = later_.extract(later_.begin());
      run_.run_for(std::max(next.key() - run_.now(), Duration{0}));
      next.mapped()();
    }
    run_.run_for(end - run_.now());
  }
  /// Until nothing is to be done any more.
  void settle() {
    const Instant end = run_.now() + 60s;
    do {
      run_for(1ms);
    } while (run_.now() < end && (!later_.empty() || !run_.sm().idle()));
  }
  /// Until a light sweep that begins later than now is done, and what it led to.
  void pass_light_sweep() {
    run_for(15ms);  // a cable trains
    const Instant end = run_.now() + 60s;
    const auto before = run_.sm().counters().light_sweeps;
    while (run_.now() < end && run_.sm().counters().light_sweeps == before) run_for(100ms);
    settle();
  }

 private:
  static ib::sim::ModelOptions model_options(std::uint64_t seed, Duration sma_service) {
    ib::sim::ModelOptions o;
    o.seed = seed;
    o.faults.sma_service = sma_service;
    return o;
  }
  static core::Options options() {
    core::Options o;
    o.read_tables_after.reset();
    return o;
  }

  void on_event() {
    ++events_;
    if (events_ == number_) catch_up();
  }

  bool is_down(PortRef p) { return run_.model().port_info(p).port_state == PortState::Down; }
  /// By links that are up at this moment.
  std::vector<bool> reached() {
    const auto& f = run_.model().topology();
    std::vector<bool> reached(f.nodes().size(), false);
    std::vector<NodeIndex> next{run_.at().node};
    reached[run_.at().node] = true;
    while (!next.empty()) {
      const NodeIndex n = next.back();
      next.pop_back();
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
        const PortRef port{n, static_cast<std::uint8_t>(p)}, peer = f.port(port).peer;
        if (!peer || is_down(port) || reached[peer.node]) continue;
        reached[peer.node] = true;
        next.push_back(peer.node);
      }
    }
    return reached;
  }
  /// A port that waits for the subnet manager on a switch that says nothing of it is overlooked.
  void check(const core::Report& report) {
    if (!report.up() || report.unmanaged > 0) return;
    const auto& f = run_.model().topology();
    const auto in_reach = reached();
    for (const PortRef p : run_.not_active()) {
      if (is_down(p) || !in_reach[p.node]) continue;
      const NodeIndex n = f.node(p.node).is_switch() ? p.node : f.port(p).peer.node;
      if (f.node(n).is_switch() && !run_.model().switch_info(n).port_state_change)
        wrong_ = fmt::format("SUBNET UP is said, and node {} port {} waits", p.node, p.port);
    }
  }

  SmOnModel run_;
  std::size_t events_{0}, number_{0};
  std::function<void()> what_;
  std::multimap<Instant, std::function<void()>> later_;
  std::string wrong_;
};

// ---- one link at every event

enum class During { BringUp, Sweep, Memberships, Restart };
enum class Change { Blink, Flap, LongFlap, Appear };  // down for 2, 20, 2000 ms; comes up

struct Case {
  std::uint64_t seed;
  During during;
  Change change;
  PortRef link;   // that changes
  PortRef other;  // what the sweep is for
  Duration sma_service;
};

std::vector<plan::MlidGroup> everyone(const Fabric& f) {
  plan::MlidGroup group;
  group.mlid = ib::kLidMulticastMin;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) group.receivers.push_back(f.port(n, 1).guid);
  return {group};
}

/// Plays the case with the change at event `number`; how many events there were until all was done.
struct Outcome {
  std::size_t events{};
  std::string wrong;
};
Outcome play(const Case& c, const Fabric& fabric, std::size_t number) {
  Watched w(fabric, c.seed, c.sma_service);
  SmOnModel& run = w.run();
  if (c.during != During::BringUp) w.settle();
  if (c.change == Change::Appear) w.take_down(c.link);
  if (c.during == During::Sweep) w.take_down(c.other);
  if (c.during != During::BringUp) {
    w.run_for(200ms);  // until traps are looked at
    w.settle();
  }
  w.at_event(number, [&] {
    constexpr Duration kDown[] = {2ms, 20ms, 2s};
    if (c.change == Change::Appear) {
      w.bring_up(c.link);
    } else {
      w.flap(c.link, kDown[static_cast<std::size_t>(c.change)]);
    }
  });
  switch (c.during) {
    case During::BringUp:
      break;
    case During::Sweep:
      w.bring_up(c.other);
      w.run_for(120ms);
      break;
    case During::Memberships:
      run.sm().set_groups(run.now(), everyone(run.model().topology()));
      break;
    case During::Restart:
      w.flap(c.other, 0ms);
      run.boot();
      break;
  }
  w.settle();
  w.catch_up();
  Outcome outcome;
  outcome.events = w.events();
  w.settle();
  w.pass_light_sweep();
  outcome.wrong = w.wrong();
  const auto left = run.not_active();
  if (!left.empty())
    outcome.wrong += fmt::format(" {} ports are not ACTIVE after the light sweep, node {} port {}",
                                 left.size(), left[0].node, left[0].port);
  return outcome;
}

PortRef draw_link(std::mt19937_64& random, const Fabric& fabric, PortRef not_this = {}) {
  const auto all = cables(fabric);
  while (true) {
    const PortRef link = all[random() % all.size()];
    if (link != not_this) return link;
  }
}

class LinkChange : public testing::TestWithParam<During> {};

TEST_P(LinkChange, AtEveryEventIsSeenByTheNextLightSweepAtTheLatest) {
  const bool all = all_of_them();
  const std::uint64_t fabrics = all ? 52 : 2;
  std::size_t instants = 0, failures = 0;
  for (std::uint64_t seed = 1; seed <= fabrics; ++seed) {
    std::mt19937_64 random(seed * 4 + static_cast<std::uint64_t>(GetParam()));
    const Fabric fabric = draw_fabric(random);
    for (unsigned link = 0; link < (all ? 2 : 1); ++link) {
      Case c{seed, GetParam(), Change::Flap, {}, {}, 2us};
      c.link = draw_link(random, fabric);
      c.other = draw_link(random, fabric, c.link);
      constexpr Duration kService[] = {2us, 50us, 200us};
      c.sma_service = kService[random() % 3];
      const std::size_t events = play(c, fabric, ~std::size_t{0}).events;
      for (std::size_t number = 0; number <= events; ++number) {
        // The flap at each; another one of the others by turns.
        for (const Change change : {Change::Flap, static_cast<Change>((number + seed) % 4)}) {
          c.change = change;
          const auto wrong = play(c, fabric, number).wrong;
          ++instants;
          if (wrong.empty()) continue;
          ADD_FAILURE() << fmt::format(
              "seed {} link {}.{} change {} at event {} of {}, an SMA takes {} us: {}", seed,
              c.link.node, c.link.port, static_cast<int>(change), number, events,
              std::chrono::duration_cast<std::chrono::microseconds>(c.sma_service).count(), wrong);
          if (++failures >= 10) return;
        }
      }
    }
  }
  RecordProperty("instants", static_cast<int>(instants));
  EXPECT_GT(instants, fabrics * 20);
}

std::string name_of(const testing::TestParamInfo<During>& during) {
  constexpr const char* kNames[] = {"BringUp", "Sweep", "Memberships", "Restart"};
  return kNames[static_cast<std::size_t>(during.param)];
}
INSTANTIATE_TEST_SUITE_P(During, LinkChange,
                         testing::Values(During::BringUp, During::Sweep, During::Memberships,
                                         During::Restart),
                         name_of);

// ---- several links at any time

TEST(RandomFlaps, DuringABringUpAreSeenByTheNextLightSweepAtTheLatest) {
  ib::fabric::FatTree tree;
  tree.radix = 16;
  tree.leaves = 8;
  tree.spines = 4;
  tree.hosts_per_leaf = 8;
  const Fabric fabric = unconfigured(tree);
  const std::uint64_t seeds = all_of_them() ? 200 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    Watched w(fabric, seed, 200us);
    for (unsigned flaps = 1 + random() % 4; flaps > 0; --flaps) {
      const PortRef link = draw_link(random, fabric);
      const Duration down = std::chrono::milliseconds(1 + random() % 50);
      w.after(std::chrono::microseconds(random() % 150'000),
              [&w, link, down] { w.flap(link, down); });
    }
    w.settle();
    w.pass_light_sweep();
    EXPECT_EQ(w.wrong(), "") << "seed " << seed;
    EXPECT_EQ(w.run().not_active().size(), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sm::test
