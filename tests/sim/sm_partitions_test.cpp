// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Partitions on the model: what tables and switch ports hold by a partition file, what a change of
// it costs, what a restart costs, and what happens where there is no file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::PKey;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using testing::ElementsAre;
namespace attr = ib::wire::attr;

using policy::test::policy_of;
core::Options with_file(const std::string& text,
                        plan::Enforcement enforcement = plan::Enforcement::Both) {
  core::Options options;
  options.plan.partitions = policy_of(text);
  options.plan.p_keys.enforcement = enforcement;
  return options;
}

class PartitionRun {
 public:
  explicit PartitionRun(core::Options options, const ib::fabric::Fabric& topology = small_tree())
      : run_(topology, {}, std::move(options)) {
    const auto& f = run_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch()) hosts_.push_back({n, 1});
    run_.watch([this](const ib::mad::Packet& p) {
      if (p.mad.method() != ib::wire::Method::Set) return true;
      ++sets_;
      if (p.mad.attribute_id() == attr::kPKeyTable) ++key_sets_;
      return true;
    });
    settle(1);
  }

  void settle(unsigned reports) {
    ASSERT_TRUE(run_.run_until_reports(reports));
    EXPECT_TRUE(run_.last().up()) << testing::PrintToString(run_.last().lines);
    run_.run_for(1s);
  }
  void operator_sweeps() {
    const auto reports = run_.reports();
    run_.sm().sweep_now(run_.now(), core::Reason::Operator);
    settle(static_cast<unsigned>(reports + 1));
  }
  void restart() {
    run_.boot();
    settle(1);
  }
  void forget_counts() { sets_ = key_sets_ = 0; }

  std::string guid(std::size_t host) { return to_string(topology().port(hosts_[host]).guid); }
  /// The keys that a host's table has, gaps included, up to the last.
  std::vector<PKey> keys(std::size_t host) { return keys_at(hosts_[host]); }
  std::vector<PKey> keys_behind(std::size_t host) { return keys_at(leaf_port(host)); }
  ib::wire::PortInfo switch_port(std::size_t host) {
    return run_.model().port_info(leaf_port(host));
  }
  PortRef host(std::size_t i) const { return hosts_[i]; }
  PortRef leaf_of(std::size_t host) { return leaf_port(host); }
  const ib::fabric::Fabric& topology() { return run_.model().topology(); }

  SmOnModel run_;
  unsigned sets_{0}, key_sets_{0};

 private:
  PortRef leaf_port(std::size_t host) { return topology().port(hosts_[host]).peer; }
  std::vector<PKey> keys_at(PortRef port) {
    auto keys = run_.model().p_keys(port);
    while (!keys.empty() && keys.back() == PKey{0}) keys.pop_back();
    return keys;
  }

  std::vector<PortRef> hosts_;
};

/// GUIDs of the hosts of small_tree() by their number.
std::string guid_of(std::size_t host) {
  const auto f = small_tree();
  std::size_t at = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch() && at++ == host) return to_string(f.port(n, 1).guid);
  return {};
}
std::string red(const std::string& members) { return "red=0x1 : " + members + ";\n"; }
constexpr const char* kAll = "Default=0x7fff : ALL, SELF=full;\n";

/// Another host makes host 1 a full member of both partitions.
void forge_keys_of_host_1(PartitionRun& p) {
  Stranger stranger(p.run_, Stranger::last_host(p.topology()));
  ib::wire::PKeyTable forged;
  forged.p_keys[0] = PKey{0xFFFF};
  forged.p_keys[1] = PKey{0x8001};
  stranger.set(p.run_.model().port_info(p.host(1)).lid, attr::kPKeyTable, 0, forged);
  p.run_.run_for(1s);
}

TEST(Partitions, HostsHoldTheKeysOfTheFileAndTheirSwitchPortsCheckThem) {
  PartitionRun p(with_file(kAll + red(guid_of(1) + "=full, " + guid_of(2))));
  EXPECT_THAT(p.keys(0), ElementsAre(PKey{0xFFFF})) << "the subnet manager's own port";
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));
  EXPECT_THAT(p.keys(2), ElementsAre(PKey{0x7FFF}, PKey{0x0001}));
  EXPECT_THAT(p.keys(3), ElementsAre(PKey{0x7FFF}));
  for (std::size_t host = 0; host < 4; ++host) {
    EXPECT_EQ(p.keys_behind(host), p.keys(host));
    EXPECT_TRUE(p.switch_port(host).partition_enforcement_inbound);
    EXPECT_TRUE(p.switch_port(host).partition_enforcement_outbound);
  }
}

