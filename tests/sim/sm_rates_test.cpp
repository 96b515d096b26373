// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rate limits of SLs: asked for what devices can do, set where they can, said where they cannot.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::wire::Method;
namespace attr = ib::wire::attr;

constexpr std::uint16_t kConnectX3 = 4099, kConnectX6 = 4123;

/// The tree with CAs that can limit, but for the `old` first of them.
ib::fabric::Fabric tree_of(std::size_t old) {
  ib::fabric::Fabric f = small_tree();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch()) continue;
    f.node(n).vendor_id = 0x2c9;
    f.node(n).device_id = old > 0 ? kConnectX3 : kConnectX6;
    if (old > 0) --old;
  }
  return f;
}

std::shared_ptr<const policy::RatePolicy> rates(const std::string& text) {
  policy::RatePolicy policy;
  policy.file = policy::read_rate_file(text, "r");
  EXPECT_FALSE(ib::has_errors(policy.file.diagnostics));
  return std::make_shared<const policy::RatePolicy>(std::move(policy));
}
core::Options with(std::shared_ptr<const policy::RatePolicy> rates) {
  core::Options options;
  options.plan.rates = std::move(rates);
  return options;
}

class RatesRun {
 public:
  explicit RatesRun(const std::string& text, std::size_t old = 0)
      : run(tree_of(old), {}, with(rates(text))) {
    run.watch([this](const ib::mad::Packet& p) {
      const bool sets = p.mad.method() == Method::Set;
      sent += sets;
      rate_sets += sets && p.mad.attribute_id() == attr::kMlnxQosConfigSl;
      capability_gets += p.mad.attribute_id() == attr::kMlnxGeneralInfo;
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    run.run_for(1s);
  }
  std::uint32_t limit(NodeIndex n, unsigned sl) {
    return run.model().sl_rates({n, 1}).sl[sl] & 0xFFFFFU;
  }
  std::vector<NodeIndex> hosts() {
    std::vector<NodeIndex> out;
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch()) out.push_back(n);
    return out;
  }
  ib::Guid guid(NodeIndex host) { return run.model().topology().port(host, 1).guid; }
  void sweep() {
    run.sm().sweep_now(run.now(), core::Reason::ChangeSeen);
    run.run_for(5s);
  }

  unsigned sent{0}, rate_sets{0}, capability_gets{0};
  SmOnModel run;
};

constexpr const char* kDefault = "BW_NAMES bw1 = 50 bw2 = 100\nBW_RULES\ndefault = 1:bw1\n";

TEST(Rates, EveryPortIsLimitedOnceAndStaysSo) {
  RatesRun r(kDefault);
  const auto hosts = r.hosts();
  for (const NodeIndex n : hosts) {
    EXPECT_EQ(r.limit(n, 1), 50U);
    EXPECT_EQ(r.limit(n, 2), 0U);
  }
  EXPECT_EQ(r.rate_sets, hosts.size());
  EXPECT_EQ(r.capability_gets, hosts.size());
  const unsigned before = r.sent;
  r.sweep();
  EXPECT_EQ(r.sent, before);
  EXPECT_EQ(r.capability_gets, hosts.size()) << "asked once";
}

TEST(Rates, ARuleChangesItsPortAlone) {
  RatesRun r(kDefault);
  const NodeIndex one = r.hosts()[2];
  r.run.sm().set_rates(
      rates(kDefault + fmt::format("{} = 1:bw2, 7:bw1\n", to_string(r.guid(one)))));
  const unsigned before = r.sent;
  r.sweep();
  EXPECT_EQ(r.sent, before + 1);
  EXPECT_EQ(r.limit(one, 1), 100U);
  EXPECT_EQ(r.limit(one, 7), 50U);
  r.run.sm().set_rates(rates("BW_NAMES\nBW_RULES\n"));
  r.sweep();
  for (const NodeIndex n : r.hosts()) EXPECT_EQ(r.limit(n, 1), 0U) << "the keywords alone";
}

TEST(Rates, DevicesThatCannotLimitAreNamedInOneLineAndLeftAlone) {
  RatesRun r(kDefault, 3);
  EXPECT_EQ(r.rate_sets, r.hosts().size() - 3);
  EXPECT_THAT(r.run.log(), testing::Contains(testing::MatchesRegex(
                               "rate limits of SLs: 3 nodes of Mellanox device 4099 cannot limit: "
                               ".* and others")));
  r.sweep();  // a node that came up meanwhile may have restarted
  const unsigned before = r.capability_gets;
  r.sweep();
  EXPECT_EQ(r.capability_gets, before) << "who does not know the attribute is not asked again";
  EXPECT_TRUE(r.run.last().up());
}

TEST(Rates, WithoutAFileNobodyIsAskedAndLimitsStay) {
  RatesRun r(kDefault);
  r.run.sm().set_rates(nullptr);
  const unsigned before = r.sent;
  r.sweep();
  EXPECT_EQ(r.sent, before);
  EXPECT_EQ(r.limit(r.hosts()[0], 1), 50U);
  SmOnModel without(tree_of(0));
  unsigned asked = 0;
  without.watch([&](const ib::mad::Packet& p) {
    asked += p.mad.attribute_id() == attr::kMlnxGeneralInfo;
    return true;
  });
  EXPECT_TRUE(without.run_until_reports(1));
  without.run_for(5s);
  EXPECT_EQ(asked, 0U);
}

TEST(Rates, AHostThatRestartedIsLimitedAgain) {
  RatesRun r(kDefault);
  const NodeIndex one = r.hosts()[3];
  ASSERT_TRUE(r.run.model().reboot(r.run.now(), one));
  EXPECT_EQ(r.limit(one, 1), 0U);
  r.run.run_for(60s);
  EXPECT_EQ(r.limit(one, 1), 50U);
}

}  // namespace
}  // namespace sm::test
