// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sm::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A policy made of a text, and the requests that are put to it.
struct Case {
  explicit Case(std::string_view text, const Partitions& partitions = open_partitions())
      : file(read_qos_file(text, "q")), policy(file, "q", partitions, warnings) {
    EXPECT_FALSE(ib::has_errors(file.diagnostics)) << to_string(file.diagnostics.front());
  }

  /// The SL that a request gets; -1: no rule matches.
  int sl(const QosRequest& request, EndPortFacts from = {}, EndPortFacts to = {},
         std::vector<std::uint16_t> from_keys = {0x7FFF},
         std::vector<std::uint16_t> to_keys = {0x7FFF}) const {
    const auto* grant =
        policy.match(request, policy.rules_of(from, from_keys), policy.rules_of(to, to_keys));
    return grant == nullptr ? -1 : grant->sl->value;
  }

  QosFile file;
  std::vector<ib::Diagnostic> warnings;
  QosPolicy policy;
};

EndPortFacts port(std::uint64_t guid, EndPortKind kind = EndPortKind::Ca) {
  EndPortFacts facts;
  facts.guid = ib::Guid{guid};
  facts.kind = kind;
  facts.port = 1;
  return facts;
}
QosRequest service(std::uint64_t id) { return {std::nullopt, id, std::nullopt}; }
QosRequest key(std::uint16_t p_key) { return {std::nullopt, std::nullopt, p_key}; }
QosRequest qos_class(std::uint16_t number) { return {number, std::nullopt, std::nullopt}; }

// The example of all keywords of the simple section (QoS management in opensm, 8).
constexpr std::string_view kUlps = R"(qos-ulps
    default                      :0
    sdp, port-num 30000          :0
    sdp, port-num 10000-20000    : 0
    sdp                          :1
    rds                          :2
    ipoib, pkey 0x0001           :0
    ipoib                        :4
    any, service-id 0x6234       :6
    any, pkey 0x0ABC             :6
    srp, target-port-guid 0x1234 : 5
    any, target-port-guid 0x0ABC-0xFFFFF : 6
end-qos-ulps
)";

TEST(QosPolicy, GivesEachApplicationOfTheManualsExampleItsSl) {
  const Case c(kUlps);
  EXPECT_EQ(c.sl(service(0x10000 + 30000)), 0);
  EXPECT_EQ(c.sl(service(0x10000 + 15000)), 0);
  EXPECT_EQ(c.sl(service(0x10000 + 5)), 1);
  EXPECT_EQ(c.sl(service(0x10648CA)), 2);
  EXPECT_EQ(c.sl(key(0x0001)), 0);
  EXPECT_EQ(c.sl(key(0x7FFF)), 4);
  EXPECT_EQ(c.sl(service(0x6234)), 6);
  EXPECT_EQ(c.sl(key(0x0ABC)), 6);
  EXPECT_EQ(c.sl({}, port(9), port(0x1234)), 5);
  EXPECT_EQ(c.sl({}, port(0x1234), port(9)), 0) << "the target counts, not the source";
  EXPECT_EQ(c.sl({}, port(9), port(0xABCD)), 6);
  EXPECT_EQ(c.sl(service(0x7777)), 0);
  // An earlier line stands above: SDP to an SRP target is SDP.
  EXPECT_EQ(c.sl(service(0x10005), port(9), port(0x1234)), 1);
}

TEST(QosPolicy, EquivalentLinesMatchAlike) {
  for (const char* line :
       {"ipoib : 3", "ipoib, pkey 0x7fff : 3", "any, pkey 0x7fff : 3", "any, pkey 0xffff : 3"}) {
    const Case c("qos-ulps\ndefault : 1\n" + std::string(line) + "\nend-qos-ulps");
    EXPECT_EQ(c.sl(key(0x7FFF)), 3) << line;
    EXPECT_EQ(c.sl(key(1)), 1) << line;
    EXPECT_EQ(c.sl({}), 1) << line;
    ASSERT_NE(c.policy.for_groups(0x7FFF), nullptr) << line;
    EXPECT_EQ(c.policy.for_groups(0x7FFF)->sl, ib::Sl{3}) << line;
    EXPECT_EQ(c.policy.for_groups(1), nullptr) << "groups have no default: " << line;
  }
  for (const char* line : {"srp, target-port-guid 0x5 : 3", "any, target-port-guid 0x5 : 3"}) {
    const Case c("qos-ulps\ndefault : 1\n" + std::string(line) + "\nend-qos-ulps");
    EXPECT_EQ(c.sl(service(99), port(1), port(5)), 3) << line;
  }
}

