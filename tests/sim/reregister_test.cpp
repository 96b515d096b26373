// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who is asked to register again (PortInfo:ClientReregister), and that each is asked once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using sm::test::small_tree;
using sm::test::SmOnModel;

struct Leaf {
  std::vector<PortRef> uplinks;  // all its cables to switches
  unsigned hosts{0};
};
/// One that the subnet manager does not hang from.
Leaf far_leaf(SmOnModel& run) {
  const auto& f = run.model().topology();
  const NodeIndex own_leaf = f.port(run.at()).peer.node;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch() || n == own_leaf) continue;
    Leaf leaf;
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto far = f.port(at).peer;
      if (!far) continue;
      if (f.node(far.node).is_switch()) {
        leaf.uplinks.push_back(at);
      } else {
        ++leaf.hosts;
      }
    }
    if (leaf.hosts != 0) return leaf;
  }
  return {};
}

/// A port cut off behind a cable between switches keeps its own link, so nothing but the subnet
/// manager can tell it that its memberships and subscriptions are gone.
TEST(Reregister, HostsBehindACutCableAreAskedOnceWhenTheyAreBack) {
  SmOnModel run(small_tree());
  unsigned asked = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    const auto& mad = packet.mad;
    if (mad.attribute_id() == ib::wire::attr::kPortInfo && mad.method() == Method::Set)
      asked += ib::wire::body<ib::wire::PortInfo>(mad).client_reregister;
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());

  const auto [uplinks, hosts] = far_leaf(run);
  ASSERT_FALSE(uplinks.empty());
  asked = 0;
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_down(run.now(), at));
  run.run_for(30s);
  EXPECT_EQ(asked, 0U);
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_up(run.now(), at));
  run.run_for(60s);
  ASSERT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(asked, hosts);

  // What follows is about trees, and nobody is asked again.
  std::vector<Guid> members;
  for (const auto& claim : run.kept().lids) members.push_back(claim.port_guid);
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, members, {}}});
  run.run_for(5s);
  EXPECT_EQ(asked, hosts);
}

/// As when a cable on the way flaps: what was asked is lost, and the next sweep finds all as it
/// was.
TEST(Reregister, WhoDidNotHearItIsAskedAgain) {
  SmOnModel run(small_tree());
  bool lost = true;
  unsigned asked = 0, swallowed = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    const auto& mad = packet.mad;
    if (mad.attribute_id() != ib::wire::attr::kPortInfo || mad.method() != Method::Set ||
        !ib::wire::body<ib::wire::PortInfo>(mad).client_reregister)
      return true;
    ++(lost ? swallowed : asked);
    return !lost;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  const auto [uplinks, hosts] = far_leaf(run);
  ASSERT_FALSE(uplinks.empty());
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_down(run.now(), at));
  run.run_for(30s);
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_up(run.now(), at));
  while (swallowed == 0) run.run_for(100ms);
  run.run_for(20s);
  EXPECT_EQ(asked, 0U);
  lost = false;
  run.run_for(60s);
  ASSERT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(asked, hosts);
}

/// Subscriptions of two hosts have ended since no Report was answered; the second time the request
/// is not heard at first either.
TEST(Reregister, WhoseSubscriptionsEndedIsAsked) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(5s);
  const auto& f = run.model().topology();
  std::vector<Guid> ports;
  for (NodeIndex n = 0; n < f.nodes().size() && ports.size() < 2; ++n)
    if (!f.node(n).is_switch() && n != run.at().node) ports.push_back(f.port(n, 1).guid);
  ASSERT_EQ(ports.size(), 2U);
  ib::Instant heard_from{};
  unsigned asked = 0, lost = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() != ib::wire::attr::kPortInfo ||
        packet.mad.method() != Method::Set ||
        !ib::wire::body<ib::wire::PortInfo>(packet.mad).client_reregister)
      return true;
    const bool is_heard = run.now() >= heard_from;
    ++(is_heard ? asked : lost);
    return is_heard;
  });
  const auto whole = run.sm().counters().full_sweeps;
  run.sm().on_untold_clients(run.now(), ports);
  run.run_for(5s);
  EXPECT_EQ(asked, 2U);
  EXPECT_EQ(run.sm().counters().full_sweeps, whole) << "the rest of the fabric is left alone";

  heard_from = run.now() + 10s;
  run.sm().on_untold_clients(run.now(), ports);
  EXPECT_EQ(run.sm().clients_to_ask().ports, (std::set<Guid>{ports.begin(), ports.end()}));
  run.run_for(60s);
  EXPECT_EQ(asked, 4U);
  EXPECT_GT(lost, 0U);
  EXPECT_TRUE(run.sm().clients_to_ask().empty());
  EXPECT_THAT(run.take_doubted(), testing::IsEmpty()) << "what else they have stays";
  EXPECT_TRUE(run.last().up());
}

