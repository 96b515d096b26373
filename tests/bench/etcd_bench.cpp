// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the store on etcd costs: one member of etcd on this host, on a disk. A commit is one join;
// what is loaded and taken is a fabric of 11,664 ports, each with a LID, a membership and a
// subscription, as a snapshot, and with 500 joins in the log behind it. Wall-clock time.
//
//   milliseconds   of one call, on the average
//   kilobytes      that a snapshot of the fabric takes
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "sm/store/etcd/batch_code.h"
#include "sm/store/etcd/open.h"

namespace {

namespace store = sm::store;
constexpr std::uint64_t kPorts = 11'664, kFirstGuid = 0x0002c90300000000;
constexpr const char* kPort = "23799";

/// One member, in a directory that is gone afterwards.
class Etcd {
 public:
  Etcd() {
    auto pattern = (std::filesystem::temp_directory_path() / "ibkit-etcd-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    const std::string client = std::string("http://127.0.0.1:") + kPort;
    const std::string peer = "http://127.0.0.1:23798", cluster = "default=" + peer;
    process_ = ::fork();
    if (process_ != 0) return;
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(4);
    ::execlp("etcd", "etcd", "--data-dir", directory_.c_str(), "--listen-client-urls",
             client.c_str(), "--advertise-client-urls", client.c_str(), "--listen-peer-urls",
             peer.c_str(), "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster",
             cluster.c_str(), static_cast<char*>(nullptr));
    ::_exit(4);
  }
  ~Etcd() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Etcd(const Etcd&) = delete;
  Etcd& operator=(const Etcd&) = delete;

 private:
  std::string directory_;
  pid_t process_{};
};

store::EtcdOptions options(const char* prefix) {
  static const Etcd etcd;
  store::EtcdOptions o;
  o.endpoints = {std::string("http://127.0.0.1:") + kPort};
  o.prefix = prefix;
  o.fabric = "fe80000000000000";
  return o;
}

/// A store that is ours; null: there is no etcd here.
std::unique_ptr<store::Store> taken(benchmark::State& state, const char* prefix) {
  for (int i = 0; i < 50; ++i) {
    auto opened = store::open_etcd(options(prefix));
    if (opened && opened->store->take()) return std::move(opened->store);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  state.SkipWithError("etcd (Debian: etcd-server) does not answer");
  return nullptr;
}

ib::Gid group() {
  ib::Gid gid;
  gid.bytes = {0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF};
  return gid;
}
store::Batch join(std::uint64_t port) {
  store::Batch batch;
  const ib::Gid gid = ib::Gid::from(ib::kDefaultSubnetPrefix, ib::Guid{kFirstGuid + port});
  batch.members = {{group(), gid, 1, false, ib::Guid{}}};
  return batch;
}
store::Batch fabric() {
  store::Batch batch;
  store::McGroup one;
  one.mgid = group();
  batch.groups = {one};
  for (std::uint64_t port = 0; port < kPorts; ++port) {
    const ib::Guid guid{kFirstGuid + port};
    const ib::Lid lid{static_cast<std::uint16_t>(port + 1)};
    batch.lids.push_back({guid, lid, 0});
    batch.members.push_back(join(port).members.front());
    store::Subscription subscription;
    subscription.subscriber = guid;
    subscription.to = ib::mad::gsi_address(lid);
    batch.subscriptions.push_back(subscription);
  }
  return batch;
}

void EtcdCommit(benchmark::State& state) {
  auto ours = taken(state, "/bench/commit/");
  if (!ours) return;
  std::uint64_t port = 0;
  for (auto _ : state) benchmark::DoNotOptimize(ours->commit(join(++port % kPorts)));
  if (ours->rest()) state.SkipWithError("etcd does not take what is written");
}
BENCHMARK(EtcdCommit)->Unit(benchmark::kMillisecond)->UseRealTime();

void EtcdSnapshot(benchmark::State& state) {
  auto ours = taken(state, "/bench/snapshot/");
  if (!ours) return;
  const store::Batch all = fabric();
  for (auto _ : state) benchmark::DoNotOptimize(ours->commit(all));
  if (ours->rest()) state.SkipWithError("etcd does not take what is written");
  state.counters["kilobytes"] = static_cast<double>(store::etcd::encode(all).size()) / 1024;
}
BENCHMARK(EtcdSnapshot)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(20);

void EtcdTake(benchmark::State& state) {
  auto ours = taken(state, "/bench/take/");
  if (!ours || !ours->commit(fabric())) return;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    (void)ours->commit(join(static_cast<std::uint64_t>(i)));
  for (auto _ : state) {
    const auto contents = ours->take();
    if (!contents || contents->lids.size() != kPorts) state.SkipWithError("not all is there");
  }
}
BENCHMARK(EtcdTake)->Arg(0)->Arg(500)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
