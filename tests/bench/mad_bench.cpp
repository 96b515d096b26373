// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What one request and its answer cost in process: Transactor alone, and Session over a port that
// answers at once. The floor of everything above them.
#include <benchmark/benchmark.h>

#include "libdiag/mad/session.h"
#include "libdiag/mad/tap/taps.h"

namespace {

using namespace ib;
using namespace ib::mad;

/// Answers every request at the next receive().
class Echo : public Port {
 public:
  Result<PortFacts> facts() override { return PortFacts{}; }
  Result<AgentId> register_agent(const AgentSpec&) override { return 0; }
  int readable_fd() const override { return -1; }
  Result<void> send(AgentId agent, const Packet& packet, Duration) override {
    waiting_.push_back({agent, false, packet});
    waiting_.back().packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
    return {};
  }
  Result<void> receive(std::vector<Received>& out, Duration) override {
    std::swap(out, waiting_);
    waiting_.clear();
    return {};
  }

 private:
  std::vector<Received> waiting_;
};

Request ask(std::uint64_t target) {
  return smp_request(target, target, DirectedRoute{{1, 2, 3}}, wire::Method::Get,
                     wire::attr::kPortInfo, 1);
}

void BM_BuildRequest(benchmark::State& state) {
  const DirectedRoute route{{1, 2, 3}};
  for (auto _ : state)
    benchmark::DoNotOptimize(smp_request(1, 1, route, wire::Method::Get, wire::attr::kPortInfo, 1));
}
BENCHMARK(BM_BuildRequest);

/// As many targets as an 11,664-endpoint tree has nodes; 256 under way.
void BM_Transactor(benchmark::State& state) {
  const auto targets = static_cast<std::uint64_t>(state.range(0));
  Transactor transactor;
  std::vector<SendOrder> wire;
  Instant now{1};
  std::uint64_t next = 0;
  const Request request = ask(0);
  for (auto _ : state) {
    while (transactor.pending() < 512) {
      Request r = request;
      r.target_key = next++ % targets;
      transactor.submit(now, std::move(r));
    }
    while (auto order = transactor.next_send(now)) wire.push_back(std::move(*order));
    now = now + std::chrono::microseconds(50);
    for (SendOrder& order : wire) {
      Packet reply{order.address, order.mad, {}};
      reply.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
      transactor.on_packet(now, reply);
    }
    wire.clear();
    transactor.on_time(now);
    while (auto completion = transactor.next_completion()) benchmark::DoNotOptimize(completion);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(transactor.counters().replies));
}
BENCHMARK(BM_Transactor)->Arg(100)->Arg(14'000);

class Stream : public Exchange {
 public:
  explicit Stream(std::uint64_t count) : left_(count), pending_(count) {}
  std::vector<Request> take_requests() override {
    std::vector<Request> requests;
    for (; left_ > 0 && under_way_ < 512; --left_, ++under_way_)
      requests.push_back(ask(left_ % 14'000));
    return requests;
  }
  void on_completion(Instant, const Completion&) override {
    --under_way_;
    --pending_;
  }
  bool done() const override { return pending_ == 0; }

 private:
  std::uint64_t left_, pending_, under_way_{0};
};

void BM_Session(benchmark::State& state) {
  constexpr std::uint64_t kRequests = 20'000;
  Echo echo;
  Session session(echo, {});
  for (auto _ : state) {
    Stream stream(kRequests);
    if (!session.run(stream)) state.SkipWithError("session failed");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRequests));
}
BENCHMARK(BM_Session)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
