// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The congestion control manager beside a subnet manager on a simulated fabric: what devices hold
// in the end, what is sent when nothing differs, and devices that are silent, refuse and lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sm/managers/congestion/congestion_manager.h"
#include "sm/managers/congestion/plan.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

namespace attr = ib::wire::attr;
namespace map = ib::wire::congestion_map;
using ib::Lid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::MgmtClass;
using managers::CongestionManager;
using policy::CongestionSettings;
using std::chrono::seconds;
using testing::HasSubstr;

bool is_congestion(const ib::mad::Packet& packet) {
  return packet.mad.mgmt_class() == MgmtClass::CongestionControl;
}

class Congestion : public testing::Test {
 protected:
  explicit Congestion(const CongestionSettings& settings = {}) { restart(settings); }

  void restart(const CongestionSettings& settings) {
    run.boot();
    auto channel = std::make_unique<managers::ClientChannel>();
    auto made = std::make_unique<CongestionManager>(settings);
    manager = made.get();
    channel->add(std::move(made));
    run.run_beside(std::move(channel));
    run.watch([this](const ib::mad::Packet& packet) {
      if (!is_congestion(packet)) return true;
      ++(packet.mad.method() == Method::Set ? sets : gets);
      return std::ranges::none_of(deaf,
                                  [&](PortRef port) { return lid_of(port) == packet.address.lid; });
    });
  }
  /// One full sweep and all that managers do after it.
  void sweep() {
    sets = gets = 0;
    const std::size_t before = run.reports();
    if (before != 0) run.sm().sweep_now(run.now(), core::Reason::Operator);
    ASSERT_TRUE(run.run_until_reports(before + 1));
    ASSERT_TRUE(run.run_until_managers_are_idle());
    ASSERT_TRUE(run.last().up());
  }
  std::vector<PortRef> end_ports(bool of_switches) const {
    std::vector<PortRef> out;
    const auto& fabric = run_model().topology();
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (fabric.node(n).is_switch() == of_switches)
        out.push_back({n, static_cast<std::uint8_t>(of_switches ? 0 : 1)});
    return out;
  }
  const ib::sim::Model& run_model() const { return run.model(); }
  Lid lid_of(PortRef port) const { return run_model().port_info(port).lid; }
  std::string name_of(PortRef port) const {
    return managers::place_name(run_model().topology(), port);
  }
  /// Answers of `port` of this class are changed by `change` before they arrive.
  template <class Change>
  void of_answers_from(PortRef port, Change change) {
    run.listen([this, port, change](ib::mad::Packet& packet) {
      if (is_congestion(packet) && packet.address.lid == lid_of(port)) change(packet.mad);
    });
  }
  std::vector<std::string> lines_with(const std::string& part) const {
    std::vector<std::string> out;
    for (const std::string& line : run.log())
      if (line.find(part) != std::string::npos) out.push_back(line);
    return out;
  }
  /// A Set by a stranger on the last host.
  template <class T>
  void strange_set(PortRef at, std::uint16_t attribute, const T& value, std::uint64_t key = 0) {
    ib::mad::Packet packet;
    packet.address = ib::mad::gsi_address(lid_of(at));
    packet.mad = ib::wire::make_mad(MgmtClass::CongestionControl, Method::Set, attribute);
    packet.mad.set<&ib::wire::CongestionHeader::cc_key>(key);
    ib::wire::set_body(packet.mad, value);
    run.model().send(run.now(), end_ports(false).back(), false, packet);
    run.run_for(std::chrono::milliseconds(1));
  }

  SmOnModel run{small_tree()};
  CongestionManager* manager{nullptr};
  std::size_t sets{0}, gets{0};
  std::vector<PortRef> deaf;  // nothing of this class reaches them
};

TEST_F(Congestion, IsProgrammedIntoEveryDeviceOnceTheSubnetIsUp) {
  sweep();
  const auto hosts = end_ports(false), switches = end_ports(true);
  const auto table = managers::computed_table(8, 128);
  for (const PortRef host : hosts) {
    const auto held = run_model().congestion(host);
    EXPECT_EQ(held.of_ca.entries[0], (ib::wire::CaCongestionEntry{150, 1, 2, 0}));
    EXPECT_EQ(held.ccti_limit, 127);
    EXPECT_EQ(held.table, table);
    EXPECT_EQ(held.key, ib::wire::CongestionKeyInfo{}) << "no key was asked for";
  }
  for (const PortRef at : switches) {
    const auto held = run_model().congestion(at).of_switch;
    EXPECT_EQ(held.threshold, 15);
    EXPECT_EQ(held.packet_size, 8);
    EXPECT_EQ(held.marking_rate, 10);
  }
  EXPECT_EQ(sets, hosts.size() * 3 + switches.size());
  EXPECT_EQ(lines_with("congestion control is on in").size(), 1U);
}

