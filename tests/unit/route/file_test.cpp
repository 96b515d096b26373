// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using ::testing::HasSubstr;

fabric::Fabric random_fabric() { return fabric::generate(fabric::RandomGraph{12, 30, 3}).value(); }

Request request_for_files(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                          TableFiles files = {}) {
  Request request;
  request.fabric = &fabric;
  request.graph = &graph;
  request.options.tables = std::make_shared<TableFiles>(std::move(files));
  return request;
}

/// opensm-lfts.dump of the tables, read back.
TableFiles saved(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                 const tables::LinearTables& tables) {
  std::string text;
  const tables::DestinationNames names(fabric);
  for (const auto& one : tables::switch_tables(fabric, graph, tables))
    tables::append_opensm_lfts(text, one, names);
  TableFiles files;
  files.lfts_file = "lfts";
  files.lfts = tables::read_tables(text, "lfts", &files.owners).value();
  return files;
}

TEST(FileEngine, TakesOverTables) {
  const auto fabric = random_fabric();
  const fabric::CompactGraph graph(fabric);
  const auto updn = route::updn(request_for_files(fabric, graph)).value();
  const auto routes =
      file(request_for_files(fabric, graph, saved(fabric, graph, updn.lfts))).value();
  EXPECT_EQ(routes.lfts, updn.lfts);
  EXPECT_EQ(routes.engine, "file");
  EXPECT_THAT(routes.notes, ::testing::IsEmpty());
}

TEST(LidMatrix, IsReadAsItIsWritten) {
  const auto fabric = random_fabric();
  const fabric::CompactGraph graph(fabric);
  std::string text;
  tables::write_lid_matrix([&](std::string_view piece) { text += piece; }, fabric, graph);
  const auto matrix = tables::read_lid_matrix(text, "matrix").value();
  ASSERT_EQ(matrix.size(), graph.switch_count());
  for (const auto& row : matrix) {
    const auto s = graph.switch_of(*fabric.find_node(row.guid));
    EXPECT_EQ(row.hops.size(), graph.switch_count());
    for (const auto& [lid, hops] : row.hops) {
      const auto target = graph.switch_of(fabric.find_lid(lid)->node);
      const auto least = *std::min_element(hops.begin() + 1, hops.end());
      EXPECT_EQ(hops[0], s == target ? 0 : least);
      for (const auto& arc : graph.arcs(s)) {
        const auto beyond = std::ranges::find(matrix, graph.guid(arc.to), &tables::LidMatrix::guid);
        EXPECT_EQ(hops[arc.out_port], beyond->hops.at(lid)[0] + 1);
      }
    }
  }
}

TEST(FileEngine, FindsMovedLidsByGuid) {
  auto fabric = random_fabric();
  const fabric::CompactGraph before(fabric);
  const auto updn = route::updn(request_for_files(fabric, before)).value();
  const TableFiles files = saved(fabric, before, updn.lfts);
  // Every LID is another one now.
  const auto top = before.max_lid().value;
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p)
      if (auto& lid = fabric.port(n, p).lid; lid.is_unicast())
        lid = Lid{static_cast<std::uint16_t>(top + 1 - lid.value)};
  fabric.reindex();
  const fabric::CompactGraph graph(fabric);
  const auto routes = file(request_for_files(fabric, graph, files)).value();
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::uint16_t lid = 1; lid <= top; ++lid)
      ASSERT_EQ(routes.lfts.at(s, Lid{lid}),
                updn.lfts.at(s, Lid{static_cast<std::uint16_t>(top + 1 - lid)}));
}

TEST(FileEngine, GapsAreFilledAndSaid) {
  const auto fabric = random_fabric();
  const fabric::CompactGraph graph(fabric);
  const auto minhop = route::minhop(request_for_files(fabric, graph)).value();
  auto holes = minhop.lfts;
  const auto& far = graph.destinations().back();
  const fabric::SwitchIndex s = far.leaf == 0 ? 1 : 0;
  holes.set(s, far.lid, tables::kNoPort);
  const auto routes = file(request_for_files(fabric, graph, saved(fabric, graph, holes))).value();
  EXPECT_EQ(routes.lfts, minhop.lfts);
  ASSERT_EQ(routes.notes.size(), 1U);
  EXPECT_THAT(routes.notes[0], HasSubstr("lfts has no live port for 1 entries, the first"));
}