TEST(QosPolicy, ADefaultOfSlZeroAloneIsNoPolicy) {
  EXPECT_TRUE(Case("qos-ulps\ndefault : 0\nend-qos-ulps").policy.is_empty());
  EXPECT_TRUE(Case("").policy.is_empty());
  const Case two("qos-ulps\ndefault : 2\nend-qos-ulps");
  EXPECT_FALSE(two.policy.is_empty());
  EXPECT_EQ(two.sl({}), 2);
}

constexpr std::string_view kAdvanced = R"(
port-groups
    port-group
        name: Storage
        port-guid: 0x10-0x1f, 0x50
    end-port-group
    port-group
        name: Virtual Servers
        port-name: "vs1 HCA-1/P1, vs2 HCA-1/P1"
    end-port-group
    port-group
        name: Tenants
        partition: red
        pkey: 0x1234
    end-port-group
    port-group
        name: Routers and SM
        node-type: ROUTER, SELF
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: Gold
        sl: 1
        mtu-limit: 4
        rate-limit: 5
        packet-life: 8
        pkey: 0x1234
    end-qos-level
    qos-level
        name: Silver
        sl: 2
    end-qos-level
    qos-level
        name: Bronze
        sl: 3
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 7-9,11
        qos-level-name: Gold
    end-qos-match-rule
    qos-match-rule
        destination: Storage
        service-id: 0x10000-0x1ffff
        qos-level-name: Silver
    end-qos-match-rule
    qos-match-rule
        source: Virtual Servers, Tenants
        qos-level-name: Bronze
    end-qos-match-rule
    qos-match-rule
        source: Routers and SM
        pkey: 0x0f00-0x0fff
        qos-level-name: Silver
    end-qos-match-rule
end-qos-match-rules
qos-ulps
    sdp : 9
end-qos-ulps
)";

Partitions with_red() {
  Partitions partitions = open_partitions();
  partitions.all.push_back({});
  partitions.all.back().name = "red";
  partitions.all.back().p_key = 0x0666;
  return partitions;
}

TEST(QosPolicy, ARuleMatchesWhenAllOfItsCriteriaDo) {
  const Case c(kAdvanced, with_red());
  EXPECT_THAT(c.warnings, IsEmpty());
  EXPECT_EQ(c.sl(qos_class(7)), 1);
  EXPECT_EQ(c.sl(qos_class(10)), 0);
  EXPECT_EQ(c.sl(qos_class(11)), 1);
  EXPECT_EQ(c.sl(service(0x10500), port(1), port(0x15)), 2);
  EXPECT_EQ(c.sl(service(0x10500), port(1), port(0x50)), 2);
  EXPECT_EQ(c.sl(service(0x10500), port(0x15), port(1)), 9) << "the rule is for destinations";
  EXPECT_EQ(c.sl(service(0x20500), port(1), port(0x15)), 0);
}

TEST(QosPolicy, GroupsAreOfGuidsNamesPartitionsAndKinds) {
  const Case c(kAdvanced, with_red());
  EndPortFacts server = port(1);
  server.node_description = "vs2 HCA-1";
  EXPECT_EQ(c.sl({}, server), 3);
  server.port = 2;
  EXPECT_EQ(c.sl({}, server), 0) << "another port of the node";
  EXPECT_EQ(c.sl({}, port(1), {}, {0x7FFF, 0x0666}), 3) << "a member of the partition";
  EXPECT_EQ(c.sl({}, port(1), {}, {0x7FFF, 0x1234}), 3) << "a P_Key";
  EXPECT_EQ(c.sl(key(0x0F10), port(1, EndPortKind::Router)), 2);
  EXPECT_EQ(c.sl(key(0x0F10), port(1, EndPortKind::Switch)), 0);
  EndPortFacts manager = port(1);
  manager.is_sm = true;
  EXPECT_EQ(c.sl(key(0x0FFF), manager), 2);
}

