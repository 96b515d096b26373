// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer against a whole simulated fabric in virtual time: SM, agents, faults.
#include <gtest/gtest.h>

#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/query/smp_client.h"
#include "tests/sim/programs.h"
#include "tools/ibtracer/options.h"
#include "tools/ibtracer/prove.h"
#include "tools/ibtracer/report.h"
#include "tools/ibtracer/resolve.h"
#include "tools/ibtracer/trace.h"

namespace ib::sim::test {
namespace {

using ibtracer::AgentWord;
using ibtracer::CounterProof;
using ibtracer::GrhWord;
using ibtracer::Mismatch;
using ibtracer::Proof;
using ibtracer::Trace;
using ibtracer::TraceOptions;
using ibtracer::TraceReport;
using ibtracer::Verdict;
using query::WalkEnd;

/// A tree of 4 leaves, 2 spines and 16 hosts, up; the tracer sits on the first host, the target is
/// the last.
class Fixture : public ::testing::Test {
 protected:
  void SetUp() override { build(0); }

  void build(unsigned lmc) {
    fabric::FatTree tree;
    tree.levels = 2;
    tree.radix = 8;
    tree.leaves = 4;
    tree.spines = 2;
    tree.hosts_per_leaf = 4;
    auto made = fabric::generate(tree);
    ASSERT_TRUE(made) << made.error().message;
    agents_.clear();
    sm_.reset();
    port_.reset();
    world_ = std::make_unique<World>(*made);
    for (NodeIndex n = 0; n < made->nodes().size(); ++n)
      if (!made->node(n).is_switch()) hosts_.push_back({n, 1});
    sm::core::Options options;
    options.plan.lmc = static_cast<std::uint8_t>(lmc);
    sm_ = std::make_unique<SmProgram>(*world_, hosts_.front(), options);
    ASSERT_TRUE(world_->run_until([&] { return sm_->reports() > 0; }, std::chrono::seconds(30)));
    // What the subnet manager reads of devices after a sweep would count as traffic.
    world_->run_for(std::chrono::seconds(2));
    port_ = world_->open(hosts_.front());
    mad::TransactorOptions o;
    o.attempts_min = 3;
    session_ = std::make_unique<mad::Session>(*port_, o, world_->clock());
  }

  PortRef target() const { return hosts_.back(); }
  Lid lid_of(PortRef p) { return world_->model().port_info(p).lid; }
  void agent_on(PortRef p, std::uint8_t lie = 0, unsigned lies = ~0U) {
    agents_.push_back(std::make_unique<AgentProgram>(*world_, p, lie, lies));
  }
  TraceReport run(const TraceOptions& options = {}) {
    auto report = ibtracer::trace(*session_, lid_of(target()), options);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? *report : TraceReport{};
  }
  /// Writes one LFT entry of `node` by a raw SMP, as nobody but a vandal would.
  void break_entry(const query::Hop& hop, Lid lid, std::uint8_t port) {
    auto get = mad::smp_request(0, hop.node_guid.value, hop.route, wire::Method::Get,
                                wire::attr::kLinearForwarding, lid.value / 64U);
    auto answer = session_->call(get);
    ASSERT_TRUE(answer);
    auto table = wire::body<wire::LinearForwardingTable>(answer->mad);
    table.port[lid.value % 64] = port;
    auto set = mad::smp_request(0, hop.node_guid.value, hop.route, wire::Method::Set,
                                wire::attr::kLinearForwarding, lid.value / 64U);
    wire::set_body(set.mad, table);
    auto done = session_->call(set);
    ASSERT_TRUE(done);
    ASSERT_EQ(done->mad.status(), 0);
  }

