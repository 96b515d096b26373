// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// qos_* on the model: mapping, arbitration, limits and VLs of each kind of port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sm/policy/qos_sets.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/sm/policy/set_of.h"

namespace sm::test {
namespace {

using policy::test::set_of;
using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using policy::QosKind;

core::Options with(const policy::QosSets& sets) {
  core::Options options;
  options.plan.qos = true;
  options.plan.qos_sets = sets;
  return options;
}

class QosRun {
 public:
  explicit QosRun(const policy::QosSets& sets) : run(small_tree(), {}, with(sets)) {
    run.watch([this](const ib::mad::Packet& p) {
      sent += p.mad.method() == ib::wire::Method::Set;
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    run.run_for(1s);
  }
  PortRef host() { return run.at(); }
  PortRef leaf_port() { return run.model().topology().port(host()).peer; }
  /// A port of the host's switch with another switch behind it.
  PortRef uplink() {
    const auto& f = run.model().topology();
    const NodeIndex leaf = leaf_port().node;
    for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
      if (const auto peer = f.port(leaf, p).peer; peer && f.node(peer.node).is_switch())
        return {leaf, static_cast<std::uint8_t>(p)};
    return {};
  }
  unsigned vls(PortRef p) { return ib::wire::data_vls(run.model().port_info(p).operational_vls); }
  std::vector<unsigned> map(PortRef out) {
    const bool is_switch = run.model().topology().node(out.node).is_switch();
    const auto in = static_cast<std::uint8_t>(!is_switch ? 0 : out.port == 1 ? 2 : 1);
    const auto table = run.model().sl_to_vl(out, in);
    return {table.vl.begin(), table.vl.end()};
  }
  /// VL and weight of the entries that count.
  std::vector<std::pair<unsigned, unsigned>> arbitration(PortRef p, bool high) {
    std::vector<std::pair<unsigned, unsigned>> out;
    for (const unsigned block : {high ? 3U : 1U, high ? 4U : 2U}) {
      const auto table = run.model().vl_arbitration(p, block);
      for (std::size_t i = 0; i < 32; ++i)
        if (table.weight[i] != 0) out.push_back({table.vl[i], table.weight[i]});
    }
    return out;
  }

  SmOnModel run;
  unsigned sent{0};
};

using Entries = std::vector<std::pair<unsigned, unsigned>>;

TEST(Qos, WithoutASetTheBuiltInOneHolds) {
  QosRun q({});
  const unsigned vls = q.vls(q.host());
  ASSERT_GT(vls, 1U);
  std::vector<unsigned> map;
  for (unsigned sl = 0; sl < 16; ++sl) map.push_back((sl == 15 ? 7 : sl) % vls);
  EXPECT_EQ(q.map(q.uplink()), map);
  EXPECT_EQ(q.arbitration(q.host(), true), (Entries{{0, 4}}));
  EXPECT_EQ(q.run.model().port_info(q.host()).vl_high_limit, 0);
  q.sent = 0;
  q.run.boot();
  ASSERT_TRUE(q.run.run_until_reports(1));
  EXPECT_EQ(q.sent, 0U) << "a restart sets nothing";
}

TEST(Qos, EachKindOfPortHasItsSetAboveTheGeneralOne) {
  policy::QosSets sets;
  set_of(sets, QosKind::General).sl_to_vl = {0, 0, 0, 0};
  set_of(sets, QosKind::General).high_limit = 1;
  set_of(sets, QosKind::Ca).sl_to_vl = {0, 1, 0, 1, 0};
  set_of(sets, QosKind::Ca).high_limit = 2;
  set_of(sets, QosKind::SwitchExternal).sl_to_vl = {1, 1};
  set_of(sets, QosKind::SwitchToSwitch).sl_to_vl = {0, 1, 2};
  set_of(sets, QosKind::SwitchToSwitch).vlarb_high = policy::VlArbitrationTemplate{{1, 64}, {2, 8}};
  QosRun q(sets);
  const auto first = [&](PortRef p) {
    auto map = q.map(p);
    map.resize(5);
    return map;
  };
  EXPECT_EQ(first(q.host()), (std::vector<unsigned>{0, 1, 0, 1, 0}));
  EXPECT_EQ(first(q.leaf_port()), (std::vector<unsigned>{1, 1, 0, 0, 0}));
  EXPECT_EQ(first(q.uplink()), (std::vector<unsigned>{0, 1, 2, 0, 0}));
  EXPECT_EQ(q.arbitration(q.uplink(), true), (Entries{{1, 64}, {2, 8}}));
  EXPECT_EQ(q.arbitration(q.leaf_port(), true), (Entries{{0, 4}}));
  EXPECT_EQ(q.run.model().port_info(q.host()).vl_high_limit, 2);
  EXPECT_EQ(q.run.model().port_info(q.leaf_port()).vl_high_limit, 1);
}

TEST(Qos, MaxVlsCapsWhatBothEndsOfALinkOperateAndWhatMapsUse) {
  policy::QosSets sets;
  set_of(sets, QosKind::Ca).max_vls = 2;
  set_of(sets, QosKind::General).sl_to_vl = {0, 1, 2, 3, 4, 15};
  set_of(sets, QosKind::General).vlarb_low = policy::VlArbitrationTemplate{{0, 1}, {1, 2}, {5, 3}};
  QosRun q(sets);
  EXPECT_EQ(q.vls(q.host()), 2U);
  EXPECT_EQ(q.vls(q.leaf_port()), 2U);
  EXPECT_GT(q.vls(q.uplink()), 2U);
  for (const PortRef p : {q.host(), q.leaf_port()}) {
    auto map = q.map(p);
    map.resize(6);
    EXPECT_EQ(map, (std::vector<unsigned>{0, 1, 0, 1, 0, 15})) << "VL 15 drops";
    EXPECT_EQ(q.arbitration(p, false), (Entries{{0, 1}, {1, 2}})) << "VL 5 is not in operation";
  }
}

/// Rows of an engine that were folded after its proof could close a credit loop.
TEST(Qos, RoutesUseNoMoreVlsThanMaxVlsLeavesLinksBetweenSwitches) {
  for (const unsigned most : {2U, 4U}) {
    policy::QosSets sets;
    set_of(sets, QosKind::SwitchToSwitch).max_vls = static_cast<std::uint8_t>(most);
    core::Options options = with(sets);
    options.plan.choice.engines = {"nue"};
    ib::fabric::Grid torus;
    torus.sizes = {4, 4};
    SmOnModel run(unconfigured(torus), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    ASSERT_EQ(run.sm().snapshot()->routing->engine, "nue");
    for (const auto& row : run.sm().snapshot()->routing->virtual_lanes.sl_to_vl.rows())
      for (const std::uint8_t vl : row.vl) EXPECT_TRUE(vl < most || vl == 15) << most;
  }
}

TEST(Qos, ACapBouncesNoLinkThatIsInUse) {
  QosRun q({});
  const unsigned before = q.vls(q.host());
  policy::QosSets sets;
  set_of(sets, QosKind::General).max_vls = 1;
  unsigned downs = 0;
  q.run.watch([&](const ib::mad::Packet& p) {
    if (p.mad.method() == ib::wire::Method::Set &&
        p.mad.attribute_id() == ib::wire::attr::kPortInfo)
      downs += ib::wire::body<ib::wire::PortInfo>(p.mad).port_state == ib::wire::PortState::Down;
    return true;
  });
  q.run.boot_as(with(sets));
  ASSERT_TRUE(q.run.run_until_reports(1));
  EXPECT_TRUE(q.run.last().up());
  EXPECT_EQ(downs, 0U);
  EXPECT_EQ(q.vls(q.host()), before);
}

TEST(Qos, LongTablesTakeBothBlocksAndShortOnesWhatCounts) {
  policy::QosSets sets;
  policy::VlArbitrationTemplate longest;
  for (unsigned i = 0; i < 64; ++i)
    longest.push_back({static_cast<std::uint8_t>(i % 2), static_cast<std::uint8_t>(i + 1)});
  set_of(sets, QosKind::General).vlarb_low = longest;
  QosRun q(sets);
  const unsigned room = q.run.model().port_info(q.host()).vl_arbitration_low_cap;
  const auto held = q.arbitration(q.host(), false);
  ASSERT_EQ(held.size(), std::min(room, 64U));
  for (unsigned i = 0; i < held.size(); ++i) EXPECT_EQ(held[i].second, i + 1);
}

/// What is asked of devices while it runs.
struct Traffic {
  explicit Traffic(SmOnModel& run) {
    run.watch([this](const ib::mad::Packet& p) {
      if (p.mad.method() != ib::wire::Method::Set) return true;
      ++sets;
      if (p.mad.attribute_id() == ib::wire::attr::kPortInfo)
        downs += ib::wire::body<ib::wire::PortInfo>(p.mad).port_state == ib::wire::PortState::Down;
      return true;
    });
  }
  unsigned sets{0}, downs{0};
};

TEST(Qos, AStartWithoutItPutsBackWhatOneWithItProgrammedOnceAndBouncesNoLink) {
  policy::QosSets sets;
  policy::VlArbitrationTemplate longest;
  for (unsigned i = 0; i < 64; ++i) longest.push_back({static_cast<std::uint8_t>(i % 2), 9});
  auto& general = set_of(sets, QosKind::General);
  general.vlarb_low = longest;
  general.high_limit = 7;
  general.sl_to_vl = {1, 1, 0, 15};
  general.max_vls = 2;
  QosRun q(sets);
  ASSERT_EQ(q.vls(q.host()), 2U);
  ASSERT_EQ(q.run.model().port_info(q.host()).vl_high_limit, 7);
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::Told);

  Traffic traffic(q.run);
  q.run.boot_as({});
  ASSERT_TRUE(q.run.run_until_reports(1));
  ASSERT_TRUE(q.run.last().up());
  EXPECT_EQ(traffic.downs, 0U);
  for (const PortRef p : {q.host(), q.leaf_port(), q.uplink()}) {
    EXPECT_EQ(q.run.model().port_info(p).vl_high_limit, 0);
    EXPECT_EQ(q.map(p), (std::vector<unsigned>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(q.arbitration(p, true), (Entries{{0, 4}}));
    EXPECT_EQ(q.arbitration(p, false), (Entries{{1, 4}})) << "nor is any left behind the 32nd";
  }
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::Told)
      << "links have the VLs of then, and keep them";
  traffic.sets = 0;
  q.run.boot();
  ASSERT_TRUE(q.run.run_until_reports(1));
  EXPECT_EQ(traffic.sets, 0U);
  EXPECT_EQ(q.vls(q.host()), 2U);
}

TEST(Qos, WhenAllIsPutBackARestartSetsNothing) {
  policy::QosSets sets;
  set_of(sets, QosKind::General).high_limit = 7;
  QosRun q(sets);
  Traffic traffic(q.run);
  q.run.boot_as({});
  ASSERT_TRUE(q.run.run_until_reports(1));
  EXPECT_EQ(q.run.model().port_info(q.host()).vl_high_limit, 0);
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::PutBack);
  EXPECT_EQ(traffic.downs, 0U);
  traffic.sets = 0;
  q.run.boot();
  ASSERT_TRUE(q.run.run_until_reports(1));
  EXPECT_EQ(traffic.sets, 0U);
}

/// With -Q, then without it and with something away, which comes back after another restart.
class PutBackLate : public testing::Test {
 protected:
  static policy::QosSets sets() {
    policy::QosSets sets;
    set_of(sets, QosKind::General).sl_to_vl = {0, 15, 1, 15};
    set_of(sets, QosKind::General).vlarb_low = policy::VlArbitrationTemplate{{0, 9}, {1, 9}};
    set_of(sets, QosKind::General).high_limit = 7;
    return sets;
  }
  void stop_it_meanwhile() {
    q.run.boot_as({});
    ASSERT_TRUE(q.run.run_until_reports(1));
    ASSERT_TRUE(q.run.last().up()) << testing::PrintToString(q.run.last().lines);
    q.run.boot();
    ASSERT_TRUE(q.run.run_until_reports(1));
  }
  /// Of every port of every device that has a cable, and of port 0 of switches.
  void expect_nothing_left_of_it() {
    const auto& f = q.run.model().topology();
    std::vector<unsigned> map;
    const unsigned vls = q.vls(q.host());
    for (unsigned sl = 0; sl < 16; ++sl) map.push_back(sl % vls);
    for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
      const bool is_switch = f.node(n).is_switch();
      for (unsigned p = is_switch ? 0 : 1; p <= f.node(n).num_ports; ++p) {
        const PortRef out{n, static_cast<std::uint8_t>(p)};
        if (p != 0 && !f.port(out).peer) continue;
        const auto where = f.node(n).name() + " port " + std::to_string(p);
        for (unsigned in = is_switch ? 1 : 0; in <= (is_switch ? f.node(n).num_ports : 0U); ++in)
          if (!is_switch || f.port(n, in).peer) {
            const auto held = q.run.model().sl_to_vl(out, static_cast<std::uint8_t>(in));
            ASSERT_EQ(std::vector<unsigned>(held.vl.begin(), held.vl.end()), map)
                << where << " from " << in;
          }
        ASSERT_EQ(q.run.model().port_info(out).vl_high_limit, 0) << where;
        for (const auto& entry : q.arbitration(out, false)) ASSERT_NE(entry.second, 9U) << where;
      }
    }
  }

  QosRun q{sets()};
};

TEST_F(PutBackLate, AHostThatWasAwayGetsTheDefaultWhenItIsBack) {
  const auto& f = q.run.model().topology();
  auto host = static_cast<NodeIndex>(f.nodes().size() - 1);
  while (f.node(host).is_switch() || host == q.host().node) --host;
  ASSERT_TRUE(q.run.model().remove(q.run.now(), host));
  stop_it_meanwhile();
  Traffic traffic(q.run);
  ASSERT_TRUE(q.run.model().bring_back(q.run.now(), host));
  q.run.run_for(5s);
  EXPECT_TRUE(q.run.not_active().empty());
  expect_nothing_left_of_it();
  EXPECT_EQ(traffic.downs, 0U);
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::PutBack);
}

/// The links behind it were in use all the time, so nothing tells that they were not seen.
TEST_F(PutBackLate, APartThatWasCutOffGetsTheDefaultWhenItIsBack) {
  const auto& f = q.run.model().topology();
  NodeIndex leaf = q.leaf_port().node;
  const auto has_hosts = [&](NodeIndex n) {
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
      if (const auto peer = f.port(n, p).peer; peer && !f.node(peer.node).is_switch()) return true;
    return false;
  };
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).is_switch() && n != q.leaf_port().node && has_hosts(n)) leaf = n;
  ASSERT_NE(leaf, q.leaf_port().node);
  std::vector<PortRef> uplinks;
  for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
    if (const auto peer = f.port(leaf, p).peer; peer && f.node(peer.node).is_switch())
      uplinks.push_back({leaf, static_cast<std::uint8_t>(p)});
  for (const PortRef p : uplinks) ASSERT_TRUE(q.run.model().link_down(q.run.now(), p));
  stop_it_meanwhile();
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::Told);
  for (const PortRef p : uplinks) ASSERT_TRUE(q.run.model().link_up(q.run.now(), p));
  q.run.boot();
  ASSERT_TRUE(q.run.run_until_reports(1));
  q.run.run_for(5s);
  EXPECT_TRUE(q.run.not_active().empty());
  expect_nothing_left_of_it();
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::PutBack);
}

