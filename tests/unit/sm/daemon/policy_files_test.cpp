// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Files that the options name (partitions, QoS, rates, routes, node names): what is wrong with them
// is said, and what they mean together.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

TEST_F(OptionsFile, ACheckSaysTheWarningsOfThePolicyFilesAndThatTheyAreThere) {
  const std::string partitions = write("partitions", "one : ALL ;\n");
  testing::internal::CaptureStderr();
  const Command command = read({"--check-config", "-P", partitions.c_str()});
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(std::holds_alternative<int>(command));
  EXPECT_EQ(std::get<int>(command), 1);
  EXPECT_NE(said.find(partitions + ":1:1: warning: 'one' has no P_Key"), std::string::npos) << said;
}

TEST_F(OptionsFile, WhatIsWrongWithAnyOfTheFilesIsSaidAtOnce) {
  const std::string partitions = write("partitions", "one=0x1 : ALL=fall ;\n");
  const std::string names = write("names", "0x1 \"one\"\nhost \"a\"\n0x2 b\n");
  const std::string routes = write("routes", "* *\nnowhere *\n");
  const std::string said =
      all_of_refusal({"--check-config", "-P", partitions.c_str(), "--node_name_map", names.c_str(),
                      "--prefix_routes_file", routes.c_str()});
  for (const std::string& part :
       {routes + ":2:1: error: expected a subnet prefix",
        names + ":2:1: error: expected a node GUID",
        names + ":3:5: error: expected a name in quotes, got 'b'\nibsm:   0x2 b\nibsm:       ^",
        partitions + ":1:15: error: "})
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
}

/// As some editors write it, before every file of the operator's.
TEST_F(OptionsFile, AByteOrderMarkIsPassedOver) {
  const std::string mark = "\xEF\xBB\xBF";
  const auto marked = [&](const char* name, const std::string& text) {
    return write(name, (mark + text).c_str());
  };
  const std::string partitions = marked("p", "red=0x1 : 0x7 ;\n");
  const std::string qos = marked("q", "qos-ulps\ndefault : 1\nend-qos-ulps\n");
  const std::string rates = marked("r", "BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 1:slow\n");
  const std::string routes = marked("routes", "1 2\n");
  const std::string names = marked("names", "0x1 \"one\"\n");
  const std::string roots = marked("roots", "0x5\n");
  const std::string conf = marked(
      "conf", "qos TRUE\nenhanced_qos_policy_file " + rates + "\nroot_guid_file " + roots + "\n");
  const auto options = std::get<DaemonOptions>(
      read({"-F", conf.c_str(), "-P", partitions.c_str(), "-Y", qos.c_str(), "--prefix_routes_file",
            routes.c_str(), "--node_name_map", names.c_str()}));
  EXPECT_EQ(options.good_files.size(), 6U);
  EXPECT_EQ(options.core.plan.choice.engine.roots.entries.size(), 1U);
}

TEST_F(OptionsFile, AMemberThatCannotBeBothIsWarnedOf) {
  const std::string partitions = write("p", "red=0x1, defmember=both : 0x7, 0x8 ;\n");
  const auto warnings = std::get<DaemonOptions>(read({"-P", partitions.c_str()})).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], partitions +
                             ":1:27: warning: members that are both get the full P_Key alone, "
                             "since allow_both_pkeys (-W) is off\n"
                             "  red=0x1, defmember=both : 0x7, 0x8 ;\n"
                             "                            ^");
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-P", partitions.c_str(), "-W"})).warnings.empty());
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-W"})).partitions.policy->allow_both);
}

TEST_F(OptionsFile, AnEmptyPartitionFileIsOneAndIsWarnedOf) {
  const std::string partitions = write("p", "# nothing\n");
  const auto options = std::get<DaemonOptions>(read({"-P", partitions.c_str()}));
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("this file defines no partition"), std::string::npos);
  EXPECT_TRUE(options.partitions.policy->from_file);
}

TEST_F(OptionsFile, AFileOfPortGroupsNeedsNoLevel) {
  const std::string groups = write("groups",
                                   "port-groups\nport-group\nname: g\nport-guid: 0x5\n"
                                   "end-port-group\nend-port-groups\n");
  const std::string partitions = write("p", "red=0x1 : g ;\n");
  const std::string conf = write("conf", ("pgrp_policy_file " + groups + "\n").c_str());
  const auto options =
      std::get<DaemonOptions>(read({"-F", conf.c_str(), "-P", partitions.c_str()}));
  EXPECT_EQ(options.partitions.policy->port_groups.size(), 1U);
}

