// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The performance manager against agents that have what devices have, that lie, refuse, redirect
// and are silent.
#include "sm/managers/performance/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "libdiag/fabric/node_order.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::managers::performance {
namespace {

using ib::Guid;
using ib::Instant;
using ib::Lid;
using ib::wire::Method;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace attr = ib::wire::attr;

ib::fabric::Fabric tree() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 4;
  tree.leaves = 4;
  tree.spines = 2;
  return *ib::fabric::generate(tree);
}
constexpr std::size_t kHosts = 16, kSwitches = 6, kCables = 16 + 4 * 4;
/// Both ends of cables, and ports 0, which are enhanced ones.
constexpr std::size_t kPorts = 2 * kCables + kSwitches;

/// The agents of a fabric, as far as the manager sees them.
struct Agents {
  explicit Agents(const Options& options) : manager(options) {}

  struct Agent {
    std::uint16_t capabilities{0x1200};  // extended width, PortXmitWait
    std::uint32_t capabilities2{0};      // 2: errors in PortCountersExtended, too
    bool silent{false}, refuses_clear{false}, wrong_port{false}, without_info{false};
    Lid redirects_to{};
    std::map<std::uint8_t, Reading> ports;
  };
  std::map<std::uint16_t, Agent> by_lid;
  std::map<std::uint16_t, std::size_t> asked;  // by attribute
  std::size_t clears{0}, under_way_most{0};
  PerformanceManager manager;
  Instant now{1'000'000'000};
  std::vector<std::string> log;

  void up(const ib::fabric::Fabric& fabric) {
    manager.on_subnet_up(now, sa::test::snapshot_of(fabric));
    sweep();
  }
  /// Until the sweep that is due has ended.
  void sweep() {
    now = std::max(now, manager.next_deadline() == ib::kNever ? now : manager.next_deadline());
    manager.on_time(now);
    while (true) {
      const auto requests = manager.take_requests(now, manager.requests_most());
      if (requests.empty()) break;
      under_way_most = std::max(under_way_most, requests.size());
      for (const auto& request : requests) {
        now = now + std::chrono::microseconds(5);
        manager.on_completion(now, answer(request));
      }
    }
    for (const auto& event : manager.take_log())
      if (event.level <= ib::LogLevel::Info) log.push_back(event.message);
    EXPECT_FALSE(manager.sweeping());
  }

  const PortRecord& record(Guid node, std::uint8_t port) {
    return manager.records().at({node, port});
  }

 private:
  ib::mad::Completion answer(const ib::mad::Request& request) {
    ib::mad::Completion done{
        request.cookie, ib::mad::Packet{request.address, request.mad, {}}, {}, 1};
    auto& agent = by_lid[request.address.lid.value];
    const auto attribute = request.mad.attribute_id();
    ++asked[attribute];
    if (agent.silent) {
      done.reply = ib::fail(ib::ErrorKind::TimedOut, "no answer");
      return done;
    }
    auto& mad = done.reply->mad;
    if (agent.redirects_to != ib::kNoLid || attribute == attr::kClassPortInfo) {
      ib::wire::ClassPortInfo info;
      info.capability_mask = agent.capabilities;
      info.capability_mask2 = agent.capabilities2;
      info.redirect_lid = agent.redirects_to;
      info.redirect_qp = agent.redirects_to == ib::kNoLid ? 0 : 1;
      info.redirect_q_key = 0x80010000;
      ib::wire::set_body(mad, info);
      if (attribute != attr::kClassPortInfo)
        mad.set<&ib::wire::MadHeader::status>(std::uint16_t{0x0002});
      if (agent.without_info) mad.set<&ib::wire::MadHeader::status>(std::uint16_t{0x000C});
      return done;
    }
    const auto port = ib::wire::body<ib::wire::PortCounters>(request.mad).port_select.value;
    auto& reading = agent.ports[port];
    const auto said = ib::PortNum{static_cast<std::uint8_t>(port + (agent.wrong_port ? 1 : 0))};
    if (request.mad.method() == Method::Set) {
      ++clears;
      if (agent.refuses_clear) {
        mad.set<&ib::wire::MadHeader::status>(std::uint16_t{0x000C});
      } else {
        reading.narrow.symbol_error_counter = 0;
      }
    } else if (attribute == attr::kPortCounters) {
      reading.narrow.port_select = said;
      ib::wire::set_body(mad, reading.narrow);
    } else {
      ib::wire::PortCountersExtended wide = reading.wide.value_or(ib::wire::PortCountersExtended{});
      wide.port_select = said;
      ib::wire::set_body(mad, wide);
      if (reading.wide_errors) ib::wire::set_body(mad, *reading.wide_errors);
    }
    return done;
  }
};

struct PerformanceTest : testing::Test {
  ib::fabric::Fabric fabric = tree();
  Agents agents{Options{}};

