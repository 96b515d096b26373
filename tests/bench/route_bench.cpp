// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Time to compute, to choose among and to verify tables of full three-level fat trees, and of
// damaged ones.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/choose.h"
#include "libdiag/route/engine.h"
#include "libdiag/route/multicast/multicast.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/reroute/transition.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/verify_changes.h"
#include "tests/unit/tables/patch.h"

namespace ib {
namespace {

/// A full tree of switches with `radix` ports: radix^3 / 4 endpoints.
fabric::Fabric tree(std::int64_t radix, double missing_links_percent = 0) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = static_cast<unsigned>(radix);
  fabric::GenerateCommon common;
  common.missing_links_percent = missing_links_percent;
  return fabric::generate(kind, common).value();
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
/// By the processor time of all threads, in milliseconds.
void timed(benchmark::internal::Benchmark* of) {
  of->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
}
BENCHMARK_CAPTURE(BM_Engine, minhop, "minhop")->Arg(24)->Arg(36)->Arg(48)->Apply(timed);
BENCHMARK_CAPTURE(BM_Engine, updn, "updn")->Arg(24)->Arg(36)->Apply(timed);
BENCHMARK_CAPTURE(BM_Engine, dnup, "dnup")->Arg(24)->Arg(36)->Apply(timed);
BENCHMARK_CAPTURE(BM_Engine, ftree, "ftree")->Arg(24)->Arg(36)->Apply(timed);

/// The default choice, proof included, with so many links in a thousand gone.
void BM_Choice(benchmark::State& state) {
  const auto fabric = tree(state.range(0), static_cast<double>(state.range(1)) / 10);
  const fabric::CompactGraph graph(fabric);
  route::ChoiceOptions options;
  tables::VerifyOptions checks;
  checks.credit_loops_are_must = true;
  checks.loads = false;
  for (auto _ : state) {
    const auto choice = route::choose_routes(fabric, graph, options, checks);
    if (!choice.passed) std::abort();
    state.SetLabel(choice.routes.engine);
    state.counters["tried"] = static_cast<double>(choice.tried.size());
    for (const auto& row : choice.tried)
      if (row.engine == choice.routes.engine && row.quality)
        state.counters["load_max"] = row.quality->load;
  }
  report(state, graph);
}
BENCHMARK(BM_Choice)
    ->ArgNames({"radix", "gone"})
    ->Args({36, 0})
    ->Args({36, 1})
    ->Args({36, 10})
    ->Args({36, 50})
    ->Args({48, 0})
    ->Args({48, 10})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void BM_Verify(benchmark::State& state) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  if (!routes) std::abort();
  for (auto _ : state) {
    const auto verdict = tables::verify(fabric, graph, routes->lfts);
    if (!verdict.must_ok()) std::abort();
    state.counters["load_max"] = static_cast<double>(verdict.load_max);
    state.counters["load_mean"] = verdict.load_mean;
  }
  report(state, graph);
}
BENCHMARK(BM_Verify)->Arg(24)->Arg(36)->Arg(48)->Apply(timed);

/// What precedes programming: all checks, no figures.
void BM_VerifyChecks(benchmark::State& state) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  if (!routes) std::abort();
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  for (auto _ : state)
    if (!tables::verify(fabric, graph, routes->lfts, options).must_ok()) std::abort();
  report(state, graph);
}
BENCHMARK(BM_VerifyChecks)->Arg(36)->Arg(48)->Apply(timed);

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
  const auto changes = tables::patch(graph, after);
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  tables::Verifier verifier(options);
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
BENCHMARK(BM_VerifyChanges)->Arg(36)->Arg(48)->Apply(timed);

