// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> said(const QosFile& file) {
  std::vector<std::string> lines;
  lines.reserve(file.diagnostics.size());
  for (const auto& d : file.diagnostics) lines.push_back(to_string(d));
  return lines;
}
std::vector<std::string> qos_complaints(std::string_view text) {
  return said(read_qos_file(text, "q"));
}
template <class T>
Interval<T> one(T first, T last) {
  return {first, last};
}

// The example of the managers document, as printed.
constexpr std::string_view kManualExample = R"(
port-groups

    port-group # using port GUIDs
        name: Storage
        # "use" is just a description that is used for logging
        use: SRP Targets
        port-guid: 0x10000000000001, 0x10000000000005-0x1000000000FFFA
        port-guid: 0x1000000000FFFF
    end-port-group

    port-group
        name: Virtual Servers
        port-name: “vs1 HCA-1/P1, vs2 HCA-1/P1”
    end-port-group

    port-group
        name: Partitions
        partition: Part1
        pkey: 0x1234
    end-port-group

    port-group
        name: CAs and SM
        node-type: CA, SELF
    end-port-group

end-port-groups

qos-setup
    # nothing
end-qos-setup

qos-levels
    qos-level
        name: DEFAULT
        use: default QoS Level
        sl: 0
    end-qos-level
    qos-level
        name: WholeSet
        sl: 1
        mtu-limit: 4
        rate-limit: 5
        pkey: 0x1234
        packet-life: 8
    end-qos-level
end-qos-levels

qos-match-rules
    qos-match-rule
        use: by QoS class
        qos-class: 7-9,11
        qos-level-name: WholeSet
    end-qos-match-rule
    qos-match-rule
        use: Storage targets
        destination: Storage
        service-id: 0x10000000000001, 0x10000000000008-0x10000000000FFF
        qos-level-name: WholeSet
    end-qos-match-rule
    qos-match-rule
        source: Storage
        use: match by source group only
        qos-level-name: DEFAULT
    end-qos-match-rule
    qos-match-rule
        use: match by all parameters
        qos-class: 7-9,11
        source: Virtual Servers
        destination: Storage
        service-id: 0x0000000000010000-0x000000000001FFFF
        pkey: 0x0F00-0x0FFF
        qos-level-name: WholeSet
    end-qos-match-rule
end-qos-match-rules
)";

TEST(QosFile, ReadsTheExampleOfTheManagersDocument) {
  const auto file = read_qos_file(kManualExample, "q");
  EXPECT_THAT(said(file), IsEmpty());
  ASSERT_EQ(file.groups.size(), 4U);
  EXPECT_THAT(file.groups[0].guids,
              ElementsAre(one<std::uint64_t>(0x10000000000001, 0x10000000000001),
                          one<std::uint64_t>(0x10000000000005, 0x1000000000FFFA),
                          one<std::uint64_t>(0x1000000000FFFF, 0x1000000000FFFF)));
  EXPECT_THAT(file.groups[1].ports,
              ElementsAre(NamedPort{"vs1 HCA-1", 1}, NamedPort{"vs2 HCA-1", 1}));
  EXPECT_THAT(file.groups[2].partitions, ElementsAre("Part1"));
  EXPECT_TRUE(file.groups[3].cas);
  EXPECT_TRUE(file.groups[3].self);
  EXPECT_FALSE(file.groups[3].switches);
  ASSERT_EQ(file.levels.size(), 2U);
  EXPECT_EQ(file.levels[1].rate_limit, 5);
  ASSERT_EQ(file.rules.size(), 4U);
  EXPECT_THAT(file.rules[3].qos_classes,
              ElementsAre(one<std::uint16_t>(7, 9), one<std::uint16_t>(11, 11)));
  EXPECT_THAT(file.rules[3].sources, ElementsAre("Virtual Servers"));
  EXPECT_NE(file.find_level("default"), nullptr);
}

// The example of all keywords, whose line ends the printed document lost.
constexpr std::string_view kUlpExample = R"(qos-ulps
    default                      :0 # default SL
    sdp, port-num 30000          :0 # SL for application running on top of SDP
    sdp, port-num 10000-20000    : 0
    sdp                          :1 # default SL for any other application on top of SDP
    rds                          :2 # SL for RDS traffic
    ipoib, pkey 0x0001           :0
    ipoib                        :4 # default IPoIB partition, pkey=0x7FFF
    any, service-id 0x6234       :6
    any, pkey 0x0ABC             :6
    srp, target-port-guid 0x1234 : 5
    any, target-port-guid 0x0ABC-0xFFFFF : 6
end-qos-ulps
)";

TEST(QosFile, ReadsEveryKeywordOfTheSimpleSection) {
  const auto file = read_qos_file(kUlpExample, "q");
  EXPECT_THAT(said(file), IsEmpty());
  EXPECT_EQ(file.default_sl, 0);
  ASSERT_EQ(file.ulps.size(), 10U);
  EXPECT_THAT(file.ulps[0].service_ids,
              ElementsAre(one<std::uint64_t>(0x10000 + 30000, 0x10000 + 30000)));
  EXPECT_THAT(file.ulps[2].service_ids, ElementsAre(one<std::uint64_t>(0x10000, 0x1FFFF)));
  EXPECT_THAT(file.ulps[3].service_ids, ElementsAre(one<std::uint64_t>(0x10648CA, 0x10648CA)));
  EXPECT_TRUE(file.ulps[4].ipoib);
  EXPECT_THAT(file.ulps[5].p_keys, ElementsAre(one<std::uint16_t>(0x7FFF, 0x7FFF)));
  EXPECT_THAT(*file.ulps[8].targets, ElementsAre(one<std::uint64_t>(0x1234, 0x1234)));
  EXPECT_EQ(file.ulps[9].sl, 6);
}

