// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Are the costs that the SA's latency model assumes (tests/unit/sm/sa/storm_costs.h) those of this
// machine? Measures each step on the same subnet; medians of many samples, for other programs
// disturb. Exit status 1 when a step is dearer than the model has it.
//
//   sa_costs_bench           a line for each step
//   sa_costs_bench --model   what the model gives one Get in all, in microseconds
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "sm/sa/paths/path_records.h"
#include "sm/sa/server.h"
#include "tests/unit/sm/sa/large_subnet.h"
#include "tests/unit/sm/sa/run_commits.h"
#include "tests/unit/sm/sa/storm_costs.h"

namespace {

using ib::Duration;
using ib::Instant;
using ib::mad::Packet;
using sm::sa::Server;
using sm::sa::test::StormCosts;
namespace path_bit = sm::sa::path_bit;

constexpr std::size_t kUmadBytes = 320;  // its header, and a MAD

/// Of this thread: what takes milliseconds is interrupted, and that is what the host adds.
Duration cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

Duration median(std::vector<Duration> samples) {
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

/// Both ends of a socket that keeps packets apart, as the simulator's and the kernel's umad do.
struct Wire {
  Wire() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) std::abort();
  }
  ~Wire() {
    close(ends[0]);
    close(ends[1]);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void put(const Packet& packet) {
    std::array<std::byte, kUmadBytes> bytes{};
    std::ranges::copy(packet.mad.bytes, bytes.begin() + (kUmadBytes - ib::wire::kMadBytes));
    if (write(ends[0], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  void take(Packet& packet) {
    std::array<std::byte, kUmadBytes> bytes;
    if (read(ends[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
    std::copy(bytes.begin() + (kUmadBytes - ib::wire::kMadBytes), bytes.end(),
              packet.mad.bytes.begin());
  }
  int ends[2];
};

class Stage {
 public:
  Stage() : subnet_(sm::sa::test::large_subnet()), server_(sm::sa::Options{}) {
    const auto store = sm::store::make_memory_store();
    run_commits(server_, *store, now_);
    server_.publish(now_, subnet_);
    const auto& fabric = subnet_->fabric();
    for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (!fabric.node(n).is_switch()) lids_.push_back(fabric.port(n, 1).lid);
  }

  struct Gets {
    std::vector<Duration> take_in, serve, send;
  };
  /// Gets of pairs at random: of 420,000 pairs of leaves hardly one is met twice.
  Gets gets(std::size_t count) {
    Gets out;
    Wire in, back;
    for (std::size_t i = 0; i < count; ++i) {
      now_ = now_ + std::chrono::microseconds(500);  // 2,000 a second
      Packet packet = get();
      in.put(packet);
      const auto began = std::chrono::steady_clock::now();
      in.take(packet);
      server_.on_packet(now_, packet);
      const auto taken = std::chrono::steady_clock::now();
      while (server_.work(now_)) {
      }
      const auto served = std::chrono::steady_clock::now();
      if (const auto answer = server_.next_send(now_)) back.put(*answer);
      const auto sent = std::chrono::steady_clock::now();
      back.take(packet);
      if (packet.mad.status() != 0) std::abort();
      out.take_in.push_back(taken - began);
      out.serve.push_back(served - taken);
      out.send.push_back(sent - served);
    }
    return out;
  }
  std::vector<Duration> publications(std::size_t count) {
    std::vector<Duration> out;
    for (std::size_t i = 0; i < count; ++i) {
      now_ = now_ + std::chrono::milliseconds(100);
      auto snapshot = std::make_shared<sm::Snapshot>(*subnet_);
      auto routing = std::make_shared<sm::Routing>(*subnet_->routing);
      // Some way is another: the last LID leads back where it came in.
      routing->lfts.set(0, lids_.back(), static_cast<std::uint8_t>(1 + i % 2));
      snapshot->routing = std::move(routing);
      snapshot->generation = i + 2;
      const Duration began = cpu_now();
      server_.publish(now_, std::move(snapshot));
      out.push_back(cpu_now() - began);
    }
    return out;
  }

 private:
  Packet get() {
    Packet packet;
    packet.address = ib::mad::gsi_address(lids_[random_() % lids_.size()]);
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, ib::wire::Method::Get,
                                    ib::wire::attr::kPathRecord);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid_});
    ib::wire::PathRecord wanted;
    const auto prefix = ib::kDefaultSubnetPrefix;
    wanted.sgid = ib::Gid::from(prefix, guid_of(packet.address.lid));
    wanted.dgid = ib::Gid::from(prefix, guid_of(lids_[random_() % lids_.size()]));
    wanted.reversible = true;
    wanted.numb_path = 1;
    packet.mad.set<&ib::wire::SaHeader::component_mask>(
        sm::sa::bit(path_bit::kSgid) | sm::sa::bit(path_bit::kDgid) |
        sm::sa::bit(path_bit::kReversible) | sm::sa::bit(path_bit::kNumbPath));
    ib::wire::set_body(packet.mad, wanted);
    return packet;
  }
  ib::Guid guid_of(ib::Lid lid) const {
    return subnet_->fabric().port(*subnet_->fabric().find_lid(lid)).guid;
  }

  Instant now_{1'000'000'000};
  std::shared_ptr<sm::Snapshot> subnet_;
  Server server_;
  std::vector<ib::Lid> lids_;
  std::mt19937 random_{1};
  std::uint64_t tid_{0};
};

/// A thread sleeps in poll() until it is rung; how long until it runs.
std::vector<Duration> wakings(std::size_t count) {
  std::vector<Duration> out(count);
  const int bell = eventfd(0, 0), heard = eventfd(0, 0);
  std::atomic<std::int64_t> rung_at{0};
  std::thread sleeper([&] {
    for (auto& sample : out) {
      pollfd fd{bell, POLLIN, 0};
      poll(&fd, 1, -1);
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      sample = Duration(now) - Duration(rung_at.load());
      std::uint64_t word = 0;
      if (read(bell, &word, sizeof word) != sizeof word) std::abort();
      word = 1;
      if (write(heard, &word, sizeof word) != sizeof word) std::abort();
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // it is asleep by then
    rung_at = Duration(std::chrono::steady_clock::now().time_since_epoch()).count();
    std::uint64_t word = 1;
    if (write(bell, &word, sizeof word) != sizeof word) std::abort();
    if (read(heard, &word, sizeof word) != sizeof word) std::abort();
  }
  sleeper.join();
  close(bell);
  close(heard);
  return out;
}

bool tell(const char* step, Duration measured, Duration model) {
  const auto micros = [](Duration d) { return static_cast<double>(d.count()) / 1e3; };
  const bool fits = measured <= model;
  fmt::print("{:<8} {:9.2f} us, in the model {:9.2f} us{}\n", step, micros(measured), micros(model),
             fits ? "" : "   TOO DEAR");
  return fits;
}

}  // namespace

int main(int argc, char** argv) {
  const StormCosts model;
  if (argc > 1 && std::string_view(argv[1]) == "--model") {
    fmt::print("{}\n", (model.take_in + model.serve + model.send).count() / 1000);
    return 0;
  }
  Stage stage;
  const auto gets = stage.gets(20'000);
  bool fits = tell("take_in", median(gets.take_in), model.take_in);
  fits = tell("serve", median(gets.serve), model.serve) && fits;
  fits = tell("send", median(gets.send), model.send) && fits;
  fits = tell("publish", median(stage.publications(30)), model.publish) && fits;
  fits = tell("wake", median(wakings(1000)), model.wake) && fits;
  return fits ? 0 : 1;
}