TEST_F(Congestion, OnlyDifferencesAreSent) {
  sweep();
  sweep();
  EXPECT_EQ(sets, 0U);
  EXPECT_GT(gets, 0U);
  // After a restart, too.
  restart({});
  sweep();
  EXPECT_EQ(sets, 0U);

  // Somebody changes one table, and a host reboots.
  const auto hosts = end_ports(false);
  strange_set(hosts[3], attr::kCongestionControlTable, ib::wire::CongestionControlTable{});
  sweep();
  EXPECT_EQ(sets, 1U) << "the one block of it that differs";
  ASSERT_TRUE(run.model().reboot(run.now(), hosts[5].node));
  run.run_for(seconds(5));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  EXPECT_EQ(run_model().congestion(hosts[5]), run_model().congestion(hosts[0]));
}

TEST_F(Congestion, WhoIsSilentIsNamedOnceAndLeftOut) {
  const PortRef host = end_ports(false)[4];
  deaf = {host};
  sweep();
  sweep();
  EXPECT_EQ(gets, (end_ports(false).size() - 1) * 4 + end_ports(true).size() * 2)
      << "it is not asked again";
  EXPECT_EQ(
      lines_with("left out, since ClassPortInfo is not answered"),
      std::vector<std::string>{"left out, since ClassPortInfo is not answered: " + name_of(host)});
  EXPECT_FALSE(manager->has_ended());
}

TEST_F(Congestion, WhoRefusesIsNamedOnceAndLeftOut) {
  const PortRef host = end_ports(false)[4];
  of_answers_from(host, [](ib::wire::Mad& mad) {
    if (mad.attribute_id() == attr::kCaCongestionSetting)
      mad.set<&ib::wire::MadHeader::status>(ib::wire::status::kBadAttribute);
  });
  sweep();
  sweep();
  EXPECT_EQ(lines_with(name_of(host)),
            std::vector<std::string>{
                "left out, since Get(CACongestionSetting) is refused with status 0x000c: " +
                name_of(host)});
  EXPECT_EQ(sets, 0U);
  EXPECT_FALSE(manager->has_ended()) << "a refusal is no error";
}

TEST_F(Congestion, DevicesWithoutAnAgentAreOneLine) {
  run.listen([](ib::mad::Packet& packet) {
    if (is_congestion(packet))
      packet.mad.set<&ib::wire::MadHeader::status>(ib::wire::status::kBadAttribute);
  });
  sweep();
  sweep();
  EXPECT_EQ(gets, 0U) << "they are not asked again";
  const auto lines = lines_with("no congestion control");
  ASSERT_EQ(lines.size(), 1U);
  for (const bool of_switches : {false, true})
    for (const PortRef port : end_ports(of_switches))
      EXPECT_THAT(lines[0], HasSubstr(name_of(port)));
}

TEST_F(Congestion, WhoSetsSomethingElseIsNamedOnceAndNotSetAgain) {
  const PortRef at = end_ports(true)[0];
  of_answers_from(at, [](ib::wire::Mad& mad) {
    if (mad.attribute_id() != attr::kSwitchCongestionSetting) return;
    auto body = ib::wire::body<ib::wire::SwitchCongestionSetting>(mad);
    body.threshold = 3;
    ib::wire::set_body(mad, body);
  });
  sweep();
  sweep();
  EXPECT_EQ(sets, 0U);
  EXPECT_EQ(lines_with(name_of(at)),
            std::vector<std::string>{
                "Set(SwitchCongestionSetting) is answered with other values: " + name_of(at)});
}

TEST_F(Congestion, NonsenseInAnswersHarmsNobodyElse) {
  const PortRef host = end_ports(false)[2];
  of_answers_from(host, [](ib::wire::Mad& mad) {
    std::fill(mad.bytes.begin() + 24, mad.bytes.end(), std::byte{0xFF});
  });
  sweep();
  const auto other = run_model().congestion(end_ports(false)[7]);
  EXPECT_EQ(other.ccti_limit, 127);
  EXPECT_FALSE(manager->has_ended());
}