/// Behind our own port is everything.
TEST(Reregister, WhoseSubscriptionsEndedOnTheSameHostIsAskedWithoutASweepOfTheWhole) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(5s);
  unsigned asked = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    asked += packet.mad.attribute_id() == ib::wire::attr::kPortInfo &&
             packet.mad.method() == Method::Set &&
             ib::wire::body<ib::wire::PortInfo>(packet.mad).client_reregister;
    return true;
  });
  const auto before = run.sm().counters().full_sweeps;
  run.sm().on_untold_clients(run.now(), {run.model().topology().port(run.at()).guid});
  run.run_for(5s);
  EXPECT_EQ(asked, 1U);
  EXPECT_EQ(run.sm().counters().full_sweeps, before);
}

/// By no_clients_rereg, or since they are switches.
TEST(Reregister, WhoseSubscriptionsEndedAndWhoCannotBeAskedIsNotSweptFor) {
  for (const bool by_option : {true, false}) {
    sm::core::Options options;
    options.plan.reregister = !by_option;
    SmOnModel run(small_tree(), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    run.run_for(5s);
    const auto& f = run.model().topology();
    std::vector<Guid> ports;
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch())
        ports.push_back(f.port(n, 0).guid);
      else if (by_option && n != run.at().node)
        ports.push_back(f.port(n, 1).guid);
    const auto partial = run.sm().counters().partial_sweeps;
    run.sm().on_untold_clients(run.now(), ports);
    run.run_for(5s);
    EXPECT_EQ(run.sm().counters().partial_sweeps, partial);
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(5s);
    EXPECT_TRUE(run.sm().clients_to_ask().empty()) << "nobody waits for what does not come";
  }
}

/// A host says that it has the LID of another one, as after a Set that a moved cable brought to it.
class LidAstray : public testing::Test {
 protected:
  LidAstray() {
    run.watch([this](const ib::mad::Packet& packet) {
      if (packet.mad.attribute_id() != ib::wire::attr::kPortInfo ||
          packet.mad.method() != Method::Set)
        return true;
      const auto info = ib::wire::body<ib::wire::PortInfo>(packet.mad);
      if (info.client_reregister) asked.push_back(info.lid);
      if (info.lid == lid_of(0) && !lies) astray = {};
      return true;
    });
    run.listen([this](ib::mad::Packet& packet) {
      if (packet.mad.attribute_id() != ib::wire::attr::kPortInfo) return;
      ib::wire::View<ib::wire::PortInfo> info(packet.mad.data());
      if (astray.is_unicast() && info.get<&ib::wire::PortInfo::lid>() == lid_of(0))
        info.set<&ib::wire::PortInfo::lid>(astray);
    });
    EXPECT_TRUE(run.run_until_reports(1));
    run.run_for(5s);
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size() && hosts.size() < 2; ++n)
      if (!f.node(n).is_switch() && n != run.at().node) hosts.push_back({n, 1});
    asked.clear();
  }
  ib::Lid lid_of(std::size_t host) const {
    return hosts.size() > host ? run.model().port_info(hosts[host]).lid : ib::Lid{};
  }
  Guid guid_of(std::size_t host) const { return run.model().topology().port(hosts[host]).guid; }
  void sweep() {
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(60s);
  }

  std::vector<PortRef> hosts;
  std::vector<ib::Lid> asked;
  ib::Lid astray;
  bool lies{false};
  SmOnModel run{small_tree()};
};

