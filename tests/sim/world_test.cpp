// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whole conversations in virtual time: a sweep by raw SMPs through Transactor, kernel and Model,
// programs that talk to each other, faults on the way.
#include <deque>
#include <map>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/mad/session.h"
#include "libdiag/sim/host_port.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

/// The plainest possible sweep: NodeInfo by every port of every switch that is not down.
class PlainSweep final : public mad::Exchange {
 public:
  PlainSweep() { ask(mad::DirectedRoute{}, attr::kNodeInfo, 0); }

  std::vector<mad::Request> take_requests() override { return std::move(requests_); }
  void on_completion(Instant, const mad::Completion& completion) override {
    const Asked asked = asked_.at(completion.cookie);
    asked_.erase(completion.cookie);
    if (!completion.reply) {
      ++failures;
      return;
    }
    const wire::Mad& mad = completion.reply->mad;
    if (asked.attribute == attr::kNodeInfo) {
      const auto info = wire::body<wire::NodeInfo>(mad);
      if (!nodes.insert(info.node_guid).second) return;
      if (info.node_type == wire::NodeType::Switch)
        for (unsigned p = 1; p <= info.num_ports; ++p) ask(asked.route, attr::kPortInfo, p);
      else if (asked.route.hops.empty())
        ask(asked.route.extended(info.local_port_num.value), attr::kNodeInfo, 0);
      return;
    }
    const auto port = wire::body<wire::PortInfo>(mad);
    if (port.port_state == wire::PortState::Down) return;
    ++live_ports;
    ask(asked.route.extended(static_cast<std::uint8_t>(asked.modifier)), attr::kNodeInfo, 0);
  }
  bool done() const override { return asked_.empty(); }

  std::set<Guid> nodes;
  unsigned live_ports{0}, failures{0};

 private:
  struct Asked {
    mad::DirectedRoute route;
    std::uint16_t attribute;
    std::uint32_t modifier;
  };
  void ask(const mad::DirectedRoute& route, std::uint16_t attribute, std::uint32_t modifier) {
    const mad::Cookie cookie = ++last_;
    std::uint64_t key = 1;
    for (const std::uint8_t hop : route.hops) key = key * 257 + hop;
    requests_.push_back(
        mad::smp_request(cookie, key, route, wire::Method::Get, attribute, modifier));
    asked_.emplace(cookie, Asked{route, attribute, modifier});
  }
  std::vector<mad::Request> requests_;
  std::map<mad::Cookie, Asked> asked_;
  mad::Cookie last_{0};
};

fabric::Fabric tree() {
  const std::vector<std::string> words{"fat-tree", "--levels", "2", "--radix", "8"};
  auto made = fabric::generate(words);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : small_fabric();
}

PortRef first_hca(const fabric::Fabric& fabric) {
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch()) return {n, 1};
  return {};
}

TEST(World, ASweepFindsEveryNode) {
  World world(tree());
  auto port = world.open(first_hca(world.model().topology()));
  mad::Session session(*port, {}, world.clock());
  PlainSweep sweep;
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.failures, 0U);
  EXPECT_EQ(sweep.nodes.size(), world.model().topology().nodes().size());
  EXPECT_EQ(session.transactor().counters().retries, 0U);
}

TEST(World, LossCostsRetriesAndNothingElse) {
  ModelOptions options;
  options.faults.loss_percent = 5;
  World world(tree(), options);
  auto port = world.open(first_hca(world.model().topology()));
  mad::Session session(*port, {}, world.clock());
  PlainSweep sweep;
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.failures, 0U);
  EXPECT_EQ(sweep.nodes.size(), world.model().topology().nodes().size());
  EXPECT_GT(session.transactor().counters().retries, 0U);
  EXPECT_GT(world.model().counters().dropped_loss, 0U);
}

