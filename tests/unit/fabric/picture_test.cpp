// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/export/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "libdiag/fabric/export/draw.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"

namespace ib::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Fabric made(const std::vector<std::string>& words) {
  auto fabric = generate(words);
  EXPECT_TRUE(fabric.has_value()) << fabric.error().message;
  return fabric.has_value() ? *std::move(fabric) : Fabric{};
}

TEST(Picture, PutsATreeInTiers) {
  const Picture p = make_picture(made({"fat-tree", "--levels", "3", "--radix", "4"}));
  EXPECT_THAT(p.switches_in_tier, ElementsAre(8U, 8U, 4U));
  EXPECT_TRUE(p.layered);
  EXPECT_EQ(p.vertices.size(), 20U);
  EXPECT_EQ(p.bundles.size(), 32U);
  EXPECT_EQ(p.summary, "20 switches, 16 channel adapters, 48 cables");
  EXPECT_EQ(p.vertices[0].name, "leaf-01-01");
  EXPECT_EQ(p.vertices[0].detail, "host[0001-0002]");
  EXPECT_EQ(p.vertices[0].hosts, 2U);
  EXPECT_EQ(p.vertices[0].uplinks, 2U);
}

TEST(Picture, ATorusHasNoTiers) {
  EXPECT_FALSE(make_picture(made({"torus", "4x4"})).layered);
  EXPECT_EQ(layout_engine(make_picture(made({"torus", "4x4"}))), "sfdp");
}

TEST(Picture, BundlesParallelCables) {
  const Picture p = make_picture(made(
      {"fat-tree", "--radix", "8", "--leaves", "3", "--spines", "2", "--hosts-per-leaf", "4"}));
  ASSERT_EQ(p.bundles.size(), 6U);
  for (const Bundle& b : p.bundles) {
    EXPECT_EQ(b.cables, 2U);
    EXPECT_EQ(b.lower_ports.size(), 2U);
    EXPECT_FALSE(b.degraded);
  }
}

TEST(Picture, ShowsEveryTierOfDirectorsWithStrayHosts) {
  const Fabric f = *generate_janus_like();
  const Picture p = make_picture(f);
  EXPECT_THAT(p.switches_in_tier, ElementsAre(79U, 81U, 54U))
      << "hosts on line cards and a leaf of two hosts confuse nothing";
  EXPECT_EQ(p.chassis.size(), 3U);
  EXPECT_EQ(p.chassis[0].name, "Director-1");
  EXPECT_EQ(p.chassis[0].switches, 45U);
  const auto folded = std::count_if(p.vertices.begin(), p.vertices.end(),
                                    [](const Vertex& v) { return v.members.size() == 18; });
  EXPECT_EQ(folded, 3) << "the 18 spine chips of a director are alike";
  EXPECT_EQ(layout_engine(p), "dot");

  PictureOptions unfolded;
  unfolded.fold = PictureOptions::Fold::Never;
  EXPECT_EQ(make_picture(f, unfolded).vertices.size(), 214U);
}

TEST(Picture, OneDeadCableTakesAChipOutOfTheFold) {
  Fabric f = *generate_janus_like();
  const auto spine = find_node(f, "Director-2 S07/U1");
  ASSERT_TRUE(spine.has_value()) << spine.error().message;
  f.disconnect({*spine, 5});
  const Picture p = make_picture(f);
  const auto alone = std::find_if(p.vertices.begin(), p.vertices.end(),
                                  [](const Vertex& v) { return v.name == "S07"; });
  ASSERT_NE(alone, p.vertices.end());
  EXPECT_EQ(alone->members.size(), 1U);
}

TEST(Picture, AggregationNodesAreNoHosts) {
  const Picture p = make_picture(*generate_superpod_like());
  EXPECT_THAT(p.switches_in_tier, ElementsAre(31U, 9U));
  EXPECT_THAT(p.summary, HasSubstr("542 channel adapters, 1114 cables, 40 aggregation nodes"));
}

TEST(Picture, WhatSwitchesHaveBuiltInIsMarkedAndNoHost) {
  const Fabric f = made({"fat-tree", "--radix", "4"});
  PictureOptions options;
  for (const Node& node : f.nodes())
    if (!node.is_switch()) options.built_in = {node.guid};
  const Picture p = make_picture(f, options);
  EXPECT_THAT(p.summary, HasSubstr("7 channel adapters"));
  EXPECT_THAT(p.summary, HasSubstr(", 1 other node built into switches"));
  unsigned hosts = 0;
  for (const Vertex& vertex : p.vertices) hosts += vertex.hosts;
  EXPECT_EQ(hosts, 7U);
  options.hosts = true;
  const Picture full = make_picture(f, options);
  EXPECT_EQ(std::ranges::count(full.vertices, "built into a switch", &Vertex::detail), 1);
}

