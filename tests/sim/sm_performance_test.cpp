// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A day of the performance manager beside a subnet manager on a simulated fabric: counters that
// wrap, that somebody sets back, that stop and will not be cleared, agents that go silent for a
// while; and errors that are planted and must be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "libdiag/fabric/generate.h"
#include "sm/managers/performance/manager.h"
#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
using managers::performance::counter_rows;
using managers::performance::CounterValues;
using managers::performance::PerformanceManager;
using managers::performance::PortKey;
namespace attr = ib::wire::attr;

ib::fabric::Fabric tree_of_radix_36() {
  ib::fabric::FatTree tree;
  tree.radix = 36;
  return unconfigured(tree);
}

/// What devices count, put over what the model's agents answer.
class CountingDevices {
 public:
  CountingDevices(SmOnModel& run, std::uint64_t seed) : run_(run), dice_(seed) {
    run_.listen([this](ib::mad::Packet& packet) {
      if (packet.mad.mgmt_class() == ib::wire::MgmtClass::Perf) overlay(packet);
    });
    run_.watch([this](const ib::mad::Packet& packet) {
      return packet.mad.mgmt_class() != ib::wire::MgmtClass::Perf ||
             packet.address.lid != silent_lid_;
    });
  }

  struct Port {
    std::uint32_t symbols{0};
    std::uint64_t data{~std::uint64_t{0} - (std::uint64_t{1} << 45)};
    bool stuck{false};  // refuses to be cleared
  };
  using Key = std::pair<std::uint16_t, std::uint8_t>;  // LID of the agent, port
  Port& port(Key key) { return ports_[key]; }
  void be_silent(ib::Lid lid) { silent_lid_ = lid; }