TEST_F(LidAstray, ItsOwnerIsAskedOnceItIsTakenBack) {
  astray = lid_of(1);
  sweep();
  EXPECT_EQ(asked, (std::vector{lid_of(0), lid_of(1)})) << "who had it has lost its own";
  EXPECT_THAT(run.take_doubted(), testing::IsEmpty());
  EXPECT_EQ(run.take_subscriptions_doubted(), std::vector{guid_of(1)});
  sweep();
  EXPECT_EQ(asked.size(), 2U);
}

TEST_F(LidAstray, WhereAHostLiesForGoodTheOwnerIsAskedOnce) {
  lies = true;
  astray = lid_of(1);
  for (unsigned i = 0; i < 20; ++i) sweep();
  EXPECT_EQ(std::ranges::count(asked, lid_of(1)), 1);
  for (unsigned i = 0; i < 20; ++i) {
    astray = i % 2 == 0 ? ib::Lid{} : lid_of(1);
    sweep();
  }
  EXPECT_LE(std::ranges::count(asked, lid_of(1)), 4) << "within forty minutes";
}

/// Another subnet manager on the same host leaves its SM LID and all LIDs as they were. Of a host
/// that came while it ran the LID tells of it.
class AfterAnother : public testing::Test {
 protected:
  AfterAnother() {
    run.watch([this](const ib::mad::Packet& packet) {
      const auto& mad = packet.mad;
      if (mad.attribute_id() == ib::wire::attr::kPortInfo && mad.method() == Method::Set) {
        asked += ib::wire::body<ib::wire::PortInfo>(mad).client_reregister;
        named = twin = renumbered = {};
      }
      return true;
    });
    run.listen([this](ib::mad::Packet& packet) {
      auto& mad = packet.mad;
      if (named.is_unicast() && mad.attribute_id() == ib::wire::attr::kPortInfo)
        ib::wire::View<ib::wire::PortInfo>(mad.data())
            .set<&ib::wire::PortInfo::master_sm_lid>(named);
      if (twin.is_unicast() && mad.attribute_id() == ib::wire::attr::kPortInfo) {
        ib::wire::View<ib::wire::PortInfo> info(mad.data());
        if (info.get<&ib::wire::PortInfo::lid>() == renumbered)
          info.set<&ib::wire::PortInfo::lid>(ib::Lid{0x200});
        if (info.get<&ib::wire::PortInfo::lid>() == twin)
          info.set<&ib::wire::PortInfo::lid>(info.get<&ib::wire::PortInfo::master_sm_lid>());
      }
    });
    EXPECT_TRUE(run.model().link_down(run.now(), late));
    come_up();
  }
  void come_up() {
    EXPECT_TRUE(run.run_until_reports(1));
    run.run_for(5s);
    asked = 0;
  }
  unsigned asked_by(const sm::store::Contents& store) {
    asked = 0;
    run.boot_with(store);
    EXPECT_TRUE(run.run_until_reports(1));
    run.run_for(60s);
    EXPECT_TRUE(run.last().up());
    return asked;
  }
  static PortRef last_host(const ib::fabric::Fabric& f) {
    PortRef last;
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).type == ib::wire::NodeType::ChannelAdapter) last = {n, 1};
    return last;
  }

  SmOnModel run{small_tree()};
  PortRef late{last_host(run.model().topology())};
  unsigned hosts = [this] {
    unsigned count = 0;
    for (const auto& node : run.model().topology().nodes())
      count += node.type == ib::wire::NodeType::ChannelAdapter;
    return count;
  }();
  unsigned asked{0};
  ib::Lid named{};       // by all ports, as the subnet manager's, until they are told another
  ib::Lid twin{};        // until then the port with this LID says that it has the subnet manager's
  ib::Lid renumbered{};  // and the one with this LID another one

  /// Of a host that is there, and not ours.
  sm::store::LidClaim some_host(const sm::store::Contents& store) const {
    const auto& fabric = run.model().topology();
    return *std::ranges::find_if(store.lids, [&](const auto& claim) {
      const auto at = fabric.find_port_guid(claim.port_guid);
      return at && at->port != 0 && *at != run.at();
    });
  }
  std::size_t doubted() {
    const auto ports = run.take_doubted();
    return std::set(ports.begin(), ports.end()).size();
  }
};