TEST_F(PutBackLate, ALinkThatWasDownBetweenDevicesThatWereThereGetsTheDefault) {
  const PortRef uplink = q.uplink();
  ASSERT_TRUE(q.run.model().link_down(q.run.now(), uplink));
  stop_it_meanwhile();
  EXPECT_EQ(q.run.kept().vls, store::DeviceVls::PutBack);
  Traffic traffic(q.run);
  ASSERT_TRUE(q.run.model().link_up(q.run.now(), uplink));
  q.run.run_for(5s);
  EXPECT_TRUE(q.run.not_active().empty());
  expect_nothing_left_of_it();
  EXPECT_EQ(traffic.downs, 0U);
}

TEST(Qos, AChangeOfTheMapSetsWhatDiffersAndNothingElse) {
  policy::QosSets sets;
  QosRun q(sets);
  const auto& f = q.run.model().topology();
  unsigned hosts = 0, maps = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) hosts += f.node(n).is_switch() ? 0 : 1;
  Traffic traffic(q.run);
  set_of(sets, QosKind::Ca).sl_to_vl = {0, 0, 1, 1};
  q.run.sm().set_options(with(sets));
  q.run.sm().sweep_now(q.run.now(), core::Reason::Operator);
  ASSERT_TRUE(q.run.run_until_reports(2));
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) maps += q.run.model().sl_to_vl({n, 1}, 0).vl[2] == 1 ? 1 : 0;
  EXPECT_EQ(maps, hosts);
  EXPECT_EQ(traffic.sets, hosts) << "one table each";
  EXPECT_EQ(traffic.downs, 0U);
}

