// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What holds at every step of the way from one programming of a running fabric to the next, looked
// at in the devices after each answer of theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "libdiag/wire/rates.h"
#include "sm/policy/qos_sets.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/unit/sm/policy/set_of.h"

namespace sm::test {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;
using policy::QosKind;
using policy::test::set_of;
using std::chrono::seconds;
namespace attr = ib::wire::attr;

template <class Do>
void for_each_link_end(const ib::sim::Model& model, Do&& run) {
  const auto& f = model.topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
      if (f.port(n, p).peer) run(PortRef{n, static_cast<std::uint8_t>(p)}, f.port(n, p).peer);
}
std::string label(const ib::sim::Model& model, PortRef p) {
  return model.topology().node(p.node).description + " port " + std::to_string(p.port);
}

// ---- a repaired link

/// By switch: its LFT, as far as LIDs go.
using Tables = std::map<NodeIndex, std::vector<std::uint8_t>>;

Tables tables_of(const ib::sim::Model& model, unsigned lids) {
  Tables all;
  const auto& f = model.topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).is_switch())
      for (unsigned lid = 1; lid <= lids; ++lid)
        all[n].push_back(model.lft(n, ib::Lid{static_cast<std::uint16_t>(lid)}));
  return all;
}

TEST(Steps, EntriesMoveOntoARepairedLinkOnceItIsActive) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  const unsigned lids = static_cast<unsigned>(run.last().lids);
  const auto& f = run.model().topology();
  unsigned moved = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef end{n, static_cast<std::uint8_t>(p)};
      const PortRef peer = f.port(end).peer;
      if (!peer || !f.node(peer.node).is_switch() || peer < end) continue;
      ASSERT_TRUE(run.model().link_down(run.now(), end));
      run.run_for(seconds(5));
      Tables before = tables_of(run.model(), lids);
      run.listen([&](ib::mad::Packet& packet) {
        if (packet.mad.attribute_id() != attr::kLinearForwarding) return;
        Tables now = tables_of(run.model(), lids);
        for (const PortRef at : {end, peer})
          for (unsigned lid = 0; lid < lids; ++lid) {
            if (now[at.node][lid] != at.port || before[at.node][lid] == at.port) continue;
            ++moved;
            for (const PortRef side : {end, peer})
              ASSERT_EQ(run.model().port_info(side).port_state, PortState::Active)
                  << label(run.model(), side) << ", LID " << lid + 1;
          }
        before = std::move(now);
      });
      ASSERT_TRUE(run.model().link_up(run.now(), end));
      run.run_for(seconds(5));
      run.listen({});
      ASSERT_TRUE(run.not_active().empty());
    }
  }
  EXPECT_GT(moved, 0U) << "no entry came back to a repaired link";
}

// ---- MTU and VLs of a port that comes up

TEST(Steps, MtuAndVlsOfASwitchPortInInitAreSetBeforeItIsArmed) {
  SmOnModel run(small_tree());
  const auto& f = run.model().topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) {
      ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "vl_cap", "2"));
      ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "mtu_cap", "2048"));
    }
  // Switch ports can operate eight VLs (code 4), hosts two (2); towards hosts both operate two.
  const auto towards_a_host = [](const PortInfo& info) {
    return info.vl_cap == 4 && info.operational_vls == 2;
  };
  unsigned told = 0, armed = 0, hosts = 0;
  run.listen([&](ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() != attr::kPortInfo) return;
    const auto info = ib::wire::body<PortInfo>(packet.mad);
    if (!towards_a_host(info) || info.port_state != PortState::Initialize) return;
    EXPECT_EQ(info.neighbor_mtu, 4);
    ++told;
  });
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() != attr::kPortInfo ||
        packet.mad.method() != ib::wire::Method::Set)
      return true;
    const auto info = ib::wire::body<PortInfo>(packet.mad);
    if (!towards_a_host(info) || info.port_state != PortState::Armed) return true;
    ++armed;
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.not_active().empty());
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) hosts += f.node(n).is_switch() ? 0 : 1;
  EXPECT_EQ(armed, hosts);
  EXPECT_EQ(told, hosts) << "each was told in INIT first";
}

