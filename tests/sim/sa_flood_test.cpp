// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One host floods subnet administration, mostly with writes, while others ask for little: how long
// the others wait, in virtual time. The server is the real one. Its thread's turns are those of
// sm/daemon/sa_thread.cpp (sm/sa/intake/turn.h), what a step costs is data, the port's queue has
// the size of the kernel's, and a commit takes time, during which no other begins:
//
//   hosts --> queue of the port --> read | commits done | on_time | serve | commit | send
//
// The latency of a request is the time from its arrival at the port to the sending of its answer.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "libdiag/mad/rmpp.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/intake/turn.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/server.h"
#include "tests/unit/sm/sa/snapshot_of.h"
#include "tests/unit/sm/sa/storm_costs.h"

namespace sm::sa::test {
namespace {

using ib::Duration;
using ib::Gid;
using ib::Instant;
using ib::mad::Packet;
using ib::wire::Method;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;

constexpr double kOthersPerSecond = 400;
constexpr Duration kFlood = milliseconds(800);
constexpr std::size_t kOthers = 25;
constexpr std::size_t kPortQueue = 8192;  // --rx_threshold
constexpr unsigned kGroups = 400, kServices = 32, kTraps = 16;

struct Costs {
  double flood_per_second{40'000};
  StormCosts thread;
  Duration judge{microseconds(4)};  // a write, beside what a read costs
  Duration commit{milliseconds(1)};
  Duration commit_write{microseconds(14)};  // each that is in it
};

enum class Ask { Path, Table, Join, Leave, Register, Remove, Subscribe, Cancel };
bool is_read(Ask what) { return what == Ask::Path || what == Ask::Table; }

struct Latencies {
  std::vector<Duration> reads, writes;

  static Duration part(std::vector<Duration> of, double p) {
    std::ranges::sort(of);
    return of[static_cast<std::size_t>(p * static_cast<double>(of.size() - 1))];
  }
  std::vector<Duration> all() const {
    auto both = reads;
    both.insert(both.end(), writes.begin(), writes.end());
    return both;
  }
};

std::shared_ptr<Snapshot> subnet() {
  ib::fabric::FatTree tree;
  tree.radix = 36;
  tree.hosts_per_leaf = 18;
  tree.leaves = 18;
  tree.spines = 9;
  return snapshot_of(*ib::fabric::generate(tree));
}

/// A host and what it may ask for.
class Host {
 public:
  Host(const Snapshot& subnet, NodeIndex node) : port_(&subnet.fabric().port(node, 1)) {}

  Gid gid() const { return Gid::from(ib::kDefaultSubnetPrefix, port_->guid); }

  Packet ask(Ask what, unsigned number, const Gid& target) {
    switch (what) {
      case Ask::Path: {
        ib::wire::PathRecord wanted;
        wanted.sgid = gid();
        wanted.dgid = target;
        wanted.numb_path = 1;
        return request(Method::Get, attr::kPathRecord, wanted,
                       bit(path_bit::kSgid) | bit(path_bit::kDgid) | bit(path_bit::kNumbPath));
      }
      case Ask::Table:
        return request(Method::GetTable, attr::kNodeRecord, ib::wire::NodeRecord{}, 0);
      case Ask::Join:
      case Ask::Leave:
        return membership(what, number % kGroups);
      case Ask::Register:
      case Ask::Remove:
        return service(what, number % kServices);
      case Ask::Subscribe:
      case Ask::Cancel:
        return subscription(what, number % kTraps);
    }
    return {};
  }