TEST(Partitions, ANameThatTwoHostsBearMakesNeitherAMemberAndTheLogNamesBoth) {
  auto twins = small_tree();
  std::vector<NodeIndex> hosts;
  for (NodeIndex n = 0; n < twins.nodes().size(); ++n)
    if (!twins.node(n).is_switch()) hosts.push_back(n);
  twins.node(hosts[2]).description = twins.node(hosts[1]).description;
  const std::string by_name = '"' + twins.node(hosts[1]).description + '"';
  PartitionRun p(with_file(kAll + red(by_name + "=full, " + guid_of(3))), twins);
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}));
  EXPECT_THAT(p.keys(2), ElementsAre(PKey{0x7FFF}));
  EXPECT_THAT(p.keys(3), ElementsAre(PKey{0x7FFF}, PKey{0x0001}));
  EXPECT_THAT(p.run_.log(), testing::Contains(testing::AllOf(
                                testing::HasSubstr("ambiguous name " + by_name + ", 2 nodes"),
                                testing::HasSubstr(to_string(twins.node(hosts[1]).guid)),
                                testing::HasSubstr(to_string(twins.node(hosts[2]).guid)))));
}

TEST(Partitions, PartEnforceSaysWhereSwitchesCheck) {
  using plan::Enforcement;
  for (const auto& [how, in, out] :
       {std::tuple(Enforcement::In, true, false), std::tuple(Enforcement::Out, false, true),
        std::tuple(Enforcement::Off, false, false)}) {
    PartitionRun p(with_file(kAll, how));
    EXPECT_EQ(p.switch_port(1).partition_enforcement_inbound, in);
    EXPECT_EQ(p.switch_port(1).partition_enforcement_outbound, out);
  }
}

TEST(Partitions, ARestartReadsAndSetsNothing) {
  PartitionRun p(with_file(kAll + red(guid_of(1) + "=full, " + guid_of(2))));
  p.forget_counts();
  p.restart();
  EXPECT_EQ(p.sets_, 0U);
}

TEST(Partitions, AMemberMoreChangesItsOwnTablesAndNothingElse) {
  PartitionRun p(with_file(kAll + red(guid_of(1))));
  p.forget_counts();
  p.run_.sm().set_partitions(policy_of(kAll + red(guid_of(1) + ", " + guid_of(3))));
  p.operator_sweeps();
  EXPECT_THAT(p.keys(3), ElementsAre(PKey{0x7FFF}, PKey{0x0001}));
  EXPECT_EQ(p.key_sets_, 2U) << "the host's and that of its switch port";
  EXPECT_EQ(p.sets_, 2U);
}

TEST(Partitions, AKeyKeepsItsIndexWhileItLivesAndAfterARestart) {
  const std::string two = "red=0x1 : " + guid_of(1) + ";\nblue=0x2 : " + guid_of(1) + ";\n";
  PartitionRun p(with_file(kAll + two));
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x0001}, PKey{0x0002}));
  p.run_.sm().set_partitions(policy_of(kAll + ("blue=0x2 : " + guid_of(1) + ";\n")));
  p.operator_sweeps();
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x0000}, PKey{0x0002}));
  // boot() begins with the options of the first start: red is back, in the gap.
  p.restart();
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x0001}, PKey{0x0002}));
}