  ib::fabric::NodeIndex node(std::string_view name) {
    for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (fabric.node(n).description == name) return n;
    ADD_FAILURE() << name;
    return 0;
  }
  Agents::Agent& agent(std::string_view name) {
    const auto n = node(name);
    return agents.by_lid[fabric.port(n, fabric.node(n).is_switch() ? 0 : 1).lid.value];
  }
};

TEST_F(PerformanceTest, ReadsEveryPortWithACableAndEachAgentsCapabilitiesOnce) {
  agents.up(fabric);
  EXPECT_EQ(agents.asked[attr::kClassPortInfo], kHosts + kSwitches);
  EXPECT_EQ(agents.asked[attr::kPortCounters], kPorts);
  EXPECT_EQ(agents.asked[attr::kPortCountersExtended], kPorts);
  EXPECT_EQ(agents.manager.records().size(), kPorts);
  EXPECT_EQ(agents.manager.next_deadline(), Instant{1'000'000'000} + seconds(180));
  agents.sweep();
  EXPECT_EQ(agents.asked[attr::kClassPortInfo], kHosts + kSwitches);
  EXPECT_EQ(agents.asked[attr::kPortCounters], 2 * kPorts);
  EXPECT_THAT(agents.log, IsEmpty());
}

TEST_F(PerformanceTest, ErrorsAreToldWithBothEndsOnceTheyAreCounted) {
  agent("leaf-002").ports[5].narrow.symbol_error_counter = 40;
  agents.up(fabric);
  EXPECT_THAT(agents.log, IsEmpty()) << "of the time before";
  agent("leaf-002").ports[5].narrow.symbol_error_counter = 52;
  agent("leaf-002").ports[5].narrow.port_rcv_errors = 3;
  agents.sweep();
  EXPECT_THAT(agents.log, ElementsAre("\"leaf-002\" port 5 - \"spine-001\" port 3: "
                                      "SymbolErrorCounter +12, PortRcvErrors +3 in 180 s"));
  agents.log.clear();
  agents.sweep();
  EXPECT_THAT(agents.log, IsEmpty());
  const auto& leaf = fabric.node(node("leaf-002"));
  EXPECT_EQ(agents.record(leaf.guid, 5).totals.values()[0], 52U);
}

TEST_F(PerformanceTest, OfManyPortsWithErrorsTheWorstHaveALineEach) {
  agents.up(fabric);
  for (int i = 1; i <= 16; ++i)
    agent("host00" + std::string(i < 10 ? "0" : "") + std::to_string(i) + " HCA-1")
        .ports[1]
        .narrow.symbol_error_counter = static_cast<std::uint16_t>(i);
  for (std::uint8_t p = 1; p <= 6; ++p) agent("leaf-001").ports[p].narrow.port_rcv_errors = 100;
  agents.sweep();
  ASSERT_EQ(agents.log.size(), 21U);
  EXPECT_THAT(agents.log[0], HasSubstr("leaf-001"));
  EXPECT_THAT(agents.log[20], HasSubstr("2 more ports counted errors"));
}

TEST_F(PerformanceTest, ACounterThatIsNearlyFullIsClearedAndTheTotalGoesOn) {
  auto& port = agent("host0003 HCA-1").ports[1].narrow;
  port.symbol_error_counter = 60'000;
  agents.up(fabric);
  EXPECT_EQ(agents.clears, 1U);
  EXPECT_EQ(port.symbol_error_counter, 0U);
  port.symbol_error_counter = 10;
  agents.sweep();
  EXPECT_EQ(agents.record(fabric.node(node("host0003 HCA-1")).guid, 1).totals.values()[0], 60'010U);
}

TEST_F(PerformanceTest, WhoRefusesToClearIsNamedOnceAndReadAllTheSame) {
  agent("leaf-001").refuses_clear = true;
  agent("leaf-001").ports[1].narrow.symbol_error_counter = 65'535;
  agents.up(fabric);
  EXPECT_THAT(agents.log, ElementsAre(HasSubstr("\"leaf-001\" refuses to clear its counters")));
  EXPECT_EQ(agents.manager.records().size(), kPorts);
}

TEST_F(PerformanceTest, WhoLiesOrIsSilentIsNamedOnceAndHoldsUpNobody) {
  agent("host0002 HCA-1").silent = true;
  agent("leaf-003").wrong_port = true;
  agents.up(fabric);
  EXPECT_THAT(agents.log,
              testing::UnorderedElementsAre(
                  HasSubstr("counters of \"host0002 HCA-1\" port 1 cannot be read: no answer"),
                  HasSubstr("counters of \"leaf-003\" cannot be read: ")));
  EXPECT_EQ(agents.manager.records().size(), kPorts - 1 - 9);
  agents.log.clear();
  agents.sweep();
  EXPECT_THAT(agents.log, IsEmpty());
  agent("host0002 HCA-1").silent = false;
  agents.sweep();
  agent("host0002 HCA-1").silent = true;
  agents.sweep();
  EXPECT_EQ(agents.log.size(), 1U) << "it answered in between";
}

TEST_F(PerformanceTest, AnAgentWithoutClassPortInfoOrWideCountersIsReadByTheNarrowOnes) {
  agent("host0004 HCA-1").without_info = true;
  agent("host0005 HCA-1").capabilities = 0;
  for (const char* host : {"host0004 HCA-1", "host0005 HCA-1"})
    agent(host).ports[1].narrow.port_xmit_pkts = 9;
  agents.up(fabric);
  EXPECT_EQ(agents.asked[attr::kPortCountersExtended], kPorts - 2);
  const auto rows = counter_rows();
  const auto row = std::ranges::find(rows, "PortXmitPkts", &CounterRow::name) - rows.begin();
  for (const char* host : {"host0004 HCA-1", "host0005 HCA-1"}) {
    const auto& totals = agents.record(fabric.node(node(host)).guid, 1).totals;
    EXPECT_EQ(totals.values()[static_cast<std::size_t>(row)], 9U) << host;
  }
}

TEST_F(PerformanceTest, WhereErrorsAreWideTooOneQuestionAPortIsEnoughAndNothingIsCleared) {
  for (const auto& each : fabric.nodes()) agent(each.description).capabilities2 = 2;
  auto& errors = agent("host0004 HCA-1").ports[1].wide_errors.emplace();
  errors.symbol_error_counter = 70'000;  // more than PortCounters can tell
  errors.port_xmit_wait = 1ULL << 40;
  agents.up(fabric);
  EXPECT_EQ(agents.asked[attr::kPortCountersExtended], kPorts);
  EXPECT_EQ(agents.asked[attr::kPortCounters], 0U);
  EXPECT_EQ(agents.clears, 0U);
  const auto value = [&](std::string_view name) {
    const auto rows = counter_rows();
    const auto row = std::ranges::find(rows, name, &CounterRow::name) - rows.begin();
    const auto& totals = agents.record(fabric.node(node("host0004 HCA-1")).guid, 1).totals;
    return totals.values()[static_cast<std::size_t>(row)];
  };
  EXPECT_EQ(value("SymbolErrorCounter"), 70'000U);
  EXPECT_EQ(value("PortXmitWait"), 1ULL << 40);
  errors.symbol_error_counter = 70'003;
  agents.sweep();
  EXPECT_EQ(value("SymbolErrorCounter"), 70'003U);
  EXPECT_THAT(agents.log, ElementsAre(HasSubstr("SymbolErrorCounter +3 in ")));
  EXPECT_EQ(agents.asked[attr::kClassPortInfo], kHosts + kSwitches);
}

TEST_F(PerformanceTest, ARedirectionIsFollowedAndACircleIsNot) {
  const Lid elsewhere{0x400};
  agent("host0006 HCA-1").redirects_to = elsewhere;
  agents.by_lid[elsewhere.value].ports[1].narrow.symbol_error_counter = 77;
  agent("host0007 HCA-1").redirects_to = Lid{0x401};
  agents.by_lid[0x401].redirects_to = Lid{0x402};
  agents.by_lid[0x402].redirects_to = Lid{0x401};
  agents.up(fabric);
  EXPECT_EQ(agents.record(fabric.node(node("host0006 HCA-1")).guid, 1).totals.values()[0], 77U);
  EXPECT_THAT(agents.log, ElementsAre(HasSubstr("its agent redirects again and again")));
}

TEST_F(PerformanceTest, RedirectionsAreKnownUntilTheyAreForgotten) {
  agent("host0006 HCA-1").redirects_to = Lid{0x400};
  agents.by_lid[0x400] = {};
  agents.up(fabric);
  auto known = agents.manager.redirections();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].node_name, "host0006 HCA-1");
  EXPECT_EQ(known[0].from, fabric.port(node("host0006 HCA-1"), 1).lid);
  EXPECT_EQ(known[0].to, Lid{0x400});
  EXPECT_EQ(known[0].port, 1);
  agents.manager.forget_redirections("host0007 HCA-1");
  EXPECT_EQ(agents.manager.redirections().size(), 1U);
  agents.manager.forget_redirections("host0006 HCA-1");
  EXPECT_THAT(agents.manager.redirections(), IsEmpty());
  agents.sweep();
  EXPECT_EQ(agents.manager.redirections().size(), 1U);
}

TEST_F(PerformanceTest, WhileItIsDisabledNoSweepBegins) {
  agents.up(fabric);
  agents.manager.set_enabled(agents.now, false);
  EXPECT_EQ(agents.manager.next_deadline(), ib::kNever);
  agents.now = agents.now + seconds(1000);
  agents.manager.on_time(agents.now);
  EXPECT_FALSE(agents.manager.sweeping());
  agents.manager.set_enabled(agents.now, true);
  EXPECT_EQ(agents.manager.next_deadline(), agents.now);
  agents.sweep();
  EXPECT_EQ(agents.manager.sweeps(), 2U);
}

TEST_F(PerformanceTest, ANewSweepTimeCountsFromTheLastSweep) {
  agents.up(fabric);
  const Instant before = agents.manager.next_deadline();
  agents.manager.set_sweep_time(agents.now, seconds(30));
  EXPECT_EQ(agents.manager.next_deadline(), before - seconds(150));
}

/// `fabric` without one node.
ib::fabric::Fabric without(const ib::fabric::Fabric& fabric, ib::fabric::NodeIndex gone) {
  std::vector<ib::fabric::NodeIndex> kept;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (n != gone) kept.push_back(n);
  return ib::fabric::with_nodes_in(fabric, kept);
}

TEST_F(PerformanceTest, NodesThatAreGoneCanBeForgottenLater) {
  Options keeps;
  keeps.forget_gone_nodes = false;
  Agents kept(keeps);
  kept.up(fabric);
  kept.up(without(fabric, node("host0016 HCA-1")));
  EXPECT_EQ(kept.manager.forget_gone_nodes(), 1U);
  EXPECT_EQ(kept.manager.forget_gone_nodes(), 0U);
}

TEST_F(PerformanceTest, NodesThatAreGoneAreForgottenOrKeptAsNotActive) {
  const auto host = node("host0016 HCA-1");
  const auto guid = fabric.node(host).guid;
  const auto smaller = without(fabric, host);
  agents.up(fabric);
  agents.up(smaller);
  EXPECT_FALSE(agents.manager.records().contains({guid, 1}));

  Options keeps;
  keeps.forget_gone_nodes = false;
  Agents others(keeps);
  others.up(fabric);
  others.up(smaller);
  EXPECT_FALSE(others.record(guid, 1).active);
}

TEST_F(PerformanceTest, APortWhoseCableIsOutKeepsWhatItCounted) {
  const ib::fabric::PortRef host{node("host0016 HCA-1"), 1}, leaf = fabric.port(host).peer;
  const PortKey at{fabric.node(leaf.node).guid, leaf.port};
  auto smaller = fabric;
  smaller.disconnect(host);
  agents.up(fabric);
  agents.up(fabric);
  const auto before = agents.record(at.first, at.second).totals.readings();
  ASSERT_GT(before, 0U);
  (void)agents.manager.take_error_changes();
  agents.up(smaller);
  EXPECT_FALSE(agents.record(at.first, at.second).active);
  EXPECT_EQ(agents.record(at.first, at.second).totals.readings(), before);
  EXPECT_THAT(agents.manager.take_error_changes(), testing::IsEmpty())
      << "nor is it below anything";
  EXPECT_EQ(agents.manager.forget_gone_nodes(), 0U) << "its node is there";
  agents.up(fabric);
  EXPECT_TRUE(agents.record(at.first, at.second).active);
  EXPECT_EQ(agents.record(at.first, at.second).totals.readings(), before + 1);
}

TEST_F(PerformanceTest, AnEnhancedPort0IsReadAndAnotherIsNot) {
  const auto leaf = node("leaf-001"), other = node("leaf-002");
  fabric.node(other).enhanced_port0 = false;
  agents.up(fabric);
  EXPECT_EQ(agents.manager.records().size(), kPorts - 1);
  EXPECT_EQ(agents.record(fabric.node(leaf).guid, 0).there, std::nullopt);
  EXPECT_FALSE(agents.manager.records().contains({fabric.node(other).guid, 0}));
}

TEST_F(PerformanceTest, OptionsAreKept) {
  Options options;
  options.ignore_cas = true;
  options.ask_capabilities = false;
  options.outstanding = 3;
  options.log_xmit_wait = true;
  options.xmit_wait_threshold = 100;
  options.sweep_time = seconds(7);
  Agents a(options);
  a.up(fabric);
  EXPECT_EQ(a.asked[attr::kClassPortInfo], 0U);
  EXPECT_EQ(a.asked[attr::kPortCountersExtended], 0U);
  EXPECT_EQ(a.asked[attr::kPortCounters], kPorts - kHosts);
  EXPECT_LE(a.under_way_most, 3U);
  EXPECT_EQ(a.manager.next_deadline(), Instant{1'000'000'000} + seconds(7));
}

TEST_F(PerformanceTest, ClearAndSweepOnDemand) {
  agent("leaf-002").ports[5].narrow.symbol_error_counter = 40;
  agents.up(fabric);
  agents.manager.clear_totals(agents.now);
  const auto guid = fabric.node(node("leaf-002")).guid;
  EXPECT_EQ(agents.record(guid, 5).totals.values()[0], 0U);
  agents.manager.sweep_now(agents.now);
  EXPECT_EQ(agents.manager.next_deadline(), agents.now);
  agent("leaf-002").ports[5].narrow.symbol_error_counter = 41;
  agents.sweep();
  EXPECT_EQ(agents.record(guid, 5).totals.values()[0], 1U);
  EXPECT_EQ(agents.manager.sweeps(), 2U);
}

TEST_F(PerformanceTest, ARestartGoesOnWithWhatWasStored) {
  Options stores;
  stores.stores = true;
  Agents before(stores);
  auto& port = before.by_lid[fabric.port(node("leaf-002"), 0).lid.value].ports[5];
  port.narrow.symbol_error_counter = 40;
  before.up(fabric);
  port.narrow.symbol_error_counter = 52;
  before.sweep();
  EXPECT_TRUE(before.manager.has_unstored());
  std::vector<StoredWindow> stored;
  while (true) {
    const auto some = before.manager.take_unstored(50);
    if (some.empty()) break;
    stored.insert(stored.end(), some.windows.begin(), some.windows.end());
  }
  EXPECT_FALSE(before.manager.has_unstored());
  // Both ends of each cable, twice for each sweep, of which the last write of a window stands.
  std::map<WindowKey, StoredWindow> rows;
  for (const StoredWindow& window : stored) rows[{window.port, window.began}] = window;
  ASSERT_EQ(rows.size(), 2 * kPorts);
  stored.clear();
  for (const auto& [key, window] : rows) stored.push_back(window);

  Agents after(stores);
  after.now = before.now + seconds(100);
  after.by_lid = before.by_lid;
  after.by_lid[fabric.port(node("leaf-002"), 0).lid.value].ports[5].narrow.symbol_error_counter =
      59;
  after.manager.resume(after.now, stored);
  EXPECT_FALSE(after.record(fabric.node(node("leaf-002")).guid, 5).active);
  after.up(fabric);
  EXPECT_THAT(after.log, ElementsAre(HasSubstr("\"leaf-002\" port 5 - \"spine-001\" port 3: "
                                               "SymbolErrorCounter +7 in 100 s")));
  const auto& record = after.record(fabric.node(node("leaf-002")).guid, 5);
  EXPECT_TRUE(record.active);
  EXPECT_EQ(record.totals.values()[0], 59U);
  EXPECT_THAT(after.manager.take_error_changes(), IsEmpty()) << "12 of them were told before";
}

TEST_F(PerformanceTest, OfNodesThatAreGoneTheStoreForgets) {
  Options stores;
  stores.stores = true;
  Agents kept(stores);
  kept.up(fabric);
  while (!kept.manager.take_unstored(1000).empty()) {
  }
  kept.up(without(fabric, node("host0016 HCA-1")));
  EXPECT_EQ(kept.manager.take_unstored(1).dropped.size(), 2U) << "two windows of a port";
}

}  // namespace
}  // namespace sm::managers::performance