 private:
  template <class Record>
  Packet request(Method method, std::uint16_t attribute, const Record& record,
                 std::uint64_t mask) const {
    Packet packet;
    packet.address = ib::mad::gsi_address(port_->lid);
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, method, attribute);
    packet.mad.set<&ib::wire::SaHeader::component_mask>(mask);
    ib::wire::set_body(packet.mad, record);
    return packet;
  }
  Packet membership(Ask what, unsigned group) const {
    ib::wire::McMemberRecord r;
    r.mgid.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
    r.mgid.bytes[14] = static_cast<std::uint8_t>(group >> 8);
    r.mgid.bytes[15] = static_cast<std::uint8_t>(group);
    r.port_gid = gid();
    r.join_state = 1;
    r.q_key = 0x0b1b;
    r.p_key = ib::kDefaultPKey;
    // MGID, PortGID, JoinState, and what a new group needs.
    if (what == Ask::Join) return request(Method::Set, attr::kMcMemberRecord, r, 0x130C7);
    return request(Method::Delete, attr::kMcMemberRecord, r, 0x10003);
  }
  Packet service(Ask what, unsigned id) const {
    ib::wire::ServiceRecord r;
    r.service_id = id + 1;
    r.service_gid = gid();
    r.service_p_key = ib::kDefaultPKey;
    r.lease = 0xFFFFFFFF;
    // ServiceID, ServiceGID, ServiceP_Key; and the lease.
    if (what == Ask::Register) return request(Method::Set, attr::kServiceRecord, r, 0xF);
    return request(Method::Delete, attr::kServiceRecord, r, 0x7);
  }
  Packet subscription(Ask what, unsigned number) const {
    ib::wire::InformInfo info;
    info.lid_range_begin = Lid{0xFFFF};
    info.is_generic = 1;
    info.subscribe = what == Ask::Subscribe ? 1 : 0;
    info.type = 0xFFFF;
    info.trap_number = static_cast<std::uint16_t>(64 + number);
    info.producer_type = 0xFFFFFF;
    return request(Method::Set, attr::kInformInfo, info, 0);
  }

  const ib::fabric::Port* port_;
};

/// The last host floods with `what`, one after the other; others ask for a path, join, register
/// and leave in turn.
class Flood {
 public:
  Flood(std::vector<Ask> what, const Costs& costs) : what_(std::move(what)), costs_(costs) {
    const auto& fabric = subnet_->fabric();
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (!fabric.node(n).is_switch()) hosts_.emplace_back(*subnet_, n);
    server_.publish(now_, subnet_);
    flood_at_ = others_at_ = now_;
    while (turn()) {
    }
  }

  Latencies run() {
    const Instant end = now_ + kFlood;
    flood_at_ = now_;
    others_at_ = now_;
    for (stop_at_ = end; now_ < end || !asked_.empty();) {
      if (turn()) continue;
      const Instant next = std::min({next_arrival(), commit_at_, server_.next_deadline()});
      if (next == ib::kNever) break;
      now_ = std::max(now_, next + costs_.thread.wake);
    }
    return std::move(latencies_);
  }
  std::size_t others() const { return others_; }
  std::size_t granted_to_flood() const { return granted_; }
  std::size_t unanswered() const { return asked_.size(); }

  /// What the daemon does some seconds after the last request. Whether it gave memory back.
  bool tidy() {
    bool freed = false;
    for (int i = 0; i < 20; ++i) {
      now_ = now_ + seconds(5);
      while (turn()) {
      }
      const auto done = server_.tidy(now_);
      freed = freed || done.is_worth_a_trim;
      if (done.is_done) return freed;
    }
    ADD_FAILURE() << "it never is";
    return freed;
  }

 private:
  struct Asked {
    Instant at;
    Ask what;
  };

  // ---- who asks

