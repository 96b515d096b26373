// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/grid.h"

#include <gtest/gtest.h>

#include <set>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Sizes of the dimensions, rings negative, ascending; empty: no grid.
std::multiset<int> shape_of(const fabric::Fabric& fabric) {
  std::multiset<int> shape;
  const auto grid = find_grid(fabric::CompactGraph(fabric));
  if (!grid) return shape;
  for (const auto& d : grid->dimensions)
    shape.insert(d.ring ? -static_cast<int>(d.size) : static_cast<int>(d.size));
  return shape;
}

TEST(Grid, RecognisesProductsOfGraphs) {
  using Shape = std::multiset<int>;
  EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{5, 6, 8}}).value()), (Shape{-5, -6, -8}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{5, 6}, false}).value()), (Shape{5, 6}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{7}}).value()), (Shape{-7}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{4, 5}}).value()), (Shape{2, 2, -5}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{3, 5}, true, 1, 3}).value()), (Shape{-3, -5}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::Hypercube{4, 1, 1}).value()), (Shape{2, 2, 2, 2}));
  EXPECT_EQ(shape_of(fabric::generate(fabric::HyperX{{5, 4}, 2, 1}).value()), (Shape{4, 5}));
}

TEST(Grid, RecognisesADamagedTorus) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    fabric::GenerateCommon common;
    common.seed = seed;
    common.missing_links_percent = 5;
    common.missing_switches_percent = 1;
    EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{6, 6, 6}}, common).value()),
              (std::multiset<int>{-6, -6, -6}))
        << seed;
  }
}

TEST(Grid, RecognisesADamagedTorusOfTwoDimensions) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    fabric::GenerateCommon common;
    common.seed = seed;
    common.missing_links_percent = 5;
    EXPECT_EQ(shape_of(fabric::generate(fabric::Grid{{8, 8}}, common).value()),
              (std::multiset<int>{-8, -8}))
        << seed;
  }
}

TEST(Grid, NeighboursDifferInTheDimensionOfTheirLink) {
  const auto fabric = fabric::generate(fabric::Grid{{5, 3, 6}}).value();
  const fabric::CompactGraph graph(fabric);
  const auto grid = find_grid(graph);
  ASSERT_TRUE(grid.has_value());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const auto here = grid->at(s), there = grid->at(graph.arcs(s)[i].to);
      for (std::size_t d = 0; d < 3; ++d) {
        const unsigned size = grid->dimensions[d].size;
        if (d != grid->dimension[graph.arc_index(s, i)]) {
          EXPECT_EQ(here[d], there[d]);
        } else if (grid->dimensions[d].ring) {
          const unsigned step = (there[d] + size - here[d]) % size;
          EXPECT_TRUE(step == 1 || step == size - 1);
        } else {
          EXPECT_NE(here[d], there[d]);
        }
      }
    }
}

TEST(Grid, TreesAreNone) {
  fabric::FatTree kind;
  kind.radix = 8;
  EXPECT_TRUE(shape_of(fabric::generate(kind).value()).empty());
  EXPECT_TRUE(shape_of(fabric::Fabric()).empty());
  // Aggregation nodes hang from its spines too, so that every switch has a host.
  EXPECT_TRUE(shape_of(fabric::generate_superpod_like().value()).empty());
}

}  // namespace
}  // namespace ib::route
