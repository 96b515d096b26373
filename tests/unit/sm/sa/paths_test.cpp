// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The table of paths against a walk through the tables: every engine, every LMC, damage.
#include "sm/sa/subnet/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engine.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::fabric::kNoSwitch;
using ib::fabric::SwitchIndex;

/// What one end of a link allows, read from the snapshot again each time.
struct End {
  std::uint8_t mtu, rate;
};
End end_of(const Snapshot& snapshot, PortRef at) {
  End end{4, 2};
  if (const auto* seen = snapshot.observed->known_port(at)) {
    const ib::wire::PortInfo info = seen->info();
    if (info.mtu_cap >= 1 && info.mtu_cap <= 5) end.mtu = info.mtu_cap;
    if (at.port != 0 && info.neighbor_mtu >= 1 && info.neighbor_mtu <= 5)
      end.mtu = std::min(end.mtu, info.neighbor_mtu);
  }
  const auto& port = snapshot.fabric().port(at);
  if (const auto code = ib::wire::rate_code(port.width, port.speed)) {
    end.rate = *code;
  } else if (at.port == 0) {
    end.rate = 3;
  }
  return end;
}

/// The oracle: switch after switch, as a packet goes.
std::optional<PathQuality> walked(const Paths& paths, const EndPort& from, Lid dlid) {
  const Snapshot& snapshot = paths.snapshot();
  const Fabric& fabric = snapshot.fabric();
  if (from.owns(dlid)) {
    const End own = end_of(snapshot, from.port);
    return PathQuality{own.mtu, own.rate, 0};
  }
  PathQuality q{5, 0, 0};
  const auto meet = [&](PortRef end) {
    const End e = end_of(snapshot, end);
    q.mtu = std::min(q.mtu, e.mtu);
    if (q.rate == 0 || ib::wire::compare_rates(e.rate, q.rate) < 0) q.rate = e.rate;
  };
  const auto arrived = [&](PortRef at) {
    const EndPort* owner = paths.find(dlid);
    return owner != nullptr && owner->port == at;
  };
  const bool from_switch = fabric.node(from.port.node).is_switch();
  PortRef at = from.port;
  if (!from_switch) {
    const PortRef far = fabric.port(at).peer;
    if (!far) return std::nullopt;
    meet(at), meet(far);
    at = far;
  }
  const auto& routing = *snapshot.routing;
  while (fabric.node(at.node).is_switch()) {
    const auto s = routing.graph.switch_of(at.node);
    if (s == kNoSwitch || ++q.hops > 64) return std::nullopt;
    const auto out = routing.lfts.at(s, dlid);
    if (out > fabric.node(at.node).num_ports) return std::nullopt;
    if (out == 0) {
      at = {at.node, 0};
      q.mtu = std::min(q.mtu, end_of(snapshot, at).mtu);
      break;
    }
    const PortRef far = fabric.port(at.node, out).peer;
    if (!far) return std::nullopt;
    meet({at.node, out}), meet(far);
    at = far;
  }
  if (!arrived(at)) return std::nullopt;
  if (from_switch) q.mtu = std::min(q.mtu, end_of(snapshot, from.port).mtu);
  return q;
}

std::string text(const std::optional<PathQuality>& q) {
  if (!q) return "none";
  return "mtu " + std::to_string(q->mtu) + " rate " + std::to_string(q->rate) + " switches " +
         std::to_string(q->hops);
}