  Instant next_arrival() const {
    return std::min(next_of_hosts(), acks_.empty() ? ib::kNever : acks_.front().first);
  }
  Instant next_of_hosts() const {
    const Instant next = std::min(flood_at_, others_at_);
    return next < stop_at_ ? next : ib::kNever;
  }
  /// Takes what has arrived by now into the port's queue. Whether there is something in it.
  bool arrive() {
    while (next_arrival() <= now_) {
      Packet packet = make_arrival();
      if (port_.size() < kPortQueue) port_.push_back(std::move(packet));
    }
    return !port_.empty();
  }
  Packet make_arrival() {
    if (!acks_.empty() && acks_.front().first <= next_of_hosts()) {
      Packet ack = std::move(acks_.front().second);
      acks_.pop_front();
      return ack;
    }
    return flood_at_ <= others_at_ ? make_flood() : make_other();
  }
  Packet make_flood() {
    const auto turn = static_cast<unsigned>(flooded_ / what_.size());
    auto packet = hosts_.back().ask(what_[flooded_++ % what_.size()], turn, any_gid());
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{flooded_});
    flood_at_ = flood_at_ + pause(costs_.flood_per_second);
    return packet;
  }
  Packet make_other() {
    constexpr std::array<Ask, 4> kTurns{Ask::Path, Ask::Join, Ask::Register, Ask::Leave};
    const Ask what = kTurns[others_ / kOthers % kTurns.size()];
    auto packet = hosts_[others_ % kOthers].ask(what, 0, any_gid());
    const std::uint64_t tid = kOthersTid + ++others_;
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
    asked_[tid] = {others_at_, what};
    others_at_ = others_at_ + pause(kOthersPerSecond);
    return packet;
  }
  Gid any_gid() { return hosts_[random_() % hosts_.size()].gid(); }
  Duration pause(double per_second) {
    std::exponential_distribution<double> seconds_to_next(per_second);
    return Duration(static_cast<std::int64_t>(seconds_to_next(random_) * 1e9));
  }

  // ---- who serves

  /// One turn of the thread. False: there is nothing more to be done now.
  bool turn() {
    for (std::size_t read = 0; read < turn::kRead && arrive(); ++read) {
      server_.on_packet(now_, port_.front());
      port_.pop_front();
      now_ = now_ + costs_.thread.take_in;
    }
    if (commit_at_ <= now_) {
      commit_at_ = ib::kNever;
      server_.on_commit_done(now_, ticket_, true);
    }
    if (server_.next_deadline() <= now_) server_.on_time(now_);
    commit();
    const Instant began = now_;
    for (std::size_t i = 1; i <= turn::kServed && server_.work(now_); ++i) {
      now_ = now_ + costs_.thread.serve;
      if (i % turn::kServedAtOnce == 0 && now_ - began >= turn::kServedFor) break;
    }
    commit();
    (void)server_.take_multicast_changed();
    (void)server_.take_untold_clients();
    while (server_.next_log()) {
    }
    return !send() || server_.has_work() || arrive();
  }
  void commit() {
    while (auto commit = server_.next_commit()) begin(*commit);
  }
  void begin(const Commit& commit) {
    ticket_ = commit.ticket;
    const auto& batch = commit.batch;
    const auto writes = batch.groups_removed.size() + batch.groups.size() + batch.members.size() +
                        batch.services_removed.size() + batch.services.size() +
                        batch.subscriptions_removed.size() + batch.subscriptions.size();
    commit_at_ = now_ + costs_.commit + static_cast<int>(writes) * costs_.commit_write;
  }
  bool send() {
    for (std::size_t segments = 0; segments < turn::kSegments;) {
      const auto* packet = server_.next_send(now_);
      if (packet == nullptr) return true;
      now_ = now_ + costs_.thread.send;
      if (rmpp::is_active(packet->mad)) {
        ++segments;
        take_segment(*packet);
      } else {
        take_answer(packet->mad);
      }
    }
    return false;
  }
  void take_answer(const ib::wire::Mad& answer) {
    if (answer.attribute_id() != attr::kPathRecord) now_ = now_ + costs_.judge;
    const auto found = asked_.find(answer.tid().value);
    if (found == asked_.end()) {
      if (answer.status() == 0) ++granted_;
      return;
    }
    EXPECT_EQ(answer.status(), 0) << "attribute " << answer.attribute_id();
    auto& of_kind = is_read(found->second.what) ? latencies_.reads : latencies_.writes;
    of_kind.push_back(now_ - found->second.at);
    asked_.erase(found);
  }
  /// As the kernel of the flooding host does.
  void take_segment(const Packet& segment) {
    auto& receiver = tables_[segment.mad.tid().value];
    receiver.on_mad(now_, ib::mad::gsi_address(subnet_->sm_lid), segment.mad);
    while (auto ack = receiver.next_send()) {
      ack->address = segment.address;
      acks_.emplace_back(now_ + microseconds(20), *std::move(ack));
    }
    if (receiver.next_message()) tables_.erase(segment.mad.tid().value);
  }

  static constexpr std::uint64_t kOthersTid = std::uint64_t{1} << 32;