 private:
  void overlay(ib::mad::Packet& packet) {
    const auto attribute = packet.mad.attribute_id();
    if (attribute == attr::kClassPortInfo) return;
    auto counters = ib::wire::body<ib::wire::PortCounters>(packet.mad);
    Port& p = ports_[{packet.address.lid.value, counters.port_select.value}];
    if (attribute == attr::kPortCountersExtended) {
      auto wide = ib::wire::body<ib::wire::PortCountersExtended>(packet.mad);
      p.data += dice_() % (std::uint64_t{1} << 40);  // all wrap within the day
      if (dice_() % 50 == 0) p.data = 0;
      wide.port_xmit_data = p.data;
      ib::wire::set_body(packet.mad, wide);
    } else if (asked_to_clear(packet)) {
      if (p.stuck) {
        packet.mad.set<&ib::wire::MadHeader::status>(std::uint16_t{0x001C});
      } else {
        p.symbols = 0;
      }
    } else {
      counters.symbol_error_counter = static_cast<std::uint16_t>(std::min(p.symbols, 65'535U));
      ib::wire::set_body(packet.mad, counters);
    }
  }
  static bool asked_to_clear(const ib::mad::Packet& packet) {
    return ib::wire::body<ib::wire::PortCounters>(packet.mad).counter_select != 0;
  }

  SmOnModel& run_;
  std::mt19937_64 dice_;
  std::map<Key, Port> ports_;
  ib::Lid silent_lid_{};
};

TEST(Performance, ADayOfCountersThatWrapStopAndAreSetBack) {
  SmOnModel run(tree_of_radix_36());
  auto channel = std::make_unique<managers::ClientChannel>();
  auto made = std::make_unique<PerformanceManager>(managers::performance::Options{});
  PerformanceManager& manager = *made;
  channel->add(std::move(made));
  run.run_beside(std::move(channel));
  CountingDevices devices(run, 11);
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(10s);
  const auto& f = run.model().topology();
  ASSERT_EQ(manager.records().size(), 2 * (648 + 648) + 54)
      << "both ends of every cable, and ports 0";

  std::mt19937_64 dice(5);
  std::vector<PortKey> keys;
  for (const auto& [key, record] : manager.records()) keys.push_back(key);
  const auto agent = [&](const PortKey& key) {
    const auto node = *f.find_node(key.first);
    const std::uint8_t end = f.node(node).is_switch() ? 0 : key.second;
    return CountingDevices::Key{run.model().port_info({node, end}).lid.value, key.second};
  };
  devices.port(agent(keys[3])).symbols = 65'535;
  devices.port(agent(keys[3])).stuck = true;

  std::map<PortKey, CounterValues> before;
  std::shuffle(keys.begin() + 4, keys.end(), dice);
  std::size_t above = 0, below = 0;
  run.run_for(180s);
  EXPECT_EQ(manager.take_error_changes().size(), 1U) << "the one that stands at its largest value";
  for (std::size_t hour = 0; hour < 24; ++hour) {
    const PortKey planted = keys[4 + hour];
    const auto errors = static_cast<std::uint32_t>(11 + dice() % 30'000);
    devices.port(agent(planted)).symbols += errors;
    const auto& port = manager.records().at(planted);
    const std::string expected =
        port.link() + ": SymbolErrorCounter +" + std::to_string(errors) + " in ";
    run.forget_what_was_said();
    run.run_for(2 * 180s);
    EXPECT_THAT(run.log(), testing::Contains(testing::HasSubstr(expected))) << "hour " << hour;
    for (const auto& change : manager.take_error_changes()) {
      ++(change.is_above ? above : below);
      if (!change.is_above) continue;
      EXPECT_EQ(change.here, port.here);
      EXPECT_EQ(change.there, port.there);
      EXPECT_EQ(change.count, errors);
      EXPECT_EQ(change.counter, "SymbolErrorCounter");
    }
    EXPECT_EQ(above, hour + 1);
    devices.be_silent(ib::Lid{agent(keys[dice() % keys.size()]).first});
    run.run_for(3600s - 2 * 180s);
    devices.be_silent(ib::kNoLid);
    for (const auto& [key, record] : manager.records())
      for (std::size_t i = 0; i < counter_rows().size(); ++i)
        EXPECT_GE(record.totals.values()[i], before[key][i]) << record.link();
    for (const auto& [key, record] : manager.records()) before[key] = record.totals.values();
  }
  EXPECT_EQ(below, 23U) << "all but the last two, once a whole hour had none";
  EXPECT_NEAR(manager.sweeps(), 480, 25) << "an agent that is silent makes some sweeps longer";
  EXPECT_EQ(run.reports(), 2U) << "the subnet manager noticed nothing, and swept after its day";
}

/// A subnet that is up, whose master is said to be at the last host.
class BesideAMaster : public testing::Test {
 protected:
  BesideAMaster() : run_(small_tree()) {
    EXPECT_TRUE(run_.run_until_reports(1));
    const auto at = Stranger::last_host(run_.model().topology());
    run_.model().set_is_sm(run_.now(), at, true);
    guid_ = run_.model().topology().port(at).guid;
    run_.watch([this](const ib::mad::Packet& packet) {
      sets_ += packet.mad.method() == Method::Set;
      const bool asks = packet.mad.attribute_id() == attr::kSmInfo &&
                        packet.mad.method() == Method::Get && packet.mad.is_directed();
      if (asks) questions_.push_back(packet);
      return !asks;
    });
  }
  void run_for(ib::Duration d) {
    for (const ib::Instant end = run_.now() + d; run_.now() < end;) {
      run_.run_for(50ms);
      for (ib::mad::Packet& packet : std::exchange(questions_, {})) answer(std::move(packet));
    }
  }
  void answer(ib::mad::Packet packet) {
    ib::wire::SmInfo info;
    info.guid = guid_;
    info.priority = 15;
    info.sm_state = state_;
    packet.mad.set<&ib::wire::MadHeader::method>(Method::GetResp);
    ib::wire::set_body(packet.mad, info);
    run_.sm().on_packet(run_.now(), packet);
  }
  void start(bool inactive) {
    core::Options options;
    options.mastership.start_inactive = inactive;
    options.watch_every = 180s;
    run_.boot_as(std::move(options));
    auto channel = std::make_unique<managers::ClientChannel>();
    auto made = std::make_unique<PerformanceManager>(managers::performance::Options{});
    manager_ = made.get();
    channel->add(std::move(made));
    run_.run_beside(std::move(channel));
    run_.forget_what_was_said();
    run_for(20s);
  }
  /// Of a host's port, with both ends of its cable in the line.
  void plant(std::uint32_t errors) {
    const auto port = Stranger::last_host(run_.model().topology());
    ASSERT_TRUE(
        run_.model().set_counter(run_.now(), port, "SymbolErrorCounter", counted_ += errors));
    const auto& f = run_.model().topology();
    const auto& record = manager_->records().at({f.node(port.node).guid, port.port});
    EXPECT_THAT(record.link(), testing::HasSubstr(" - "));
    run_.forget_what_was_said();
    run_for(2 * 180s);
    EXPECT_THAT(run_.log(),
                testing::Contains(testing::HasSubstr(record.link() + ": SymbolErrorCounter +" +
                                                     std::to_string(errors))));
    EXPECT_EQ(record.totals.values()[0], counted_);
  }

  SmOnModel run_;
  ib::Guid guid_;
  std::vector<ib::mad::Packet> questions_;
  ib::wire::SmState state_{ib::wire::SmState::Master};
  PerformanceManager* manager_{nullptr};
  std::uint32_t counted_{0};
  std::size_t sets_{0};
};

TEST_F(BesideAMaster, OneThatIsNotActiveCountsAndSetsNothing) {
  start(true);
  EXPECT_EQ(run_.sm().mastership().state(), ib::wire::SmState::NotActive);
  EXPECT_THAT(run_.log(), testing::Contains(testing::HasSubstr("beside the master: \"")));
  const auto sweeps = run_.sm().counters().full_sweeps;
  plant(7);
  plant(11);
  EXPECT_EQ(run_.sm().counters().full_sweeps, sweeps + 4) << "one for each sweep of counters";
  EXPECT_THAT(run_.log(), testing::Not(testing::Contains(testing::HasSubstr("beside the"))))
      << "it is said once";
  EXPECT_EQ(sets_, 0U);
  EXPECT_EQ(run_.reports(), 0U);
}

TEST_F(BesideAMaster, AStandbyCountsAndGoesOnWithItsTotalsAsMaster) {
  start(false);
  EXPECT_EQ(run_.sm().mastership().state(), ib::wire::SmState::Standby);
  plant(7);
  EXPECT_EQ(sets_, 0U);
  const auto ports = manager_->records().size();
  state_ = ib::wire::SmState::NotActive;
  run_for(200s);
  EXPECT_TRUE(run_.sm().mastership().is_master());
  EXPECT_TRUE(run_.last().up());
  EXPECT_EQ(manager_->records().size(), ports);
  plant(11);
}

}  // namespace
}  // namespace sm::test