/// One uplink of a leaf fails. It begins again each time, or the uplink comes back and the next one
/// fails; `left`: entries that are others in the end.
void BM_Reroute(benchmark::State& state, const char* name, bool in_a_row) {
  auto fabric = tree(state.range(0));
  const auto* engine = route::find_engine(name);
  const fabric::CompactGraph whole(fabric);
  const auto routes = engine->compute({&fabric, &whole, {}, nullptr}).value();
  route::Rerouter rerouter(*engine, {});
  rerouter.adopt(fabric, whole, routes);
  std::vector<const fabric::Destination*> ends;
  for (const auto& end : whole.destinations())
    if (!end.is_switch()) ends.push_back(&end);
  std::size_t turn = 7, entries = 0, blocks = 0, back = 0;
  double worst = 0;
  std::vector<double> cpu;
  for (auto _ : state) {
    if (!in_a_row && !cpu.empty()) rerouter.adopt(fabric, whole, routes);
    const auto& end = *ends[turn++ * 977 % ends.size()];
    const auto arcs = whole.arcs(end.leaf);
    const auto& arc = arcs[turn % arcs.size()];
    const fabric::PortRef a{whole.node_of(end.leaf), arc.out_port};
    const fabric::PortRef b{whole.node_of(arc.to), arc.in_port};
    const auto port = fabric.port(a);
    fabric.disconnect(a);
    const fabric::CompactGraph damaged(fabric);
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t begin_cpu = std::clock();
    const auto change = rerouter.update(fabric, damaged);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    cpu.push_back(1e3 * static_cast<double>(std::clock() - begin_cpu) / CLOCKS_PER_SEC);
    if (!change || !change->recomputed.empty()) std::abort();
    entries += change->entries.size();
    blocks += change->blocks.size();
    worst = std::max(worst, static_cast<double>(rerouter.load_max()));
    fabric.connect(a, b, port.width, port.speed);
    if (in_a_row) back += rerouter.update(fabric, whole)->blocks.size();
  }
  const auto mean = [&](std::size_t sum) {
    return static_cast<double>(sum) / static_cast<double>(cpu.size());
  };
  std::sort(cpu.begin(), cpu.end());
  state.counters["cpu_ms"] = cpu[cpu.size() / 2];  // the median, of both cores together
  state.counters["entries"] = mean(entries);
  state.counters["blocks"] = mean(blocks);
  state.counters["load_max"] = worst;
  if (!in_a_row) return;
  state.counters["blocks_back"] = mean(back);
  state.counters["left"] =
      static_cast<double>(route::difference(routes.lfts, rerouter.routes().lfts).entries.size());
}
void failures(benchmark::internal::Benchmark* bench) {
  bench->Arg(36)->Arg(48)->Unit(benchmark::kMillisecond)->UseManualTime();
}
BENCHMARK_CAPTURE(BM_Reroute, minhop, "minhop", false)->Apply(failures)->Iterations(11);
BENCHMARK_CAPTURE(BM_Reroute, updn, "updn", false)->Apply(failures)->Iterations(11);
BENCHMARK_CAPTURE(BM_Reroute, ftree, "ftree", false)->Apply(failures)->Iterations(11);
BENCHMARK_CAPTURE(BM_Reroute, minhop_in_a_row, "minhop", true)->Apply(failures)->Iterations(41);
BENCHMARK_CAPTURE(BM_Reroute, updn_in_a_row, "updn", true)->Apply(failures)->Iterations(41);
BENCHMARK_CAPTURE(BM_Reroute, ftree_in_a_row, "ftree", true)->Apply(failures)->Iterations(41);

/// A cable of a network that is no tree fails: where no bound tells that the load is near to that
/// of fresh routes, those are computed.
template <class Kind>
void BM_RerouteOffTrees(benchmark::State& state, const char* name, const Kind& kind) {
  auto fabric = fabric::generate(kind).value();
  const auto* engine = route::find_engine(name);
  const fabric::CompactGraph whole(fabric);
  route::Rerouter rerouter(*engine, {});
  rerouter.adopt(fabric, whole, engine->compute({&fabric, &whole, {}, nullptr}).value());
  std::size_t turn = 7, entries = 0, orders = 0;
  double worst = 0;
  for (auto _ : state) {
    const auto s = static_cast<fabric::SwitchIndex>(turn++ * 977 % whole.switch_count());
    const auto& arc = whole.arcs(s)[turn % whole.arcs(s).size()];
    const fabric::PortRef a{whole.node_of(s), arc.out_port};
    const fabric::PortRef b{whole.node_of(arc.to), arc.in_port};
    const auto port = fabric.port(a);
    fabric.disconnect(a);
    const fabric::CompactGraph damaged(fabric);
    const auto begin = std::chrono::steady_clock::now();
    const auto change = rerouter.update(fabric, damaged);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    if (!change) std::abort();
    entries += change->entries.size();
    orders += change->recomputed.empty() ? 0 : 1;
    worst = std::max(worst, static_cast<double>(rerouter.load_max()));
    fabric.connect(a, b, port.width, port.speed);
    if (!rerouter.update(fabric, whole)) std::abort();
  }
  state.counters["entries"] =
      static_cast<double>(entries) / static_cast<double>(state.iterations());
  state.counters["orders"] = static_cast<double>(orders);  // that were given up for others
  state.counters["load_max"] = worst;
}
void off_trees(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(11);
}
const fabric::Grid kTorus{{8, 8, 8}, true, 4};
const fabric::HyperX kHyperX{{12, 12}, 12};
BENCHMARK_CAPTURE(BM_RerouteOffTrees, minhop_torus, "minhop", kTorus)->Apply(off_trees);
BENCHMARK_CAPTURE(BM_RerouteOffTrees, updn_torus, "updn", kTorus)->Apply(off_trees);
BENCHMARK_CAPTURE(BM_RerouteOffTrees, minhop_hyperx, "minhop", kHyperX)->Apply(off_trees);
BENCHMARK_CAPTURE(BM_RerouteOffTrees, updn_hyperx, "updn", kHyperX)->Apply(off_trees);

