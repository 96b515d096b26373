// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables and nodes that come and go for a long time, two events a second: whenever they stop, every
// port is ACTIVE within a second (but those of links that flap and are held down), and memory does
// not grow.
//
// By default half a minute on 40 hosts; with IBKIT_LINK_CHANGES=all 15 minutes on 200 hosts.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::Instant;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

Fabric two_levels(unsigned leaves, unsigned hosts_per_leaf) {
  ib::fabric::FatTree tree;
  tree.radix = 24;
  tree.leaves = leaves;
  tree.spines = 4;
  tree.hosts_per_leaf = hosts_per_leaf;
  return unconfigured(tree);
}

class Events {
 public:
  Events(Fabric fabric, std::uint64_t seed) : random_(seed), run_(std::move(fabric)) {
    run_.run_until_reports(1);
  }
  SmOnModel& run() { return run_; }

  /// Two events a second; the last one's end is the end of this.
  void go_on_for(std::chrono::seconds how_long) {
    const Instant end = run_.now() + how_long;
    while (run_.now() < end) {
      begin_one();
      run_until(run_.now() + 500ms);
    }
    while (!later_.empty()) run_until(later_.begin()->first);
  }

 private:
  bool is_ours(NodeIndex n) const { return n == run_.at().node; }
  void run_until(Instant when) {
    while (!later_.empty() && later_.begin()->first <= when) {
      const auto next = later_.extract(later_.begin());
      run_.run_for(next.key() - run_.now());
      next.mapped()();
    }
    run_.run_for(when - run_.now());
  }
  void later(std::function<void()> what) {
    later_.emplace(run_.now() + std::chrono::milliseconds(5 + random_() % 400), std::move(what));
  }
  /// A cable is out for a moment, a node reboots, or loses power for a moment.
  void begin_one() {
    auto& model = run_.model();
    const auto& f = model.topology();
    while (true) {
      const auto n = static_cast<NodeIndex>(random_() % f.nodes().size());
      const PortRef port{n, static_cast<std::uint8_t>(1 + random_() % f.node(n).num_ports)};
      const PortRef peer = f.port(port).peer;
      if (!peer || is_ours(n) || is_ours(peer.node) || busy_.contains(n)) continue;
      switch (random_() % 4) {
        case 0:
          EXPECT_TRUE(model.reboot(run_.now(), n));
          return;
        case 1:
          EXPECT_TRUE(model.remove(run_.now(), n));
          busy_.insert(n);
          later([this, n] {
            busy_.erase(n);
            EXPECT_TRUE(run_.model().bring_back(run_.now(), n));
          });
          return;
        default:
          EXPECT_TRUE(model.link_down(run_.now(), port));
          later([this, port] { EXPECT_TRUE(run_.model().link_up(run_.now(), port)); });
          return;
      }
    }
  }

  std::mt19937_64 random_;
  SmOnModel run_;
  std::multimap<Instant, std::function<void()>> later_;
  std::set<NodeIndex> busy_;  // without power
};

/// A link went down five times in half a minute and is left out until it was quiet for two seconds.
bool says_held(const SmOnModel& run) {
  return std::ranges::any_of(run.log(), [](const std::string& line) {
    return line.find("it is left out until it was quiet for 2 s") != std::string::npos;
  });
}

/// Bytes in use, without what the test itself keeps of the log and of reports.
std::size_t memory_of(Events& events) {
  events.run().forget_what_was_said();
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void go_on(unsigned leaves, unsigned hosts_per_leaf, std::chrono::seconds part, unsigned parts) {
  Events events(two_levels(leaves, hosts_per_leaf), 1);
  ASSERT_TRUE(events.run().last().up());
  std::size_t early = 0;
  for (unsigned i = 0; i < parts; ++i) {
    events.go_on_for(part);
    events.run().run_for(1s);
    if (says_held(events.run())) events.run().run_for(4s);
    EXPECT_TRUE(events.run().not_active().empty())
        << events.run().not_active().size() << " ports wait, part " << i;
    events.run().forget_what_was_said();
    // Tables have been made for everything that can happen.
    if (i == parts / 3) early = memory_of(events);
  }
  EXPECT_LE(memory_of(events), early + early / 10);
}

TEST(RandomEvents, AreOverASecondAfterTheLastOneAndLeaveNothingBehind) {
  if (const char* all = std::getenv("IBKIT_LINK_CHANGES"); all != nullptr && *all != '\0') {
    go_on(10, 20, 60s, 15);
  } else {
    go_on(4, 10, 5s, 6);
  }
}

}  // namespace
}  // namespace sm::test
