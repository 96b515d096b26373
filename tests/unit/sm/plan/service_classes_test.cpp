// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Levels of service on routing engines that use several VLs: how classes are made and merged, what
// the arbitration is, and that what the planner programs for every engine closes no cycle of
// (link, VL), by a judge of the tests' own.
#include "sm/plan/service_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "libdiag/fabric/topology_builder.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/plan.h"
#include "sm/sa/paths/path_choice.h"
#include "tests/unit/sm/sa/path_world.h"
#include "tests/unit/tables/vl_walk.h"

namespace sm::plan {
namespace {

using ib::Sl;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using policy::QosKind;
using policy::VlArbitrationTemplate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint16_t bits(std::initializer_list<unsigned> sls) {
  unsigned all = 0;
  for (const unsigned sl : sls) all |= 1U << sl;
  return static_cast<std::uint16_t>(all);
}

TEST(ServiceClasses, SlsOfOneVlAreOneClassOnceTheMapIsFoldedToTheVls) {
  policy::SlToVlTemplate map = policy::kDefaultSlToVl;
  EXPECT_EQ(service_classes(bits({0, 3, 8}), map, 15),
            (ServiceClasses{bits({0}), bits({3}), bits({8})}));
  EXPECT_EQ(service_classes(bits({0, 3, 8}), map, 8), (ServiceClasses{bits({0, 8}), bits({3})}));
  map[5] = 3;
  map[6] = 15;
  EXPECT_EQ(service_classes(bits({3, 5, 6, 1}), map, 8), (ServiceClasses{bits({1}), bits({3, 5})}))
      << "SL 6 is dropped";
  EXPECT_EQ(service_classes(bits({6}), map, 8), ServiceClasses{0});
}

TEST(ServiceClasses, MergingJoinsTheLastOnes) {
  const ServiceClasses four{bits({0}), bits({1}), bits({2, 5}), bits({3})};
  EXPECT_EQ(merged(four, 4), four);
  EXPECT_EQ(merged(four, 2), (ServiceClasses{bits({0}), bits({1, 2, 3, 5})}));
  EXPECT_EQ(class_names(four), "SL 0, SL 1, SLs 2 and 5, SL 3");
}

/// Two switches, three SLs: 0, 1, 2 on VLs of the same number; trees on SL 1.
ib::route::Routes three_layers() {
  ib::route::Routes routes;
  routes.vls_used = 3;
  routes.virtual_lanes.sls = ib::tables::PathSls(2, Sl{0});
  routes.virtual_lanes.sls.set(0, 1, Sl{1});
  routes.virtual_lanes.sls.set(1, 1, Sl{2});
  routes.virtual_lanes.sl_to_vl = ib::tables::SlToVl(ib::tables::SlToVlRow::modulo(8));
  routes.multicast.sl = Sl{1};
  routes.multicast.up_order = {0, 1};
  return routes;
}

TEST(ServiceClasses, EachClassHasVlsAndSlsForEveryLayerAndItsLowestSlCarriesItsTrees) {
  const ServiceClasses classes{bits({0, 4}), bits({3})};
  policy::SlToVlTemplate map = policy::kDefaultSlToVl;
  map[4] = 0;
  map[9] = 15;
  const auto routes = three_layers();
  const auto class_mapping = map_classes(routes, 2, classes, map, 8);
  ASSERT_TRUE(class_mapping);
  EXPECT_EQ(class_mapping->vls(), 6U);
  // Class 0: SL 0 is layer 1, SL 4 layer 0, and SL 1, which nobody uses, layer 2. Class 1: SL 3 is
  // layer 1, SLs 2 and 5 are the others.
  const auto& levels = class_mapping->virtual_lanes.levels;
  const auto& sls = class_mapping->virtual_lanes.sls;
  EXPECT_EQ(sls.at(0, 0), Sl{4});
  EXPECT_EQ(sls.at(0, 1), Sl{0});
  EXPECT_EQ(sls.at(1, 1), Sl{1});
  EXPECT_EQ(levels.at(Sl{3}, sls.at(0, 1)), Sl{3});
  EXPECT_EQ(levels.at(Sl{3}, sls.at(0, 0)), Sl{2});
  EXPECT_EQ(levels.at(Sl{3}, sls.at(1, 1)), Sl{5});
  EXPECT_EQ(levels.at(Sl{4}, sls.at(0, 1)), Sl{0}) << "the class and the pair decide";
  EXPECT_EQ(levels.at(Sl{9}, sls.at(0, 1)), std::nullopt) << "dropped";
  const auto& vl = class_mapping->virtual_lanes.sl_to_vl.injection().vl;
  EXPECT_THAT(std::vector<unsigned>(vl.begin(), vl.begin() + 10),
              ElementsAre(1, 2, 3, 4, 0, 5, 1, 1, 1, 15));
  EXPECT_EQ(class_mapping->multicast.sl, Sl{0});
  EXPECT_EQ(class_mapping->multicast.sls & bits({0, 3}), bits({0, 3}));
  EXPECT_EQ(class_mapping->multicast.sls & bits({1, 2, 4, 5, 9}), 0);
}

TEST(ServiceClasses, OneClassLeavesWhatTheEngineSays) {
  const auto routes = three_layers();
  const auto class_mapping = map_classes(routes, 2, {bits({7})}, policy::kDefaultSlToVl, 8);
  ASSERT_TRUE(class_mapping);
  EXPECT_EQ(class_mapping->virtual_lanes.sls, routes.virtual_lanes.sls);
  EXPECT_EQ(class_mapping->virtual_lanes.sl_to_vl, routes.virtual_lanes.sl_to_vl);
  EXPECT_EQ(class_mapping->virtual_lanes.levels.at(Sl{7}, Sl{2}), Sl{2});
}

TEST(ServiceClasses, SixteenSlsCanBeTooFew) {
  auto routes = three_layers();
  ServiceClasses classes;
  for (unsigned sl = 0; sl < 5; ++sl) classes.push_back(bits({sl}));
  EXPECT_TRUE(map_classes(routes, 2, classes, policy::kDefaultSlToVl, 15));
  classes.push_back(bits({5}));
  EXPECT_FALSE(map_classes(routes, 2, classes, policy::kDefaultSlToVl, 15)) << "18 of them";
}

TEST(ServiceClasses, WeightsOfAClassAreSharedByItsVlsInTheProportionsThatWereWritten) {
  const ServiceClasses classes{bits({0}), bits({3})};
  ClassMapping class_mapping;
  class_mapping.vls_each = 2;
  class_mapping.classes = 2;
  const auto share = [&](const VlArbitrationTemplate& written, unsigned link) {
    policy::VlSettings settings;
    settings.low = written;
    settings.high = {};
    const auto weights = class_arbitration(settings, classes, class_mapping, link);
    EXPECT_TRUE(weights.high.empty());
    return weights.low;
  };
  EXPECT_EQ(share({{0, 64}, {3, 192}}, 8),
            (VlArbitrationTemplate{{0, 32}, {1, 32}, {2, 96}, {3, 96}}));
  EXPECT_EQ(share({{0, 1}, {3, 7}, {0, 2}}, 8),
            (VlArbitrationTemplate{{0, 3}, {1, 3}, {2, 7}, {3, 7}}))
      << "what does not divide is 3 to 7 all the same";
  EXPECT_EQ(share({{3, 4}}, 8), (VlArbitrationTemplate{{2, 2}, {3, 2}, {0, 1}, {1, 1}}))
      << "what nobody gave any has the least";
  EXPECT_EQ(share({{0, 2}, {3, 6}}, 4), (VlArbitrationTemplate{{0, 1}, {1, 1}, {2, 3}, {3, 3}}));
  EXPECT_EQ(share({{0, 255}, {0, 255}, {0, 255}, {3, 1}}, 8).front().weight, 255)
      << "no weight is above what an entry holds";
  EXPECT_EQ(share({{0, 4}, {1, 4}}, 2), (VlArbitrationTemplate{{0, 4}, {1, 4}}))
      << "a link of two VLs folds both classes onto each";
}

/// A subnet of these links, as the planner has it programmed.
class Planned {
 public:
  Planned(Fabric fabric, const char* engine, std::uint16_t sls, std::uint8_t vl_cap = 4,
          const policy::QosSets& sets = {})
      : world(dressed(std::move(fabric), vl_cap)) {
    PlanRequest request;
    request.observed = world.snapshot->observed;
    request.options.qos = sls != 0;
    request.options.qos_sets = sets;
    request.options.level_sls = sls;
    request.options.choice.engines = {engine};
    request.options.choice.no_fallback = true;
    request.options.choice.allow_credit_loops = std::string_view(engine) == "sssp";
    auto planned = make_plan(std::move(request));
    desired = *std::move(planned.desired);
    world.snapshot->routing = desired.routing;
    world.publish();
  }

