// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What Linux lets a program have under way: since 6.17 an agent has 128 unanswered SMPs on the
// wire, or 16 questions to subnet administration, and the rest of them waits.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/mad/session.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/sim/host_port.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/core/subnet_manager.h"
#include "tests/scenario/manager.h"

namespace scenario {
namespace {

using ib::fabric::NodeIndex;

std::vector<NodeIndex> hosts(const ib::fabric::Fabric& f) {
  std::vector<NodeIndex> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) out.push_back(n);
  return out;
}

/// How long the first sweep takes when `silent` hosts of 162 do not answer.
double bring_up(std::size_t silent) {
  ib::fabric::FatTree tree;
  tree.radix = 18;
  ib::fabric::GenerateCommon common;
  common.lids = false;
  ib::sim::World world(*ib::fabric::generate(tree, common));
  const auto all = hosts(world.model().topology());
  for (std::size_t i = 1; i <= silent; ++i)
    world.model().set_behaviour(all[2 * i], ib::sim::Behaviour::Silent);
  sm::store::Contents kept;
  Manager manager(world, {all.front(), 1}, {}, kept);
  EXPECT_TRUE(world.run_until([&] { return manager.reports() > 0; }, std::chrono::seconds(120)));
  EXPECT_EQ(manager.last().unmanaged, silent);
  return std::chrono::duration<double>(manager.last().took).count();
}

TEST(KernelLimits, HostsThatAreSilentDelayNobody) {
  // One transaction's timeout, one pause because everybody asked was silent at once, and one
  // timeout in the kernel, behind questions to silent hosts.
  EXPECT_LE(bring_up(70), bring_up(0) + 1.35 + 0.2 + 0.2);
}

/// A program that subscribed to everything, and acknowledges what it is told while it lives.
class Subscriber final : public ib::sim::Program {
 public:
  Subscriber(ib::sim::World& world, ib::fabric::PortRef at) : world_(world), port_(world.open(at)) {
    {
      ib::mad::Session session(*port_, {}, world.clock());
      ib::wire::InformInfo wish;
      wish.lid_range_begin = ib::Lid{0xFFFF};
      wish.is_generic = wish.subscribe = 1;
      wish.type = wish.trap_number = 0xFFFF;
      wish.producer_type = 0xFFFFFF;
      wish.qpn = 1;
      auto request = ib::query::sa_request(0, ib::query::sa_address(port_->facts().value()).value(),
                                           ib::wire::Method::Set, ib::wire::attr::kInformInfo, 0);
      ib::wire::set_body(request.mad, wish);
      const auto answer = session.call(std::move(request));
      EXPECT_TRUE(answer && answer->mad.status() == 0);
    }
    ib::mad::AgentSpec spec;
    spec.mgmt_class = ib::wire::MgmtClass::SubnAdm;
    spec.class_version = 2;
    spec.methods = {ib::wire::Method::Report};
    agent_ = port_->register_agent(spec).value();
    world_.add(*this);
  }
  ~Subscriber() override { world_.remove(*this); }

  void step(ib::Instant) override {
    std::vector<ib::mad::Received> arrived;
    (void)port_->receive(arrived, ib::Duration{0});
    for (auto& r : arrived) {
      if (!lives || r.timed_out || r.packet.mad.method() != ib::wire::Method::Report) continue;
      ++heard;
      r.packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::ReportResp);
      (void)port_->send(agent_, r.packet, ib::Duration{0});
    }
  }
  ib::Instant next_deadline() const override { return ib::kNever; }

  bool lives{true};
  std::size_t heard{0};

 private:
  ib::sim::World& world_;
  std::unique_ptr<ib::sim::HostPort> port_;
  ib::mad::AgentId agent_{};
};

TEST(KernelLimits, SubscribersThatDiedKeepNoNewsFromOthers) {
  ib::fabric::FatTree tree;
  tree.radix = 12;
  ib::sim::World world(*ib::fabric::generate(tree));
  const auto all = hosts(world.model().topology());
  sm::store::Contents kept;
  Manager manager(world, {all.front(), 1}, {}, kept);
  ASSERT_TRUE(world.run_until([&] { return manager.reports() > 0; }, std::chrono::seconds(30)));
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  for (std::size_t i = 1; i <= 50; ++i)
    subscribers.push_back(std::make_unique<Subscriber>(world, ib::fabric::PortRef{all[i], 1}));
  for (std::size_t i = 0; i < 40; ++i) subscribers[i]->lives = false;
  std::size_t told = 0;
  for (std::size_t event = 0; event < 4; ++event) {
    const ib::fabric::PortRef leaver{all[60 + event], 1};
    ASSERT_TRUE(world.model().link_down(world.now(), leaver));
    world.run_for(std::chrono::seconds(5));
    ++told;
    for (std::size_t i = 40; i < 50; ++i)
      EXPECT_GE(subscribers[i]->heard, told) << "subscriber " << i << ", event " << event;
  }
}

}  // namespace
}  // namespace scenario