// Host 1 has its keys in another order than an empty table would get them in. After a restart it
// does not answer for them at first.
TEST(Partitions, ATableThatCannotBeReadIsLeftAsItIsUntilItCan) {
  const std::string two = "red=0x1 : " + guid_of(1) + ";\nblue=0x2 : " + guid_of(1) + ";\n";
  PartitionRun p(with_file(kAll + two));
  const std::vector<PKey> turned{PKey{0x7FFF}, PKey{0x0002}, PKey{0x0001}};
  Stranger stranger(p.run_, Stranger::last_host(p.topology()));
  ib::wire::PKeyTable table;
  std::ranges::copy(turned, table.p_keys.begin());
  stranger.set(p.run_.model().port_info(p.host(1)).lid, attr::kPKeyTable, 0, table);
  p.run_.run_for(20ms);  // what is read back later does not come to it
  ASSERT_EQ(p.keys(1), turned);
  const auto& way =
      p.run_.sm()
          .observed()
          .nodes[*p.run_.sm().observed().fabric.find_node(p.topology().node(p.host(1).node).guid)]
          .route;
  unsigned lost = 0, written = 0;
  bool answers = false;
  p.run_.watch([&, hops = way.hops](const ib::mad::Packet& packet) {
    const auto& mad = packet.mad;
    const auto path = mad.get<&ib::wire::SmpHeader::initial_path>();
    const std::size_t count = mad.get<&ib::wire::SmpHeader::hop_count>();
    if (mad.attribute_id() != attr::kPKeyTable || count != hops.size() ||
        !std::ranges::equal(hops, std::span(path).subspan(1, count)))
      return true;
    written += mad.method() == ib::wire::Method::Set;
    lost += !answers;
    return answers;
  });
  p.run_.boot();
  p.run_.run_for(5s);
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(written, 0U);
  EXPECT_EQ(p.run_.model().port_info(p.host(1)).port_state, ib::wire::PortState::Active);
  EXPECT_THAT(p.run_.log(), testing::Contains(testing::HasSubstr("Get(P_KeyTable) to ")));
  answers = true;
  p.run_.run_for(30s);
  EXPECT_EQ(p.keys(1), turned) << "and then there is nothing to write";
  EXPECT_EQ(written, 0U);
}

/// What a host says of a table that it does not tell, and of one that is smaller than it says.
class UntoldKeys : public testing::Test {
 protected:
  /// Host 1 was a full member of red, and is one of blue from the next start on.
  static core::Options before() { return with_file(kAll + red(guid_of(1) + "=full")); }
  static core::Options after() {
    return with_file(kAll + ("blue=0x2 : " + guid_of(1) + "=full;\n"));
  }
  void is(const char* trait, const char* value) {
    ASSERT_TRUE(p.run_.model().set_trait(p.run_.now(), p.host(1).node, std::nullopt, trait, value));
  }
  void has_one_block_and_says_four() {
    is("p_keys", "32");
    p.run_.listen([node = p.topology().node(p.host(1).node).guid](ib::mad::Packet& packet) {
      if (packet.mad.attribute_id() != attr::kNodeInfo) return;
      ib::wire::View<ib::wire::NodeInfo> info(packet.mad.data());
      if (info.get<&ib::wire::NodeInfo::node_guid>() == node)
        info.set<&ib::wire::NodeInfo::partition_cap>(128);
    });
  }
  void restart_with(core::Options options) {
    p.run_.boot_as(std::move(options));
    p.settle(1);
  }
  void expect_named(std::size_t times, const char* what) {
    EXPECT_EQ(p.run_.last().refused, 1U);
    EXPECT_THAT(p.run_.last().lines,
                testing::Contains(testing::AllOf(testing::HasSubstr("refused: Get(P_KeyTable) to "),
                                                 testing::HasSubstr(what))));
    EXPECT_THAT(p.run_.sm().snapshot()->refused_tables,
                ElementsAre(testing::Pair(p.topology().node(p.host(1).node).guid,
                                          std::uint16_t{attr::kPKeyTable})));
    EXPECT_EQ(std::ranges::count_if(p.run_.log(),
                                    [](const std::string& line) {
                                      return line.find("Get(P_KeyTable) to ") != std::string::npos;
                                    }),
              static_cast<std::ptrdiff_t>(times));
  }
  void expect_all_is_told() {
    EXPECT_EQ(p.run_.last().refused, 0U);
    EXPECT_TRUE(p.run_.sm().snapshot()->refused_tables.empty());
  }

  PartitionRun p{before()};
};

TEST_F(UntoldKeys, ATableThatIsRefusedIsNamedLeftAsItIsAndAskedForAgain) {
  is("unsupported", "P_KeyTable");
  restart_with(after());
  expect_named(1, "status 0x000c");
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));
  EXPECT_THAT(p.keys_behind(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
  p.run_.run_for(70s);
  expect_named(1, "status 0x000c");
  is("unsupported", "none");
  p.run_.run_for(150s);
  expect_all_is_told();
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
}

TEST_F(UntoldKeys, KeysGoIntoTheBlocksThatADeviceHasAndThoseTakenBackGo) {
  has_one_block_and_says_four();
  restart_with(after());
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
  expect_named(1, "port 1 block 1: status 0x001c (and so 2 other blocks)");
  p.run_.run_for(70s);
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
  expect_named(1, "port 1 block 1");
}

TEST_F(UntoldKeys, WithoutAFileKeysOfBeforeGoFromTheBlocksThatADeviceHas) {
  has_one_block_and_says_four();
  restart_with({});
  p.run_.run_for(5s);  // what tables hold is read after the sweep
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0xFFFF}));
}

