// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What joins cost: 2,000 ports join 100 groups each, as MADs into the SA's machine, every one
// durable in a SQLite file before it is answered. `clients` requests are under way at a time, as
// many as fit in a turn of the daemon; then the transaction, then the answers. Transactions of
// several begin every 2 ms, so that n clients that wait for their answers join n times in 2 ms at
// most. Wall-clock time, since the disk is part of it.
//
//   joins_per_second   answered
//   mb_of_members      heap that the SA's groups and members take in the end, 200,000 of them
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "sm/sa/server.h"
#include "tests/unit/sm/sa/run_commits.h"

namespace {

using ib::Gid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::McMemberRecord;

constexpr unsigned kGroups = 100;

/// The fabric with LIDs as a sweep would have it; nothing routed.
sm::SnapshotPtr snapshot_of_hosts() {
  ib::fabric::FatTree tree;
  tree.radix = 72;
  tree.hosts_per_leaf = 40;
  tree.leaves = 50;
  tree.spines = 32;
  auto observed = std::make_shared<ib::discover::Observed>();
  observed->fabric = *ib::fabric::generate(tree);
  for (const auto& node : observed->fabric.nodes()) {
    observed->nodes.emplace_back();
    for (unsigned p = 0; p <= node.num_ports; ++p) {
      auto& port = observed->ports.emplace_back();
      port.known = true;
      ib::wire::PortInfo info;
      info.mtu_cap = info.neighbor_mtu = 5;
      info.port_state = ib::wire::PortState::Active;
      ib::wire::set_active_width(info, ib::wire::LinkWidth::W4x);
      ib::wire::set_active_speed(info, ib::wire::LinkSpeed::Hdr);
      ib::wire::encode(info, port.bytes.data());
    }
  }
  observed->complete = true;
  auto snapshot = std::make_shared<sm::Snapshot>();
  snapshot->observed = observed;
  snapshot->up = true;
  return snapshot;
}

std::vector<PortRef> hosts_of(const ib::fabric::Fabric& fabric) {
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch()) hosts.push_back({n, 1});
  return hosts;
}

ib::mad::Packet join(const ib::fabric::Port& port, unsigned group, std::uint64_t tid) {
  McMemberRecord r;
  r.mgid.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  r.mgid.bytes[15] = static_cast<std::uint8_t>(group + 1);
  r.port_gid = Gid::from(ib::kDefaultSubnetPrefix, port.guid);
  r.join_state = 1;
  r.q_key = 0x0b1b;
  r.p_key = ib::kDefaultPKey;
  ib::mad::Packet packet;
  packet.address = ib::mad::gsi_address(port.lid);
  packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, ib::wire::Method::Set,
                                  ib::wire::attr::kMcMemberRecord, 0);
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
  // MGID, PortGID, JoinState, and what a new group needs.
  packet.mad.set<&ib::wire::SaHeader::component_mask>(0x130C7);
  ib::wire::set_body(packet.mad, r);
  return packet;
}

void joins(benchmark::State& state, sm::store::Sync sync) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  const auto wanted = static_cast<std::size_t>(state.range(1));
  const auto snapshot = snapshot_of_hosts();
  const auto hosts = hosts_of(snapshot->fabric());
  for (auto _ : state) {
    auto directory = (std::filesystem::temp_directory_path() / "ibkit-joins-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("no directory");
    auto opened = sm::store::open_directory(directory, sync);
    if (!opened) return state.SkipWithError(opened.error().message.c_str());
    sm::sa::Server server(sm::sa::Options{}, {});
    ib::Instant now = ib::monotonic_now();
    server.publish(now, snapshot);
    (void)run_commits(server, *opened->store, now);
    const auto heap = mallinfo2().uordblks;

    const auto start = ib::monotonic_now();
    std::size_t sent = 0, answered = 0, granted = 0;
    while (answered < wanted) {
      now = ib::monotonic_now();
      for (; sent < wanted && sent < answered + clients; ++sent)
        server.on_packet(now, join(snapshot->fabric().port(hosts[sent / kGroups % hosts.size()]),
                                   static_cast<unsigned>(sent % kGroups), sent + 1));
      if (server.next_deadline() <= now) server.on_time(now);
      while (server.work(now)) {
      }
      (void)run_commits(server, *opened->store, now);
      while (const auto answer = server.next_send(now)) {
        ++answered;
        granted += answer->mad.status() == 0 ? 1U : 0U;
      }
    }
    const std::chrono::duration<double> took(ib::monotonic_now() - start);
    state.SetIterationTime(took.count());
    if (granted != wanted) state.SkipWithError("some joins were refused");
    state.counters["joins_per_second"] = static_cast<double>(wanted) / took.count();
    state.counters["mb_of_members"] =
        static_cast<double>(mallinfo2().uordblks - heap) / (1024.0 * 1024.0);
    opened->store.reset();
    std::filesystem::remove_all(directory);
  }
}

BENCHMARK_CAPTURE(joins, normal, sm::store::Sync::Normal)
    ->ArgNames({"clients", "joins"})
    ->Args({1, 2'000})
    ->Args({100, 50'000})
    ->Args({200, 200'000})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(joins, full, sm::store::Sync::Full)
    ->ArgNames({"clients", "joins"})
    ->Args({200, 20'000})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
