// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What path records cost, in process: a fat tree of 11,664 hosts and 1,620 switches (or another
// radix, third argument of the name), routed by updn. items_per_second are records.
//
//   publish          a new subnet: what is known about end ports and links
//   publish_same     the same where nothing changed: the pairs that were asked for are kept
//   table_by_slid    GetTable of all paths from one source, as ibacm asks
//   get              one Get after another of random pairs, as RDMA-CM asks; every pair of leaves
//                    was asked for before
//   get_cold         Gets right after publication; p50, p99 and the longest, in microseconds
//   world            all paths of the subnet
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "libdiag/route/engine.h"
#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace {

using ib::wire::PathRecord;
using sm::SnapshotPtr;
using namespace sm::sa;

SnapshotPtr make_subnet(unsigned radix) {
  ib::fabric::FatTree tree;
  tree.radix = radix;
  tree.levels = 3;
  auto fabric = ib::fabric::generate(tree);
  auto snapshot = test::snapshot_of(*std::move(fabric), [](const ib::fabric::CompactGraph& graph) {
    return ib::tables::LinearTables(graph.switch_count(), graph.max_lid());
  });
  ib::fabric::CompactGraph graph(snapshot->fabric());
  ib::route::Request request;
  request.fabric = &snapshot->fabric();
  request.graph = &graph;
  auto routes = ib::route::find_engine("updn")->compute(request);
  auto routing = std::make_shared<sm::Routing>(sm::Routing{
      std::move(graph), std::move(routes->lfts), "updn", std::move(routes->virtual_lanes), {}});
  snapshot->routing = std::move(routing);
  return snapshot;
}

/// Made once; the benchmarks of one run share it.
const SnapshotPtr& subnet(unsigned radix) {
  static SnapshotPtr made;
  static unsigned made_radix = 0;
  if (made_radix != radix) {
    made = make_subnet(radix);
    made_radix = radix;
  }
  return made;
}

struct Stage {
  explicit Stage(const SnapshotPtr& snapshot)
      : paths(std::make_shared<const Paths>(snapshot)), world{paths, state, policy} {
    for (const auto& end : paths->end_ports())
      if (!snapshot->fabric().node(end.port.node).is_switch()) hosts.push_back(&end);
  }
  std::shared_ptr<const Paths> paths;
  State state;
  Policy policy;
  World world;
  std::vector<const EndPort*> hosts;
  std::mt19937 random{1};

  const EndPort& host() { return *hosts[random() % hosts.size()]; }
  Query query(const PathRecord& wanted, std::uint64_t mask, bool single) {
    Query q;
    q.attribute = ib::wire::attr::kPathRecord;
    q.mask = mask;
    ib::wire::encode(wanted, q.wanted.data());
    q.single = single;
    q.requester.port = hosts.front();
    return q;
  }
  /// Records of the answer.
  std::size_t ask(const Query& q, std::size_t most = SIZE_MAX) {
    auto opened = open_path_query(world, q);
    auto& source = *std::get<std::unique_ptr<RecordSource>>(opened);
    std::byte record[64];
    std::size_t records = 0;
    while (records < most && source.next(record)) {
      benchmark::DoNotOptimize(record);
      ++records;
    }
    return records;
  }
  bool ask_for_every_pair() {
    std::vector<const EndPort*> one_of_leaf;
    for (const auto* host : hosts)
      if (one_of_leaf.empty() || one_of_leaf.back()->leaf != host->leaf)
        one_of_leaf.push_back(host);
    for (const auto* a : one_of_leaf)
      for (const auto* b : one_of_leaf)
        if (!paths->between(*a, *b, b->lid)) return false;
    return true;
  }
  std::size_t get() {
    PathRecord wanted;
    const auto prefix = paths->snapshot().subnet_prefix;
    wanted.sgid = ib::Gid::from(prefix, host().guid);
    wanted.dgid = ib::Gid::from(prefix, host().guid);
    wanted.reversible = true;
    wanted.numb_path = 1;
    wanted.p_key = ib::kDefaultPKey;
    constexpr std::uint64_t kMask = bit(path_bit::kDgid) | bit(path_bit::kSgid) |
                                    bit(path_bit::kReversible) | bit(path_bit::kNumbPath) |
                                    bit(path_bit::kPKey);
    return ask(query(wanted, kMask, true), 1);
  }
};

void publish(benchmark::State& state) {
  const auto& snapshot = subnet(static_cast<unsigned>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(std::make_shared<const Paths>(snapshot));
}
void publish_same(benchmark::State& state) {
  const auto& snapshot = subnet(static_cast<unsigned>(state.range(0)));
  const Paths before(snapshot);
  auto again = std::make_shared<sm::Snapshot>(*snapshot);
  again->routing = std::make_shared<sm::Routing>(*snapshot->routing);
  for (auto _ : state) benchmark::DoNotOptimize(std::make_shared<const Paths>(again, &before));
}

void table_by_slid(benchmark::State& state) {
  Stage stage(subnet(static_cast<unsigned>(state.range(0))));
  std::size_t records = 0;
  for (auto _ : state) {
    PathRecord wanted;
    wanted.slid = stage.host().lid;
    wanted.numb_path = 1;
    wanted.reversible = true;
    records += stage.ask(stage.query(
        wanted, bit(path_bit::kSlid) | bit(path_bit::kReversible) | bit(path_bit::kNumbPath),
        false));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

void get(benchmark::State& state) {
  static Stage stage(subnet(static_cast<unsigned>(state.range(0))));
  static const bool warm = stage.ask_for_every_pair();
  benchmark::DoNotOptimize(warm);
  std::size_t records = 0;
  for (auto _ : state) records += stage.get();
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

void get_cold(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> took;
  for (auto _ : state) {
    state.PauseTiming();
    Stage stage(subnet(static_cast<unsigned>(state.range(0))));
    state.ResumeTiming();
    for (int i = 0; i < 2000; ++i) {
      const auto start = Clock::now();
      stage.get();
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }
  std::sort(took.begin(), took.end());
  state.SetItemsProcessed(static_cast<std::int64_t>(took.size()));
  state.counters["p50_us"] = took[took.size() / 2];
  state.counters["p99_us"] = took[took.size() * 99 / 100];
  state.counters["max_us"] = took.back();
}

void world(benchmark::State& state) {
  Stage stage(subnet(static_cast<unsigned>(state.range(0))));
  auto query = stage.query({}, 0, false);
  query.requester.trusted = true;
  std::size_t records = 0;
  for (auto _ : state) records += stage.ask(query, 3'000'000);
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

constexpr unsigned kRadix = 36;  // 11,664 hosts
BENCHMARK(publish)->Arg(kRadix)->Unit(benchmark::kMillisecond);
BENCHMARK(publish_same)->Arg(kRadix)->Unit(benchmark::kMillisecond);
BENCHMARK(table_by_slid)->Arg(kRadix)->Unit(benchmark::kMillisecond);
BENCHMARK(get)->Arg(kRadix);
BENCHMARK(get_cold)->Arg(kRadix)->Unit(benchmark::kMillisecond);
BENCHMARK(world)->Arg(kRadix)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