TEST(Qos, WhereNobodyEverProgrammedItNothingIsPutBack) {
  SmOnModel run(small_tree());
  unsigned tables = 0;
  run.watch([&](const ib::mad::Packet& p) {
    const auto attribute = p.mad.attribute_id();
    tables += p.mad.method() == ib::wire::Method::Set &&
              (attribute == ib::wire::attr::kSlToVl || attribute == ib::wire::attr::kVlArbitration);
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  run.boot();
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(tables, 0U);
  EXPECT_EQ(run.kept().vls, store::DeviceVls::Untouched);
}

TEST(Qos, EnhancedPort0HasTheClassesOfRoutesThatUseSeveralVls) {
  policy::QosSets sets;
  set_of(sets, QosKind::General).vlarb_low = policy::VlArbitrationTemplate{{0, 64}, {3, 192}};
  set_of(sets, QosKind::General).high_limit = 5;
  core::Options options = with(sets);
  options.plan.level_sls = 0b1001;
  options.plan.choice.engines = {"dfsssp"};
  ib::fabric::Grid torus;
  torus.sizes = {5, 5};
  SmOnModel run(unconfigured(torus), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto& row = run.sm().snapshot()->routing->virtual_lanes.sl_to_vl.injection();
  ASSERT_NE(row.vl[0], row.vl[3]);
  unsigned seen = 0;
  const auto& f = run.model().topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch() || !run.model().switch_info(n).enhanced_port0) continue;
    const PortRef port0{n, 0};
    const unsigned vls = ib::wire::data_vls(run.model().port_info(port0).vl_cap);
    if (vls < 2) continue;
    ++seen;
    EXPECT_EQ(run.model().port_info(port0).vl_high_limit, 5);
    std::uint8_t in = 1;
    while (!f.port(n, in).peer) ++in;
    const auto map = run.model().sl_to_vl(port0, in);
    for (unsigned sl = 0; sl < 16; ++sl)
      EXPECT_EQ(map.vl[sl], row.vl[sl] == 15 ? 15 : row.vl[sl] % vls) << "SL " << sl;
    const auto low = run.model().vl_arbitration(port0, 1);
    unsigned weights = 0;
    for (const auto weight : low.weight) weights += weight;
    EXPECT_GT(weights, 0U);
  }
  EXPECT_GT(seen, 0U);
}

/// Of the tables that the devices hold.
void expect_weight_for_every_vl(const ib::sim::Model& model) {
  const auto& f = model.topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef port{n, static_cast<std::uint8_t>(p)};
      if (!f.port(port).peer) continue;
      std::set<unsigned> weighted;
      const auto info = model.port_info(port);
      for (const unsigned block : {1U, 3U}) {
        const auto table = model.vl_arbitration(port, block);
        const unsigned entries =
            block == 1 ? info.vl_arbitration_low_cap : info.vl_arbitration_high_cap;
        for (unsigned i = 0; i < std::min(entries, 32U); ++i)
          if (table.weight[i] != 0) weighted.insert(table.vl[i]);
      }
      for (unsigned in = 0; in <= (f.node(n).is_switch() ? f.node(n).num_ports : 0U); ++in)
        for (const unsigned vl : model.sl_to_vl(port, static_cast<std::uint8_t>(in)).vl)
          if (in != p && (in == 0 || f.port(n, in).peer) && vl != 15) {
            ASSERT_TRUE(weighted.contains(vl)) << f.node(n).name() << " port " << p << " VL " << vl;
          }
    }
}

