// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Time of the engines with several VLs, on full trees, on trees with hosts on the middle switches,
// and on the 8 x 8 x 8 torus with 2,048 endpoints, and the memory that minhop takes: of a process
// that makes the fabric, routes it once and ends.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"

namespace ib {
namespace {

constexpr const char* kOnce = "--route-once";  // RADIX ENGINE; `none` computes nothing

fabric::Fabric tree(unsigned radix) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = radix;
  return fabric::generate(kind).value();
}

void time_engine(benchmark::State& state, const fabric::Fabric& fabric, const char* name) {
  const fabric::CompactGraph graph(fabric);
  const auto* engine = route::find_engine(name);
  for (auto _ : state) {
    auto routes = engine->compute({&fabric, &graph, {}, nullptr, 8});
    if (!routes) std::abort();
    benchmark::DoNotOptimize(routes->lfts);
    state.counters["vls"] = routes->vls_used;
  }
  state.counters["switches"] = static_cast<double>(graph.switch_count());
  state.counters["lids"] = static_cast<double>(graph.destinations().size());
}

void BM_Tree(benchmark::State& state, const char* name) {
  time_engine(state, tree(static_cast<unsigned>(state.range(0))), name);
}
BENCHMARK_CAPTURE(BM_Tree, dfsssp, "dfsssp")
    ->Arg(24)
    ->Arg(36)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Tree, nue, "nue")
    ->Arg(24)
    ->Arg(36)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// A host on every middle switch, with one link in a hundred gone or none.
void BM_HostsAbove(benchmark::State& state, const char* name) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = static_cast<unsigned>(state.range(0));
  kind.middle_hosts = 1;
  fabric::GenerateCommon common;
  common.missing_links_percent = static_cast<double>(state.range(1));
  time_engine(state, fabric::generate(kind, common).value(), name);
}
BENCHMARK_CAPTURE(BM_HostsAbove, valley, "valley")
    ->ArgNames({"radix", "gone"})
    ->Args({24, 0})
    ->Args({24, 1})
    ->Args({36, 0})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void BM_Torus(benchmark::State& state, const char* name) {
  time_engine(state, fabric::generate(fabric::Grid{{8, 8, 8}, true, 4, 1}).value(), name);
}
BENCHMARK_CAPTURE(BM_Torus, lash, "lash")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Torus, dfsssp, "dfsssp")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Torus, nue, "nue")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Torus, torus_2qos, "torus-2QoS")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// Greatest resident memory of a process of its own, in MB.
double peak_of(const std::string& radix, const char* engine) {
  std::string words[] = {"/proc/self/exe", kOnce, radix, engine};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                        nullptr};
  pid_t child = 0;
  int status = 0;
  rusage used{};
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ) != 0 ||
      wait4(child, &status, 0, &used) != child || status != 0)
    std::abort();
  return static_cast<double>(used.ru_maxrss) / 1024;
}

void BM_Memory(benchmark::State& state) {
  const std::string radix = std::to_string(state.range(0));
  for (auto _ : state) {
    state.counters["peak_MB"] = peak_of(radix, "minhop");
    state.counters["fabric_MB"] = peak_of(radix, "none");
  }
}
BENCHMARK(BM_Memory)
    ->Name("BM_Memory/minhop")
    ->Arg(36)
    ->Arg(48)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);

int route_once(const char* radix, const char* name) {
  const auto fabric = tree(static_cast<unsigned>(std::atoi(radix)));
  const fabric::CompactGraph graph(fabric);
  const auto* engine = route::find_engine(name);
  if (engine == nullptr) return 0;
  return engine->compute({&fabric, &graph, {}, nullptr}) ? 0 : 1;
}

}  // namespace
}  // namespace ib

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == ib::kOnce) return ib::route_once(argv[2], argv[3]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
