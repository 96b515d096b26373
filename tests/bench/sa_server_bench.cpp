// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the SA's server costs, in process, on a fat tree of 11,664 hosts and 1,620 switches: the
// figures that tests/unit/sm/sa/latency_test.cpp has as data.
//
//   get         a Get of a random path: packet in, queue, look up, packet out; every pair of
//               leaves was asked for before
//   storm       the same in a storm: 256 at a time of one host's 24 agents, and the log of answers
//               is full
//   get_cold    a Get of a subnet of which nobody has asked anything yet
//   nodes       GetTable of all 13,284 NodeRecords: every segment made, acknowledged as the
//               kernel does
//   busy        a request that finds its queue full
#include <benchmark/benchmark.h>

#include <random>

#include "libdiag/mad/rmpp.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/server.h"
#include "tests/unit/sm/sa/large_subnet.h"
#include "tests/unit/sm/sa/run_commits.h"

namespace {

using namespace sm::sa;
using ib::Instant;
using ib::mad::Packet;
using ib::wire::Method;
using ib::wire::MgmtClass;
namespace attr = ib::wire::attr;

struct Stage {
  explicit Stage(const Options& options = {}) : server(options) {
    subnet = test::large_subnet();
    auto store = sm::store::make_memory_store();
    run_commits(server, *store, now);
    server.publish(now, subnet);
    const auto& fabric = subnet->fabric();
    for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (!fabric.node(n).is_switch()) lids.push_back(fabric.port(n, 1).lid);
  }
  Packet request(Method method, std::uint16_t attribute, std::uint64_t mask) {
    Packet packet;
    packet.address = ib::mad::gsi_address(lids[random() % lids.size()]);
    packet.mad = ib::wire::make_mad(MgmtClass::SubnAdm, method, attribute);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid});
    packet.mad.set<&ib::wire::SaHeader::component_mask>(mask);
    return packet;
  }
  Packet path_request() {
    return path_request(lids[random() % lids.size()], lids[random() % lids.size()]);
  }
  Packet path_request(ib::Lid from, ib::Lid to) {
    auto packet = request(Method::Get, attr::kPathRecord,
                          bit(path_bit::kDlid) | bit(path_bit::kSlid) | bit(path_bit::kNumbPath));
    packet.address = ib::mad::gsi_address(from);
    ib::wire::PathRecord wanted;
    wanted.slid = from;
    wanted.dlid = to;
    wanted.numb_path = 1;
    ib::wire::set_body(packet.mad, wanted);
    return packet;
  }

  void serve(const Packet& packet) {
    // 10,000 a second, so that as many answers are kept for repetitions as there would be.
    now = now + std::chrono::microseconds(100);
    server.on_packet(now, packet);
    while (server.work(now)) {
    }
    while (auto answer = server.next_send(now)) benchmark::DoNotOptimize(answer);
  }
  void ask_for_every_pair_of_leaves() {
    const auto& fabric = subnet->fabric();
    std::vector<ib::Lid> one_of_leaf;
    ib::fabric::NodeIndex last{};
    for (const ib::Lid lid : lids) {
      const auto leaf = fabric.port(*fabric.find_lid(lid)).peer.node;
      if (one_of_leaf.empty() || leaf != last) one_of_leaf.push_back(lid);
      last = leaf;
    }
    for (const ib::Lid from : one_of_leaf)
      for (const ib::Lid to : one_of_leaf) serve(path_request(from, to));
  }

  Instant now{1'000'000'000};
  Server server;
  sm::SnapshotPtr subnet;
  std::vector<ib::Lid> lids;
  std::mt19937 random{1};
  std::uint64_t tid{0};
};

void get(benchmark::State& state) {
  static Stage stage;
  static const bool warm = (stage.ask_for_every_pair_of_leaves(), true);
  benchmark::DoNotOptimize(warm);
  for (auto _ : state) stage.serve(stage.path_request());
  state.SetItemsProcessed(state.iterations());
}

void storm(benchmark::State& state) {
  static Stage stage;
  static const bool warm = (stage.ask_for_every_pair_of_leaves(), true);
  benchmark::DoNotOptimize(warm);
  constexpr std::uint32_t kBatch = 256, kAgents = 24, kExpected = 8;
  std::vector<Packet> batch;
  for (std::uint32_t i = 0; i < kBatch; ++i)
    batch.push_back(stage.path_request(stage.lids[0], stage.lids[stage.random() % 648]));
  std::uint32_t number = 0;
  for (auto _ : state) {
    for (auto& packet : batch) {
      ++number;
      packet.mad.set<&ib::wire::MadHeader::tid>(
          ib::Tid{std::uint64_t{number % kAgents + 1} << 32 | number});
    }
    stage.now = stage.now + std::chrono::microseconds(kBatch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i + kExpected < batch.size()) stage.server.expect(batch[i + kExpected]);
      stage.server.on_packet(stage.now, batch[i]);
    }
    while (stage.server.work(stage.now)) {
    }
    while (auto answer = stage.server.next_send(stage.now)) benchmark::DoNotOptimize(answer);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void get_cold(benchmark::State& state) {
  Stage stage;
  for (auto _ : state) stage.serve(stage.path_request());
  state.SetItemsProcessed(state.iterations());
}

void busy(benchmark::State& state) {
  Options options;
  options.admission.queue_size = 1;
  Stage stage(options);
  auto packet = stage.path_request();
  stage.server.on_packet(stage.now, packet);
  for (auto _ : state) {
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++stage.tid});
    stage.server.on_packet(stage.now, packet);
    while (auto answer = stage.server.next_send(stage.now)) benchmark::DoNotOptimize(answer);
  }
}

void nodes(benchmark::State& state) {
  Stage stage;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto request = stage.request(Method::GetTable, attr::kNodeRecord, 0);
    stage.server.on_packet(stage.now, request);
    while (stage.server.work(stage.now)) {
    }
    std::uint32_t window_last = 1;
    for (bool done = false; !done;) {
      std::optional<Packet> last;
      while (auto segment = stage.server.next_send(stage.now)) {
        bytes += ib::wire::kSaDataBytes;
        last = std::move(*segment);
      }
      if (!last) {
        state.SkipWithError("the table stopped");
        return;
      }
      auto header = ib::wire::decode<ib::wire::RmppHeader>(last->mad.bytes.data());
      done = header.last;
      Packet ack = *last;
      ack.address = request.address;
      ack.mad.set<&ib::wire::MadHeader::method>(Method::GetTable);
      window_last = header.data1 + 64;  // as the kernel grants it
      header.type = static_cast<std::uint8_t>(ib::mad::rmpp::Type::Ack);
      header.first = header.last = false;
      header.data2 = window_last;
      ib::wire::encode(header, ack.mad.bytes.data());
      stage.server.on_packet(stage.now, ack);
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

BENCHMARK(get)->Unit(benchmark::kMicrosecond);
BENCHMARK(storm)->Unit(benchmark::kMicrosecond);
BENCHMARK(get_cold)->Unit(benchmark::kMicrosecond)->Iterations(50'000);
BENCHMARK(busy)->Unit(benchmark::kMicrosecond);
BENCHMARK(nodes)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