/// Compares at most about `pairs` pairs of an end port and a LID; a trace is as long as the way.
void expect_same(const Paths& paths, std::mt19937& random, std::size_t pairs) {
  const auto& ends = paths.end_ports();
  ASSERT_FALSE(ends.empty());
  std::vector<Lid> lids{Lid{0}, Lid{0xBFFF}, Lid{0xFFFF}};
  for (const auto& e : ends)
    for (unsigned l = 0; l < e.lid_count(); ++l)
      lids.push_back(Lid{static_cast<std::uint16_t>(e.lid.value + l)});
  const std::size_t all = ends.size() * lids.size();
  std::size_t wrong = 0;
  const auto check = [&](const EndPort& from, Lid dlid) {
    const auto expected = walked(paths, from, dlid);
    const EndPort* to = paths.find(dlid);
    if (to == nullptr) {
      EXPECT_FALSE(expected);
      return;
    }
    const auto got = paths.between(from, *to, dlid);
    if (text(got) != text(expected) && ++wrong < 5)
      ADD_FAILURE() << "from " << from.lid.value << " to " << dlid.value << ": " << text(got)
                    << ", walked " << text(expected);
    const auto steps = paths.trace(from, *to, dlid);
    ASSERT_EQ(steps.empty(), !expected);
    if (!expected) return;
    const auto& nodes = paths.snapshot().fabric();
    std::size_t switches = 0;
    for (const auto& step : steps) switches += nodes.node(step.node).is_switch() ? 1 : 0;
    EXPECT_EQ(switches, from.port == to->port ? switches : expected->hops);
    EXPECT_EQ(steps.front().node, from.port.node);
    EXPECT_EQ(steps.back().node, to->port.node);
  };
  if (all <= pairs) {
    for (const auto& from : ends)
      for (const Lid dlid : lids) check(from, dlid);
  } else {
    for (std::size_t i = 0; i < pairs; ++i)
      check(ends[random() % ends.size()], lids[random() % lids.size()]);
  }
  EXPECT_EQ(wrong, 0U) << "of " << std::min(all, pairs);
}

/// The fabric with LIDs by `lmc`, routed by `engine`; nullptr when the engine does not fit it.
std::shared_ptr<Snapshot> routed(Fabric fabric, std::uint8_t lmc, const char* engine) {
  EXPECT_TRUE(ib::route::give_lids(fabric, lmc));
  fabric.reindex();
  auto snapshot = snapshot_of(std::move(fabric));
  ib::fabric::CompactGraph graph(snapshot->fabric());
  ib::route::Request request;
  request.fabric = &snapshot->fabric();
  request.graph = &graph;
  request.vls = 8;
  auto routes = ib::route::find_engine(engine)->compute(request);
  if (!routes) return nullptr;
  snapshot->routing = std::make_shared<Routing>(Routing{
      std::move(graph), std::move(routes->lfts), engine, std::move(routes->virtual_lanes), {}});
  return snapshot;
}

/// Links of other rates and MTUs, table entries that lead elsewhere, cables that went after the
/// tables were made.
std::shared_ptr<Snapshot> damaged(const Snapshot& whole, std::mt19937& random) {
  auto observed = std::make_shared<ib::discover::Observed>(*whole.observed);
  auto routing = std::make_shared<Routing>(*whole.routing);
  auto& fabric = observed->fabric;
  constexpr ib::wire::LinkSpeed kSpeeds[] = {ib::wire::LinkSpeed::Sdr, ib::wire::LinkSpeed::Fdr10,
                                             ib::wire::LinkSpeed::Fdr, ib::wire::LinkSpeed::Hdr,
                                             ib::wire::LinkSpeed::Unknown};
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto luck = random() % 64;
      if (luck == 0) fabric.port(at).speed = kSpeeds[random() % std::size(kSpeeds)];
      auto fields = fields_of(observed->port(at));
      if (luck == 1) fields.set<&ib::wire::PortInfo::neighbor_mtu>(random() % 8);
      if (luck == 2) fields.set<&ib::wire::PortInfo::mtu_cap>(random() % 8);
      if (luck == 3) observed->port(at).known = false;
      if (luck == 4 && p != 0 && fabric.port(at).peer && random() % 4 == 0) fabric.disconnect(at);
    }
  }
  for (SwitchIndex s = 0; s < routing->graph.switch_count(); ++s)
    for (auto& port : routing->lfts.row(s))
      if (random() % 97 == 0) port = static_cast<std::uint8_t>(random());
  auto snapshot = std::make_shared<Snapshot>(whole);
  snapshot->observed = observed;
  snapshot->routing = routing;
  return snapshot;
}

