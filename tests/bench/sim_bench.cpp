// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The fabric model: requests and answers a second to one client in process, and how long a big
// fabric takes to load.
#include <benchmark/benchmark.h>

#include <random>
#include <sstream>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/mad/request.h"
#include "libdiag/sim/fluid.h"
#include "libdiag/sim/model.h"

namespace {

using namespace ib;

fabric::Fabric three_level_tree(unsigned radix) {
  const std::string text = std::to_string(radix);
  const std::vector<std::string> words{"fat-tree", "--levels", "3", "--radix", text};
  auto made = fabric::generate(words);
  if (!made) throw std::runtime_error(made.error().message);
  return *made;
}

sim::PortRef first_hca(const fabric::Fabric& fabric) {
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch()) return {n, 1};
  return {};
}

/// One client with `window` requests under way, directed routes of 0 to 3 hops up the tree.
void BM_Mads(benchmark::State& state) {
  sim::Model model(three_level_tree(24));
  const sim::PortRef client = first_hca(model.topology());
  const fabric::PortRef leaf = model.topology().port(client).peer;
  std::vector<mad::Request> requests;
  for (unsigned up = 0; up < 12; ++up) {
    mad::DirectedRoute route;
    requests.push_back(mad::smp_request(0, 0, route, wire::Method::Get, wire::attr::kPortInfo, 0));
    route.hops = {client.port};
    requests.push_back(
        mad::smp_request(0, 0, route, wire::Method::Get, wire::attr::kPortInfo, up + 1));
    const auto spine_port = static_cast<std::uint8_t>(13 + up);
    route.hops = {client.port, spine_port};
    if (model.topology().port(leaf.node, spine_port).peer) {
      requests.push_back(
          mad::smp_request(0, 0, route, wire::Method::Get, wire::attr::kNodeInfo, 0));
      route.hops.push_back(static_cast<std::uint8_t>(up + 1));
      requests.push_back(
          mad::smp_request(0, 0, route, wire::Method::Get, wire::attr::kPortInfo, 0));
    }
  }
  Instant now{};
  std::uint64_t answered = 0, tid = 0;
  std::size_t next = 0, waiting = 0;
  const auto window = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    while (waiting < window) {
      mad::Request& r = requests[next];
      next = next + 1 == requests.size() ? 0 : next + 1;
      r.mad.set<&wire::MadHeader::tid>(Tid{++tid});
      model.send(now, client, true, {r.address, r.mad, {}});
      ++waiting;
    }
    while (waiting > window / 2) {
      const Instant due = model.next_event();
      if (due == kNever) {
        state.SkipWithError("MADs were lost");
        return;
      }
      now = due;
      model.advance(now);
      while (const auto* d = model.next_delivery()) {
        benchmark::DoNotOptimize(d->packet.mad.bytes.data());
        --waiting;
        ++answered;
      }
    }
  }
  state.counters["mads"] =
      benchmark::Counter(static_cast<double>(answered), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Mads)->Arg(1)->Arg(64)->Arg(256);

/// 3-level tree of radix 36: 11,664 endpoints. The text is made once; reading it and building the
/// model are measured.
void BM_Load(benchmark::State& state) {
  std::ostringstream text;
  fabric::write_topology(text, three_level_tree(36));
  const std::string topology = text.str();
  std::size_t endpoints = 0;
  for (auto _ : state) {
    auto read = fabric::read_topology(topology, "bench");
    if (!read) {
      state.SkipWithError(read.error().message.c_str());
      return;
    }
    sim::Model model(std::move(*read));
    endpoints = model.topology().count(wire::NodeType::ChannelAdapter);
  }
  state.counters["endpoints"] = static_cast<double>(endpoints);
}
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond);

void BM_Build(benchmark::State& state) {
  const fabric::Fabric fabric = three_level_tree(36);
  for (auto _ : state) {
    sim::Model model(fabric);
    benchmark::DoNotOptimize(&model);
  }
}
BENCHMARK(BM_Build)->Unit(benchmark::kMillisecond);

/// Rates of 10,000 random flows on a tree of 648 hosts (1,296 links) routed by D-mod-K, on so many
/// VLs that share their links: what a change of one flow or of a table costs.
void BM_Flows(benchmark::State& state) {
  constexpr std::uint32_t kHosts = 648, kHalf = 18, kLeaves = kHosts / kHalf, kFlows = 10'000;
  const auto count = static_cast<std::uint32_t>(state.range(0));
  sim::VlShares shares;
  for (std::uint32_t vl = 0; vl < count; ++vl) shares.low[vl] = vl + 1;
  // Host to leaf, leaf to spine, spine to leaf, leaf to host; as many of each as there are hosts.
  const std::vector<sim::FluidLink> links(4 * kHosts, {12.5e9, shares});
  std::vector<sim::FluidVl> vls;
  for (std::uint32_t link = 0; link < links.size(); ++link)
    for (std::uint32_t vl = 0; vl < count; ++vl)
      vls.push_back({link, static_cast<std::uint8_t>(vl), sim::kUnmarked});
  std::mt19937 random(1);
  std::vector<sim::FluidFlow> flows(kFlows);
  for (auto& flow : flows) {
    const auto from = static_cast<std::uint32_t>(random() % kHosts);
    const auto to = static_cast<std::uint32_t>(random() % kHosts);
    const auto vl = static_cast<std::uint32_t>(random() % count), spine = to % kHalf;
    std::vector<std::uint32_t> way{from};
    if (from / kHalf != to / kHalf) {
      way.push_back(kHosts + from / kHalf * kHalf + spine);
      way.push_back(2 * kHosts + spine * kLeaves + to / kHalf);
    }
    way.push_back(3 * kHosts + to);
    for (const auto link : way) flow.vls.push_back(link * count + vl);
    if (random() % 4 == 0) flow.demand = static_cast<double>(random() % 1000) * 1e6;
  }
  for (auto _ : state) benchmark::DoNotOptimize(sim::fluid_rates(links, vls, flows));
}
BENCHMARK(BM_Flows)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