TEST_F(AfterAnother, EveryHostIsAskedOnceWhenALidShowsIt) {
  const auto ours = run.kept();
  run.boot_without_memory();
  ASSERT_TRUE(run.model().link_up(run.now(), late));
  come_up();
  EXPECT_EQ(asked_by(ours), hosts);
  EXPECT_EQ(asked_by(run.kept()), 0U) << "nor by the next start";
}

TEST_F(AfterAnother, ThatAHostWasAskedIsNothingThatItsPortHolds) {
  const auto ours = run.kept();
  run.boot_without_memory();
  ASSERT_TRUE(run.model().link_up(run.now(), late));
  come_up();
  EXPECT_EQ(asked_by(ours), hosts);
  for (const auto& port : run.sm().snapshot()->observed->ports)
    EXPECT_FALSE(port.get<&ib::wire::PortInfo::client_reregister>());
}

/// The master before, on whatever host, could not ask them.
TEST_F(AfterAnother, WhoIsStoredToBeAskedIsAskedOnce) {
  auto kept = run.kept();
  kept.clients_to_ask = {run.model().topology().port(run.at()).guid};
  EXPECT_EQ(asked_by(kept), 1U);
  EXPECT_TRUE(run.sm().clients_to_ask().empty());
  kept.clients_to_ask = {sm::store::kAllClients};
  EXPECT_EQ(asked_by(kept), hosts - 1) << "one is away";
  EXPECT_TRUE(run.sm().clients_to_ask().empty());
}

/// The process before died within the minute that clients had to repeat what they had registered.
TEST_F(AfterAnother, WhoIsStoredToBeInDoubtIsAskedAndInDoubtAgain) {
  for (const bool shared : {false, true}) {
    sm::core::Options options;
    options.shares_store = shared;
    run.boot_as(options);
    auto kept = run.kept();
    const auto guid = run.model().topology().port(run.at()).guid;
    kept.clients_in_doubt = {guid};
    EXPECT_EQ(asked_by(kept), 1U);
    EXPECT_THAT(run.take_doubted(), testing::Each(guid));
    EXPECT_EQ(run.kept().clients_in_doubt, std::vector{guid}) << "until clients have repeated it";
  }
}

/// What several subnet managers share is known to all of them; but another one was here.
TEST_F(AfterAnother, WhatIsSharedIsInDoubtWhereTheOtherOneDidNotWriteIt) {
  sm::core::Options options;
  options.shares_store = true;
  run.boot_as(options);
  auto kept = run.kept();
  const auto own = run.model().topology().port(run.at()).guid;
  EXPECT_EQ(asked_by(kept), 0U);
  EXPECT_EQ(run.kept().writers, std::vector{own});
  const auto other = some_host(kept);
  for (const bool wrote : {true, false}) {
    kept.writers = {wrote ? other.port_guid : ib::Guid{1}};
    named = other.lid;
    EXPECT_EQ(asked_by(kept), hosts - 1) << "one is away";
    EXPECT_EQ(doubted(), wrote ? 0 : hosts - 1);
  }
  kept.writers = {};
  named = other.lid;
  EXPECT_EQ(asked_by(kept), hosts - 1);
  EXPECT_EQ(doubted(), 0U) << "a store of a release before does not say who wrote it";
}