  /// What a host is answered that asks for this level and no SL.
  std::optional<Sl> sl(PortRef from, PortRef to, std::uint8_t level) {
    const auto& f = world.snapshot->fabric();
    sa::Policy policy;
    policy.partitions[0].sl = Sl{level};
    const sa::World here{world.paths, world.state, policy};
    const auto* source = world.paths->find(f.port(from).guid);
    const auto* target = world.paths->find(f.port(to).guid);
    const auto path = sa::PathChoice(here, {source, true}, {}, 0)
                          .path(*source, source->lid, *target, target->lid);
    return path ? std::optional(path->sl) : std::nullopt;
  }

  ib::tables::test::VlWalkFindings judged(const std::vector<std::uint8_t>& levels) {
    const auto& f = world.snapshot->fabric();
    const ib::tables::test::VlWalkTables tables{
        f,
        [&](NodeIndex at, ib::Lid lid) {
          return desired.routing->lfts.at(desired.routing->graph.switch_of(at), lid);
        },
        [&](NodeIndex at, std::uint8_t in, std::uint8_t out, Sl sl) -> std::uint8_t {
          if (desired.vl_tables == nullptr) return 0;
          const auto* block = desired.vl_tables->find(device::kSlToVl, at, {out, in, 0});
          return block == nullptr
                     ? std::uint8_t{0}
                     : ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl[sl.value];
        },
        [&](PortRef from, PortRef to) {
          std::set<std::uint8_t> sls;
          for (const std::uint8_t level : levels)
            // Answers come back on the SL of the request.
            for (const auto& asked : {sl(from, to, level), sl(to, from, level)})
              if (asked) sls.insert(asked->value);
          return sls;
        }};
    return ib::tables::test::VlWalk(tables).findings();
  }