/// Between NodeInfo and the reading of its table.
TEST_F(UntoldKeys, ATableThatShrankDuringASweepHasItsKeysAndIsWholeAfterTheNext) {
  bool shrank = false;
  p.run_.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() == attr::kPKeyTable && !std::exchange(shrank, true))
      is("p_keys", "8");
    return true;
  });
  restart_with(after());
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
  expect_named(1, "port 1 block 1");
  p.run_.run_for(70s);
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8002}));
  expect_all_is_told();
}

/// A switch says once that the table of a port ends behind its first block, and more keys than that
/// are behind the port: it is asked again, and checks them when it tells.
TEST(Partitions, APortWhoseTableEndsBeforeItsKeysDoIsAskedAgain) {
  std::string many = kAll;
  for (int i = 1; i <= 40; ++i) many += fmt::format("p{0}=0x{0:x} : {1}=full;\n", i, guid_of(1));
  PartitionRun p(with_file(kAll));
  auto& model = p.run_.model();
  for (const NodeIndex node : {p.host(1).node, p.leaf_of(1).node})
    ASSERT_TRUE(model.set_trait(p.run_.now(), node, std::nullopt, "p_keys", "64"));
  unsigned denied = 1;
  const auto block = std::uint32_t{p.leaf_of(1).port} << 16U | 1U;
  p.run_.listen([&](ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() != attr::kPKeyTable || denied == 0 ||
        packet.mad.attribute_modifier() != block)
      return;
    --denied;
    packet.mad.set<&ib::wire::MadHeader::status>(std::uint16_t{0x801C});  // with the direction bit
  });
  p.run_.boot_as(with_file(many));
  p.settle(1);
  EXPECT_EQ(denied, 0U);
  EXPECT_EQ(p.run_.last().refused, 1U);
  EXPECT_FALSE(p.switch_port(1).partition_enforcement_inbound) << "it lets all of them pass";
  p.run_.run_for(150s);
  EXPECT_EQ(p.run_.last().refused, 0U);
  EXPECT_EQ(p.keys(1).size(), 41U);
  EXPECT_EQ(p.keys_behind(1), p.keys(1));
  EXPECT_TRUE(p.switch_port(1).partition_enforcement_inbound);
}

/// Between the reading of its tables and the Sets that take it to ACTIVE; the switch alone tells.
TEST(Partitions, AHostThatIsRebootedWhileItIsBroughtUpHasItsKeysInTheEnd) {
  PartitionRun p(with_file(kAll + red(guid_of(1) + "=full")));
  auto& model = p.run_.model();
  const PortRef leaf = p.leaf_of(1);
  unsigned reboots = 0;
  p.run_.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::Set ||
        packet.mad.attribute_id() != attr::kPortInfo || reboots != 0 ||
        model.port_info(p.host(1)).port_state != ib::wire::PortState::Initialize)
      return true;
    ++reboots;
    EXPECT_TRUE(model.reboot(p.run_.now(), p.host(1).node));
    return true;
  });
  ASSERT_TRUE(model.link_down(p.run_.now(), leaf));
  ASSERT_TRUE(model.link_up(p.run_.now(), leaf));
  p.run_.run_for(15s);
  EXPECT_EQ(reboots, 1U);
  EXPECT_EQ(model.port_info(p.host(1)).port_state, ib::wire::PortState::Active);
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));
}