TEST(Qos, EveryVlThatPacketsAreMappedToHasWeightHoweverShortTablesAre) {
  struct Case {
    const char *vls, *entries;
    std::uint16_t levels;  // SLs; 0: without QoS
    const char* engine;
    bool merged;
  };
  for (const Case& c :
       {Case{"8", "4", 0b1111, "dfsssp", true}, Case{"15", "8", 0b11111, "dfsssp", true},
        Case{"15", "8", 0b11, "dfsssp", false}, Case{"8", "4", 0, "dfsssp", false},
        Case{"8", "4", 0, "lash", false}, Case{"15", "4", 0b1111, "updn", false}}) {
    SCOPED_TRACE(std::string(c.vls) + " VLs, entries: " + c.entries + ", " + c.engine);
    ib::fabric::Grid torus;
    torus.sizes = {5, 5};
    SmOnModel run(unconfigured(torus));
    for (NodeIndex n = 0; n < run.model().topology().nodes().size(); ++n) {
      ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "vl_cap", c.vls));
      ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "vl_arb_cap", c.entries));
    }
    core::Options options;
    options.plan.qos = c.levels != 0;
    if (c.levels != 0) options.plan.level_sls = c.levels;
    options.plan.choice.engines = {c.engine};
    run.boot_as(options);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_EQ(run.sm().snapshot()->routing->engine, c.engine);
    EXPECT_EQ(!run.sm().snapshot()->routing->merged_levels.empty(), c.merged)
        << run.sm().snapshot()->routing->merged_levels;
    expect_weight_for_every_vl(run.model());
  }
}