TEST_F(Congestion, ACaWithoutRoomForATableIsNamedAndLeftOut) {
  const PortRef host = end_ports(false)[2];
  of_answers_from(host, [](ib::wire::Mad& mad) {
    if (mad.attribute_id() == attr::kCongestionInfo)
      ib::wire::set_body(mad, ib::wire::CongestionInfo{});
  });
  sweep();
  EXPECT_EQ(lines_with(name_of(host)).size(), 1U);
  EXPECT_EQ(run_model().congestion(host).ccti_limit, 0);
}

TEST_F(Congestion, TooManyErrorsEndItAndNothingElse) {
  CongestionSettings settings;
  settings.max_errors = 1;
  restart(settings);
  deaf = end_ports(false);
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  EXPECT_TRUE(manager->has_ended());
  const auto change = manager->take_change();
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->has_ended);
  EXPECT_EQ(change->errors, 2U);
  EXPECT_EQ(change->errors_max, 1U);
  EXPECT_FALSE(change->last.empty());
  EXPECT_FALSE(manager->take_change()) << "it is told once";
  const auto lines = lines_with("more than max_errors (1)");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("2 errors within 5 s"));
  deaf.clear();
  sweep();
  EXPECT_EQ(gets + sets, 0U);
  EXPECT_EQ(lines_with("more than max_errors").size(), 1U) << "it is said once";
}

TEST_F(Congestion, OtherSettingsBringItBackAfterTooManyErrors) {
  CongestionSettings settings;
  settings.max_errors = 0;
  restart(settings);
  deaf = end_ports(false);
  sweep();
  ASSERT_TRUE(manager->has_ended());
  (void)manager->take_change();
  deaf.clear();
  // What is still under way of the run that ended says nothing about the next one.
  manager->set_settings({});
  sweep();
  run.run_for(seconds(10));
  EXPECT_FALSE(manager->has_ended());
  const auto change = manager->take_change();
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->has_ended);
  for (const PortRef host : end_ports(false))
    EXPECT_EQ(run_model().congestion(host).ccti_limit, 127);
}

TEST_F(Congestion, AWindowOfZeroChecksNothing) {
  CongestionSettings settings;
  settings.max_errors = 0;
  settings.error_window = seconds(0);
  restart(settings);
  deaf = end_ports(false);
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  EXPECT_FALSE(manager->has_ended());
  EXPECT_EQ(run_model().congestion(end_ports(true)[0]).of_switch.threshold, 15);
}

TEST_F(Congestion, ItNeverHoldsUpASweep) {
  deaf = end_ports(false);
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(std::chrono::milliseconds(20));
  ASSERT_FALSE(manager->idle());
  const ib::Instant before = run.now();
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_LT(run.now() - before, seconds(1));
}

TEST_F(Congestion, IsTurnedOffInAllDevicesAndReadBack) {
  sweep();
  CongestionSettings off;
  off.enable = false;
  restart(off);
  sweep();
  for (const PortRef host : end_ports(false)) {
    const auto held = run_model().congestion(host);
    EXPECT_EQ(held.of_ca.entries, ib::wire::CaCongestionSetting{}.entries);
    EXPECT_EQ(held.ccti_limit, 0);
    EXPECT_EQ(held.table[0], ib::wire::CongestionDelay{});
  }
  for (const PortRef at : end_ports(true)) {
    const auto held = run_model().congestion(at).of_switch;
    EXPECT_EQ(held.threshold, 0);
    EXPECT_EQ(held.marking_rate, 0);
    EXPECT_EQ(held.victim_mask, ib::wire::CongestionPortMask{});
  }
  EXPECT_EQ(lines_with("congestion control is off, as read back,").size(), 1U);
}

TEST_F(Congestion, WhoSaysThatItIsOffAndIsNotIsNamed) {
  sweep();
  CongestionSettings off;
  off.enable = false;
  restart(off);
  const PortRef at = end_ports(true)[1];
  // Its Sets are answered as they should be; what it holds stays.
  of_answers_from(at, [answers = std::make_shared<int>(0)](ib::wire::Mad& mad) {
    if (mad.attribute_id() != attr::kSwitchCongestionSetting) return;
    auto body = ib::wire::body<ib::wire::SwitchCongestionSetting>(mad);
    body.threshold = ++*answers == 2 ? 0 : 15;  // Get, Set, Get
    ib::wire::set_body(mad, body);
  });
  sweep();
  EXPECT_EQ(lines_with(name_of(at)),
            std::vector<std::string>{
                "Set(SwitchCongestionSetting) was answered as it should be, but a Get shows other "
                "values: " +
                name_of(at)});
}

