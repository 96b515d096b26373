// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How long answers take in a storm, in virtual time. The server is the real one, on a subnet of
// 11,664 hosts; what its steps cost is data (StormCosts, which sa_costs_bench measures), and the
// turns of its thread are those of sm/daemon/sa_thread.cpp (sm/sa/intake/turn.h):
//
//   take what has arrived | on_time | serve some | send | sleep if nothing waits
//
// A step takes its cost off the clock; what arrives meanwhile waits. The latency of a request is
// the time from its arrival to the sending of its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sm/sa/intake/turn.h"
#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/large_subnet.h"
#include "tests/unit/sm/sa/run_commits.h"
#include "tests/unit/sm/sa/storm_costs.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::Duration;
using ib::wire::PathRecord;
using std::chrono::microseconds;
using std::chrono::milliseconds;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

/// Work of the subnet manager that would be in the way, were it done on the same thread.
struct Hold {
  Instant at;
  Duration takes;
};

struct Arrival {
  Instant at;
  Packet packet;
};

struct Outcome {
  std::vector<Duration> latencies;  // of final answers
  std::size_t asked{0}, answered{0}, busy{0}, twice{0};
  std::map<std::uint8_t, std::size_t> by_rate;  // answers
  Duration p(double part) const {
    return latencies[static_cast<std::size_t>(part * static_cast<double>(latencies.size() - 1))];
  }
};

class Storm {
 public:
  Storm(const std::shared_ptr<Snapshot>& subnet, const StormCosts& costs)
      : costs_(costs), subnet_(subnet), hosts_(hosts_of(subnet->fabric())) {
    run_commits(server_, *store_, start_);
    server_.publish(start_, subnet_);
  }

  /// `clients` hosts ask for random paths, at random times, `per_second` in all.
  void ask_for_paths(unsigned clients, double per_second, Duration during, unsigned seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> pause(per_second);
    Instant at = start_;
    while (true) {
      at = at + Duration(static_cast<std::int64_t>(pause(random) * 1e9));
      if (at > start_ + during) break;
      PathRecord wanted;
      wanted.sgid = gid(random() % clients);
      wanted.dgid = gid(random() % hosts_.size());
      wanted.numb_path = 1;
      wanted.reversible = true;
      Packet packet;
      packet.address = ib::mad::gsi_address(subnet_->fabric().port(hosts_[random() % clients]).lid);
      packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, Method::Get, attr::kPathRecord);
      packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid_});
      packet.mad.set<&ib::wire::SaHeader::component_mask>(
          bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kReversible) |
          bit(path_bit::kNumbPath));
      ib::wire::set_body(packet.mad, wanted);
      arrivals_.push_back({at, std::move(packet)});
    }
  }
  /// What a sweep has found and routed.
  void publish_at(Duration after, const std::shared_ptr<Snapshot>& subnet) {
    auto snapshot = std::make_shared<Snapshot>(*subnet);
    snapshot->generation = publications_.size() + 2;
    publications_.push_back({start_ + after, std::move(snapshot)});
  }
  void hold(Duration after, Duration takes) { holds_.push_back({start_ + after, takes}); }

  Outcome run() {
    std::map<std::uint64_t, Instant> asked;
    Outcome out;
    out.asked = arrivals_.size();
    Instant now = start_;
    std::size_t next = 0, published = 0, held = 0;
    while (next < arrivals_.size() || server_.has_work()) {
      if (!server_.has_work()) {
        Instant wake = next < arrivals_.size() ? arrivals_[next].at : ib::kNever;
        if (published < publications_.size()) wake = std::min(wake, publications_[published].at);
        if (held < holds_.size()) wake = std::min(wake, holds_[held].at);
        now = std::max(now, wake + costs_.wake);
      }
      for (; held < holds_.size() && holds_[held].at <= now; ++held) now = now + holds_[held].takes;
      for (; published < publications_.size() && publications_[published].at <= now; ++published) {
        const auto& snapshot = publications_[published].snapshot;
        server_.publish(now, snapshot);
        truth_ = std::make_unique<Paths>(snapshot);
        now = now + costs_.publish;
      }
      for (const Instant turn = now; next < arrivals_.size() && arrivals_[next].at <= turn;
           ++next) {
        server_.on_packet(now, arrivals_[next].packet);
        asked[arrivals_[next].packet.mad.tid().value] = arrivals_[next].at;
        now = now + costs_.take_in;
      }
      if (server_.next_deadline() <= now) server_.on_time(now);
      const Instant began = now;
      for (std::size_t i = 1; i <= turn::kServed && server_.work(now); ++i) {
        now = now + costs_.serve;
        if (i % turn::kServedAtOnce == 0 && now - began >= turn::kServedFor) break;
      }
      while (auto packet = server_.next_send(now)) {
        now = now + costs_.send;
        const auto found = asked.find(packet->mad.tid().value);
        if (found == asked.end()) {
          ++out.twice;
          continue;
        }
        const bool busy = packet->mad.status() == status::kBusy;
        EXPECT_TRUE(busy || packet->mad.status() == status::kOk);
        ++(busy ? out.busy : out.answered);
        if (!busy) check(*packet, out);
        out.latencies.push_back(now - found->second);
        asked.erase(found);
      }
    }
    std::ranges::sort(out.latencies);
    return out;
  }

 private:
  Gid gid(std::size_t host) const {
    return Gid::from(ib::kDefaultSubnetPrefix, subnet_->fabric().port(hosts_[host]).guid);
  }

  /// An answer is of the tables that were published last, whatever was known of others before.
  void check(const Packet& answer, Outcome& out) const {
    const auto path = ib::wire::body<PathRecord>(answer.mad);
    const auto quality =
        truth_->between(*truth_->find(path.slid), *truth_->find(path.dlid), path.dlid);
    ASSERT_TRUE(quality);
    EXPECT_EQ(path.rate, quality->rate);
    ++out.by_rate[path.rate];
  }

  struct Publication {
    Instant at;
    SnapshotPtr snapshot;
  };
  StormCosts costs_;
  Instant start_{1'000'000'000};
  std::shared_ptr<Snapshot> subnet_;
  std::vector<PortRef> hosts_;
  std::unique_ptr<store::Store> store_{store::make_memory_store()};
  Server server_{Options{}};
  std::vector<Arrival> arrivals_;
  std::vector<Publication> publications_;
  std::unique_ptr<Paths> truth_{std::make_unique<Paths>(subnet_)};  // made again each time
  std::vector<Hold> holds_;
  std::uint64_t tid_{0};
};

