// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/host_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/sa/subnet.h"

namespace sm::daemon {
namespace {

using ib::Sl;
using testing::ElementsAre;
using testing::IsEmpty;

class HostLevels : public testing::Test {
 protected:
  HostLevels() {
    const auto file = policy::read_qos_file(
        "qos-ulps\n default : 0\n sdp : 2\n rds : 4\nend-qos-ulps\n", "policy");
    std::vector<ib::Diagnostic> diagnostics = file.diagnostics;
    rules_ =
        std::make_unique<policy::QosPolicy>(file, "policy", policy::open_partitions(), diagnostics);
  }
  void host_drops(std::size_t host, std::uint16_t sls) {
    subnet_->dropped_by_hosts[sa::test::hosts_of(subnet_->fabric())[host]] = sls;
  }
  std::vector<std::string> lines(const policy::QosPolicy* rules) const {
    std::vector<std::string> out;
    for (const auto& level : levels_dropped_by_hosts(rules, *subnet_))
      out.push_back(line_of(level));
    return out;
  }

  std::shared_ptr<Snapshot> subnet_ = sa::test::snapshot_of(sa::test::small_tree());
  std::unique_ptr<policy::QosPolicy> rules_;
};

constexpr const char* kAt =
    " is dropped at \"host0001 HCA-1\" port 1, by the SLtoVLMappingTable that is kept there, and "
    "requests for such paths get no record";

TEST_F(HostLevels, ALevelIsNamedWithTheFirstHostThatDropsIt) {
  EXPECT_THAT(lines(rules_.get()), IsEmpty());
  host_drops(0, 1U << 2 | 1U << 7);
  EXPECT_THAT(lines(rules_.get()), ElementsAre("policy:3 (sdp : 2): SL 2" + std::string(kAt)));
  host_drops(1, 1U << 2);
  host_drops(2, 1U << 2);
  EXPECT_THAT(lines(rules_.get()),
              ElementsAre(testing::HasSubstr("\"host0001 HCA-1\" port 1 and 2 other ports, by")));
}

TEST_F(HostLevels, WithoutAPolicyPathsWithoutALevelAre) {
  host_drops(0, 1U << 0);
  EXPECT_THAT(lines(nullptr),
              ElementsAre("paths without a level of service: SL 0" + std::string(kAt)));
}

TEST_F(HostLevels, OnRoutesOfSeveralVlsALevelHasTheSlsOfItsLayers) {
  Routing routing = *subnet_->routing;
  routing.virtual_lanes.levels.set(Sl{2}, Sl{0}, Sl{2});
  routing.virtual_lanes.levels.set(Sl{2}, Sl{1}, Sl{5});
  subnet_->routing = std::make_shared<Routing>(routing);
  host_drops(0, 1U << 5);
  EXPECT_THAT(lines(rules_.get()), ElementsAre("policy:3 (sdp : 2): SL 2" + std::string(kAt)));
}

}  // namespace
}  // namespace sm::daemon
