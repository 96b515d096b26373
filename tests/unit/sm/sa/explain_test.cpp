// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What explain() says of a path is what a request for it gets, and names who decided.
#include "sm/sa/paths/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/sa/path_world.h"

namespace sm::sa::test {
namespace {

using ib::Sl;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kLevels =
    "qos-levels\n"
    "qos-level\nname: DEFAULT\nsl: 1\nend-qos-level\n"
    "qos-level\nname: Slow\nsl: 4\nmtu-limit: 3\nrate-limit: 7\npacket-life: 12\npath-bits: 0-3, "
    "8\n"
    "end-qos-level\n"
    "qos-level\nname: Apart\nsl: 5\npkey: 0x12\nend-qos-level\n"
    "end-qos-levels\n"
    "qos-match-rules\n"
    "qos-match-rule\nservice-id: 0x1000-0x1fff\nqos-level-name: Slow\nend-qos-match-rule\n"
    "qos-match-rule\nqos-class: 7\nqos-level-name: Apart\nend-qos-match-rule\n"
    "end-qos-match-rules\n";

class Explain : public testing::Test {
 protected:
  Explain() : w(small_tree()) {}

  void put_in_force(const char* text) {
    std::vector<ib::Diagnostic> diagnostics;
    const auto file = policy::read_qos_file(text, "q.conf");
    rules =
        std::make_shared<policy::QosPolicy>(file, "q.conf", policy::open_partitions(), diagnostics);
    w.policy.qos = Qos(rules, *w.paths, w.policy);
  }
  ExplainedPath of(const policy::QosRequest& traffic, std::size_t from = 0, std::size_t to = 9) {
    return explain(w.world(), rules.get(), w.host(from), w.host(to), traffic);
  }
  /// What a client gets, GIDs apart.
  std::optional<PathRecord> granted(const PathRecord& wanted, std::uint64_t mask) const {
    auto path = w.get(wanted, mask);
    if (path) path->sgid = path->dgid = {};
    return path;
  }
  static const PathReason& reason(const ExplainedPath& explained, std::string_view subject) {
    static const PathReason kNone;
    const auto at = std::ranges::find(explained.reasons, subject, &PathReason::subject);
    return at == explained.reasons.end() ? kNone : *at;
  }
  static policy::QosRequest service(std::uint64_t id) { return {std::nullopt, id, std::nullopt}; }
  static policy::QosRequest qos_class(std::uint16_t c) { return {c, std::nullopt, std::nullopt}; }
  static policy::QosRequest p_key(std::uint16_t key) { return {std::nullopt, std::nullopt, key}; }