void expect_one_answer_each(const Outcome& out) {
  EXPECT_EQ(out.answered + out.busy, out.asked);
  EXPECT_EQ(out.twice, 0U);
}

TEST(SaLatency, AHeavySweepAndRerouteOf11664HostsStaysUnderFiveMilliseconds) {
  Storm storm(large_subnet(), StormCosts{});
  storm.ask_for_paths(20, 2000, std::chrono::seconds(5), 7);
  ASSERT_NE(large_subnet()->routing->lfts, rerouted_subnet()->routing->lfts);
  // Of each sweep a snapshot as it goes on, with the tables that are in force, and one at the end.
  storm.publish_at(milliseconds(700), large_subnet());
  storm.publish_at(milliseconds(1500), rerouted_subnet());
  storm.publish_at(milliseconds(2600), rerouted_subnet());
  storm.publish_at(milliseconds(3900), large_subnet());
  const auto out = storm.run();
  expect_one_answer_each(out);
  EXPECT_GT(out.by_rate.size(), 1U) << "slow cables were on the ways of some";
  EXPECT_EQ(out.busy, 0U);
  EXPECT_LT(out.p(0.99), milliseconds(5));
  EXPECT_LT(out.p(0.5), microseconds(300));
}

/// One core for the sweep and for answers: they get half of it, and wait for a time slice first.
TEST(SaLatency, EvenOnASharedCore) {
  StormCosts costs;
  costs.take_in *= 2;
  costs.serve *= 2;
  costs.send *= 2;
  costs.publish *= 2;
  costs.wake = milliseconds(3);
  Storm storm(large_subnet(), costs);
  storm.ask_for_paths(20, 2000, std::chrono::seconds(5), 8);
  storm.publish_at(milliseconds(700), rerouted_subnet());
  storm.publish_at(milliseconds(2600), large_subnet());
  const auto out = storm.run();
  expect_one_answer_each(out);
  EXPECT_LT(out.p(0.99), milliseconds(5));
}

/// The model sees what it is there to see: with routing on the same thread it does not hold.
TEST(SaLatency, WithRoutingOnItsThreadItWouldNot) {
  Storm storm(large_subnet(), StormCosts{});
  storm.ask_for_paths(20, 2000, std::chrono::seconds(5), 7);
  storm.hold(milliseconds(700), milliseconds(400));
  const auto out = storm.run();
  expect_one_answer_each(out);
  EXPECT_GT(out.p(0.99), milliseconds(100));
}

/// Ten times what it can do: everybody hears, and nobody waits longer than the queues are long.
TEST(SaLatency, AnOverloadIsAnsweredBusyAndInTime) {
  Storm storm(large_subnet(), StormCosts{});
  storm.ask_for_paths(20, 400'000, milliseconds(100), 9);
  const auto out = storm.run();
  expect_one_answer_each(out);
  EXPECT_GT(out.busy, 0U);
  EXPECT_LT(out.latencies.back(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace sm::sa::test