template <class Kind>
Fabric made(const Kind& kind, double missing_links = 0) {
  ib::fabric::GenerateCommon common;
  common.missing_links_percent = missing_links;
  auto fabric = ib::fabric::generate(kind, common);
  EXPECT_TRUE(fabric);
  return *std::move(fabric);
}

void check_engines(const Fabric& fabric, std::initializer_list<const char*> engines,
                   std::initializer_list<unsigned> lmcs, std::size_t pairs = 3000) {
  for (const char* engine : engines) {
    for (const unsigned lmc : lmcs) {
      SCOPED_TRACE(::testing::Message() << engine << ", LMC " << lmc);
      std::mt19937 random(lmc + 1);
      const auto snapshot = routed(fabric, static_cast<std::uint8_t>(lmc), engine);
      ASSERT_TRUE(snapshot);
      expect_same(Paths(snapshot), random, pairs);
      expect_same(Paths(damaged(*snapshot, random)), random, pairs);
    }
  }
}

TEST(SaPaths, EqualAWalkInTrees) {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.levels = 3;
  check_engines(made(tree), {"minhop", "updn", "ftree", "dnup", "nue"}, {0, 1, 3});
  check_engines(made(tree, 8), {"minhop", "updn", "ftree"}, {0, 2});
}

TEST(SaPaths, EqualAWalkInTori) {
  ib::fabric::Grid torus;
  torus.sizes = {4, 4, 3};
  check_engines(made(torus), {"torus-2QoS", "lash", "dfsssp", "nue", "dor"}, {0, 2});
  torus.sizes = {5, 5};
  torus.hosts = 3;
  torus.cables = 2;
  check_engines(made(torus, 5), {"minhop", "sssp", "updn"}, {0, 3});
}

TEST(SaPaths, EqualAWalkInOtherShapes) {
  check_engines(made(ib::fabric::Dragonfly{}), {"minhop", "dfp", "nue"}, {0, 2});
  check_engines(made(ib::fabric::RandomGraph{}, 10), {"minhop", "updn", "dfsssp"}, {0, 1, 2, 3});
  const auto lab = ib::fabric::generate_lab_like();
  ASSERT_TRUE(lab);
  check_engines(*lab, {"minhop", "updn"}, {0, 3});
}

