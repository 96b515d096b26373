// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/option_use.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_builder.h"
#include "libdiag/route/choose/choose.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::Fabric;
using fabric::SwitchIndex;

/// Three levels, some hosts in the middle and at the top, a cable missing.
Fabric tree_with_hosts_above_leaves() {
  fabric::TopologyBuilder b({});
  std::array<fabric::TopologyBuilder::Id, 4> cores{};
  for (unsigned c = 0; c < 4; ++c) cores[c] = b.add_switch("core" + std::to_string(c), 16);
  b.attach_hosts(cores[3], 2);
  for (unsigned pod = 0; pod < 3; ++pod) {
    std::array<fabric::TopologyBuilder::Id, 2> spines{};
    for (unsigned s = 0; s < 2; ++s) {
      spines[s] = b.add_switch("spine" + std::to_string(2 * pod + s), 16);
      for (unsigned c = 0; c < 2; ++c) b.connect(spines[s], cores[2 * s + c]);
    }
    if (pod != 2) b.attach_hosts(spines[0], 2);
    for (unsigned l = 0; l < 3; ++l) {
      const auto leaf = b.add_switch("leaf" + std::to_string(3 * pod + l), 16);
      for (unsigned s = 0; s < 2; ++s)
        if (pod + l + s != 0) b.connect(leaf, spines[s]);
      b.attach_hosts(leaf, 3);
    }
  }
  return b.finish().value();
}

std::vector<Fabric> fabrics_of_some_kinds() {
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 10;
  fabric::FatTree tree;
  tree.radix = 6;
  tree.levels = 3;
  return {fabric::generate(tree).value(),
          fabric::generate(tree, damaged).value(),
          fabric::generate(fabric::Grid{{5, 5}, true, 4, 2}).value(),
          fabric::generate(fabric::RandomGraph{20, 50, 3}).value(),
          fabric::generate(fabric::DragonflyPlus{}).value(),
          tree_with_hosts_above_leaves()};
}

/// Everything an option may say, said about all of the fabric.
Options with(const std::string& name, const Fabric& f, const CompactGraph& g) {
  Options options;
  std::vector<Guid> hosts;
  for (const auto& d : g.destinations())
    if (!d.is_switch()) hosts.push_back(f.port(d.end_port).guid);
  GuidList some;
  for (std::size_t i = hosts.size(); i-- > 0;)
    if (i % 3 != 0) some.entries.push_back({hosts[i], 1, {}, {}});
  if (name == "--root_guid_file")
    options.roots.entries = {{g.guid(static_cast<SwitchIndex>(g.switch_count() / 2)), 1, {}, {}}};
  if (name == "--connect_roots") options.connect_roots = true;
  if (name == "--cn_guid_file") options.compute_nodes = some;
  if (name == "--io_guid_file") options.io_nodes = some;
  if (name == "--max_reverse_hops") options.max_reverse_hops = 3;
  if (name == "--scatter-ports") options.scatter_seed = 99;
  if (name == "--guid_routing_order_file") options.guid_routing_order = some;
  if (name == "--no_host_guid_file") options.no_hosts = some;
  if (name == "--do_mesh_analysis") options.do_mesh_analysis = true;
  if (name == "--lash_start_vl") options.lash_start_vl = 1;
  if (name == "--nue_max_num_vls") options.nue_max_num_vls = 1;
  if (name == "--nue_include_switches") options.nue_include_switches = true;
  for (SwitchIndex s = 0; s < g.switch_count(); ++s) {
    if (name == "--ids_guid_file")
      options.ids.entries.push_back({g.guid(s), 1, {}, g.switch_count() - s});
    for (const auto& arc : g.arcs(s)) {
      const PortName port{g.guid(s), arc.out_port};
      if (name == "--ignore_guids" && (s + arc.out_port) % 2 == 0) options.ignored[port] = true;
      if (name == "--hop_weights_file" && (s + arc.out_port) % 3 == 0)
        options.hop_weights[port] = 4;
      if (name == "--port_search_ordering_file")
        options.port_search_order[g.guid(s)].insert(options.port_search_order[g.guid(s)].begin(),
                                                    arc.out_port);
    }
  }
  return options;
}

/// The table of what engines use is what they do: tables or VLs change with every option that
/// an engine is said to use, on one fabric at least, and with no other on any.
TEST(OptionUse, EnginesHeedWhatTheyAreSaidToAndNothingElse) {
  const auto all = fabrics_of_some_kinds();
  for (const EngineEntry& engine : engines()) {
    // Their tables hang on what an operator saved, or has in steps.
    if (engine.given != nullptr) continue;
    for (const OptionUse& use : option_uses()) {
      const std::string name = use.name;
      if (name == "--torus_config" || name == "--lfts_file" || name == "--lid_matrix_file" ||
          name == "rch_policy_file")
        continue;
      // Only where dfsssp has too few VLs and ftree fits: on none of these.
      if (engine.name == std::string_view("nue") && name == "--root_guid_file") continue;
      bool used = false;
      for (const Fabric& f : all) {
        const CompactGraph g(f);
        const Options options = with(name, f, g);
        ASSERT_TRUE(use.given(options)) << name;
        for (const unsigned vls : {1U, 8U}) {
          if (used) break;
          const auto plain = engine.compute({&f, &g, {}, nullptr, vls});
          const CompactGraph of_told(f, options.no_hosts.guids());
          const auto told = engine.compute({&f, &of_told, options, nullptr, vls});
          used |= plain.has_value() != told.has_value() ||
                  (plain && (plain->lfts != told->lfts || plain->vls_used != told->vls_used));
        }
      }
      EXPECT_EQ(used, use.used_by(engine.name)) << engine.name << ' ' << name;
    }
  }
}

TEST(OptionUse, WhatDoesNothingIsSaidInOneLine) {
  Options options;
  EXPECT_EQ(unused_options(options, "updn", {}), "");
  options.connect_roots = true;
  options.scatter_seed = 3;
  options.nue_max_num_vls = 2;
  EXPECT_EQ(unused_options(options, "updn", {}),
            "--connect_roots, --nue_max_num_vls have no effect with routing engine updn");
  // nue is a candidate and would use it.
  const std::vector<std::string> named{"updn", "nue"};
  EXPECT_EQ(unused_options(options, "updn", named),
            "--connect_roots has no effect with routing engine updn");
}

TEST(OptionUse, AChoiceSaysIt) {
  const auto f = fabric::generate(fabric::FatTree{}).value();
  ChoiceOptions options;
  options.engine.max_reverse_hops = 1;
  const auto choice = choose_routes(f, CompactGraph(f), options, {});
  EXPECT_EQ(choice.notes().back(), "--max_reverse_hops has no effect with routing engine ftree");
}

}  // namespace
}  // namespace ib::route
