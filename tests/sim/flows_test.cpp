// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Packets between hosts on the model travel the VLs that were promised, at every hop: what ports
// count by VL, against the routes and the operator's mapping that the subnet manager planned by,
// which is not the tables that devices hold. A judge of the tests' own goes by those: no packet
// waits for itself.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/mad/request.h"
#include "sm/plan/vl_tables.h"
#include "sm/sa/subnet/paths.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/tables/vl_walk.h"

namespace sm::test {
namespace {

using ib::Sl;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using policy::QosKind;

constexpr unsigned kDropped = 15;

ib::fabric::Fabric fat_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 6;
  return unconfigured(tree);
}
ib::fabric::Fabric torus() {
  ib::fabric::Grid grid;
  grid.sizes = {5, 5};
  return unconfigured(grid);
}
ib::fabric::Fabric dragonfly_plus() {
  ib::fabric::DragonflyPlus kind;
  kind.groups = 3, kind.leaves = kind.spines = kind.hosts = kind.cables = 2;
  return unconfigured(kind);
}

class Flows {
 public:
  /// `levels`: SLs of levels of service, a bit each.
  Flows(ib::fabric::Fabric topology, const char* engine, const policy::QosSets* sets,
        std::uint16_t levels = 0)
      : sets_(sets), run_(std::move(topology), {}, options_for(engine, sets, levels)) {
    EXPECT_TRUE(run_.run_until_reports(1));
    EXPECT_TRUE(run_.last().up());
    snapshot_ = run_.sm().snapshot();
    EXPECT_EQ(snapshot_->routing->engine, engine);
    paths_ = std::make_unique<sa::Paths>(snapshot_);
  }

  /// One packet from each host to each other host: of the SL that the routes have for the two, or
  /// of `sl`.
  void send(std::optional<Sl> sl = std::nullopt) {
    for (const auto& from : paths_->end_ports())
      for (const auto& to : paths_->end_ports())
        if (from.port != to.port && !is_switch(from) && !is_switch(to))
          send(from, to, sl ? *sl : paths_->sl(from, to));
    run_.run_for(std::chrono::milliseconds(10));
  }

  /// The same, of the SL that a level has for the two.
  void send_at_level(Sl level) {
    const auto* levels = paths_->levels();
    for (const auto& from : paths_->end_ports())
      for (const auto& to : paths_->end_ports())
        if (from.port != to.port && !is_switch(from) && !is_switch(to))
          send(from, to, levels == nullptr ? level : *levels->at(level, paths_->sl(from, to)));
    run_.run_for(std::chrono::milliseconds(10));
  }

  /// What every port has counted by VL is what was promised for what was sent, and so is the number
  /// of packets that were dropped.
  void expect_as_promised() {
    const auto& f = run_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
        const PortRef port{n, static_cast<std::uint8_t>(p)};
        const auto vls = run_.model().vl_counters(port);
        ASSERT_EQ(vls.xmit_pkts, promised_[std::pair(n, p)])
            << f.node(n).description << " port " << p;
        if (f.port(port).peer) {
          const PortRef peer = f.port(port).peer;
          ASSERT_EQ(run_.model().vl_counters(peer).rcv_pkts, vls.xmit_pkts);
        }
      }
    EXPECT_EQ(run_.model().counters().dropped_vl, dropped_);
    EXPECT_EQ(run_.model().counters().dropped_no_route, 0U);
  }

  /// Of what was sent, by the tables of the devices: all arrives, and nothing that holds a VL of a
  /// link waits for it.
  void expect_no_cycle() {
    const auto& f = snapshot_->fabric();
    const ib::sim::Model& model = run_.model();
    const auto at = [&](NodeIndex n) { return *model.topology().find_node(f.node(n).guid); };
    const ib::tables::test::VlWalk walk(
        {f, [&](NodeIndex n, ib::Lid lid) { return model.lft(at(n), lid); },
         [&](NodeIndex n, std::uint8_t in, std::uint8_t out, Sl sl) {
           return model.sl_to_vl({at(n), out}, in).vl[sl.value];
         },
         [&](PortRef from, PortRef to) { return sls_[std::pair(from, to)]; }});
    EXPECT_GT(walk.findings().flows, 0U);
    EXPECT_EQ(walk.findings().lost, 0U);
    EXPECT_FALSE(walk.findings().cycle);
  }

