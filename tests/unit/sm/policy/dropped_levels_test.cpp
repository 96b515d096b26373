// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/dropped_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/set_of.h"

namespace sm::policy {
namespace {

using test::set_of;
using testing::ElementsAre;

class DroppedLevels : public testing::Test {
 protected:
  std::vector<std::string> lines() {
    const auto file =
        read_qos_file("qos-ulps\n default : 2\n sdp : 3\n rds : 4\nend-qos-ulps\n", "policy");
    std::vector<ib::Diagnostic> diagnostics = file.diagnostics;
    partitions_.all[0].sl = ib::Sl{5};
    partitions_.all[0].name = "all";
    const QosPolicy rules(file, "policy", partitions_, diagnostics);
    std::vector<std::string> out;
    for (const auto& level : dropped_levels(&rules, partitions_, all_settings(sets_)))
      out.push_back(to_string(level));
    return out;
  }
  QosSets sets_;
  Partitions partitions_ = open_partitions();
};

constexpr const char* kWhatFollows =
    ", so its packets are dropped and requests for its paths get no record";

TEST_F(DroppedLevels, NothingIsDroppedByWhatIsBuiltIn) { EXPECT_THAT(lines(), ElementsAre()); }

TEST_F(DroppedLevels, RulesDefaultAndPartitionsAreNamedWithWhereTheirSlIsDropped) {
  set_of(sets_, QosKind::General).sl_to_vl = {0, 1, 15, 3, 4, 15};
  set_of(sets_, QosKind::SwitchToSwitch).sl_to_vl = {0, 1, 2, 15, 4, 5};
  EXPECT_THAT(
      lines(),
      ElementsAre("policy:3 (sdp : 3): SL 3 is mapped to VL 15 at ports between switches" +
                      std::string(kWhatFollows),
                  "policy (default): SL 2 is mapped to VL 15 at CAs, routers, port 0 of switches, "
                  "ports of switches to hosts" +
                      std::string(kWhatFollows),
                  "partition 'all': SL 5 is mapped to VL 15 at CAs, routers, port 0 of switches, "
                  "ports of switches to hosts" +
                      std::string(kWhatFollows)));
  set_of(sets_, QosKind::SwitchToSwitch).sl_to_vl = {};
  EXPECT_THAT(lines()[0],
              "policy (default): SL 2 is mapped to VL 15 at all ports" + std::string(kWhatFollows));
}

}  // namespace
}  // namespace sm::policy