/// A part of the fabric was cut off, and one that does not share what is stored managed it by a LID
/// that was free there, and is in the store as that of one that does.
TEST_F(AfterAnother, OneThatHadTheLidOfAWriterIsAnother) {
  sm::core::Options options;
  options.shares_store = true;
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto [uplinks, away] = far_leaf(run);
  auto kept = run.kept();
  const auto other = some_host(kept);
  sm::store::Batch more;
  more.lids = {{ib::Guid{1}, other.lid, other.lmc},
               {run.model().topology().port(late).guid, ib::Lid{0x100}, 0}};
  more.writers = {ib::Guid{1}};
  kept.writers = {};
  sm::store::apply(more, kept);
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_down(run.now(), at));
  named = other.lid;
  EXPECT_EQ(asked_by(kept), hosts - 1 - away) << "one more is away";
  EXPECT_EQ(doubted(), hosts - 1 - away);

  // By now no port says any more that it was there.
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_up(run.now(), at));
  run.run_for(60s);
  EXPECT_EQ(asked, hosts - 1);
  EXPECT_EQ(doubted(), away);
  ASSERT_TRUE(run.model().link_up(run.now(), late));
  run.run_for(60s);
  EXPECT_EQ(asked, hosts) << "though its port was not in use";
  EXPECT_EQ(doubted(), 1U);
  for (const Guid guid : run.kept().clients_in_doubt) {
    const auto at = run.model().topology().find_port_guid(guid);
    EXPECT_TRUE(!at || at->port != 0) << "a switch is not asked";
  }
}

/// Likewise by ours: that ports name it is no reason to leave them alone.
TEST_F(AfterAnother, OneThatHadOurLidIsAnother) {
  for (const bool shared : {false, true}) {
    sm::core::Options options;
    options.shares_store = shared;
    run.boot_as(options);
    ASSERT_TRUE(run.run_until_reports(1));
    auto kept = run.kept();
    kept.clients_in_doubt = {};
    run.take_doubted();
    twin = some_host(kept).lid;
    EXPECT_EQ(asked_by(kept), hosts - 1) << "one is away";
    EXPECT_EQ(doubted(), hosts - 1);
    EXPECT_EQ(asked_by(run.kept()), hosts - 1) << "they are in doubt until they repeat it";
    EXPECT_EQ(asked_by(kept), 0U);

    // Where one comes to whom we manage they are no others' for that.
    run.take_doubted();
    twin = some_host(kept).lid;
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(60s);
    EXPECT_FALSE(twin.is_unicast()) << "it has its own again";
    EXPECT_EQ(asked, 1U);
    EXPECT_EQ(doubted(), 1U);

    // Unless it gave one of them another LID while we did nothing.
    run.take_doubted();
    twin = some_host(kept).lid;
    renumbered = run.model().port_info(run.at()).lid;
    asked = 0;
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(60s);
    EXPECT_EQ(asked, hosts - 1);
    EXPECT_EQ(doubted(), hosts - 1);
  }
}

TEST_F(AfterAnother, NobodyIsAskedAfterAStartOfOurOwn) {
  EXPECT_EQ(asked_by(run.kept()), 0U);
  // A host that comes while nobody manages has no LID yet.
  ASSERT_TRUE(run.model().link_up(run.now(), late));
  EXPECT_EQ(asked_by(run.kept()), 0U);
  EXPECT_EQ(run.not_active().size(), 0U);
  // Its cable is pulled and plugged in between.
  ASSERT_TRUE(run.model().link_down(run.now(), late));
  ASSERT_TRUE(run.model().link_up(run.now(), late));
  EXPECT_EQ(asked_by(run.kept()), 0U);
}

/// The state directory is gone, with all that stood in it.
TEST(Reregister, PortsThatNameOurLidTellOfAStoreThatIsLost) {
  SmOnModel run(small_tree());
  std::vector<std::string> errors;
  run.write_log_to([&](const ib::LogEvent& event) {
    if (event.level == ib::LogLevel::Error) errors.push_back(event.message);
  });
  ASSERT_TRUE(run.run_until_reports(1));
  run.boot();
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(errors, testing::IsEmpty()) << "neither a first start nor a restart";
  run.boot_without_memory();
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(errors, testing::ElementsAre(testing::HasSubstr("but no LID is stored")));
}

}  // namespace