  sa::test::PathWorld world;
  Desired desired;

 private:
  static std::shared_ptr<Snapshot> dressed(Fabric fabric, std::uint8_t vl_cap) {
    auto snapshot = sa::test::snapshot_of(std::move(fabric));
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    for (NodeIndex n = 0; n < observed->nodes.size(); ++n)
      for (unsigned p = 0; p <= observed->fabric.node(n).num_ports; ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)};
        auto& port = observed->port(at);
        if (!port.known) continue;
        PortInfo info = port.info();
        info.capability_mask |= ib::wire::port_cap::kSlMapping;
        info.vl_cap = vl_cap;
        info.vl_arbitration_low_cap = info.vl_arbitration_high_cap = 32;
        ib::wire::encode(info, port.bytes.data());
        observed->fabric.port(at).vl_cap = vl_cap;
      }
    for (auto& node : observed->nodes) node.usable = true;
    observed->local_port = snapshot->sm_port;
    snapshot->observed = std::move(observed);
    return snapshot;
  }
};

Fabric torus(unsigned x, unsigned y) {
  ib::fabric::Grid grid;
  grid.sizes = {x, y};
  return ib::fabric::generate(grid).value();
}
Fabric dragonfly_plus() {
  ib::fabric::DragonflyPlus kind;
  kind.groups = 3, kind.leaves = kind.spines = kind.hosts = kind.cables = 2;
  return ib::fabric::generate(kind).value();
}
Fabric fat_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 6;
  return ib::fabric::generate(tree).value();
}

Fabric tree_with_hosts_on_spines() {
  ib::fabric::TopologyBuilder b({});
  const std::array spines{b.add_switch("spine0", 16), b.add_switch("spine1", 16)};
  for (const char* name : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    const auto leaf = b.add_switch(name, 16);
    for (const auto spine : spines) b.connect(leaf, spine);
    b.attach_hosts(leaf, 3);
  }
  for (const auto spine : spines) b.attach_hosts(spine, 1);
  return b.finish().value();
}

TEST(ServiceClasses, NoEngineClosesACycleWithOneTwoOrFourClassesAndClassesShareNoVl) {
  struct Case {
    const char* engine;
    Fabric fabric;
  };
  const Case cases[] = {{"lash", torus(5, 5)},
                        {"dfsssp", torus(5, 5)},
                        {"nue", torus(5, 5)},
                        {"torus-2QoS", torus(5, 5)},
                        {"dfsssp", dragonfly_plus()},
                        {"lash", dragonfly_plus()},
                        {"nue", dragonfly_plus()},
                        {"dfp", dragonfly_plus()},
                        {"lash", fat_tree()},
                        {"dfsssp", fat_tree()},
                        {"nue", fat_tree()},
                        {"dfp", fat_tree()},
                        {"valley", tree_with_hosts_on_spines()}};
  for (const Case& c : cases)
    for (const std::vector<std::uint8_t>& levels :
         {std::vector<std::uint8_t>{0}, {0, 3}, {0, 1, 3, 6}}) {
      SCOPED_TRACE(std::string(c.engine) + ", classes: " + std::to_string(levels.size()));
      std::uint16_t sls = 0;
      for (const std::uint8_t level : levels) sls |= bits({level});
      Planned planned(c.fabric, c.engine, sls, 4);  // 8 data VLs
      ASSERT_TRUE(planned.desired.program_lfts) << testing::PrintToString(planned.desired.alarms);
      EXPECT_EQ(planned.desired.routing->merged_levels, "");
      const auto found = planned.judged(levels);
      EXPECT_GT(found.flows, 0U);
      EXPECT_EQ(found.lost, 0U);
      EXPECT_FALSE(found.cycle);
      std::set<std::uint8_t> seen;
      for (const std::uint8_t level : levels) {
        const auto alone = planned.judged({level});
        for (const std::uint8_t vl : alone.vls)
          EXPECT_TRUE(seen.insert(vl).second) << "level " << int{level} << ", VL " << int{vl};
      }
    }
}