/// Twice: the second time after it was told the keys of its ports, and before it is told its LID.
TEST(Partitions, ASwitchThatIsRebootedWhileItIsBroughtUpLetsThroughWhatItIsTo) {
  PartitionRun p(with_file(kAll + red(guid_of(1) + "=full")));
  auto& model = p.run_.model();
  const PortRef leaf = p.leaf_of(1);
  ASSERT_THAT(p.keys_behind(1), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));
  unsigned reboots = 0;
  p.run_.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::Set ||
        packet.mad.attribute_id() != attr::kPortInfo || reboots != 0 ||
        model.port_info({leaf.node, 0}).lid.is_unicast() || p.keys_behind(1).size() != 2)
      return true;
    ++reboots;
    EXPECT_TRUE(model.reboot(p.run_.now(), leaf.node));
    return true;
  });
  ASSERT_TRUE(model.reboot(p.run_.now(), leaf.node));
  p.run_.run_for(15s);
  EXPECT_EQ(reboots, 1U);
  EXPECT_TRUE(p.switch_port(1).partition_enforcement_inbound);
  EXPECT_THAT(p.keys_behind(1), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));
}

TEST(Partitions, WhatSomebodyElseWroteIsRepairedByAnOperatorsSweep) {
  PartitionRun p(with_file(kAll + red(guid_of(1))));
  forge_keys_of_host_1(p);
  ASSERT_THAT(p.keys(1), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  p.operator_sweeps();
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x0001}));
}

TEST(Partitions, WhatSomebodyElseWroteIsRepairedAfterAnyFullSweep) {
  PartitionRun p(with_file(kAll + red(guid_of(1))));
  forge_keys_of_host_1(p);
  p.forget_counts();
  const auto reports = p.run_.reports();
  const auto full_sweep = [&](unsigned nth) {
    p.run_.sm().sweep_now(p.run_.now(), core::Reason::Timer);
    p.settle(static_cast<unsigned>(reports + nth));
  };
  full_sweep(1);
  EXPECT_THAT(p.keys(1), ElementsAre(PKey{0x7FFF}, PKey{0x0001}));
  EXPECT_EQ(p.key_sets_, 1U) << "the block that was forged";
  full_sweep(2);
  EXPECT_EQ(p.key_sets_, 1U) << "nobody wrote since";
}

// What is read after a sweep is set beside it, and no further sweep has to tell what became of it.
TEST(Partitions, WhatADeviceDoesNotTakeBetweenSweepsIsPublishedAtOnce) {
  PartitionRun p(with_file(kAll + red(guid_of(1))));
  forge_keys_of_host_1(p);
  const PortRef host = p.host(1);
  ASSERT_TRUE(
      p.run_.model().set_trait(p.run_.now(), host.node, std::nullopt, "keep", "P_KeyTable"));
  const auto reports = p.run_.reports();
  p.run_.sm().sweep_now(p.run_.now(), core::Reason::Timer);
  p.settle(static_cast<unsigned>(reports + 1));
  ASSERT_THAT(p.keys(1), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  EXPECT_EQ(p.run_.reports(), reports + 1);
  EXPECT_THAT(p.run_.sm().snapshot()->refused_tables,
              ElementsAre(testing::Pair(p.topology().node(host.node).guid,
                                        std::uint16_t{attr::kPKeyTable})));
}

// Host 3 makes itself a member of a partition that it is not in. Its switch has not been asked.
TEST(Partitions, APacketUnderAForgedKeyStopsAtTheSwitchAndTheTrapReachesTheManager) {
  PartitionRun p(with_file(kAll + red(guid_of(0) + "=full, " + guid_of(1) + "=full")));
  Stranger host3(p.run_, p.host(3));
  ib::wire::PKeyTable forged;
  forged.p_keys[0] = PKey{0x7FFF};
  forged.p_keys[1] = PKey{0x8001};
  host3.set(host3.lid(), attr::kPKeyTable, 0, forged);
  p.run_.run_for(1s);
  ASSERT_THAT(p.keys(3), ElementsAre(PKey{0x7FFF}, PKey{0x8001}));

  std::vector<ib::wire::Notice> seen;
  p.run_.listen([&](ib::mad::Packet& packet) {
    if (packet.mad.method() == ib::wire::Method::Trap)
      seen.push_back(ib::wire::body<ib::wire::Notice>(packet.mad));
  });
  host3.send_gmp(1);
  p.run_.run_for(1s);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].trap_number, ib::wire::trap::kSwitchBadPKey);
  EXPECT_EQ(seen[0].issuer_lid, p.run_.model().port_info({p.leaf_of(3).node, 0}).lid);
  EXPECT_THAT(p.run_.log(),
              testing::Contains(testing::AllOf(testing::HasSubstr("trap 259 from LID"),
                                               testing::HasSubstr("stopped a packet from 0x"),
                                               testing::HasSubstr("under P_Key 0x8001"))));

  // Its own key passes, and nobody complains.
  seen.clear();
  host3.send_gmp(0);
  p.run_.run_for(1s);
  EXPECT_TRUE(seen.empty());
}