  PathWorld w;
  std::shared_ptr<const policy::QosPolicy> rules;
};

TEST_F(Explain, WithoutPoliciesLinksAndRoutesDecide) {
  const auto explained = of({});
  ASSERT_TRUE(explained.path);
  EXPECT_EQ(explained.path, granted(w.between(0, 9), kLids));
  EXPECT_EQ(reason(explained, "rule").reason, "no QoS policy is in force");
  EXPECT_EQ(reason(explained, "SL").value, "0");
  EXPECT_THAT(reason(explained, "SL").reason, HasSubstr("routes of test"));
  EXPECT_EQ(reason(explained, "MTU").value, "4096");
  EXPECT_THAT(reason(explained, "MTU").reason, HasSubstr("host0001 HCA-1 port 1 to leaf-001"));
  EXPECT_EQ(reason(explained, "rate").value, "100 Gb/s");
  EXPECT_THAT(reason(explained, "P_Key").reason,
              AllOf(HasSubstr("the only one"), HasSubstr("the source is a full member")));
  EXPECT_EQ(reason(explained, "packet life").reason, "subnet_timeout");
  EXPECT_EQ(explained.way.size(), 5U) << "two hosts, two leaves, a spine";
}

TEST_F(Explain, ARuleIsNamedWithItsLineAndWhatItLimits) {
  put_in_force(kLevels);
  const auto explained = of(service(0x1234));
  auto wanted = w.between(0, 9);
  wanted.service_id = 0x1234;
  EXPECT_EQ(explained.path,
            granted(wanted, kLids | bit(path_bit::kServiceIdHigh) | bit(path_bit::kServiceIdLow)));
  EXPECT_EQ(reason(explained, "rule").value, "q.conf:21 (level 'Slow')");
  EXPECT_EQ(reason(explained, "SL").reason, "sl of q.conf:21 (level 'Slow')");
  EXPECT_EQ(reason(explained, "MTU").value, "1024");
  EXPECT_EQ(reason(explained, "MTU").reason,
            "mtu-limit of q.conf:21 (level 'Slow'); the links allow 4096");
  EXPECT_EQ(reason(explained, "rate").value, "40 Gb/s");
  EXPECT_THAT(reason(explained, "rate").reason, HasSubstr("rate-limit of q.conf:21"));
  EXPECT_THAT(reason(explained, "packet life").reason, HasSubstr("packet-life of q.conf:21"));
  EXPECT_EQ(reason(explained, "path-bits").value, "0-3, 8");
  EXPECT_THAT(reason(explained, "path-bits").reason, HasSubstr("without effect"));
}

TEST_F(Explain, TheDefaultLevelIsSaidToBeWhatIsLeft) {
  put_in_force(kLevels);
  const auto explained = of({});
  EXPECT_EQ(reason(explained, "rule").value, "q.conf:2 (level 'DEFAULT')");
  EXPECT_EQ(reason(explained, "rule").reason, "no other rule matches");
  EXPECT_EQ(reason(explained, "SL").value, "1");
  w.policy.partitions[0].sl = Sl{3};
  EXPECT_EQ(reason(of({}), "SL").value, "3");
  EXPECT_EQ(reason(of({}), "SL").reason, "sl= of the partition");
}

TEST_F(Explain, WhereThereIsNoPathItSaysWhy) {
  put_in_force(kLevels);
  EXPECT_THAT(of(qos_class(7)).refusal, HasSubstr("no partition that q.conf:25"));
  Partition small{0x0012, Membership::None, {}, std::nullopt};
  small.members[w.host(0).guid] = Membership::Limited;
  small.members[w.host(9).guid] = Membership::Limited;
  w.policy.partitions.push_back(small);
  const auto explained = of(p_key(0x12));
  EXPECT_FALSE(explained.path);
  EXPECT_EQ(explained.refusal,
            "P_Key 0x0012 does not join them: the source is a limited member, the destination a "
            "limited member");
  w.policy.partitions.back().members[w.host(9).guid] = Membership::Full;
  EXPECT_TRUE(of(p_key(0x12)).path);
  const auto slow = of({std::nullopt, 0x1234, 0x12});
  EXPECT_EQ(reason(slow, "P_Key").value, "0x0012");
  EXPECT_THAT(reason(slow, "P_Key").reason, HasSubstr("asked for"));
}

TEST_F(Explain, RoutesThatHaveAnSlForEachPairAreSaidToStandAbove) {
  put_in_force(kLevels);
  auto routing = std::make_shared<Routing>(*w.snapshot->routing);
  routing->virtual_lanes.sls = ib::tables::PathSls(routing->graph.switch_count(), Sl{2});
  w.snapshot->routing = routing;
  w.publish();
  w.policy.qos = Qos(rules, *w.paths, w.policy);
  const auto explained = of(service(0x1234));
  ASSERT_TRUE(explained.path);
  EXPECT_EQ(explained.path->sl, Sl{2});
  EXPECT_EQ(reason(explained, "SL").reason,
            "the routes of test carry these two by it, where q.conf:21 (level 'Slow') says SL 4");
}

TEST_F(Explain, TheMtuOfATavorIsTheOptionsWork) {
  auto observed = std::make_shared<ib::discover::Observed>(*w.snapshot->observed);
  auto& node = observed->fabric.node(w.hosts[9].node);
  node.vendor_id = 0x2C9;
  node.device_id = 23108;
  w.snapshot = std::make_shared<Snapshot>(*w.snapshot);
  w.snapshot->observed = observed;
  w.publish();
  w.policy.limits_tavor_mtu = true;
  const auto explained = of({});
  EXPECT_EQ(reason(explained, "MTU").value, "1024");
  EXPECT_EQ(reason(explained, "MTU").reason, "enable_quirks, for a Tavor; the links allow 4096");
}

}  // namespace
}  // namespace sm::sa::test