TEST(Picture, MarksWhatIsSlowerThanItsNeighbours) {
  Fabric f = made({"fat-tree", "--radix", "8"});
  const NodeIndex leaf = 0;
  const PortRef slow{leaf, 5};
  f.connect(slow, f.port(slow).peer, wire::LinkWidth::W4x, wire::LinkSpeed::Qdr);
  f.connect({leaf, 1}, f.port(leaf, 1).peer, wire::LinkWidth::W1x, wire::LinkSpeed::Edr);
  const Picture p = make_picture(f);
  const auto degraded =
      std::count_if(p.bundles.begin(), p.bundles.end(), [](const Bundle& b) { return b.degraded; });
  EXPECT_EQ(degraded, 1);
  EXPECT_EQ(p.vertices[0].hosts_slow, 1U);

  PictureOptions told;
  told.degraded = [](PortRef) { return false; };
  const Picture trusted = make_picture(f, told);
  EXPECT_TRUE(std::none_of(trusted.bundles.begin(), trusted.bundles.end(),
                           [](const Bundle& b) { return b.degraded; }));
}

TEST(Picture, FullViewHasABoxForEveryHost) {
  PictureOptions options;
  options.hosts = true;
  const Picture p = make_picture(made({"fat-tree", "--radix", "4"}), options);
  EXPECT_EQ(p.vertices.size(), 6U + 8U);
  EXPECT_EQ(p.bundles.size(), 8U + 8U);
  EXPECT_TRUE(p.vertices[0].is_host);
}

TEST(CompressNames, FindsRanges) {
  EXPECT_EQ(compress_names({"node3", "node1", "node2", "x"}, 80), "node[1-3] x");
  EXPECT_EQ(compress_names({"n01", "n03", "n02", "n10"}, 80), "n[01-03,10]");
  EXPECT_EQ(compress_names({"a1-ib", "a2-ib"}, 80), "a[1-2]-ib");
  EXPECT_EQ(compress_names({"z", "n1", "n2"}, 80), "n[1-2] z") << "the many first";
  EXPECT_EQ(compress_names({"alpha", "beta"}, 8), "alpha...");
  EXPECT_EQ(compress_names({"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"}, 6), "\xC3\xA4...");
  EXPECT_EQ(compress_names({}, 8), "");
}

Fabric read(std::string_view text) {
  auto fabric = read_topology(text, "test.topo");
  EXPECT_TRUE(fabric.has_value()) << fabric.error().message;
  return fabric.has_value() ? *std::move(fabric) : Fabric{};
}

TEST(Picture, RoutersAreNoHosts) {
  const Picture p = make_picture(
      read("Switch 2 \"S-0001\" # \"s\" base port 0 lid 1 lmc 0\n"
           "[1] \"H-0003\"[1](4) # \"h\" lid 2 4xEDR\n"
           "[2] \"R-0005\"[1](6) # \"r\" lid 3 4xEDR\n"
           "Ca 1 \"H-0003\" # \"h\"\n[1](4) \"S-0001\"[1] # lid 2 lmc 0 \"s\" lid 1 4xEDR\n"
           "Rt 1 \"R-0005\" # \"r\"\n[1](6) \"S-0001\"[2] # lid 3 lmc 0 \"s\" lid 1 4xEDR\n"));
  EXPECT_EQ(p.summary, "1 switch, 1 channel adapter, 2 cables, 1 router");
}

TEST(Draw, HostsWithoutASwitchAreDrawn) {
  const Fabric back_to_back = read(
      "Ca 1 \"H-0001\" # \"left HCA-1\"\n"
      "[1](2) \"H-0003\"[1](4) # lid 1 lmc 0 \"right HCA-1\" lid 2 4xEDR\n"
      "Ca 1 \"H-0003\" # \"right HCA-1\"\n"
      "[1](4) \"H-0001\"[1](2) # lid 2 lmc 0 \"left HCA-1\" lid 1 4xEDR\n");
  const auto two = svg_text(make_picture(back_to_back));
  ASSERT_TRUE(two.has_value()) << two.error().message;
  for (const char* text : {">left<", ">right<", "0 switches, 2 channel adapters, 1 cable", "4xEDR"})
    EXPECT_THAT(*two, HasSubstr(text));

  const auto lone = svg_text(make_picture(read("Ca 1 \"H-0001\" # \"left HCA-1\"\n")));
  ASSERT_TRUE(lone.has_value()) << lone.error().message;
  EXPECT_THAT(*lone, HasSubstr(">left<"));
  EXPECT_THAT(*lone, HasSubstr("1 channel adapter, 0 cables"));
}

TEST(Picture, AHostHasABoxWithWords) {
  Fabric f = made({"fat-tree", "--radix", "4"});
  std::vector<NodeIndex> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) hosts.push_back(n);
  f.node(hosts.at(0)).description = "";
  f.node(hosts.at(1)).description = "  late HCA-1";
  f.node(hosts.at(2)).description = "\x01 ";
  PictureOptions options;
  options.hosts = true;
  std::set<std::string> names;
  for (const Vertex& v : make_picture(f, options).vertices)
    if (v.is_host) names.insert(v.name);
  const auto by_guid = [&](std::size_t i) {
    return "host " + to_string(f.node(hosts.at(i)).guid).substr(10);
  };
  EXPECT_THAT(names, ::testing::IsSupersetOf({by_guid(0), std::string("late"), by_guid(2)}));
}

