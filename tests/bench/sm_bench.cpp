// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a whole bring-up costs ibsm's machine a request and answer, in process. The simulated fabric
// that answers is part of the time, so the figure is an upper bound; sim_bench says what the fabric
// costs alone.
#include <benchmark/benchmark.h>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"

namespace {

void BM_BringUp(
    benchmark::State& state) {  // NOLINT(readability-identifier-naming): the library's way
  ib::fabric::FatTree tree;
  tree.levels = 3;
  tree.radix = static_cast<unsigned>(state.range(0));
  ib::fabric::GenerateCommon common;
  common.lids = false;
  const auto fabric = ib::fabric::generate(tree, common);
  if (!fabric) {
    state.SkipWithError(fabric.error().message.c_str());
    return;
  }
  double requests = 0;
  for (auto _ : state) {
    state.PauseTiming();
    sm::test::SmOnModel world(*fabric);
    state.ResumeTiming();
    if (!world.run_until_reports(1) || !world.not_active().empty()) {
      state.SkipWithError("the subnet did not come up");
      return;
    }
    requests += static_cast<double>(world.sm().mad_counters().sends);
  }
  state.counters["mads"] = requests / static_cast<double>(state.iterations());
  state.counters["per_mad"] =
      benchmark::Counter(requests, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_BringUp)->Arg(12)->Arg(24)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
