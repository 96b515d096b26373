// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a table holds while a slow client takes it: every allocation of this program is counted. A
// program of its own, for that is done with the global operators new and delete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/large_subnet.h"
#include "tests/unit/sm/sa/subnet.h"

namespace {

std::size_t live = 0, peak = 0;

void* counted(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  void* p = std::malloc(bytes != 0 ? bytes : 1);
  if (p == nullptr) return nullptr;
  live += malloc_usable_size(p);
  if (live > peak) peak = live;
  return p;
}
void* counted(std::size_t bytes) {
  void* p = counted(bytes, std::nothrow);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void uncounted(void* p) {
  if (p == nullptr) return;
  live -= malloc_usable_size(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& tag) noexcept {
  return counted(bytes, tag);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
  return counted(bytes, tag);
}
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }

namespace sm::sa::test {
namespace {

using ib::wire::PathRecord;
using ib::wire::RmppHeader;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

constexpr std::size_t kBound = 64U << 10;  // a request

/// A host that takes a table as slowly as it likes. It keeps nothing of it.
class SlowClient {
 public:
  SlowClient(Bench& bench, const Packet& request) : bench_(&bench), request_(request) {
    bench.server.on_packet(bench.now, request_);
    while (bench.server.work(bench.now)) {
    }
  }
  bool is_for_me(const Packet& packet) const {
    return packet.mad.tid() == request_.mad.tid() && packet.address.lid == request_.address.lid;
  }
  void take(const Packet& packet) {
    EXPECT_TRUE(rmpp::is_active(packet.mad)) << packet.mad.status();
    const auto header = header_of(packet.mad);
    last = std::max(last, header.data1);
    ended = ended || header.last;
    segment_ = packet.mad;
  }
  /// All up to the last; and grants as many more.
  void acknowledge(std::uint32_t window) {
    Packet ack = request_;
    ack.mad = segment_;
    ack.mad.set<&ib::wire::MadHeader::method>(Method::GetTable);
    RmppHeader header;
    header.version = 1;
    header.type = static_cast<std::uint8_t>(rmpp::Type::Ack);
    header.active = true;
    header.data1 = last;
    header.data2 = last + window;
    ib::wire::encode(header, ack.mad.bytes.data());
    bench_->server.on_packet(bench_->now, ack);
  }

  std::uint32_t last{0};  // segment
  bool ended{false};

 private:
  Bench* bench_;
  Packet request_;
  Mad segment_;
};

/// What the server has to say, to whom it is for.
void deliver(Bench& bench, std::vector<SlowClient>& clients) {
  while (const auto packet = bench.server.next_send(bench.now))
    for (auto& client : clients)
      if (client.is_for_me(*packet)) client.take(*packet);
}

struct Held {
  std::size_t most, afterwards;
};

/// `count` clients take the first `segments` of a table, `window` at a time; each lets every third
/// window time out once. What all tables held at the most, and when they had gone.
Held held(Bench& bench, const Packet& request, std::size_t count, std::uint32_t segments,
          std::uint32_t window) {
  std::vector<SlowClient> clients;
  clients.reserve(count);
  const std::size_t before = live;
  peak = live;
  for (std::size_t i = 0; i < count; ++i) {
    Packet own = request;
    own.address.lid = bench.host(i).lid;
    clients.emplace_back(bench, own);
  }
  deliver(bench, clients);
  for (int turn = 0; clients.back().last < segments && !clients.back().ended; ++turn) {
    if (turn % 3 == 2) {
      bench.now = std::max(bench.now, bench.server.next_deadline());
      bench.server.on_time(bench.now);
      deliver(bench, clients);
    }
    for (auto& client : clients) client.acknowledge(window);
    deliver(bench, clients);
  }
  const std::size_t most = peak - before;
  // They go, and nothing of them stays.
  while (bench.server.next_deadline() != ib::kNever) {
    bench.now = std::max(bench.now, bench.server.next_deadline());
    bench.server.on_time(bench.now);
    deliver(bench, clients);
  }
  return {most, live - before};
}

class SaTableMemory : public ::testing::Test {
 protected:
  SaTableMemory() : bench(large_subnet()) { bench.sm_key = 1; }
  Packet all_paths() { return bench.request(Method::GetTable, attr::kPathRecord); }
  Bench bench;
};

/// 176 million paths. What is known of pairs of leaves belongs to the subnet and has a bound of its
/// own; the first client's way through the table fills it in.
TEST_F(SaTableMemory, AllPathsOfALargeSubnetTakeSixtyFourKilobytes) {
  constexpr std::uint32_t kSegments = 20'000;  // 62,500 paths: those of some five hosts
  held(bench, all_paths(), 1, kSegments, 64);
  EXPECT_GT(bench.server.counters().segments_resent, 0U);
  for (const std::uint32_t window : {1U, 64U, 1'000'000U}) {
    const auto bytes = held(bench, all_paths(), 1, window == 1 ? 2'000 : kSegments, window);
    EXPECT_LT(bytes.most, kBound) << "window " << window;
    EXPECT_GT(bytes.most, kBound / 8) << "it is counted";
    EXPECT_LT(bytes.afterwards, 4096U);
  }
}

TEST_F(SaTableMemory, EachOfManyClientsHasItsShareAndNoMore) {
  constexpr std::size_t kClients = 40;
  held(bench, all_paths(), 1, 2'000, 64);
  const auto bytes = held(bench, all_paths(), kClients, 2'000, 64);
  EXPECT_LT(bytes.most, kClients * kBound);
  EXPECT_LT(bytes.afterwards, kClients * 4096);
}

TEST_F(SaTableMemory, AllNodesToo) {
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  EXPECT_LT(held(bench, request, 1, 100'000, 64).most, kBound);
}

/// The server knows the bound by the number of paths there may be.
TEST_F(SaTableMemory, WithoutTheKeySoManyAndNoMore) {
  const auto ask = [](std::size_t most, std::uint64_t mask, std::uint64_t key) {
    Options options;
    options.policy.untrusted_records_max = most;
    Bench small(small_tree(), options);
    small.sm_key = key;
    PathRecord wanted;
    wanted.numb_path = 1;
    wanted.slid = small.host(0).lid;
    const auto answer =
        small.ask_table(small.request(Method::GetTable, attr::kPathRecord, wanted, mask));
    return answer.mad.status();
  };
  constexpr std::uint16_t kTooMuch = 0x0003;
  constexpr std::size_t kPaths = std::size_t{22} * 22;
  for (const auto mask : {std::uint64_t{0}, bit(path_bit::kNumbPath)}) {
    EXPECT_EQ(ask(kPaths, mask, 0), status::kOk);
    EXPECT_EQ(ask(kPaths - 1, mask, 0), kTooMuch);
    EXPECT_EQ(ask(0, mask, 0), kTooMuch);
    EXPECT_EQ(ask(kPaths - 1, mask, 1), status::kOk) << "trusted";
  }
  EXPECT_EQ(ask(0, bit(path_bit::kSlid), 0), status::kOk) << "an end is named";

  // 13,284 ports are beyond the default of 10,000 records.
  bench.sm_key = 0;
  EXPECT_EQ(bench.ask(all_paths()).mad.status(), kTooMuch);
}

}  // namespace
}  // namespace sm::sa::test