TEST(QosPolicy, AGrantHasTheBoundsOfItsLevelAndSaysWhichRuleGaveIt) {
  const Case c(kAdvanced, with_red());
  const auto* gold =
      c.policy.match(qos_class(8), c.policy.rules_of({}, {}), c.policy.rules_of({}, {}));
  ASSERT_NE(gold, nullptr);
  EXPECT_EQ(gold->mtu_limit, 4);
  EXPECT_EQ(gold->rate_limit, 5);
  EXPECT_EQ(gold->packet_life, 8);
  EXPECT_THAT(gold->p_keys, ElementsAre(Interval<std::uint16_t>{0x1234, 0x1234}));
  EXPECT_EQ(gold->rule, "q:44 (level 'Gold')");
  EXPECT_FALSE(gold->is_default);
  const auto* none = c.policy.match({}, c.policy.rules_of({}, {}), c.policy.rules_of({}, {}));
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(none->is_default);
}

TEST(QosPolicy, WhatTheFilesDoNotAgreeOnIsAWarning) {
  const Case c(kAdvanced);
  ASSERT_EQ(c.warnings.size(), 1U);
  EXPECT_THAT(to_string(c.warnings[0]),
              HasSubstr("port group 'Tenants' names the partition 'red'"));
  const Case ipoib("qos-ulps\ndefault : 0\nipoib, pkey 0x8001 : 1\nend-qos-ulps");
  ASSERT_EQ(ipoib.warnings.size(), 1U);
  EXPECT_THAT(to_string(ipoib.warnings[0]),
              HasSubstr("q:3:1: warning: no partition has P_Key 0x0001"));
}

/// What the rules mean, one after the other.
const UlpRule* by_the_book(const QosFile& file, const QosRequest& request, std::uint64_t from,
                           std::uint64_t to) {
  for (const UlpRule& rule : file.ulps) {
    if (rule.sources && !contains(*rule.sources, from)) continue;
    if (rule.targets && !contains(*rule.targets, to)) continue;
    if (!rule.service_ids.empty() &&
        !(request.service_id && contains(rule.service_ids, *request.service_id)))
      continue;
    if (!rule.p_keys.empty() && !(request.p_key && contains(rule.p_keys, *request.p_key))) continue;
    return &rule;
  }
  return nullptr;
}

TEST(QosPolicy, FindsWhatTryingRuleAfterRuleFinds) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 dice(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(dice() % n); };
    const auto range = [&](unsigned most) {
      const unsigned first = below(most);
      return std::to_string(first) + "-" + std::to_string(first + below(most / 4 + 1));
    };
    std::string text = "qos-ulps\ndefault : 15\n";
    const unsigned rules = 1 + below(150);
    for (unsigned i = 0; i < rules; ++i) {
      static constexpr const char* kWords[] = {"service-id ", "pkey ", "target-port-guid ",
                                               "source-port-guid ", "source-target-port-guid "};
      const unsigned kind = below(5);
      text += "any, " + std::string(kWords[kind]) + range(kind == 1 ? 60 : 200) + "," +
              range(kind == 1 ? 60 : 200) + " : " + std::to_string(i % 15) + "\n";
    }
    const Case c(text + "end-qos-ulps\n");
    for (unsigned i = 0; i < 200; ++i) {
      QosRequest request;
      if (below(2) != 0) request.service_id = below(260);
      if (below(2) != 0) request.p_key = static_cast<std::uint16_t>(below(80));
      const std::uint64_t from = below(260), to = below(260);
      const UlpRule* rule = by_the_book(c.file, request, from, to);
      ASSERT_EQ(c.sl(request, port(from), port(to)), rule == nullptr ? 15 : rule->sl)
          << "seed " << seed << "\n"
          << text;
    }
  }
}

TEST(QosPolicy, ARangeOfAllGuidsAndItsLastAreFound) {
  const Case c(
      "qos-ulps\ndefault : 0\nany, target-port-guid 0xffffffffffffffff : 2\n"
      "any, target-port-guid 0x0-0xffffffffffffffff : 3\nend-qos-ulps");
  EXPECT_EQ(c.sl({}, port(1), port(0)), 3);
  EXPECT_EQ(c.sl({}, port(1), port(~std::uint64_t{0} - 1)), 3);
  EXPECT_EQ(c.sl({}, port(1), port(~std::uint64_t{0})), 2);
}

}  // namespace
}  // namespace sm::policy