TEST_F(OptionsFile, APolicyOfPortGroupsByRulesIsForPartitions) {
  const std::string groups = write("groups",
                                   "port-group\nname: g\nport-regexp: ^node\nend-port-group\n"
                                   "port-group\nname: h\nunion-rule: g, ALL_ANS\n"
                                   "end-port-group\n");
  const std::string partitions = write("p", "red=0x1 : h, ALL_ANS=full ;\n");
  const std::string conf = write("conf", ("pgrp_policy_file " + groups + "\n").c_str());
  const auto options =
      std::get<DaemonOptions>(read({"-F", conf.c_str(), "-P", partitions.c_str()}));
  EXPECT_EQ(options.core.plan.choice.engine.chain, nullptr);
  std::vector<policy::EndPortFacts> ports(2);
  ports[0].guid = ib::Guid{5}, ports[0].node_description = "node1 HCA-1", ports[0].port = 1;
  ports[1].guid = ib::Guid{6}, ports[1].node_description = "gate1 HCA-1", ports[1].port = 1;
  const auto keys = options.partitions.policy->keys_of(ports);
  EXPECT_EQ(keys[0].size(), 2U);
  EXPECT_EQ(keys[1].size(), 1U);
  write("groups", "port-group\nname: g\nport-regexp: (\nend-port-group\n");
  EXPECT_EQ(refusal({"-F", conf.c_str(), "-P", partitions.c_str()}),
            "ibsm: cannot use the port groups of " + groups);
}

TEST_F(OptionsFile, AnSlOfAPartitionCountsWithQosAndThatItDoesNotIsSaid) {
  const std::string file = write("partitions", "red=0x1, ipoib, sl=3 : ALL=full ;\n");
  const auto sl_of = [](const DaemonOptions& options) {
    return options.core.plan.partitions->partitions.all[1].sl;
  };
  const auto without = std::get<DaemonOptions>(read({"-P", file.c_str()}));
  EXPECT_EQ(sl_of(without), std::nullopt);
  EXPECT_EQ(without.core.plan.partitions->partitions.all[1].groups.at(0).sl, 0);
  EXPECT_NE(std::find(without.notes.begin(), without.notes.end(),
                      file + ":1: sl= of partition 'red' has no effect without -Q (qos TRUE)"),
            without.notes.end());
  const auto with = std::get<DaemonOptions>(read({"-P", file.c_str(), "-Q"}));
  EXPECT_EQ(sl_of(with), ib::Sl{3});
  EXPECT_EQ(with.core.plan.partitions->partitions.all[1].groups.at(0).sl, 3);
}

TEST_F(OptionsFile, ALevelWhoseSlTheMappingDropsIsWarnedOf) {
  const std::string policy = write("policy", "qos-ulps\n default : 0\n sdp : 3\nend-qos-ulps\n");
  const std::string file = write("f", "qos TRUE\nqos_sl2vl 0,1,2,15,0,0,0,0,0,0,0,0,0,0,0,0\n");
  const auto options = std::get<DaemonOptions>(read({"-F", file.c_str(), "-Y", policy.c_str()}));
  ASSERT_EQ(options.dropped_levels.size(), 1U);
  EXPECT_EQ(options.dropped_levels[0].sl, ib::Sl{3});
  EXPECT_EQ(options.warnings, std::vector<std::string>{to_string(options.dropped_levels[0])});
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-Y", policy.c_str()})).dropped_levels.empty());
}

TEST_F(OptionsFile, GeneratedKeysOfTheStoreStandAboveThoseOfTheFile) {
  const std::string file = write("partitions", "one : ALL ;\ntwo : ALL ;\n");
  write("partition-keys", "0x0007 one\n");
  const auto options = std::get<DaemonOptions>(read({"-P", file.c_str()}));
  const policy::GeneratedKeys read_keys{{"one", 7}, {"two", 1}};
  EXPECT_EQ(options.partitions.keys, read_keys);
  const auto& files = options.partition_files;
  EXPECT_EQ(with_kept_keys(options.partitions, files, {})->keys, read_keys);
  const auto kept = with_kept_keys(options.partitions, files, {{"one", 1}, {"gone", 2}});
  EXPECT_EQ(kept->keys, (policy::GeneratedKeys{{"gone", 2}, {"one", 1}, {"two", 3}}));
  EXPECT_EQ(kept->policy->partitions.all[2].p_key, 3);
  policy::GeneratedKeys known{{"one", 1}};
  const auto batch = keys_to_keep(*kept, known);
  EXPECT_EQ(batch.generated_p_keys, (std::vector<store::GeneratedPKey>{{"gone", 2}, {"two", 3}}));
  EXPECT_EQ(known, kept->keys);
  EXPECT_TRUE(keys_to_keep(*kept, known).empty());
}

TEST_F(OptionsFile, OfKeysThatWereCutShortTheBackupBeforeCounts) {
  const std::string file = write("partitions", "one : ALL ;\n");
  write("partition-keys.1", "0x0007 one\n");
  EXPECT_EQ(std::get<DaemonOptions>(read({"-P", file.c_str()})).partitions.keys.at("one"), 7);
}

}  // namespace
}  // namespace sm::daemon
