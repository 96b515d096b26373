// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What happens often on a large fabric and is of no consequence costs next to nothing: hosts that
// set their NodeDescription, all within a minute; a link that flaps once a minute, for a day.
//
// By default 280 hosts and two hours; with IBKIT_PARTIAL_SWEEPS=all 10,000 hosts and 24 hours.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "libdiag/fabric/generate.h"
#include "tests/sim/stranger.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::Instant;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

bool is_long() {
  const char* all = std::getenv("IBKIT_PARTIAL_SWEEPS");
  return all != nullptr && *all != '\0';
}

Fabric tree_with_all_hosts(unsigned leaves, unsigned hosts) {
  ib::fabric::FatTree kind;
  kind.leaves = leaves;
  kind.spines = 4;
  kind.radix = std::max(hosts + kind.spines, leaves);
  kind.hosts_per_leaf = kind.radix - kind.spines;
  return unconfigured(kind);
}

/// Trap 144 of a host that says that its NodeDescription alone changed.
ib::wire::Notice renamed(ib::Lid lid, std::uint32_t capability_mask) {
  ib::wire::Notice notice;
  notice.is_generic = true;
  notice.type = 4;
  notice.producer_type = 1;
  notice.trap_number = ib::wire::trap::kCapabilityChange;
  notice.issuer_lid = lid;
  notice.details[2] = static_cast<std::uint8_t>(lid.value >> 8);
  notice.details[3] = static_cast<std::uint8_t>(lid.value);
  notice.details[5] = 1;  // OtherLocalChanges
  for (unsigned i = 0; i < 4; ++i)
    notice.details[6 + i] = static_cast<std::uint8_t>(capability_mask >> (24 - 8 * i));
  notice.details[11] = 1;  // NodeDescription
  return notice;
}

TEST(SmallCauses, HostsThatAllSetTheirNamesWithinAMinuteAreSweptForNever) {
  SmOnModel run(is_long() ? tree_with_all_hosts(100, 100) : tree_with_all_hosts(20, 14));
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  run.run_for(15s);
  const auto before = run.sm().counters();
  const auto sent = run.sm().mad_counters().sends;
  const auto first = run.sm().snapshot()->generation;
  // From now on every host that is asked has a new name.
  run.listen([](ib::mad::Packet& p) {
    if (p.mad.method() != ib::wire::Method::GetResp ||
        p.mad.attribute_id() != ib::wire::attr::kNodeDescription)
      return;
    auto text = ib::wire::body<ib::wire::NodeDescription>(p.mad);
    const auto end = std::find(text.text.begin(), text.text.end(), '\0');
    std::copy_n(" mlx5_0", 7, end);
    ib::wire::set_body(p.mad, text);
  });
  const auto& f = run.model().topology();
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch() && n != run.at().node && f.port(n, 1).peer) hosts.push_back({n, 1});
  std::mt19937_64 random(1);
  std::ranges::shuffle(hosts, random);
  const Instant began = run.now();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    run.run_for(began + ib::Duration(60s) * i / hosts.size() - run.now());
    const auto info = run.model().port_info(hosts[i]);
    Stranger(run, hosts[i]).trap(renamed(info.lid, info.capability_mask));
  }
  run.run_for(3s);
  const auto after = run.sm().counters();
  EXPECT_EQ(after.traps - before.traps, hosts.size());
  EXPECT_EQ(after.full_sweeps, before.full_sweeps);
  EXPECT_EQ(after.partial_sweeps, before.partial_sweeps);
  const auto snapshot = run.sm().snapshot();
  for (const PortRef host : hosts) {
    const auto n = snapshot->fabric().find_node(f.node(host.node).guid);
    ASSERT_TRUE(n);
    ASSERT_EQ(snapshot->fabric().node(*n).description, f.node(host.node).description + " mlx5_0");
  }
  EXPECT_LE(snapshot->generation - first, 65U) << "published once a second";
  const auto light = 8 * (f.count(ib::wire::NodeType::Switch) + 2);
  EXPECT_LE(run.sm().mad_counters().sends - sent, hosts.size() + light) << "a Get for each";
  RecordProperty("hosts", static_cast<int>(hosts.size()));
}

