// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// No host fills the log by what it sends: floods of traps, of SMPs that mean nothing and of SA
// requests that are refused, into the machines and through the log file, in virtual time. What the
// file gains is counted every 10 ms; no second has more than 100 such lines, and of one sender 10.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "libdiag/mad/transport.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/daemon/log_file.h"
#include "sm/sa/server.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/unit/sm/sa/run_commits.h"

namespace sm::test {
namespace {

namespace fs = std::filesystem;
namespace attr = ib::wire::attr;
using ib::Lid;
using ib::mad::Packet;
using ib::wire::Method;
using ib::wire::MgmtClass;
using std::chrono::milliseconds;

constexpr unsigned kPackets = 100'000, kAtOnce = 200;  // in 10 ms: 5 s in all
constexpr auto kTick = milliseconds(10);
constexpr std::size_t kTicksOfASecond = 100;
constexpr unsigned kEveryLevel = 0xFF;

struct Counts {
  std::vector<std::size_t> of_ticks;  // lines
  std::size_t lines() const {
    return std::accumulate(of_ticks.begin(), of_ticks.end(), std::size_t{0});
  }
  std::size_t most_in_a_second() const {
    std::size_t inside = 0, most = 0;
    for (std::size_t i = 0; i < of_ticks.size(); ++i) {
      inside += of_ticks[i];
      if (i >= kTicksOfASecond) inside -= of_ticks[i - kTicksOfASecond];
      most = std::max(most, inside);
    }
    return most;
  }
};

class Flood {
 public:
  Flood() : stage_(small_tree()) {
    auto log = daemon::LogFile::open((folder_ / "log").string(), kEveryLevel, true,
                                     [this] { return stage_.now(); });
    EXPECT_TRUE(log);
    log_.emplace(*std::move(log));
    stage_.write_log_to([this](const ib::LogEvent& event) { log_->write(event); });
    EXPECT_TRUE(stage_.run_until_reports(1));
    server_.publish(stage_.now(), stage_.sm().snapshot());
    server_.publish(stage_.sm().device_state());
    file_.open(folder_ / "log");
    count();
  }
  ~Flood() { fs::remove_all(folder_); }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  /// Gives the machines `kPackets` of what `make` makes, and what others make them say in 10 ms.
  template <class Make>
  Counts run(Make make) {
    Counts counts;
    for (unsigned i = 0; i < kPackets;) {
      for (unsigned n = 0; n < kAtOnce; ++n) give(make(i++));
      stage_.run_for(kTick);
      log_->on_time(stage_.now());
      counts.of_ticks.push_back(count());
    }
    return counts;
  }
  std::size_t finish() {
    log_->finish();
    return count();
  }

 private:
  void give(const Packet& packet) {
    if (packet.mad.mgmt_class() != MgmtClass::SubnAdm)
      return stage_.sm().on_packet(stage_.now(), packet);
    server_.on_packet(stage_.now(), packet);
    while (server_.work(stage_.now())) {
    }
    run_commits(server_, *store_, stage_.now());
    while (auto event = server_.next_log()) log_->write(*event);
    while (server_.next_send(stage_.now()) != nullptr) {
    }
  }
  /// Lines that were written since, but for those of sweeps.
  std::size_t count() {
    std::size_t lines = 0;
    file_.clear();
    for (std::string line; std::getline(file_, line);)
      for (const char* topic : {" trap: ", " sm: ", " sa: ", " log: "})
        if (line.find(topic) != std::string::npos) {
          ++lines;
          break;
        }
    return lines;
  }

  static fs::path make_folder() {
    std::string name = (fs::temp_directory_path() / "ibsm-log-XXXXXX").string();
    return mkdtemp(name.data());
  }