TEST(ServiceClasses, TheJudgeFindsACycle) {
  Planned planned(torus(5, 5), "sssp", bits({0, 3}));
  EXPECT_TRUE(planned.judged({0}).cycle);
}

TEST(ServiceClasses, WhereVlsAreTooFewTheLastClassesAreMergedAndNamed) {
  const std::vector<std::uint8_t> levels{0, 1, 3, 6};
  Planned planned(torus(5, 5), "torus-2QoS", bits({0, 1, 3, 6}), 3);  // four VLs; it needs two
  const auto& routing = *planned.desired.routing;
  EXPECT_EQ(routing.engine, "torus-2QoS") << "the engine that was named is kept";
  EXPECT_EQ(routing.merged_levels,
            "3 levels of service (SL 1, SL 3, SL 6) have the same VLs, since torus-2QoS has VLs "
            "for 2 of 4");
  EXPECT_THAT(planned.desired.alarms, testing::Contains("qos: " + routing.merged_levels));
  const auto found = planned.judged(levels);
  EXPECT_EQ(found.lost, 0U);
  EXPECT_FALSE(found.cycle);
  EXPECT_EQ(planned.judged({1}).vls, planned.judged({6}).vls);
  for (const std::uint8_t vl : planned.judged({0}).vls)
    EXPECT_FALSE(planned.judged({1}).vls.contains(vl));
}

/// By modulo of 4 VLs SL 4 would have that of SL 0.
TEST(ServiceClasses, ClassesAreMergedFromTheLastOnAndNotAsVlsAreFolded) {
  policy::QosSets sets;
  sets[0].max_vls = 4;
  Planned planned(torus(5, 5), "dfsssp", bits({0, 1, 2, 3, 4}), 4, sets);
  const auto& routing = *planned.desired.routing;
  EXPECT_THAT(planned.desired.qos_alarms, testing::Contains("qos: " + routing.merged_levels));
  EXPECT_THAT(routing.merged_levels, testing::HasSubstr("SL 3, SL 4) have the same VLs"));
  EXPECT_EQ(planned.judged({4}).vls, planned.judged({3}).vls);
  for (const std::uint8_t vl : planned.judged({0}).vls)
    EXPECT_FALSE(planned.judged({4}).vls.contains(vl));
  EXPECT_FALSE(planned.judged({0, 1, 2, 3, 4}).cycle);
}

TEST(ServiceClasses, LevelsThatFoldToOneVlOnRoutesOfOneVlAreNamed) {
  policy::QosSets sets;
  sets[0].max_vls = 4;
  Planned planned(torus(5, 5), "updn", bits({0, 1, 2, 3, 4}), 4, sets);
  EXPECT_THAT(planned.desired.qos_alarms,
              ElementsAre("qos: levels of service have the same VL (SLs 0 and 4), since links "
                          "between switches use 4 VLs"));
  Planned enough(torus(5, 5), "updn", bits({0, 1, 2, 3, 4}), 4);
  EXPECT_THAT(enough.desired.qos_alarms, testing::IsEmpty());
}

TEST(ServiceClasses, KeysOfMappingsThatDoNotCountAreNamed) {
  policy::QosSets sets;
  sets[static_cast<std::size_t>(policy::QosKind::Ca)].sl_to_vl = {0, 0, 0, 0};
  sets[static_cast<std::size_t>(policy::QosKind::SwitchExternal)].sl_to_vl = {1, 1};
  Planned planned(torus(5, 5), "dfsssp", bits({0, 3}), 4, sets);
  EXPECT_THAT(planned.desired.qos_alarms,
              ElementsAre(testing::StartsWith("qos: qos_ca_sl2vl has no effect: routes of dfsssp")))
      << "that of switches is the one of links between switches as well";
  Planned one_vl(torus(5, 5), "updn", bits({0, 3}), 4, sets);
  EXPECT_THAT(one_vl.desired.qos_alarms,
              testing::Not(testing::Contains(testing::HasSubstr("qos_ca"))));
}

TEST(ServiceClasses, AnSlThatTheMappingDropsHasNoPath) {
  policy::QosSets sets;
  sets[0].sl_to_vl = {0, 1, 2, 15};
  Planned planned(torus(5, 5), "dfsssp", bits({0, 1, 3}), 4, sets);
  const auto& hosts = planned.world.hosts;
  EXPECT_TRUE(planned.sl(hosts[0], hosts[7], 1));
  EXPECT_FALSE(planned.sl(hosts[0], hosts[7], 3));
}

}  // namespace
}  // namespace sm::plan