TEST(Partitions, TheSnapshotHasThePartitionsThatItsTablesWereMadeBy) {
  const auto first = policy_of(kAll + red(guid_of(1))), second = policy_of(kAll);
  core::Options options;
  options.plan.partitions = first;
  SmOnModel run(small_tree(), {}, options);
  run.watch([&](const ib::mad::Packet& p) {
    const bool writes = p.mad.method() == ib::wire::Method::Set;
    if (writes && p.mad.attribute_id() == attr::kPKeyTable) run.sm().set_partitions(second);
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.sm().snapshot()->partitions, first);
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_EQ(run.sm().snapshot()->partitions, second);
}

TEST(Partitions, WithoutAFileEverybodyIsAFullMember) {
  PartitionRun p(with_file(kAll + red(guid_of(1) + "=full")));
  p.run_.sm().set_partitions(std::make_shared<const policy::PartitionPolicy>());
  p.operator_sweeps();
  p.run_.run_for(5s);  // what tables hold is read after the sweep
  for (std::size_t host = 0; host < 4; ++host) {
    EXPECT_THAT(p.keys(host), ElementsAre(PKey{0xFFFF})) << host;
    EXPECT_EQ(p.keys_behind(host), p.keys(host)) << "what enforces lets the one partition pass";
  }
}

TEST(Partitions, WithoutAFileAndWithEnforcementOffNothingIsEnforced) {
  core::Options options = with_file(kAll, plan::Enforcement::Off);
  options.plan.partitions = std::make_shared<const policy::PartitionPolicy>();
  PartitionRun p(std::move(options));
  EXPECT_FALSE(p.switch_port(1).partition_enforcement_inbound);
}

TEST(Partitions, APortBetweenSwitchesThatChecksKeysIsSetFree) {
  PartitionRun p(with_file(kAll));
  const auto& f = p.topology();
  const NodeIndex leaf = f.port(p.host(1)).peer.node;
  PortRef uplink{};
  for (unsigned n = 1; n <= f.node(leaf).num_ports; ++n) {
    const PortRef peer = f.port(leaf, n).peer;
    if (peer && f.node(peer.node).is_switch()) uplink = {leaf, static_cast<std::uint8_t>(n)};
  }
  auto info = p.run_.model().port_info(uplink);
  info.partition_enforcement_inbound = info.partition_enforcement_outbound = true;
  info.port_state = ib::wire::PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  Stranger stranger(p.run_, Stranger::last_host(f));
  stranger.set(p.run_.model().port_info({leaf, 0}).lid, attr::kPortInfo, uplink.port, info);
  p.run_.run_for(1s);
  ASSERT_TRUE(p.run_.model().port_info(uplink).partition_enforcement_outbound);
  p.operator_sweeps();
  EXPECT_FALSE(p.run_.model().port_info(uplink).partition_enforcement_inbound);
  EXPECT_FALSE(p.run_.model().port_info(uplink).partition_enforcement_outbound);
}

/// A reload while a sweep is under way: the nodes found go by the new map's names.
TEST(Partitions, MembersGoByTheNamesThatAreInForceWhenTheyArePlanned) {
  PartitionRun p(with_file(kAll));
  p.run_.sm().sweep_now(p.run_.now(), core::Reason::Operator);
  p.run_.run_for(10us);
  ASSERT_FALSE(p.run_.sm().idle());
  core::Options reloaded = with_file(kAll + red("\"storage-1\"=full"));
  const auto line =
      fmt::format("0x{:016x} \"storage-1\"\n", p.topology().node(p.host(1).node).guid.value);
  reloaded.node_names = std::make_shared<const ib::fabric::NodeNames>(
      ib::fabric::NodeNames::read(line, "names").value());
  p.run_.sm().set_options(reloaded);
  p.run_.sm().set_partitions(reloaded.plan.partitions);
  const auto reports = p.run_.reports();
  p.settle(static_cast<unsigned>(reports + 1));
  EXPECT_THAT(p.keys(1), testing::Contains(PKey{0x8001}));
}

}  // namespace
}  // namespace sm::test