TEST(QosFile, ARangeOfAllNumbersIsOneInterval) {
  const auto file = read_qos_file(
      "qos-ulps\ndefault : 0\nany, target-port-guid 0x0-0xffffffffffffffff : 3\nend-qos-ulps", "q");
  EXPECT_THAT(said(file), IsEmpty());
  EXPECT_THAT(*file.ulps[0].targets, ElementsAre(one<std::uint64_t>(0, ~std::uint64_t{0})));
}

TEST(QosFile, ATargetRuleBeforeOthersIsWarnedOf) {
  EXPECT_THAT(
      qos_complaints("qos-ulps\ndefault : 0\nsrp, target-port-guid 0x1 : 5\nsdp : 1\nend-qos-ulps"),
      ElementsAre("q:3:1: warning: this rule matches every application's requests for its "
                  "ports and so hides later rules from them ('sdp : 1' in line 4); put it "
                  "last"));
}

TEST(QosFile, LinesOfQosSetupHaveNoEffectAndThatIsSaid) {
  EXPECT_THAT(
      qos_complaints("qos-setup\nvlarb-tables\nend-vlarb-tables\nend-qos-setup"),
      ElementsAre(testing::StartsWith("q:1:1: warning: qos-setup is read and has no effect")));
}

TEST(QosFile, TheLevelDefaultHoldsBeforeTheDefaultLine) {
  const auto lines = qos_complaints(
      "qos-levels\nqos-level\nname: default\nsl: "
      "2\nend-qos-level\nend-qos-levels\nqos-ulps\ndefault : "
      "1\nend-qos-ulps");
  EXPECT_THAT(lines,
              ElementsAre("q:2:1: warning: the level DEFAULT holds; 'default :' in qos-ulps is "
                          "never used"));
}

class QosFileError : public testing::TestWithParam<Broken> {};
TEST_P(QosFileError, IsNamedWithItsPlace) {
  EXPECT_THAT(qos_complaints(GetParam().text), testing::Contains(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Each, QosFileError,
    testing::Values(
        Broken{"qos-ulp\n",
               "q:1:1: error: expected a section (qos-ulps, port-groups, qos-setup, qos-levels, "
               "qos-match-rules), got 'qos-ulp'; did you mean 'qos-ulps'?"},
        Broken{"qos-ulps\nsdp : 1\n",
               "q:2:1: error: 'qos-ulps' of line 1 is not closed: expected 'end-qos-ulps' before "
               "the end of the file"},
        Broken{"qos-ulps\nsdp : 16\nend-qos-ulps",
               "q:2:7: error: expected an SL from 0 to 15, got '16'"},
        Broken{"qos-ulps\nsdp\nend-qos-ulps",
               "q:2:1: error: expected ': SL' at the end of this rule"},
        Broken{"qos-ulps\nspd : 1\nend-qos-ulps",
               "q:2:1: error: unknown application 'spd'; there are default, sdp, rds, iser, ipoib, "
               "srp, any; did you mean 'sdp'?"},
        Broken{"qos-ulps\nsdp, pkey 1 : 1\nend-qos-ulps",
               "q:2:6: error: expected port-num after 'sdp,', got 'pkey'"},
        Broken{"qos-ulps\nany : 1\nend-qos-ulps",
               "q:2:1: error: 'any' needs service-id or pkey or target-port-guid or "
               "source-port-guid or source-target-port-guid"},
        Broken{"qos-ulps\nsdp : 1\nend-qos-ulps",
               "q:3:1: error: there is no default: add a qos-level named DEFAULT, or 'default : "
               "SL' in qos-ulps"},
        Broken{"port-groups\nport-group\nname: A\nport-guid: 0x1, "
               "0xg\nend-port-group\nend-port-groups",
               "q:4:17: error: expected a port GUID, got '0xg'"},
        Broken{"port-groups\nport-group\nname: A\nnode-type: CAA\nend-port-group\nend-port-groups",
               "q:4:12: error: unknown node type 'CAA'; did you mean 'CA'?"},
        Broken{"port-groups\nport-group\nname: A\nport-name: x/1\nend-port-group\nend-port-groups",
               "q:4:12: error: expected a port like \"node description/P1\", got 'x/1'"},
        Broken{"port-groups\nport-group\nnam: A\nend-port-group\nend-port-groups",
               "q:3:1: error: unknown word 'nam'; here are name, use, port-guid, port-name, "
               "partition, pkey, node-type; did you mean 'name'?"},
        Broken{"port-groups\nport-group\nname: A\nname: B\nend-port-group\nend-port-groups",
               "q:4:1: error: duplicate 'name' (first in line 3)"},
        Broken{"qos-levels\nqos-level\nname: A\nend-qos-level\nend-qos-levels",
               "q:2:1: error: QoS level 'A' has no sl"},
        Broken{"qos-match-rules\nqos-match-rule\nqos-level-name: "
               "Gold\nend-qos-match-rule\nend-qos-match-rules",
               "q:2:1: error: this rule names the QoS level 'Gold', which is not defined"},
        Broken{"qos-match-rules\nqos-match-rule\nsource: S\nqos-level-name: "
               "DEFAULT\nend-qos-match-rule\nend-qos-match-rules",
               "q:2:1: error: this rule names the port group 'S', which is not defined"}));

}  // namespace
}  // namespace sm::policy