  std::shared_ptr<Snapshot> subnet_{subnet()};
  std::vector<Host> hosts_;
  std::vector<Ask> what_;
  Costs costs_;
  Server server_{Options{}};
  std::mt19937_64 random_{5};
  Instant now_{1'000'000'000}, stop_at_{};
  Instant flood_at_, others_at_;
  std::size_t flooded_{0}, others_{0}, granted_{0};
  std::unordered_map<std::uint64_t, Asked> asked_;  // by others, not answered yet
  std::deque<Packet> port_;
  std::deque<std::pair<Instant, Packet>> acks_;
  std::map<std::uint64_t, rmpp::Receiver> tables_;
  std::uint64_t ticket_{0};
  Instant commit_at_{ib::kNever};
  Latencies latencies_;
};

const std::vector<Ask> kWrites{Ask::Join,   Ask::Register,  Ask::Subscribe,
                               Ask::Remove, Ask::Subscribe, Ask::Cancel};
const std::vector<Ask> kMixed{Ask::Join, Ask::Path,   Ask::Register, Ask::Path,
                              Ask::Path, Ask::Cancel, Ask::Table,    Ask::Subscribe};
const std::vector<Ask> kJoinsAndLeaves{Ask::Join, Ask::Join, Ask::Leave};

/// What was asked of the allocator, large pieces included.
std::size_t heap_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// About as it was measured on the machine of the figures: the store is what is short.
Costs fast_processor() {
  Costs costs;
  costs.flood_per_second = 100'000;
  costs.thread.take_in = microseconds(1);
  costs.thread.serve = microseconds(1);
  costs.thread.send = microseconds(2);
  costs.commit = milliseconds(2);
  return costs;
}

void expect_others_in_time(Flood& flood) {
  const auto latencies = flood.run();
  EXPECT_EQ(flood.unanswered(), 0U);
  EXPECT_EQ(latencies.reads.size() + latencies.writes.size(), flood.others());
  EXPECT_GT(flood.others(), 200U);
  EXPECT_GT(flood.granted_to_flood(), 1000U) << "it is served too";
  for (const auto& of : {latencies.reads, latencies.writes, latencies.all()}) {
    EXPECT_LT(Latencies::part(of, 0.5), milliseconds(10));
    EXPECT_LT(Latencies::part(of, 0.99), milliseconds(50));
  }
}

TEST(SaFlood, OfWritesIsNotTheDelayOfOthers) {
  Flood flood(kWrites, Costs{});
  expect_others_in_time(flood);
}

TEST(SaFlood, OfJoinsAndLeavesIsNotTheDelayOfOthers) {
  Flood flood(kJoinsAndLeaves, Costs{});
  expect_others_in_time(flood);
}

TEST(SaFlood, OfReadsTablesAndWritesIsNotTheDelayOfOthers) {
  Flood flood(kMixed, Costs{});
  expect_others_in_time(flood);
}

/// A disk of 4 ms a commit.
TEST(SaFlood, OnASlowDiskIsNotTheDelayOfOthersEither) {
  Costs costs;
  costs.commit = milliseconds(4);
  Flood flood(kWrites, costs);
  expect_others_in_time(flood);
}

TEST(SaFlood, OnAFastProcessorIsNotTheDelayOfOthersEither) {
  Flood flood(kJoinsAndLeaves, fast_processor());
  expect_others_in_time(flood);
}

/// What it registered stays: memberships, services, subscriptions. The second flood adds nothing.
TEST(SaFlood, LeavesNoMemoryBehind) {
  Flood flood(kMixed, fast_processor());
  const auto before = heap_in_use();
  (void)flood.run();
  const auto during = heap_in_use();
  EXPECT_TRUE(flood.tidy());
  const auto after = heap_in_use();
  EXPECT_LE(after, before + (2U << 20));
  (void)flood.run();
  EXPECT_TRUE(flood.tidy());
  EXPECT_LE(heap_in_use(), after + (64U << 10));
  // A sanitizer's allocator says nothing.
  if (during != 0) {
    EXPECT_GT(during, before + (8U << 20));
  }
}

}  // namespace
}  // namespace sm::sa::test