/// Least hops past the gap may lead to a switch whose saved entry leads back.
TEST(FileEngine, WhatIsFilledFollowsSavedEntriesAndNeverLoops) {
  fabric::FatTree kind;
  kind.radix = 8;
  kind.levels = 3;
  const auto tree = fabric::generate(kind).value();
  for (const auto& whole : {random_fabric(), tree}) {
    const fabric::CompactGraph all(whole);
    const TableFiles files =
        saved(whole, all, route::updn(request_for_files(whole, all)).value().lfts);
    const auto before = tables::linear_tables(all, files.lfts);
    std::size_t tried = 0;
    for (fabric::SwitchIndex s = 0; s < all.switch_count(); ++s) {
      const fabric::PortRef end{all.node_of(s), all.arcs(s)[s % all.arcs(s).size()].out_port};
      auto fabric = whole;
      fabric.disconnect(end);
      const fabric::CompactGraph graph(fabric);
      const auto routes = file(request_for_files(fabric, graph, files)).value();
      const auto verdict = tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, {});
      EXPECT_EQ(verdict.unreachable, 0U) << s;
      EXPECT_EQ(verdict.loops, 0U) << s;
      EXPECT_FALSE(routes.notes.empty());
      ++tried;
      // Entries of other switches are as they were, unless they led into the gap alone.
      std::size_t changed = 0, entries = 0;
      for (const auto& d : graph.destinations())
        for (fabric::SwitchIndex at = 0; at < graph.switch_count(); ++at, ++entries)
          changed += at != s && routes.lfts.at(at, d.lid) != before.at(at, d.lid) ? 1 : 0;
      EXPECT_LT(changed * 10, entries);
    }
    EXPECT_GT(tried, 10U);
  }
}

TEST(FileEngine, RoutesByHopCounts) {
  const auto fabric = random_fabric();
  const fabric::CompactGraph graph(fabric);
  // Hops as opensm dumps them, by an own count.
  std::string text = "# hops\n";
  std::vector<std::vector<unsigned>> hops;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const std::vector<fabric::SwitchIndex> target{s};
    const auto least = tables::least_hops(graph, target);
    hops.emplace_back(graph.switch_count(), 0xFFU);
    for (unsigned d = 0; d < least.at.size(); ++d)
      for (fabric::SwitchIndex from = 0; from < graph.switch_count(); ++from)
        if (least.at[d][from] != 0) hops[s][from] = d;
  }
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    text += fmt::format("Switch: guid 0x{:016x}\n", graph.guid(s).value);
    for (const auto& d : graph.destinations()) {
      if (!d.is_switch()) continue;
      std::vector<unsigned> row(graph.num_ports(s) + 1U, 0xFF);
      row[0] = hops[d.leaf][s];
      for (const auto& arc : graph.arcs(s)) row[arc.out_port] = hops[d.leaf][arc.to] + 1;
      text += fmt::format("0x{:04x}: {:02x} # portguid 0x1\n", d.lid.value, fmt::join(row, " "));
    }
  }
  TableFiles files;
  files.lid_matrix_file = "matrix";
  files.matrix = tables::read_lid_matrix(text, "matrix").value();
  const auto routes = file(request_for_files(fabric, graph, files)).value();
  EXPECT_EQ(routes.lfts, route::minhop(request_for_files(fabric, graph)).value().lfts);

  files.matrix.pop_back();
  const auto error = file(request_for_files(fabric, graph, files));
  ASSERT_FALSE(error.has_value());
  EXPECT_THAT(error.error().message, HasSubstr("matrix says nothing about 'sw-"));
}

TEST(FileEngine, NeedsAFile) {
  const auto fabric = random_fabric();
  const fabric::CompactGraph graph(fabric);
  Request request = request_for_files(fabric, graph);
  request.options.tables = nullptr;
  EXPECT_FALSE(file(request).has_value());
}

TEST(LidMatrix, SaysWhatItExpected) {
  const auto said = [](std::string_view text) {
    auto matrix = tables::read_lid_matrix(text, "m");
    return matrix ? std::string("read") : matrix.error().message;
  };
  EXPECT_EQ(said("0x0001: 00\n"),
            "m:1:1: expected `Switch: guid 0x...` before the first row, got "
            "'0x0001: 00'");
  EXPECT_THAT(said("Switch: guid 0\n"), HasSubstr("m:1:1: expected `Switch: guid 0x"));
  EXPECT_THAT(said("Switch: guid 0x0\n"), HasSubstr("a GUID after 0x"));
  const std::string head = "Switch: guid 0x5 \n\n";
  EXPECT_THAT(said(head + "0xC000: 00\n"), HasSubstr("m:3:3: expected a unicast LID"));
  EXPECT_THAT(said(head + "0x0001 00\n"), HasSubstr("m:3:7: expected `:`"));
  EXPECT_THAT(said(head + "0x0001: 00 1\n"), HasSubstr("m:3:12: expected hops of two hexadecimal"));
  EXPECT_THAT(said(head + "0x0001: 001\n"), HasSubstr("hops of two hexadecimal digits"));
  EXPECT_THAT(said(head + "0x0001:\n"), HasSubstr("hops of two hexadecimal digits"));
  EXPECT_EQ(said(head + "0x0001: 00 ff # portguid 0x1\n#\n"), "read");
  EXPECT_EQ(said(""), "read");
}

}  // namespace
}  // namespace ib::route