// ---- VLs

/// No packet of an SL that is in use is dropped by a VL that its link does not operate.
void expect_vls(const ib::sim::Model& model, std::uint16_t used, const std::string& when) {
  const auto& f = model.topology();
  for_each_link_end(model, [&](PortRef out, PortRef peer) {
    const auto info = model.port_info(out);
    if (info.port_state != PortState::Active ||
        model.port_info(peer).port_state != PortState::Active)
      return;
    const unsigned vls = ib::wire::data_vls(info.operational_vls);
    const bool is_switch = f.node(out.node).is_switch();
    for (unsigned in = 0; in <= (is_switch ? f.node(out.node).num_ports : 0U); ++in) {
      if (is_switch && (in == out.port || (in != 0 && !f.port(out.node, in).peer))) continue;
      const auto map = model.sl_to_vl(out, static_cast<std::uint8_t>(in));
      for (unsigned sl = 0; sl < 16; ++sl)
        if ((used >> sl & 1) != 0) {
          ASSERT_LT(map.vl[sl], vls)
              << when << ": " << label(model, out) << " from " << in << ", SL " << sl;
        }
    }
  });
}

core::Options random_qos(std::mt19937& random, std::uint16_t& used) {
  const auto any = [&](unsigned n) {
    return std::uniform_int_distribution<unsigned>(0, n - 1)(random);
  };
  core::Options options;
  options.plan.operational_vls_max = static_cast<std::uint8_t>(1 + any(5));
  used = 1;
  if (any(4) == 0) return options;
  options.plan.qos = true;
  for (const QosKind kind :
       {QosKind::General, QosKind::Ca, QosKind::SwitchToSwitch, QosKind::SwitchExternal}) {
    if (any(2) == 0) continue;
    auto& set = set_of(options.plan.qos_sets, kind);
    set.max_vls = static_cast<std::uint8_t>(1 + any(15));
    std::vector<std::uint8_t> map;
    for (unsigned sl = 0; sl < 16; ++sl) map.push_back(static_cast<std::uint8_t>(any(15)));
    if (any(2) == 0) set.sl_to_vl.assign(map.begin(), map.end());
  }
  for (unsigned sl = 1; sl < 16; ++sl)
    if (any(4) == 0) used = static_cast<std::uint16_t>(used | 1U << sl);
  options.plan.level_sls = used;
  return options;
}

TEST(Steps, NoSlInUseIsEverMappedToAVlThatItsLinkHasNot) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    SmOnModel run(small_tree());
    const auto& f = run.model().topology();
    constexpr const char* kVls[] = {"1", "2", "4", "8", "15"};
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      ASSERT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "vl_cap", kVls[random() % 5]));
    std::uint16_t used = 1;
    run.boot_as(random_qos(random, used));
    ASSERT_TRUE(run.run_until_reports(1));
    expect_vls(run.model(), used, "at the start");
    for (int change = 0; change < 5; ++change) {
      std::uint16_t next = 1;
      const core::Options options = random_qos(random, next);
      // Paths of before are in use until the new ones are given; their SLs are in both.
      const auto both = static_cast<std::uint16_t>(used & next);
      unsigned answers = 0;
      run.listen([&](ib::mad::Packet& packet) {
        const auto id = packet.mad.attribute_id();
        if (id != attr::kSlToVl && id != attr::kPortInfo && id != attr::kVlArbitration) return;
        if (!testing::Test::HasFatalFailure() && ++answers % 4 == 0)
          expect_vls(run.model(), both, "change " + std::to_string(change));
      });
      run.sm().set_options(options);
      run.sm().sweep_now(run.now(), core::Reason::Operator);
      const auto before = run.reports();
      ASSERT_TRUE(run.run_until_reports(before + 1));
      run.run_for(seconds(2));
      run.listen({});
      if (HasFatalFailure()) return;
      used = next;
      expect_vls(run.model(), used, "after change " + std::to_string(change));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sm::test