/// What links alone do not tell: a host, or a middle switch with all its cables, goes and comes
/// back.
enum class Part { Host, Switch };
void BM_ComeAndGo(benchmark::State& state, const char* name, Part part, bool comes) {
  const auto whole = tree(state.range(0));
  const auto* engine = route::find_engine(name);
  const fabric::CompactGraph graph(whole);
  const auto& host = graph.destinations().back();
  const fabric::SwitchIndex middle = graph.arcs(host.leaf).front().to;
  auto without = whole;
  if (part == Part::Host) {
    without.disconnect(host.end_port);
    without.port(host.end_port).lid = Lid{};
  } else {
    route::WhatIf what_if;
    what_if.without = {to_string(graph.guid(middle))};
    if (!route::take_away(without, what_if)) std::abort();
  }
  const fabric::CompactGraph less(without);
  const auto& before = comes ? without : whole;
  const auto& after = comes ? whole : without;
  const auto& graph_before = comes ? less : graph;
  const auto& graph_after = comes ? graph : less;
  const auto routes = engine->compute({&before, &graph_before, {}, nullptr}).value();
  route::Rerouter rerouter(*engine, {});
  for (auto _ : state) {
    state.PauseTiming();
    rerouter.adopt(before, graph_before, routes);
    state.ResumeTiming();
    const auto change = rerouter.update(after, graph_after);
    if (!change || change->recomputed.empty() != (part == Part::Switch && !comes)) std::abort();
    state.counters["entries"] = static_cast<double>(change->entries.size());
    state.counters["blocks"] = static_cast<double>(change->blocks.size());
    state.counters["load_max"] = static_cast<double>(rerouter.load_max());
  }
}
void shapes(benchmark::internal::Benchmark* bench) {
  bench->Arg(36)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
}
BENCHMARK_CAPTURE(BM_ComeAndGo, minhop_host_comes, "minhop", Part::Host, true)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, minhop_host_goes, "minhop", Part::Host, false)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, minhop_switch_comes, "minhop", Part::Switch, true)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, minhop_switch_goes, "minhop", Part::Switch, false)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, updn_host_comes, "updn", Part::Host, true)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, updn_switch_goes, "updn", Part::Switch, false)->Apply(shapes);
BENCHMARK_CAPTURE(BM_ComeAndGo, ftree_switch_goes, "ftree", Part::Switch, false)->Apply(shapes);

/// The rounds in which the blocks of such a reroute may be written.
void BM_Transition(benchmark::State& state) {
  auto fabric = tree(state.range(0));
  const auto* engine = route::find_engine("updn");
  const fabric::CompactGraph whole(fabric);
  route::Rerouter rerouter(*engine, {});
  rerouter.adopt(fabric, whole, engine->compute({&fabric, &whole, {}, nullptr}).value());
  const auto before = rerouter.routes().lfts;
  const fabric::SwitchIndex leaf = whole.destinations().back().leaf;
  fabric.disconnect({whole.node_of(leaf), whole.arcs(leaf).front().out_port});
  const fabric::CompactGraph damaged(fabric);
  const auto change = rerouter.update(fabric, damaged);
  if (!change) std::abort();
  std::vector<route::Transition::Write> held;
  for (const auto& block : change->blocks)
    held.push_back(route::block_of(before, block.at, block.number));
  std::size_t rounds = 0;
  for (auto _ : state)
    rounds = route::plan_transition(damaged, held, rerouter.routes().lfts).rounds.size();
  state.counters["blocks"] = static_cast<double>(held.size());
  state.counters["rounds"] = static_cast<double>(rounds);
  report(state, damaged);
}
BENCHMARK(BM_Transition)->Arg(36)->Arg(48)->Apply(timed);

/// A group of every host, proved beside routes that are proved already; or with them.
void BM_Trees(benchmark::State& state, bool afresh) {
  const auto fabric = tree(state.range(0));
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("updn")->compute({&fabric, &graph, {}, nullptr}).value();
  route::MulticastGroup group;
  group.mlid = Lid{0xC000};
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) group.receivers.push_back(fabric.port(d.end_port).guid);
  const auto trees = route::multicast_trees(fabric, graph, std::span(&group, 1), routes.multicast);
  const tables::MulticastCheck check{&trees, Sl{0}, true, nullptr, {}};
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  tables::Verifier verifier(options);
  for (auto _ : state) {
    state.PauseTiming();
    if (afresh)
      verifier = tables::Verifier(options);
    else if (!verifier.verify(fabric, graph, routes.lfts).must_ok())
      std::abort();
    state.ResumeTiming();
    if (!verifier.verify_changes(fabric, graph, routes.lfts, {}, {}, check).must_ok()) std::abort();
    if (verifier.by_difference() == afresh) std::abort();
  }
  report(state, graph);
}
BENCHMARK_CAPTURE(BM_Trees, by_difference, false)->Arg(36)->Arg(48)->Apply(timed);
BENCHMARK_CAPTURE(BM_Trees, afresh, true)->Arg(36)->Arg(48)->Apply(timed);

}  // namespace
}  // namespace ib

BENCHMARK_MAIN();
