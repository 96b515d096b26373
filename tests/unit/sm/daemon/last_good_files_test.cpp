// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The last good copy of a policy file, which stands in at a start for one that cannot be used.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sm/daemon/default_paths.h"
#include "sm/daemon/last_good.h"
#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

/// As the daemon does when they are in force.
void keep(const DaemonOptions& options) {
  for (const GoodFile& file : options.good_files) ASSERT_TRUE(keep_good(file, options.state_dir));
}

TEST_F(OptionsFile, ALastGoodCopyStandsInForEachBrokenPolicyFileAtAStart) {
  const char* good_qos =
      "port-groups\nport-group\nname: g\nport-guid: 0x5\nend-port-group\n"
      "end-port-groups\nqos-ulps\ndefault : 1\nend-qos-ulps\n";
  const std::string partitions = write("p", "red=0x1 : g, 0x7 ;\n");
  const std::string qos = write("q", good_qos);
  const std::string rates = write("r", "BW_NAMES\nslow = 1000\nBW_RULES\ndefault = 1:slow\n");
  const std::string routes = write("routes", "* *\n1 2");
  const std::string names = write("names", "0x1 \"one\"\n");
  const std::string roots = write("roots", "0x5\n");
  const std::string congestion = write("cc", "threshold 9\n");
  const std::string adaptive = write("ar", "AR_MODE: free;\n");
  const std::string conf =
      write("conf", ("qos TRUE\nenhanced_qos_policy_file " + rates + "\nroot_guid_file " + roots +
                     "\nevent_plugin_name ccmgr armgr\nevent_plugin_options "
                     "ccmgr --conf_file " +
                     congestion + " armgr --conf_file " + adaptive + "\n")
                        .c_str());
  const auto start = [&] {
    return read({"-F", conf.c_str(), "-P", partitions.c_str(), "-Y", qos.c_str(),
                 "--prefix_routes_file", routes.c_str(), "--node_name_map", names.c_str()});
  };
  const auto first = std::get<DaemonOptions>(start());
  EXPECT_EQ(first.good_files.size(), 8U);
  EXPECT_EQ(first.trouble(), "");
  keep(first);
  for (const char* name : {"p", "q", "r", "routes", "names", "roots", "ar"}) write(name, "]\n");
  write("cc", "threshold 77\n");
  const auto second = std::get<DaemonOptions>(start());
  EXPECT_EQ(second.file_troubles.size(), 8U);
  EXPECT_TRUE(second.good_files.empty());
  for (const std::string& file :
       {partitions, qos, rates, routes, names, roots, congestion, adaptive})
    EXPECT_NE(second.trouble().find("the last copy of " + file + " that could be used is in force"),
              std::string::npos)
        << file << '\n'
        << second.trouble();
  ASSERT_EQ(second.partitions.policy->partitions.all.size(), 2U);
  EXPECT_EQ(second.partitions.policy->port_groups.size(), 1U);
  EXPECT_NE(second.sa.server.qos, nullptr);
  EXPECT_NE(second.core.plan.rates, nullptr);
  EXPECT_EQ(second.sa.server.policy.prefix_routes.size(), 2U);
  EXPECT_EQ(second.core.node_names->find(ib::Guid{1}), "one");
  EXPECT_EQ(second.core.plan.choice.engine.roots.entries.size(), 1U);
  EXPECT_EQ(second.congestion, first.congestion);
  EXPECT_NE(second.congestion, policy::CongestionSettings{});
  EXPECT_EQ(*second.core.plan.adaptive, *first.core.plan.adaptive);
  // All of it, until it is mended, is refused by a reload.
  EXPECT_FALSE(second.read_again());
}

TEST_F(OptionsFile, ALastGoodCopyStandsInForNoOtherFile) {
  const std::string a = write("a", "red=0x1 : 0x7 ;\n"), b = write("b", "red=0x1 : 0x7\n0x8 ; ,\n");
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  const std::string said = all_of_refusal({"-P", b.c_str()});
  EXPECT_NE(said.find("the last file that could be used was another one, " + a), std::string::npos)
      << said;
  // It is a typo at least, whatever there was.
  write("a", "red=0x1 : 0x7\n0x8 ; ,\n");
  EXPECT_TRUE(std::holds_alternative<DaemonOptions>(read({"-P", a.c_str()})));
  std::filesystem::remove(a);
  EXPECT_EQ(refusal({"-P", a.c_str()}), "ibsm: " + a + ": No such file or directory");
}

TEST_F(OptionsFile, PartitionsThatWereThereBeforeAndAreGoneAreWarnedOf) {
  const std::string a = write("a", "red=0x1 : 0x7 ;\n");
  EXPECT_TRUE(std::get<DaemonOptions>(read({})).warnings.empty());
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  const auto warnings = std::get<DaemonOptions>(read({})).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0],
            "partitions: no partition file is there or named, and that of " + a +
                " was in force before: everybody is a full member of the default partition now; "
                "put it back, or remove " +
                path("partitions.conf.last") + " where this is meant");
}

TEST_F(OptionsFile, ALinkThatLeadsNowhereIsAFileThatCannotBeRead) {
  std::filesystem::create_symlink(path("nowhere"), path("link"));
  EXPECT_EQ(first_there({path("a"), path("link")}), path("link"));
  DefaultPaths paths;
  paths.partitions = {path("link")};
  config::Configuration configuration;
  configuration.settings.state_dir = dir_;
  fill_in(paths, configuration.settings);
  const auto refused = daemon_options(configuration);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(path("link")), std::string::npos);
  // The last good copy of it stands in.
  ASSERT_TRUE(keep_good({&kPartitionFile, path("link"), "red=0x1 : 0x7 ;\n"}, dir_));
  const auto options = daemon_options(configuration);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->partitions.policy->partitions.all.size(), 2U);
  EXPECT_NE(options->trouble(), "");
}

/// The one before it may have members that were taken away since.
TEST_F(OptionsFile, ACopyThatWasCutShortIsNoneAndNoOlderOneCounts) {
  const std::string a = write("a", "red=0x1 : 0x7 ;");
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  write("a", "red=0x1 : 0x7, 0x8 ;\n");
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  EXPECT_EQ(last_good(kPartitionFile, dir_)->text, "red=0x1 : 0x7, 0x8 ;\n");
  write("a", "red=0x1 : 0x7 0x8 ;\n");
  EXPECT_TRUE(std::holds_alternative<DaemonOptions>(read({"-P", a.c_str()})));
  // As an ibsm of before kept it.
  write("partitions.conf.last.1",
        ("red=0x1 : 0x7, 0x9 ;\n# last good copy of " + a + "\n").c_str());
  write("partitions.conf.last", "red=0x1 : 0x7, ");
  EXPECT_FALSE(last_good(kPartitionFile, dir_));
  EXPECT_FALSE(std::holds_alternative<DaemonOptions>(read({"-P", a.c_str()})));
  write("partitions.conf.last", "\n");
  EXPECT_FALSE(last_good(kPartitionFile, dir_));
  std::filesystem::remove(dir_ + "/partitions.conf.last");
  EXPECT_FALSE(last_good(kPartitionFile, dir_));
  EXPECT_FALSE(std::holds_alternative<DaemonOptions>(read({"-P", a.c_str()})));
}

TEST_F(OptionsFile, NoCopyOfBeforeIsKept) {
  const std::string a = write("a", "red=0x1 : 0x7 ;\n");
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  write("a", "red=0x1 : 0x8 ;\n");
  keep(std::get<DaemonOptions>(read({"-P", a.c_str()})));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/partitions.conf.last.1"));
}

}  // namespace
}  // namespace sm::daemon