// Every place a name can reach: labels, tooltips, clusters, titles, ids.
Fabric hostile_fabric() {
  Fabric f = made({"fat-tree", "--radix", "4"});
  const char* names[] = {"<script>alert(1)</script>", "a\"];}digraph x{", "\\N\\G\\l\x1b[31m",
                         "&#27;&lt;&amp;", "</TD></TABLE>> \xEF\xBF\xBE\xEF\xBF\xBF\xff\xfe"};
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) f.node(n).description = names[n % 5];
  f.node(4).system_image_guid = f.node(5).system_image_guid;
  return f;
}

TEST(Draw, HostileNamesCannotBreakOut) {
  PictureOptions options;
  options.title = "<!-- \" --> &bogus; ]]>";
  for (const bool hosts : {false, true}) {
    options.hosts = hosts;
    const Picture p = make_picture(hostile_fabric(), options);
    const auto svg = svg_text(p);
    ASSERT_TRUE(svg.has_value()) << svg.error().message;
    EXPECT_THAT(*svg, StartsWith("<?xml"));
    EXPECT_THAT(*svg, Not(HasSubstr("<script")));
    EXPECT_THAT(*svg, Not(HasSubstr("\x1b")));
    EXPECT_THAT(*svg, Not(HasSubstr("&#27;")));
    EXPECT_THAT(*svg, Not(HasSubstr("&bogus;")));
    EXPECT_THAT(*svg, Not(HasSubstr("\xEF\xBF\xBE")));
    EXPECT_EQ(svg->find("<!-- \" -->"), std::string::npos);
    const auto dot = dot_text(p);
    ASSERT_TRUE(dot.has_value());
    EXPECT_EQ(dot->find("\n}digraph"), std::string::npos);
    EXPECT_THAT(*dot, Not(HasSubstr("a\"];}")));
    EXPECT_EQ(std::count(dot->begin(), dot->end(), '\x1b'), 0);
  }
}

TEST(Draw, JanusLikeFabricFitsOnAWall) {
  const auto svg = svg_text(make_picture(*generate_janus_like()));
  ASSERT_TRUE(svg.has_value()) << svg.error().message;
  EXPECT_LT(svg->size(), 5'000'000U);
  for (const char* text : {"tier 1: 79 switches", "tier 2: 81 switches", "tier 3: 54 switches",
                           "Director&#45;3: 45 switch chips", ">L27<", ">S18<"}) {
    EXPECT_NE(svg->find(text), std::string::npos) << text;
  }
}

TEST(Draw, DotTextIsTheSameEveryTime) {
  const Picture p = make_picture(made({"fat-tree", "--radix", "6"}));
  EXPECT_EQ(*dot_text(p), *dot_text(make_picture(made({"fat-tree", "--radix", "6"}))));
}

/// Colours say how far a load is above the floor, not which link has the most.
TEST(Picture, LoadsAreColouredByTheirRatioToTheFloor) {
  const auto fabric = generate(FatTree{.radix = 4}).value();
  const auto reds = [&](std::uint64_t load, std::uint64_t floor) {
    PictureOptions options;
    options.load = [load](PortRef) { return load; };
    options.load_floor = floor;
    const std::string text = dot_text(make_picture(fabric, options)).value();
    return text.find("#d62718") != std::string::npos;
  };
  EXPECT_FALSE(reds(100, 100));
  EXPECT_FALSE(reds(150, 100));
  EXPECT_TRUE(reds(151, 100));
}

TEST(Picture, LinksHaveTheLoadOfTheirFullerDirection) {
  const auto fabric = generate(FatTree{.radix = 4}).value();
  PictureOptions options;
  options.load = [](PortRef port) { return std::uint64_t{port.node} * 10 + port.port; };
  const Picture picture = make_picture(fabric, options);
  EXPECT_TRUE(picture.by_load);
  std::uint64_t last = 0;
  for (const Bundle& bundle : picture.bundles) {
    const PortRef one = bundle.lower_ports.at(0);
    EXPECT_EQ(bundle.load, std::max(options.load(one), options.load(fabric.port(one).peer)));
    EXPECT_GE(bundle.load, last);
    last = bundle.load;
  }
  EXPECT_EQ(picture.load_max, last);
  EXPECT_EQ(picture.load_floor, last) << "no floor is known";
  options.load_floor = 7;
  EXPECT_EQ(make_picture(fabric, options).load_floor, 7U);
  EXPECT_FALSE(make_picture(fabric).by_load);
}

}  // namespace
}  // namespace ib::fabric
