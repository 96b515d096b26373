// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a whole bring-up costs ibsm's machine a request and answer, in process: processor time, user
// and system. The fabric model is not in it: its answers are recorded first, and what is measured
// is a second subnet manager that hears the recording (neither has a clock or luck of its own, so
// it does the same again; that it sent as much and came as far is checked). Routing and its
// verification are computed once more alone, with the same input, and taken off.
//
//   per_mad       the machine alone: sweep, LIDs and plan, apply, transactor, snapshots, report
//   with_routes   the same with routing and verification: what the second run took
//   with_fabric   the same with the model that answers: what the first run took
#include <benchmark/benchmark.h>

#include <ctime>
#include <optional>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "libdiag/sim/model.h"
#include "libdiag/tables/verify.h"
#include "sm/core/subnet_manager.h"

namespace {

using ib::Instant;
using sm::core::SubnetManager;

/// Processor time of the whole process, all its threads, in seconds.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One call of the subnet manager: a packet that arrived, or else its time has come.
struct Heard {
  Instant now;
  std::optional<ib::mad::Packet> packet;
};

/// Carries out what the subnet manager wants done; `send` gets what it sends.
template <class Send>
class Bench final : public sm::core::Carrier {
 public:
  explicit Bench(Send send) : send_(std::move(send)) {}
  /// True: it reported that the subnet is up.
  bool run(SubnetManager& manager, Instant now) {
    up_ = false;
    carry_out(manager, now, *this);
    return up_;
  }

 private:
  void commit(sm::store::Batch batch) override { benchmark::DoNotOptimize(batch); }
  void log(const ib::LogEvent& event) override { benchmark::DoNotOptimize(event); }
  ib::Result<void> send(const sm::core::Outgoing& out) override {
    send_(out.packet);
    return {};
  }
  void report(sm::core::Report report) override { up_ = report.up(); }

  Send send_;
  bool up_{false};
};

constexpr Instant kStart{1'000'000'000};

ib::fabric::PortRef first_host(const ib::fabric::Fabric& f) {
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) return {n, 1};
  return {};
}

/// Brings a simulated fabric up; `heard` gets what the subnet manager hears, before it does. False:
/// it did not come up.
template <class Hear>
bool bring_up(SubnetManager& manager, ib::sim::Model& model, Hear&& heard) {
  const ib::fabric::PortRef at = first_host(model.topology());
  Instant now = kStart;
  Bench bench([&](const ib::mad::Packet& packet) { model.send(now, at, true, packet); });
  manager.start(now);
  while (!bench.run(manager, now)) {
    const Instant next = std::min(model.next_event(), manager.next_deadline());
    if (next - kStart > std::chrono::seconds(120)) return false;
    now = std::max(now, next);
    model.advance(now);
    while (const auto* delivery = model.next_delivery()) {
      if (delivery->port != at || !delivery->smi) continue;
      heard(now, &delivery->packet);
      manager.on_packet(now, delivery->packet);
    }
    if (manager.next_deadline() > now) continue;
    heard(now, nullptr);
    manager.on_time(now);
  }
  return true;
}

std::vector<Heard> record(const ib::fabric::Fabric& fabric) {
  ib::sim::Model model(fabric);
  SubnetManager manager({}, {});
  std::vector<Heard> tape;
  bring_up(manager, model, [&](Instant now, const ib::mad::Packet* packet) {
    tape.push_back({now, packet ? std::optional(*packet) : std::nullopt});
  });
  return tape;
}

/// True: the subnet came up again.
bool replay(SubnetManager& manager, const std::vector<Heard>& tape) {
  Bench bench([](const ib::mad::Packet& packet) { benchmark::DoNotOptimize(packet); });
  manager.start(kStart);
  bool up = bench.run(manager, kStart);
  for (std::size_t i = 0; i < tape.size(); ++i) {
    if (tape[i].packet) {
      manager.on_packet(tape[i].now, *tape[i].packet);
    } else {
      manager.on_time(tape[i].now);
    }
    // What arrived together is heard together, as the recording did and ibsm does.
    if (i + 1 < tape.size() && tape[i + 1].now == tape[i].now) continue;
    up = bench.run(manager, tape[i].now) || up;
  }
  return up;
}

/// The routes of the subnet as it came up, computed and verified as the plan does it.
bool route(const sm::Snapshot& snapshot) {
  const ib::fabric::CompactGraph graph(snapshot.fabric());
  ib::route::Request request;
  request.fabric = &snapshot.fabric();
  request.graph = &graph;
  const auto routes = ib::route::find_engine(snapshot.routing->engine)->compute(request);
  if (!routes) return false;
  ib::tables::VerifyOptions checks;
  checks.credit_loops_are_must = routes->promises_deadlock_freedom;
  checks.loads = false;
  return ib::tables::verify(snapshot.fabric(), graph, routes->lfts, checks).must_ok();
}

void BM_BringUp(
    benchmark::State& state) {  // NOLINT(readability-identifier-naming): the library's way
  ib::fabric::FatTree tree;
  tree.levels = static_cast<unsigned>(state.range(0));
  tree.radix = static_cast<unsigned>(state.range(1));
  ib::fabric::GenerateCommon common;
  common.lids = false;
  const auto fabric = ib::fabric::generate(tree, common);
  if (!fabric) {
    state.SkipWithError(fabric.error().message.c_str());
    return;
  }
  const std::vector<Heard> tape = record(*fabric);
  double with_fabric = 0, with_routes = 0, routes = 0, mads = 0;
  for (auto _ : state) {
    std::uint64_t sent = 0;
    bool up = false;
    {
      ib::sim::Model model(*fabric);
      const double begin = cpu_seconds();
      SubnetManager manager({}, {});
      up = bring_up(manager, model, [](Instant, const ib::mad::Packet*) {});
      with_fabric += cpu_seconds() - begin;
      sent = manager.mad_counters().sends;
    }
    const double begin = cpu_seconds();
    SubnetManager manager({}, {});
    up = replay(manager, tape) && up;
    const double end = cpu_seconds();
    if (!up || manager.mad_counters().sends != sent || !route(*manager.snapshot())) {
      state.SkipWithError("the subnet did not come up, or not twice the same way");
      return;
    }
    with_routes += end - begin;
    routes += cpu_seconds() - end;
    mads += static_cast<double>(sent);
    state.SetIterationTime(end - begin);
  }
  const auto each = [mads](double seconds) {
    return benchmark::Counter(seconds / mads, benchmark::Counter::kDefaults,
                              benchmark::Counter::kIs1000);
  };
  state.counters["mads"] = mads / static_cast<double>(state.iterations());
  state.counters["per_mad"] = each(with_routes - routes);
  state.counters["with_routes"] = each(with_routes);
  state.counters["with_fabric"] = each(with_fabric);
}
BENCHMARK(BM_BringUp)
    ->ArgNames({"levels", "radix"})
    ->Args({3, 12})  // 216 endpoints
    ->Args({2, 36})  // 648
    ->Args({3, 24})  // 3,456
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