  /// Data VLs that any packet between switches was promised.
  std::size_t vls_between_switches() const {
    std::array<bool, 15> used{};
    const auto& f = run_.model().topology();
    for (const auto& [port, counts] : promised_) {
      const auto peer = f.port(port.first, port.second).peer;
      if (!f.node(port.first).is_switch() || !f.node(peer.node).is_switch()) continue;
      for (std::size_t vl = 0; vl < counts.size(); ++vl) used[vl] = used[vl] || counts[vl] != 0;
    }
    return static_cast<std::size_t>(std::ranges::count(used, true));
  }
  std::uint64_t dropped() const { return dropped_; }

 private:
  static core::Options options_for(const char* engine, const policy::QosSets* sets,
                                   std::uint16_t levels) {
    core::Options options;
    options.plan.choice.engines = {engine};
    options.plan.choice.no_fallback = true;
    options.plan.choice.allow_credit_loops = true;
    options.plan.qos = sets != nullptr || levels != 0;
    if (levels != 0) options.plan.level_sls = levels;
    if (sets != nullptr) options.plan.qos_sets = *sets;
    return options;
  }
  bool is_switch(const sa::EndPort& port) const {
    return snapshot_->fabric().node(port.port.node).is_switch();
  }

  void send(const sa::EndPort& from, const sa::EndPort& to, Sl sl) {
    ib::mad::Packet packet;
    packet.address = ib::mad::gsi_address(to.lid);
    packet.address.sl = sl;
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, ib::wire::Method::Get,
                                    ib::wire::attr::kClassPortInfo);
    const auto sender = run_.model().topology().find_port_guid(from.guid);
    ASSERT_TRUE(sender);
    run_.model().send(run_.now(), *sender, false, packet);
    promise(from, to, sl);
    sls_[std::pair(from.port, to.port)].insert(sl.value);
  }

  void promise(const sa::EndPort& from, const sa::EndPort& to, Sl sl) {
    const auto& f = snapshot_->fabric();
    const auto way = paths_->trace(from, to, to.lid);
    ASSERT_GE(way.size(), 2U);
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      const PortRef out{way[i].node, way[i].exit};
      const unsigned vl = promised_vl(out, way[i].entry, sl);
      if (vl == kDropped) {
        ++dropped_;
        return;
      }
      const auto there = *run_.model().topology().find_node(f.node(out.node).guid);
      ++promised_[std::pair(there, unsigned{out.port})][vl];
    }
  }
  /// The operator's mapping, or where the routes use several VLs theirs.
  unsigned promised_vl(PortRef out, std::uint8_t in, Sl sl) const {
    const auto& f = snapshot_->fabric();
    const auto& routing = *snapshot_->routing;
    unsigned vl = 0;
    if (sets_ != nullptr) {
      vl = policy::settings_for(*sets_, plan::qos_kind(f, out)).sl_to_vl[sl.value];
    } else if (routing.virtual_lanes.trivial()) {
      vl = sl.value;
    } else if (f.node(out.node).is_switch()) {
      vl = routing.virtual_lanes.sl_to_vl.vl(routing.graph.switch_of(out.node), in, out.port, sl);
    } else {
      vl = routing.virtual_lanes.sl_to_vl.injection().vl[sl.value];
    }
    constexpr unsigned kVlsOfModel = 8;
    return vl == kDropped ? kDropped : vl % kVlsOfModel;
  }

  const policy::QosSets* sets_;
  SmOnModel run_;
  SnapshotPtr snapshot_;
  std::unique_ptr<sa::Paths> paths_;
  std::map<std::pair<NodeIndex, unsigned>, std::array<std::uint64_t, 15>> promised_;
  std::map<std::pair<PortRef, PortRef>, std::set<std::uint8_t>> sls_;  // of what was sent
  std::uint64_t dropped_{0};
};

/// Another mapping for each kind of port; SL 9 ends between switches, SL 10 at the hosts.
policy::QosSets mappings() {
  policy::QosSets sets;
  const auto set = [&](QosKind kind) -> std::vector<std::uint8_t>& {
    return sets[static_cast<std::size_t>(kind)].sl_to_vl;
  };
  set(QosKind::Ca) = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 15};
  set(QosKind::SwitchExternal) = {7, 6, 5, 4, 3, 2, 1, 0, 7, 6};
  set(QosKind::SwitchToSwitch) = {1, 2, 3, 4, 5, 6, 7, 0, 1, 15};
  return sets;
}