  std::vector<PortRef> hosts_;
  std::unique_ptr<World> world_;
  std::unique_ptr<SmProgram> sm_;
  std::unique_ptr<HostPort> port_;
  std::unique_ptr<mad::Session> session_;
  std::vector<std::unique_ptr<AgentProgram>> agents_;
};

TEST_F(Fixture, EveryHopConfirmsItsIngress) {
  agent_on(target());
  const auto report = run();
  ASSERT_EQ(report.traces.size(), 1U);
  const Trace& t = report.traces[0];
  ASSERT_EQ(t.end, WalkEnd::Arrived) << t.failure;
  ASSERT_EQ(t.hops.size(), 5U);  // host, leaf, spine, leaf, host
  EXPECT_EQ(report.verdict(), Verdict::Verified) << ibtracer::text_report(report, true);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(t.hops[i].proof, Proof::Smp) << i;
    EXPECT_EQ(t.hops[i].smp_actual, t.hops[i].expected) << i;
  }
  EXPECT_EQ(t.hops[4].proof, Proof::Agent);
  EXPECT_EQ(t.hops[4].agent, AgentWord::Answered);
  EXPECT_EQ(ibtracer::exit_status(report), 0);
}

TEST_F(Fixture, AHostWithoutAgentSaysSoAtOnceAndIsProvedBySmp) {
  const Instant before = world_->now();
  const auto report = run();
  const auto& last = report.traces[0].hops.back();
  EXPECT_EQ(last.agent, AgentWord::NoAgent);
  EXPECT_EQ(last.proof, Proof::Smp);
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  EXPECT_LT(world_->now() - before, std::chrono::seconds(1))
      << "0x000C is an answer, not a timeout";
}

TEST_F(Fixture, ALyingAgentIsAnUnexplainedMismatch) {
  agent_on(target(), 3);
  const auto report = run();
  const auto& last = report.traces[0].hops.back();
  EXPECT_EQ(last.mismatch, Mismatch::Unexplained);
  EXPECT_EQ(last.agent_actual, 3);
  EXPECT_EQ(report.verdict(), Verdict::Mismatch);
  EXPECT_EQ(ibtracer::exit_status(report), 1);
  const std::string text = ibtracer::text_report(report, false);
  EXPECT_NE(text.find("\nMISMATCH lid"), std::string::npos) << text;
}

/// As when the packet came by tables that are not there any more when they are read again.
TEST_F(Fixture, AMismatchThatIsGoneWhenAskedAgainIsExplained) {
  agent_on(target(), 3, 1);
  const auto report = run();
  const auto& last = report.traces[0].hops.back();
  EXPECT_EQ(last.mismatch, Mismatch::Explained);
  EXPECT_EQ(last.agent_actual, 1);
  EXPECT_EQ(last.proof, Proof::Agent);
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  EXPECT_NE(ibtracer::text_report(report, true).find("explained MISMATCH: "), std::string::npos);
}

TEST_F(Fixture, AMissingEntryIsNamedWithEveryHopUpToIt) {
  const auto whole = run();
  break_entry(whole.traces[0].hops[2].hop, lid_of(target()), 255);
  const auto report = run();
  const Trace& t = report.traces[0];
  EXPECT_EQ(t.end, WalkEnd::NoEntry);
  EXPECT_EQ(t.hops.size(), 3U);
  EXPECT_EQ(report.verdict(), Verdict::Broken);
  const std::string text = ibtracer::text_report(report, false);
  EXPECT_NE(text.find("\nBROKEN lid"), std::string::npos) << text;
  EXPECT_NE(text.find("no LFT entry"), std::string::npos) << text;
  EXPECT_EQ(ibtracer::exit_status(report), 1);
}

TEST_F(Fixture, ALoopIsFound) {
  const auto whole = run();
  const auto& spine = whole.traces[0].hops[2].hop;
  break_entry(spine, lid_of(target()), spine.ingress_port);
  const auto report = run();
  EXPECT_EQ(report.traces[0].end, WalkEnd::Loop);
  EXPECT_EQ(report.verdict(), Verdict::Broken);
}

TEST_F(Fixture, ALinkThatIsDownIsNamed) {
  const auto whole = run();
  const auto& spine = whole.traces[0].hops[2].hop;
  const auto node = world_->model().topology().find_node(spine.node_guid);
  ASSERT_TRUE(node);
  ASSERT_TRUE(world_->model().link_down(world_->now(), {*node, spine.egress_port}));
  const auto report = run();
  EXPECT_EQ(report.traces[0].end, WalkEnd::LinkDown) << report.traces[0].failure;
  EXPECT_EQ(report.traces[0].hops.size(), 3U);
}

TEST_F(Fixture, WithoutAnAnswerOfOurOwnPortThereIsNoPathToJudge) {
  world_->model().set_behaviour(hosts_.front().node, Behaviour::Silent);
  const auto report = ibtracer::trace(*session_, lid_of(target()), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(cli::status_of(report.error()), 4) << report.error().message;
  EXPECT_NE(report.error().message.find("our own port does not answer"), std::string::npos);
}

TEST_F(Fixture, ADirectedRouteThatLeadsNowhereIsBrokenWhereItEnds) {
  const auto& topology = world_->model().topology();
  const auto leaf = topology.port(hosts_.front()).peer;
  ASSERT_TRUE(leaf);
  const auto own_leaf_port = leaf.port;
  const std::uint8_t other = own_leaf_port == 1 ? 2 : 1;

  auto report = ibtracer::trace_route(*session_, mad::DirectedRoute{{1, 99}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->traces[0].end, WalkEnd::WrongPort);
  EXPECT_EQ(report->traces[0].hops.size(), 2U);
  EXPECT_EQ(ibtracer::exit_status(*report), 1);
  const std::string text = ibtracer::text_report(*report, false);
  EXPECT_NE(text.find("\nBROKEN DR path 0,1,99 after 1 hop: wrong port: "), std::string::npos)
      << text;

  report = ibtracer::trace_route(*session_, mad::DirectedRoute{{1, other, 1}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->traces[0].end, WalkEnd::WrongPort) << "a host passes nothing on";
  EXPECT_EQ(report->traces[0].hops.size(), 3U);

  ASSERT_TRUE(world_->model().link_down(world_->now(), {leaf.node, other}));
  report = ibtracer::trace_route(*session_, mad::DirectedRoute{{1, other}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->traces[0].end, WalkEnd::LinkDown);
  EXPECT_EQ(ibtracer::text_report(*report, false).find("To DR path 0,1,"), 0U);
}

/// As when somebody sets a LID by hand: the route leads to one holder, and the target is the other.
TEST_F(Fixture, AnotherNodeWithTheTargetsLidIsAMismatch) {
  const auto whole = run();
  const PortRef twin = hosts_[hosts_.size() - 2];
  const Lid shared = lid_of(twin);
  const auto& way = whole.traces[0].hops.back().hop.route;
  query::SmpClient smp(*session_);
  auto info = smp.port_info(way, 1);
  ASSERT_TRUE(info) << info.error().message;
  info->lid = shared;
  info->port_state = wire::PortState::NoChange;
  info->port_physical_state = wire::PhysState::NoChange;
  auto set = mad::smp_request(0, 1, way, wire::Method::Set, wire::attr::kPortInfo, 1);
  wire::set_body(set.mad, *info);
  const auto done = session_->call(set);
  ASSERT_TRUE(done && done->mad.status() == 0);

  const auto found = ibtracer::resolve(*session_, way);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->lid, shared);
  TraceOptions options;
  options.wanted = found->wanted;
  const auto report = ibtracer::trace(*session_, found->lid, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->verdict(), Verdict::Mismatch);
  EXPECT_EQ(ibtracer::exit_status(*report), 1);
  const auto& topology = world_->model().topology();
  const std::string text = ibtracer::text_report(*report, false);
  for (const PortRef port : {twin, target()}) {
    EXPECT_NE(text.find(topology.node(port.node).description), std::string::npos) << text;
    EXPECT_NE(text.find(to_string(topology.port(port).guid)), std::string::npos) << text;
  }
  EXPECT_NE(text.find("\nMISMATCH lid "), std::string::npos) << text;

  // Who asks for the LID, or for the other holder, has what was asked for.
  const auto by_lid = ibtracer::trace(*session_, shared, {});
  ASSERT_TRUE(by_lid);
  EXPECT_EQ(by_lid->verdict(), Verdict::Verified) << ibtracer::text_report(*by_lid, true);
  const auto other = ibtracer::resolve(*session_, by_lid->traces[0].hops.back().hop.route);
  ASSERT_TRUE(other);
  options.wanted = other->wanted;
  const auto right = ibtracer::trace(*session_, shared, options);
  ASSERT_TRUE(right);
  EXPECT_EQ(right->verdict(), Verdict::Verified) << ibtracer::text_report(*right, true);
}

TEST_F(Fixture, ANodeWithoutALidIsThereAndCannotBeTraced) {
  World world(world_->model().topology());  // no subnet manager was here
  const auto port = world.open(hosts_.front());
  mad::Session session(*port, {}, world.clock());
  const auto found = ibtracer::resolve(session, mad::DirectedRoute{{1}});
  ASSERT_FALSE(found);
  EXPECT_EQ(cli::status_of(found.error()), 4) << found.error().message;
  EXPECT_NE(found.error().message.find("has no LID yet; is a subnet manager running?"),
            std::string::npos);
}

TEST_F(Fixture, ASilentHostIsATimeOutAndNotAMissingAgent) {
  world_->model().set_behaviour(target().node, Behaviour::Silent);
  const auto report = run();
  EXPECT_EQ(report.traces[0].end, WalkEnd::TimedOut);
  EXPECT_EQ(report.verdict(), Verdict::Broken);
  EXPECT_NE(ibtracer::text_report(report, false).find("timeout"), std::string::npos);
  EXPECT_NE(ibtracer::json_report(report, lid_of(target())).find("\"complete\": false"),
            std::string::npos);
}

TEST_F(Fixture, BothWaysAreProved) {
  agent_on(target());
  TraceOptions options;
  options.both = true;
  const auto report = run(options);
  ASSERT_EQ(report.traces.size(), 2U);
  const Trace& back = report.traces[1];
  EXPECT_TRUE(back.reverse);
  ASSERT_EQ(back.end, WalkEnd::Arrived) << back.failure;
  ASSERT_EQ(back.hops.size(), 5U);
  EXPECT_EQ(back.hops.front().hop.node_guid, report.traces[0].hops.back().hop.node_guid);
  EXPECT_EQ(back.hops.back().hop.node_guid, report.traces[0].hops.front().hop.node_guid);
  EXPECT_EQ(report.verdict(), Verdict::Verified) << ibtracer::text_report(report, true);
}

/// The way from one host to another, neither of which is ours.
struct FromElsewhere : Fixture {
  PortRef sender() const { return hosts_[5]; }
  TraceReport run_from(PortRef from, const TraceOptions& options = {}) {
    auto report = ibtracer::trace_between(*session_, {lid_of(from)}, lid_of(target()), options);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? *report : TraceReport{};
  }
};

TEST_F(FromElsewhere, EveryHopIsProvedAndTheFirstCableByTheSendersAgent) {
  agent_on(sender());
  const auto report = run_from(sender());
  ASSERT_EQ(report.traces.size(), 1U);
  const Trace& t = report.traces[0];
  ASSERT_EQ(t.end, WalkEnd::Arrived) << t.failure;
  ASSERT_EQ(t.hops.size(), 5U);
  const auto& f = world_->model().topology();
  EXPECT_EQ(t.hops.front().hop.node_guid, f.node(sender().node).guid);
  EXPECT_EQ(t.hops.back().hop.node_guid, f.node(target().node).guid);
  EXPECT_EQ(t.hops[1].proof, Proof::Agent);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(t.hops[i].proof, Proof::Smp) << i;
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  const std::string text = ibtracer::text_report(report, true);
  EXPECT_EQ(text.find("From \"host0006 HCA-1\" to lid "), 0U) << text;
  EXPECT_NE(text.find("by packets of \"host0001 HCA-1\" that join the way at its first switch"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("verified by agent; the sender's cable"), std::string::npos) << text;
  EXPECT_NE(text.find("VERIFIED from \"host0006 HCA-1\" to lid "), std::string::npos) << text;
}

TEST_F(FromElsewhere, WithoutAnAgentAnSmpShowsTheCableAndThatIsSaid) {
  const auto report = run_from(sender());
  EXPECT_EQ(report.traces[0].hops[1].proof, Proof::Smp);
  EXPECT_NE(report.traces[0].hops[1].note.find("its agent did not say so"), std::string::npos);
}

TEST_F(FromElsewhere, AMissingEntryOnTheWayIsNamed) {
  const auto good = run_from(sender());
  ASSERT_EQ(good.traces[0].hops.size(), 5U);
  break_entry(good.traces[0].hops[2].hop, lid_of(target()), 255);
  const auto report = run_from(sender());
  EXPECT_EQ(report.verdict(), Verdict::Broken);
  EXPECT_EQ(report.traces[0].end, WalkEnd::NoEntry);
  EXPECT_EQ(report.traces[0].hops.size(), 3U);
}

TEST_F(FromElsewhere, ASenderThatCannotBeReachedIsNoVerdictOfItsWay) {
  const auto good = run_from(sender());
  ASSERT_EQ(good.traces[0].hops.size(), 5U);
  break_entry(good.traces[0].hops[1].hop, lid_of(sender()), 255);
  const auto report = run_from(sender());
  ASSERT_EQ(report.traces.size(), 1U);
  EXPECT_EQ(report.traces[0].dlid, lid_of(sender()));
  EXPECT_EQ(report.verdict(), Verdict::Broken);
  ASSERT_EQ(report.errors.size(), 1U);
}

TEST_F(FromElsewhere, AnAnswerThatDoesNotComeBackIsSaid) {
  const auto good = run_from(sender());
  ASSERT_EQ(good.traces[0].hops.size(), 5U);
  break_entry(good.traces[0].hops[2].hop, good.traces[0].hops[1].hop.lid, 255);
  const auto report = run_from(sender());
  const auto& hop = report.traces[0].hops[2];
  EXPECT_EQ(hop.proof, Proof::None);
  EXPECT_NE(hop.note.find("an SMP that went on from the first switch to lid " +
                          std::to_string(hop.hop.lid.value) + " has no answer"),
            std::string::npos)
      << ibtracer::text_report(report, true);
}

TEST_F(FromElsewhere, FromOurOwnPortItIsATraceLikeAnyOther) {
  const auto report = run_from(hosts_.front());
  EXPECT_TRUE(report.traces[0].seen_from.empty());
  EXPECT_EQ(report.verdict(), Verdict::Verified);
}

TEST_F(FromElsewhere, ASwitchSendsByItsOwnTable) {
  const auto way = run_from(sender());
  const auto& f = world_->model().topology();
  const auto leaf = *f.find_node(way.traces[0].hops[1].hop.node_guid);
  const auto report = run_from({leaf, 0});
  ASSERT_EQ(report.traces[0].hops.size(), 4U);
  EXPECT_EQ(report.verdict(), Verdict::Verified) << ibtracer::text_report(report, true);
}

TEST_F(Fixture, CountersAreShownOfBothWays) {
  TraceOptions options;
  options.both = true;
  options.counters = true;
  const auto report = run(options);
  ASSERT_EQ(report.traces.size(), 2U);
  const Trace& back = report.traces[1];
  ASSERT_EQ(back.hops.size(), 5U);
  for (std::size_t i = 1; i < back.hops.size(); ++i) {
    EXPECT_TRUE(back.hops[i].ingress_counters) << i;
    EXPECT_TRUE(back.hops[i].ingress_errors) << i;
  }
  EXPECT_GT(back.hops.back().ingress_counters->port_rcv_pkts, 0U) << "our own port";
  EXPECT_TRUE(report.errors.empty());
}

TEST_F(Fixture, CountersProveTheTargetsOwnPath) {
  agent_on(target());
  TraceOptions options;
  options.prove = true;
  options.counters = true;
  const auto report = run(options);
  const Trace& t = report.traces[0];
  EXPECT_EQ(t.counters, CounterProof::Proven) << ibtracer::text_report(report, true);
  EXPECT_GE(t.packets_sent, 500U);
  for (const auto& p : t.port_counts)
    EXPECT_GE(p.risen, static_cast<std::int64_t>(t.packets_sent)) << p.hop_index;
  ASSERT_TRUE(t.hops.back().ingress_counters);
  EXPECT_GE(t.hops.back().ingress_counters->port_rcv_pkts, t.packets_sent);
}

TEST_F(Fixture, AgentsAreAskedWithAGrhWhereTheTargetIsAGid) {
  using WithGrh = AgentProgram::WithGrh;
  agent_on(target());
  AgentProgram& agent = *agents_.back();
  const auto& topology = world_->model().topology();
  const auto gid_of = [&](PortRef p) {
    return Gid::from(kDefaultSubnetPrefix, topology.port(p).guid);
  };
  TraceOptions options;
  options.grh = mad::Grh{gid_of(target()), 0, 0, 3, 0x12345};
  const std::array<std::tuple<WithGrh, GrhWord, std::string>, 3> cases{{
      {WithGrh::Answers, GrhWord::Answered, "verified by agent with GRH\n"},
      {WithGrh::DoesNotKnow, GrhWord::Unknown,
       "verified by agent without GRH, which it does not know\n"},
      {WithGrh::Promises, GrhWord::Silent,
       "verified by agent without GRH, with which it does not answer\n"},
  }};
  for (const auto& [manner, word, text] : cases) {
    agent.set_with_grh(manner);
    const auto report = run(options);
    const auto& last = report.traces[0].hops.back();
    EXPECT_EQ(last.grh, word);
    EXPECT_EQ(last.proof, Proof::Agent);
    EXPECT_EQ(report.verdict(), Verdict::Verified);
    EXPECT_NE(ibtracer::text_report(report, true).find(text), std::string::npos)
        << ibtracer::text_report(report, true);
    if (manner != WithGrh::Answers) continue;
    ASSERT_EQ(agent.grhs().size(), 1U) << "SourceRoute; ClassPortInfo tells whether it can";
    mad::Grh wanted = *options.grh;
    wanted.gid = gid_of(hosts_.front());  // a received one's is the sender's
    EXPECT_EQ(agent.grhs()[0], wanted);
  }
  EXPECT_EQ(run().traces[0].hops.back().grh, GrhWord::NotUsed);
}

TEST_F(Fixture, EveryLidOfAPortIsTraced) {
  hosts_.clear();
  build(2);
  TraceOptions options;
  options.lmc_all = true;
  const auto report = run(options);
  ASSERT_EQ(report.traces.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.traces[i].dlid.value, lid_of(target()).value + i);
    EXPECT_EQ(report.traces[i].end, WalkEnd::Arrived);
  }
  EXPECT_EQ(report.verdict(), Verdict::Verified) << ibtracer::text_report(report, true);
}

TEST_F(Fixture, EveryLidOfOurOwnPortIsAWayBack) {
  hosts_.clear();
  build(2);
  TraceOptions options;
  options.lmc_all = true;
  options.both = true;
  const unsigned there = lid_of(target()).value, back = lid_of(hosts_.front()).value;
  using Way = std::pair<bool, unsigned>;
  const auto ways = [](const TraceReport& report) {
    std::vector<Way> all;
    for (const Trace& t : report.traces) {
      EXPECT_EQ(t.end, WalkEnd::Arrived) << t.failure;
      all.emplace_back(t.reverse, t.dlid.value);
    }
    return all;
  };
  const auto report = run(options);
  std::vector<Way> pairs;
  for (unsigned i = 0; i < 4; ++i) {
    pairs.emplace_back(false, there + i);
    pairs.emplace_back(true, back + i);
  }
  EXPECT_EQ(ways(report), pairs);
  EXPECT_EQ(report.verdict(), Verdict::Verified) << ibtracer::text_report(report, true);

  // A switch has one LID, and we have four all the same.
  const Lid leaf = report.traces[0].hops[1].hop.lid;
  const auto to_switch = ibtracer::trace(*session_, leaf, options);
  ASSERT_TRUE(to_switch);
  EXPECT_EQ(ways(*to_switch), (std::vector<Way>{{false, leaf.value},
                                                {true, back},
                                                {true, back + 1},
                                                {true, back + 2},
                                                {true, back + 3}}));
}

TEST(JudgeCount, NeedsTenTimesTheSpreadAndTellsTheThreeCasesApart) {
  ibtracer::PortCount count;
  count.background_min = 10;
  count.background_max = 20;
  count.risen = 515;
  EXPECT_EQ(ibtracer::judge_count(500, count), CounterProof::Proven);
  count.risen = 15;
  EXPECT_EQ(ibtracer::judge_count(500, count), CounterProof::Contradicted);
  count.risen = 400;
  EXPECT_EQ(ibtracer::judge_count(500, count), CounterProof::NotProven);
  count.background_max = 200;  // too noisy for 500 packets
  count.risen = 700;
  EXPECT_EQ(ibtracer::judge_count(500, count), CounterProof::NotProven);
}

TEST(Retries, FewAttemptsWaitInFull) {
  ibtracer::Options options;
  const auto usual = ibtracer::transactor_options(options);
  options.retries = 1;
  const auto few = ibtracer::transactor_options(options);
  EXPECT_EQ(few.attempts_known, 2);
  EXPECT_EQ(few.timeout_floor, usual.timeout_ceiling);
  EXPECT_EQ(few.timeout_start, usual.timeout_ceiling);
  options.retries = 7;
  EXPECT_EQ(ibtracer::transactor_options(options).timeout_floor, usual.timeout_floor);
}

}  // namespace
}  // namespace ib::sim::test