TEST(SmallCauses, ANewSystemImageGuidIsOneGet) {
  SmOnModel run(tree_with_all_hosts(4, 4));
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(15s);
  const auto before = run.sm().counters();
  const PortRef host = Stranger::last_host(run.model().topology());
  unsigned node_infos = 0, others = 0;
  run.watch([&](const ib::mad::Packet& p) {
    if (p.mad.method() == ib::wire::Method::Get)
      ++(p.mad.attribute_id() == ib::wire::attr::kNodeInfo ? node_infos : others);
    return true;
  });
  // The module is what it was: the look finds nothing, and nothing follows.
  run.model().set_system_image_guid(run.now(), host.node,
                                    run.model().node_info(host.node).system_image_guid);
  run.run_for(2s);
  EXPECT_EQ(node_infos, 1U);
  EXPECT_EQ(others, 0U);
  EXPECT_EQ(run.sm().counters().traps - before.traps, 1U);
  EXPECT_EQ(run.sm().counters().full_sweeps, before.full_sweeps);
  EXPECT_EQ(run.sm().counters().partial_sweeps, before.partial_sweeps);

  // It is another one: a sweep around the host, and it is known.
  run.model().set_system_image_guid(run.now(), host.node, ib::Guid{0xABC});
  run.run_for(3s);
  EXPECT_EQ(run.sm().counters().full_sweeps, before.full_sweeps);
  const auto& fabric = run.sm().snapshot()->fabric();
  const auto n = fabric.find_node(run.model().topology().node(host.node).guid);
  EXPECT_EQ(fabric.node(*n).system_image_guid, ib::Guid{0xABC});
}

std::size_t memory_of_run(SmOnModel& run) {
  run.forget_what_was_said();
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(SmallCauses, ALinkThatFlapsOnceAMinuteForADayCostsSweepsOfItsEndsAlone) {
  SmOnModel run(tree_with_all_hosts(8, 6));
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  const auto& f = run.model().topology();
  PortRef link;
  for (NodeIndex n = 0; n < f.nodes().size() && !link; ++n)
    if (f.node(n).is_switch() && n != f.port(run.at()).peer.node)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
        if (const PortRef peer = f.port(n, p).peer; peer && f.node(peer.node).is_switch())
          link = {n, static_cast<std::uint8_t>(p)};
  ASSERT_TRUE(link);
  run.run_for(15s);
  const auto before = run.sm().counters();
  const unsigned minutes = is_long() ? 24 * 60 : 120;
  std::size_t early = 0;
  std::mt19937_64 random(1);
  for (unsigned minute = 0; minute < minutes; ++minute) {
    const Instant end = run.now() + 60s;
    ASSERT_TRUE(run.model().link_down(run.now(), link));
    run.run_for(std::chrono::milliseconds(1 + random() % 1500));
    ASSERT_TRUE(run.model().link_up(run.now(), link));
    run.run_for(end - run.now());
    ASSERT_EQ(run.model().port_info(link).port_state, ib::wire::PortState::Active) << minute;
    if (minute == minutes / 3) early = memory_of_run(run);
  }
  const auto after = run.sm().counters();
  EXPECT_LE(after.partial_sweeps - before.partial_sweeps, 2 * minutes);
  EXPECT_LE(after.full_sweeps - before.full_sweeps, 1U + minutes / 1440) << "the daily one";
  EXPECT_LE(memory_of_run(run), early + early / 50);
  EXPECT_TRUE(run.not_active().empty());
  RecordProperty("partial", static_cast<int>(after.partial_sweeps - before.partial_sweeps));
  RecordProperty("full", static_cast<int>(after.full_sweeps - before.full_sweeps));
}

}  // namespace
}  // namespace sm::test