TEST_F(Congestion, ATableOfOneEntryIsNotLost) {
  CongestionSettings settings;
  settings.table_by_hosts = settings.last_fills = false;
  settings.table = {{2, 9}};
  restart(settings);
  sweep();
  const auto held = run_model().congestion(end_ports(false)[0]);
  EXPECT_EQ(held.ccti_limit, 0);
  ASSERT_FALSE(held.table.empty());
  EXPECT_EQ(held.table[0], (ib::wire::CongestionDelay{2, 9}));
}

class CongestionKey : public Congestion {
 protected:
  static CongestionSettings keyed() {
    CongestionSettings settings;
    settings.cc_key = 0xABCD;
    settings.key_lease = 20;
    return settings;
  }
  CongestionKey() : Congestion(keyed()) {}
};

TEST_F(CongestionKey, GuardsEveryDeviceWithALease) {
  sweep();
  for (const bool of_switches : {false, true})
    for (const PortRef port : end_ports(of_switches)) {
      const auto key = run_model().congestion(port).key;
      EXPECT_EQ(key.cc_key, 0xABCDU);
      EXPECT_TRUE(key.protect);
      EXPECT_EQ(key.lease_period, 20);
    }
  const PortRef host = end_ports(false)[1];
  strange_set(host, attr::kCongestionControlTable, ib::wire::CongestionControlTable{});
  EXPECT_EQ(run_model().congestion(host).ccti_limit, 127);
  EXPECT_EQ(run_model().congestion(host).key.violations, 1);
  sweep();
  EXPECT_EQ(sets, 0U);
}

TEST_F(CongestionKey, StaysHiddenHoweverLongSomebodyTries) {
  sweep();
  const PortRef host = end_ports(false)[1];
  for (int i = 0; i < 6; ++i) {
    strange_set(host, attr::kCongestionKeyInfo, ib::wire::CongestionKeyInfo{});
    run.run_for(seconds(10));
    EXPECT_TRUE(run_model().congestion(host).key.protect);
  }
  EXPECT_EQ(run_model().congestion(host).key.violations, 6);
}

TEST_F(CongestionKey, AnotherOneThatIsShownIsReplacedAndOneThatIsHiddenIsNamedOnce) {
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  const auto hosts = end_ports(false);
  strange_set(hosts[1], attr::kCongestionKeyInfo, ib::wire::CongestionKeyInfo{0x99, false, 0, 1},
              0xABCD);
  strange_set(hosts[2], attr::kCongestionKeyInfo, ib::wire::CongestionKeyInfo{0x99, true, 0, 1},
              0xABCD);
  sweep();
  sweep();
  EXPECT_EQ(run_model().congestion(hosts[1]).key.cc_key, 0xABCDU);
  EXPECT_EQ(run_model().congestion(hosts[2]).key.cc_key, 0x99U);
  EXPECT_EQ(lines_with(name_of(hosts[2])),
            std::vector<std::string>{
                "left out, since a CC_Key that is not ours and is not shown protects it: " +
                name_of(hosts[2])});
  EXPECT_FALSE(manager->has_ended());
}

TEST_F(CongestionKey, IsChangedWhileItRuns) {
  sweep();
  CongestionSettings other = keyed();
  other.cc_key = 0x1234;
  manager->set_settings(other);
  sweep();
  EXPECT_EQ(sets, end_ports(false).size() + end_ports(true).size());
  EXPECT_EQ(run_model().congestion(end_ports(false)[1]).key.cc_key, 0x1234U);
  EXPECT_EQ(run_model().congestion(end_ports(true)[1]).key.cc_key, 0x1234U);
  sweep();
  EXPECT_EQ(sets, 0U);
}

TEST_F(Congestion, AKeyThatDevicesShowIsUsedWhereNoneWasAskedFor) {
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.run_until_managers_are_idle());
  const PortRef host = end_ports(false)[1];
  strange_set(host, attr::kCongestionKeyInfo, ib::wire::CongestionKeyInfo{0x99, false, 0, 1});
  strange_set(host, attr::kCongestionControlTable, ib::wire::CongestionControlTable{}, 0x99);
  ASSERT_EQ(run_model().congestion(host).ccti_limit, 0);
  sweep();
  EXPECT_EQ(run_model().congestion(host).ccti_limit, 127);
  EXPECT_EQ(run_model().congestion(host).key.cc_key, 0x99U);
}

}  // namespace
}  // namespace sm::test