  fs::path folder_{make_folder()};
  SmOnModel stage_;
  std::optional<daemon::LogFile> log_;
  std::unique_ptr<store::Store> store_{store::make_memory_store()};
  sa::Server server_{sa::Options{}};
  std::ifstream file_;
};

Packet trap(unsigned i, Lid from) {
  ib::wire::Notice notice;
  notice.is_generic = true;
  notice.trap_number = static_cast<std::uint16_t>(i % 7 == 0 ? 128 : 64 + i % 200);
  notice.issuer_lid = Lid{static_cast<std::uint16_t>(i)};
  Packet packet;
  packet.address = ib::mad::smi_address(from);
  packet.mad = ib::wire::make_mad(MgmtClass::SubnLid, Method::Trap, attr::kNotice, 0);
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{i});
  ib::wire::set_body(packet.mad, notice);
  return packet;
}

/// A registration that nobody is allowed, each in other words.
Packet refused(unsigned i, Lid from) {
  ib::wire::InformInfo info;
  info.subscribe = 2;
  info.trap_number = static_cast<std::uint16_t>(i);
  Packet packet;
  packet.address = ib::mad::gsi_address(from);
  packet.mad = ib::wire::make_mad(MgmtClass::SubnAdm, Method::Set, attr::kInformInfo, 0);
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{i});
  ib::wire::set_body(packet.mad, info);
  return packet;
}

class Odd {
 public:
  Packet operator()(Lid from) {
    Packet packet;
    packet.address = ib::mad::smi_address(from);
    std::ranges::generate(packet.mad.bytes, [this] { return static_cast<std::byte>(random_()); });
    constexpr std::array<Method, 5> kMethods{Method::Get, Method::Set, Method::Trap,
                                             Method::GetResp, Method::TrapRepress};
    constexpr std::array<std::uint16_t, 4> kAttributes{attr::kNotice, attr::kSmInfo,
                                                       attr::kPortInfo, 0x00FF};
    using Header = ib::wire::MadHeader;
    packet.mad.set<&Header::mgmt_class>(MgmtClass::SubnLid);
    packet.mad.set<&Header::method>(kMethods[random_() % kMethods.size()]);
    packet.mad.set<&Header::attribute_id>(kAttributes[random_() % kAttributes.size()]);
    return packet;
  }

 private:
  std::mt19937 random_{11};
};

Lid one_of_many(unsigned i) { return Lid{static_cast<std::uint16_t>(1 + i * 7 % 40'000)}; }
constexpr Lid kOne{3};

TEST(LogFlood, OneHostsTrapsAreTenLinesASecond) {
  Flood flood;
  const auto counts = flood.run([](unsigned i) { return trap(i, kOne); });
  EXPECT_LE(counts.most_in_a_second(), 11U) << "with a summary";
  EXPECT_GE(counts.lines(), 11U);
  EXPECT_EQ(flood.finish(), 1U) << "what was left out since the last summary";
}

TEST(LogFlood, TrapsOfManyHostsAreAHundredLinesASecond) {
  Flood flood;
  const auto counts = flood.run([](unsigned i) { return trap(i, one_of_many(i)); });
  EXPECT_LE(counts.most_in_a_second(), 100U);
  EXPECT_GE(counts.lines(), 90U);
}

TEST(LogFlood, OneHostsRefusedRequestsAreTenLinesASecond) {
  Flood flood;
  const auto counts = flood.run([](unsigned i) { return refused(i, kOne); });
  EXPECT_LE(counts.most_in_a_second(), 11U) << "with a summary";
  EXPECT_GE(counts.lines(), 11U);
}

TEST(LogFlood, RefusedRequestsOfManyHostsAreAHundredLinesASecond) {
  Flood flood;
  const auto counts = flood.run([](unsigned i) { return refused(i, one_of_many(i)); });
  EXPECT_LE(counts.most_in_a_second(), 100U);
  EXPECT_GE(counts.lines(), 90U);
}

TEST(LogFlood, SmpsThatMeanNothingAreTenLinesASecond) {
  Flood flood;
  const auto counts = flood.run([odd = Odd()](unsigned) mutable { return odd(kOne); });
  EXPECT_LE(counts.most_in_a_second(), 11U) << "with a summary";
}

TEST(LogFlood, AllOfItTogetherIsAHundredLinesASecond) {
  Flood flood;
  const auto counts = flood.run([odd = Odd()](unsigned i) mutable {
    const Lid from = one_of_many(i);
    return i % 3 == 0 ? odd(from) : i % 3 == 1 ? trap(i, from) : refused(i, from);
  });
  EXPECT_LE(counts.most_in_a_second(), 100U);
}

}  // namespace
}  // namespace sm::test