struct RoutedTopology {
  ib::fabric::Fabric (*topology)();
  const char* engine;
};

TEST(Flows, PacketsTravelTheVlsOfTheOperatorsMapping) {
  const policy::QosSets sets = mappings();
  for (const auto& [topology, engine] :
       {RoutedTopology{fat_tree, "minhop"}, RoutedTopology{fat_tree, "updn"},
        RoutedTopology{fat_tree, "ftree"}, RoutedTopology{fat_tree, "sssp"},
        RoutedTopology{torus, "dnup"}, RoutedTopology{torus, "updn"},
        RoutedTopology{torus, "minhop"}, RoutedTopology{dragonfly_plus, "updn"},
        RoutedTopology{dragonfly_plus, "minhop"}}) {
    SCOPED_TRACE(engine);
    Flows flows(topology(), engine, &sets);
    for (const Sl sl : {Sl{0}, Sl{3}, Sl{7}, Sl{9}, Sl{10}}) flows.send(sl);
    EXPECT_EQ(flows.vls_between_switches(), 3U);
    EXPECT_GT(flows.dropped(), 0U);
    flows.expect_as_promised();
  }
}

TEST(Flows, OneTwoAndFourClassesOfSlsKeepToTheirVls) {
  for (const unsigned classes : {1U, 2U, 4U}) {
    policy::QosSets sets;
    auto& map = sets[static_cast<std::size_t>(QosKind::General)].sl_to_vl;
    for (unsigned sl = 0; sl < 16; ++sl) map.push_back(static_cast<std::uint8_t>(sl % classes));
    for (const auto& [topology, engine] :
         {RoutedTopology{fat_tree, "minhop"}, RoutedTopology{fat_tree, "updn"},
          RoutedTopology{fat_tree, "dnup"}, RoutedTopology{fat_tree, "ftree"},
          RoutedTopology{fat_tree, "sssp"}, RoutedTopology{torus, "updn"},
          RoutedTopology{dragonfly_plus, "updn"}}) {
      SCOPED_TRACE(testing::Message() << engine << ", " << classes);
      Flows flows(topology(), engine, &sets);
      for (std::uint8_t sl = 0; sl < 16; ++sl) flows.send(Sl{sl});
      EXPECT_EQ(flows.vls_between_switches(), classes);
      EXPECT_EQ(flows.dropped(), 0U);
      flows.expect_as_promised();
      flows.expect_no_cycle();
    }
  }
}

/// Engines that use several VLs.
const RoutedTopology kOfSeveralVls[] = {
    {fat_tree, "lash"},      {fat_tree, "dfsssp"},    {fat_tree, "nue"},
    {torus, "lash"},         {torus, "dfsssp"},       {torus, "nue"},
    {torus, "torus-2QoS"},   {dragonfly_plus, "dfp"}, {dragonfly_plus, "dfsssp"},
    {dragonfly_plus, "nue"}, {dragonfly_plus, "lash"}};

TEST(Flows, PacketsTravelTheVlsOfTheirRoutes) {
  for (const auto& [topology, engine] : kOfSeveralVls) {
    SCOPED_TRACE(engine);
    Flows flows(topology(), engine, nullptr);
    flows.send();
    if (topology == torus) {
      EXPECT_GT(flows.vls_between_switches(), 1U);
    }
    EXPECT_EQ(flows.dropped(), 0U);
    flows.expect_as_promised();
    flows.expect_no_cycle();
  }
}

TEST(Flows, LevelsOfServiceHaveTheirVlsOnEnginesThatUseSeveral) {
  for (const auto& [topology, engine] : kOfSeveralVls)
    for (const std::vector<std::uint8_t>& levels :
         {std::vector<std::uint8_t>{0}, {0, 3}, {0, 1, 3, 6}}) {
      SCOPED_TRACE(testing::Message() << engine << ", " << levels.size());
      unsigned sls = 0;
      for (const std::uint8_t level : levels) sls |= 1U << level;
      Flows flows(topology(), engine, nullptr, static_cast<std::uint16_t>(sls));
      for (const std::uint8_t level : levels) flows.send_at_level(Sl{level});
      EXPECT_GE(flows.vls_between_switches(), levels.size());
      EXPECT_EQ(flows.dropped(), 0U);
      flows.expect_as_promised();
      flows.expect_no_cycle();
    }
}

}  // namespace
}  // namespace sm::test
