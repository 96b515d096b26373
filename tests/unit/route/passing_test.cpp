// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/passing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

struct PassingBench {
  explicit PassingBench(unsigned hosts_per_leaf, Options options = {})
      : fabric(tree(hosts_per_leaf)),
        graph(fabric),
        targets({&fabric, &graph, std::move(options), nullptr}),
        passing(targets, graph.switch_count()) {}
  static fabric::Fabric tree(unsigned hosts_per_leaf) {
    fabric::FatTree kind;
    kind.radix = hosts_per_leaf + 4;
    kind.hosts_per_leaf = hosts_per_leaf;
    kind.leaves = 5;
    kind.spines = 4;
    return fabric::generate(kind).value();
  }
  std::map<std::size_t, unsigned> columns(SwitchIndex s, std::size_t b) const {
    std::map<std::size_t, unsigned> sums;
    passing.for_columns(s, b, [&](std::size_t c, unsigned sources) { sums[c] = sources; });
    return sums;
  }
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  Targets targets;
  Passing passing;
};

TEST(Passing, AddsUpWhatIsPassedOn) {
  for (const unsigned hosts : {4U, 12U, 32U, 64U, 88U}) {
    PassingBench bench(hosts);
    ASSERT_EQ(bench.targets.all().size(), 9U);
    std::mt19937 random(hosts);
    for (unsigned batch = 0; batch < 3; ++batch) {  // what was written before is forgotten
      bench.passing.begin(bench.targets.batch(0));
      std::map<std::pair<SwitchIndex, std::size_t>, std::map<std::size_t, unsigned>> sums;
      for (unsigned i = 0; i < 200; ++i) {
        const auto to = static_cast<SwitchIndex>(random() % 9);
        const std::size_t b = random() % 5, column = random() % hosts;
        auto& sum = sums[{to, b}];
        if (sum.empty() && bench.targets.sources(to) != 0)
          for (std::size_t c = 0; c < hosts; ++c) sum[c] = bench.targets.sources(to);
        sum[column] += 1 + i;
        bench.passing.add(to, b, column, 1 + i);
      }
      for (SwitchIndex s = 0; s < 9; ++s) {
        const std::uint64_t written = bench.passing.written_of(s / 8 * 8)[s % 8];
        for (std::size_t b = 0; b < 5; ++b) {
          const auto expected = sums.find({s, b});
          EXPECT_EQ(bench.passing.is_written(s, b), expected != sums.end());
          EXPECT_EQ((written >> b & 1) != 0, expected != sums.end());
          if (expected != sums.end()) {
            EXPECT_EQ(bench.columns(s, b), expected->second);
          }
        }
      }
    }
  }
}

TEST(Passing, ColumnsThatDoNotCountAreNotSentTo) {
  PassingBench whole(4);
  const Target& target = whole.targets.all()[2];
  const auto& column = whole.targets.columns(target)[1];
  Options options;
  for (const auto& d : whole.graph.destinations())
    if (d.lid == column.lid)
      options.ignored[{whole.fabric.node(d.end_port.node).guid, d.end_port.port}] = true;
  PassingBench bench(4, options);
  bench.passing.begin(bench.targets.batch(0));
  const SwitchIndex other = bench.targets.all()[0].leaf;
  bench.passing.write_own(other, 2);
  EXPECT_EQ(bench.columns(other, 2), (std::map<std::size_t, unsigned>{{0, 4}, {2, 4}, {3, 4}}));
}

}  // namespace
}  // namespace ib::route