TEST(Qos, VlsThatTheOperatorsOwnTablesLeaveOutAreNamed) {
  policy::QosSets sets;
  set_of(sets, QosKind::General).vlarb_high = policy::VlArbitrationTemplate{{0, 64}};
  set_of(sets, QosKind::General).vlarb_low = policy::VlArbitrationTemplate{{1, 64}};
  core::Options options = with(sets);
  options.plan.level_sls = 0b111;
  SmOnModel run(small_tree(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_THAT(run.log(),
              testing::Contains(testing::AllOf(
                  testing::StartsWith("qos: qos_ca_vlarb_high and qos_ca_vlarb_low leave no weight "
                                      "for VL 2 (SL 2) at "),
                  testing::HasSubstr("packets there may never be sent"))));
}

TEST(Qos, EntriesOfOneVlBecomeOneWhereATableIsTooShort) {
  policy::QosSets sets;
  set_of(sets, QosKind::General).vlarb_low =
      policy::VlArbitrationTemplate{{0, 10}, {1, 1}, {0, 10}, {2, 1}, {0, 250}, {3, 1}};
  SmOnModel run(small_tree());
  for (NodeIndex n = 0; n < run.model().topology().nodes().size(); ++n)
    ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "vl_arb_cap", "4"));
  run.boot_as(with(sets));
  ASSERT_TRUE(run.run_until_reports(1));
  const auto table = run.model().vl_arbitration(run.at(), 1);
  EXPECT_THAT(std::vector<unsigned>(table.vl.begin(), table.vl.begin() + 4),
              testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(std::vector<unsigned>(table.weight.begin(), table.weight.begin() + 5),
              testing::ElementsAre(255, 1, 1, 1, 0));
}

}  // namespace
}  // namespace sm::test