TEST(SaPaths, EqualAWalkInRealFabrics) {
  const char* dir = std::getenv("IBKIT_FABRICS");
  const std::filesystem::path fabrics =
      dir != nullptr ? dir : std::string(IBKIT_SOURCE_DIR "/../shared/fabrics");
  const auto janus = ib::fabric::generate_janus_like();
  ASSERT_TRUE(janus);
  check_engines(*janus, {"updn"}, {0, 2}, 10'000);
  for (const char* file : {"janus-qdr-1356.topo", "dgx-ndr-582.topo", "lab-mixed-13.topo"}) {
    if (!std::filesystem::exists(fabrics / file)) continue;
    SCOPED_TRACE(file);
    auto fabric = ib::fabric::read_topology_file((fabrics / file).string());
    ASSERT_TRUE(fabric);
    check_engines(*fabric, {"updn"}, {0, 2}, 10'000);
  }
}

TEST(SaPaths, TwoHostsOnOneCable) {
  Fabric fabric;
  ib::fabric::Node node;
  node.num_ports = 2;
  for (const std::uint64_t guid : {0x10U, 0x20U}) {
    node.guid = Guid{guid};
    const auto n = fabric.add_node(node);
    fabric.port(n, 1).guid = Guid{guid + 1};
    fabric.port(n, 2).guid = Guid{guid + 2};
  }
  fabric.connect({0, 1}, {1, 2}, ib::wire::LinkWidth::W4x, ib::wire::LinkSpeed::Hdr);
  fabric.port(0, 1).lid = Lid{1};
  fabric.port(1, 2).lid = Lid{4};
  fabric.port(1, 2).lmc = 2;
  fabric.reindex();
  const auto snapshot = snapshot_of(std::move(fabric));
  const Paths paths(snapshot);
  std::mt19937 random(1);
  expect_same(paths, random, 1000);
  const auto across = paths.between(*paths.find(Lid{1}), *paths.find(Lid{6}), Lid{6});
  ASSERT_TRUE(across);
  EXPECT_EQ(across->rate, 17);
  EXPECT_EQ(across->hops, 0U);
  EXPECT_EQ(paths.trace(*paths.find(Lid{1}), *paths.find(Lid{6}), Lid{6}).size(), 2U);
}

TEST(SaPaths, AreTakenOverWhereNothingChanged) {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  const auto snapshot = routed(made(tree), 0, "updn");
  const Paths first(snapshot);
  std::mt19937 random(1);
  expect_same(first, random, 2000);

  // The same tables computed again: the same pairs.
  auto again = std::make_shared<Snapshot>(*snapshot);
  again->routing = std::make_shared<Routing>(*snapshot->routing);
  const Paths same(again, &first);
  expect_same(same, random, 2000);

  // Another speed, then another entry: nothing that was learnt before may show.
  for (unsigned round = 0; round < 3; ++round) {
    const Paths other(damaged(*again, random), &same);
    expect_same(other, random, 2000);
  }
}

TEST(SaPaths, ForgetPairsBeyondTheirMemory) {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  const auto snapshot = routed(made(tree), 2, "minhop");
  const Paths paths(snapshot);
  PathTable small(paths.inputs(), 50);
  PathTable large(paths.inputs());
  for (int round = 0; round < 2; ++round)
    for (SwitchIndex s = 0; s < snapshot->routing->graph.switch_count(); ++s)
      for (const auto& to : paths.end_ports()) {
        const Trunk a = small.at(s, to.lid), b = large.at(s, to.lid);
        ASSERT_EQ(a.switches, b.switches);
        ASSERT_EQ(a.allowed, b.allowed);
        ASSERT_LE(small.bytes(), 100U);
      }
  EXPECT_GT(large.bytes(), 200U);
}

/// Whichever of them comes first.
TEST(SaPaths, ALidThatTwoPortsHoldBelongsToTheOneThatRoutesLeadTo) {
  for (const bool first_is_routed : {false, true}) {
    SCOPED_TRACE(first_is_routed);
    const auto snapshot = snapshot_of(small_tree());
    const auto hosts = hosts_of(snapshot->fabric());
    const PortRef routed = hosts[first_is_routed ? 4 : 9], other = hosts[first_is_routed ? 9 : 4];
    const Lid lid = snapshot->fabric().port(routed).lid;
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    observed->fabric.port(other).lid = lid;
    observed->fabric.reindex();
    snapshot->observed = observed;
    const Paths paths(snapshot);
    const Guid routed_guid = snapshot->fabric().port(routed).guid;
    const Guid other_guid = snapshot->fabric().port(other).guid;
    ASSERT_NE(paths.find(lid), nullptr);
    EXPECT_EQ(paths.find(lid)->guid, routed_guid);
    const EndPort *from = paths.find(snapshot->sm_port_guid), *to = paths.find(routed_guid),
                  *rival = paths.find(other_guid);
    ASSERT_TRUE(from != nullptr && to != nullptr && rival != nullptr);
    EXPECT_TRUE(paths.between(*from, *to, lid));
    const auto way = paths.trace(*from, *to, lid);
    ASSERT_FALSE(way.empty());
    EXPECT_EQ(way.back().node, routed.node);
    EXPECT_FALSE(paths.between(*from, *rival, lid));
  }
}

}  // namespace
}  // namespace sm::sa::test