TEST(World, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    ModelOptions options;
    options.seed = seed;
    options.faults.loss_percent = 3;
    options.faults.duplicate_percent = 3;
    World world(tree(), options);
    auto port = world.open(first_hca(world.model().topology()));
    mad::Session session(*port, {}, world.clock());
    PlainSweep sweep;
    EXPECT_TRUE(session.run(sweep));
    const ModelCounters& c = world.model().counters();
    return std::vector<std::uint64_t>{static_cast<std::uint64_t>(world.now().ns), c.sent,
                                      c.delivered, c.dropped_loss,
                                      session.transactor().counters().retries};
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

/// Answers ibping's class with what it was asked.
class Echo final : public Program {
 public:
  explicit Echo(HostPort& port) : port_(port) {
    mad::AgentSpec spec;
    spec.mgmt_class = wire::MgmtClass::VendorPing;
    spec.oui = wire::kOpenIbOui;
    spec.methods = {wire::Method::Get};
    const auto agent = port_.register_agent(spec);
    EXPECT_TRUE(agent);
    agent_ = agent.value_or(-1);
  }
  void step(Instant) override {
    std::vector<mad::Received> in;
    EXPECT_TRUE(port_.receive(in, Duration{0}));
    for (mad::Received& r : in) {
      ++answered;
      r.packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
      EXPECT_TRUE(port_.send(agent_, r.packet, Duration{0}));
    }
  }
  Instant next_deadline() const override { return kNever; }
  unsigned answered{0};

 private:
  HostPort& port_;
  mad::AgentId agent_{-1};
};

TEST(World, ProgramsOnTwoHostsTalkOverTheProgrammedRoute) {
  World world(small_fabric());
  Hand hand(world.model());
  bring_up(hand);
  world.run_for(hand.now() - world.now());
  auto far = world.open({kH2, 1});
  Echo echo(*far);
  world.add(echo);
  auto near = world.open({kH1, 1});
  mad::Session session(*near, {}, world.clock());
  mad::Request request;
  request.address = mad::gsi_address(Lid{7});
  request.mad = wire::make_mad(wire::MgmtClass::VendorPing, wire::Method::Get, attr::kPing);
  const auto reply = session.call(request);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->address.lid, Lid{7});
  EXPECT_EQ(echo.answered, 1U);
  // No agent at all: the kernel there says so at once (0x000C).
  request.address = mad::gsi_address(Lid{8});
  const auto none = session.call(request);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->mad.status(), wire::status::kBadAttribute);
  world.remove(echo);
}

/// Counts its ticks: a program that lives from the clock alone.
class Ticker final : public Program {
 public:
  explicit Ticker(Duration period) : period_(period) {}
  void step(Instant now) override {
    if (now < next_) return;
    ++ticks;
    next_ = now + period_;
  }
  Instant next_deadline() const override { return next_; }
  unsigned ticks{0};

 private:
  Duration period_;
  Instant next_{};
};

TEST(World, DeadlinesAreMetToTheNanosecond) {
  World world(small_fabric());
  Ticker slow(std::chrono::seconds(10)), fast(std::chrono::seconds(3));
  world.add(slow);
  world.add(fast);
  world.run_for(std::chrono::seconds(30));
  EXPECT_EQ(slow.ticks, 4U);  // at 0, 10, 20 and 30 s
  EXPECT_EQ(fast.ticks, 11U);
  EXPECT_EQ(world.now(), Instant{} + std::chrono::seconds(30));
  world.remove(slow);
  EXPECT_TRUE(world.run_until([&] { return fast.ticks == 20; }, std::chrono::minutes(5)));
  EXPECT_EQ(slow.ticks, 4U);
  EXPECT_FALSE(world.run_until([] { return false; }, std::chrono::seconds(1)));
}

TEST(World, OneProgramHoldsIsSmAtATime) {
  World world(small_fabric());
  const PortRef at{kH1, 1};
  auto first = world.open(at);
  auto second = world.open(at);
  EXPECT_TRUE(first->set_is_sm(true));
  EXPECT_FALSE(second->set_is_sm(true));
  EXPECT_TRUE(world.model().port_info(at).capability_mask & wire::port_cap::kIsSm);
  first.reset();
  EXPECT_TRUE(second->set_is_sm(true));
  second.reset();
  EXPECT_FALSE(world.model().port_info(at).capability_mask & wire::port_cap::kIsSm);
}

TEST(World, ASilentNodeTimesOutInVirtualTime) {
  World world(small_fabric());
  world.model().set_behaviour(kS2, Behaviour::Silent);
  auto port = world.open({kH1, 1});
  mad::Session session(*port, {}, world.clock());
  const auto reply = session.call(
      mad::smp_request(0, 1, mad::DirectedRoute{{1, 3}}, wire::Method::Get, attr::kNodeInfo, 0));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::TimedOut);
  // What lies behind it is reached all the same: a dead SMA is not a dead switch.
  const auto behind = session.call(
      mad::smp_request(0, 2, mad::DirectedRoute{{1, 3, 1}}, wire::Method::Get, attr::kNodeInfo, 0));
  EXPECT_TRUE(behind);
  EXPECT_GT(world.now(), Instant{} + std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace ib::sim::test
