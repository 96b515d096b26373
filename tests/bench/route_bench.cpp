// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Time to compute and to verify minhop tables of full three-level fat trees.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "libdiag/routes/verify.h"
#include "tests/unit/routes/patch.h"

namespace ib {
namespace {

/// A full tree of switches with `radix` ports: radix^3 / 4 endpoints.
fabric::Fabric tree(std::int64_t radix) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = static_cast<unsigned>(radix);
  return fabric::generate(kind).value();
}

void report(benchmark::State& state, const fabric::CompactGraph& graph) {
  state.counters["switches"] = static_cast<double>(graph.switch_count());
  state.counters["lids"] = static_cast<double>(graph.destinations().size());
}

void BM_Engine(benchmark::State& state, const char* name) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto* engine = route::find_engine(name);
  for (auto _ : state) {
    auto routes = engine->compute({&fabric, &graph, {}, nullptr});
    if (!routes) std::abort();
    benchmark::DoNotOptimize(routes->lfts);
  }
  report(state, graph);
}
BENCHMARK_CAPTURE(BM_Engine, minhop, "minhop")
    ->Arg(24)
    ->Arg(36)
    ->Arg(48)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Engine, updn, "updn")
    ->Arg(24)
    ->Arg(36)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Engine, dnup, "dnup")
    ->Arg(24)
    ->Arg(36)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Engine, ftree, "ftree")
    ->Arg(24)
    ->Arg(36)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void BM_Verify(benchmark::State& state) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  if (!routes) std::abort();
  for (auto _ : state) {
    const auto verdict = routes::verify(fabric, graph, routes->lfts);
    if (!verdict.must_ok()) std::abort();
    state.counters["load_max"] = static_cast<double>(verdict.load_max);
    state.counters["load_mean"] = verdict.load_mean;
  }
  report(state, graph);
}
BENCHMARK(BM_Verify)
    ->Arg(24)
    ->Arg(36)
    ->Arg(48)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// What precedes programming: all checks, no figures.
void BM_VerifyChecks(benchmark::State& state) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  if (!routes) std::abort();
  routes::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  for (auto _ : state)
    if (!routes::verify(fabric, graph, routes->lfts, options).must_ok()) std::abort();
  report(state, graph);
}
BENCHMARK(BM_VerifyChecks)
    ->Arg(36)
    ->Arg(48)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// A leaf loses an uplink, and the entries that led there take another: the checks by difference.
void BM_VerifyChanges(benchmark::State& state) {
  auto fabric = tree(state.range(0));
  const fabric::CompactGraph whole(fabric);
  const auto before = route::find_engine("minhop")->compute({&fabric, &whole, {}, nullptr});
  if (!before) std::abort();
  const fabric::SwitchIndex leaf = whole.destinations().back().leaf;
  auto damaged = fabric;
  damaged.disconnect({whole.node_of(leaf), whole.arcs(leaf).front().out_port});
  const fabric::CompactGraph graph(damaged);
  auto after = before->lfts;
  const auto changes = routes::patch(graph, after);
  routes::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  routes::Verifier verifier(options);
  for (auto _ : state) {
    state.PauseTiming();
    if (!verifier.verify(fabric, whole, before->lfts).must_ok()) std::abort();
    state.ResumeTiming();
    if (!verifier.verify_changes(damaged, graph, after, changes).must_ok()) std::abort();
    if (!verifier.by_difference()) std::abort();
  }
  state.counters["changes"] = static_cast<double>(changes.size());
  report(state, graph);
}
BENCHMARK(BM_VerifyChanges)
    ->Arg(36)
    ->Arg(48)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace ib

BENCHMARK_MAIN();
