// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm's command line: what is said of words that cannot be read, and how names may be written.
#include "sm/daemon/options.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/route/chain/chain.h"
#include "sm/config/plugins.h"
#include "sm/config/table.h"
#include "sm/daemon/default_paths.h"

namespace sm::daemon {
namespace {

Command read(std::vector<const char*> words) {
  words.insert(words.begin(), "ibsm");
  return read_command_line(static_cast<int>(words.size()), words.data(), "0");
}

/// What is said of words that are refused.
std::string all_of_refusal(std::vector<const char*> words) {
  testing::internal::CaptureStderr();
  const Command command = read(std::move(words));
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::holds_alternative<int>(command) && std::get<int>(command) == 2) << text;
  return text;
}

/// The first line of it.
std::string refusal(std::vector<const char*> words) {
  const std::string text = all_of_refusal(std::move(words));
  return text.substr(0, text.find('\n'));
}

TEST(Refusal, NamesTheOptionAsItWasTyped) {
  const std::string range = ": expected a number from 16 to 1048576, got '0'";
  EXPECT_EQ(refusal({"--queue_size", "0"}), "ibsm: --queue_size" + range);
  EXPECT_EQ(refusal({"--sa_queue_size=0"}), "ibsm: --sa_queue_size" + range);
  EXPECT_EQ(refusal({"-queue_size", "0"}), "ibsm: -queue_size" + range);
  EXPECT_EQ(refusal({"--rtr_pr_mtu", "9"}),
            "ibsm: --rtr_pr_mtu: expected a code from 1 to 5, got '9'");
  EXPECT_EQ(refusal({"-l", "8"}), "ibsm: -l: expected a number from 0 to 7, got '8'");
  EXPECT_EQ(refusal({"-l8"}), "ibsm: -l: expected a number from 0 to 7, got '8'");
  EXPECT_EQ(refusal({"-lmc", "8"}), "ibsm: -lmc: expected a number from 0 to 7, got '8'");
  EXPECT_EQ(refusal({"plan", "x", "-l", "8"}),
            "ibsm plan: -l: expected a number from 0 to 7, got '8'");
}

TEST(Refusal, SaysInPlainWordsWhatWasExpected) {
  EXPECT_EQ(refusal({"--sa_key", "0x10000000000000000"}),
            "ibsm: --sa_key: expected a number from 1 to 0xffffffffffffffff, or `auto`, got "
            "'0x10000000000000000'");
  EXPECT_EQ(refusal({"--sa_key"}), "ibsm: --sa_key: expected KEY after it, got nothing");
  EXPECT_EQ(refusal({"-f"}), "ibsm: -f: expected FILE after it, got nothing");
  EXPECT_EQ(refusal({"--queue_size", "20", "--sa_queue_size", "30"}),
            "ibsm: --queue_size: expected once, got it several times");
}

TEST(Refusal, WhatBelongsTogetherIsNamed) {
  EXPECT_EQ(refusal({"--explain-policy"}),
            "ibsm: --explain-policy: expected SRC DST after it, got nothing");
  EXPECT_EQ(refusal({"--explain-policy", "a"}),
            "ibsm: --explain-policy: expected two words after it, got one");
  EXPECT_EQ(refusal({"--explain-policy", "a", "b"}),
            "ibsm: --explain-policy: expected --against TOPOLOGY beside it");
  EXPECT_EQ(refusal({"--against", "t"}),
            "ibsm: --against: expected --check-config or --explain-policy beside it");
  EXPECT_EQ(refusal({"--service-id", "1"}),
            "ibsm: --service-id, --pkey and --qos-class: expected --explain-policy beside them");
  EXPECT_EQ(refusal({"--json"}), "ibsm: --json: expected --dry-run or --explain-policy beside it");
}

TEST(ExplainRequest, IsReadFromTheWordsOfTheVerb) {
  const auto asked = read_explain_request(
      {"explain", {"a", "b"}, {{"pkey", "0x8012"}, {"service-id", "7"}, {"json", "TRUE"}}});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->source, "a");
  EXPECT_EQ(asked->destination, "b");
  EXPECT_EQ(asked->traffic.p_key, 0x0012) << "without the membership bit";
  EXPECT_EQ(asked->traffic.service_id, 7U);
  EXPECT_EQ(asked->traffic.qos_class, std::nullopt);
  EXPECT_TRUE(asked->json);
  EXPECT_EQ(read_explain_request({"explain", {"a"}, {}}).error().message,
            "expected explain SRC DST");
  EXPECT_EQ(read_explain_request({"explain", {"a", "b"}, {{"qos-class", "4096"}}}).error().message,
            "explain --qos-class: expected a number up to 4095, got '4096'");
}

TEST(Refusal, FlagsTakeNoValueButATruth) {
  EXPECT_EQ(refusal({"--no_sa_check_sgid_spoofing=x"}),
            "ibsm: --no_sa_check_sgid_spoofing: expected no value, got one");
  EXPECT_EQ(refusal({"--verbose=x"}), "ibsm: --verbose: expected no value, got one");
  EXPECT_EQ(refusal({"-once=x"}), "ibsm: -once: expected no value, or TRUE or FALSE, got 'x'");
  const auto options = std::get<DaemonOptions>(read({"--sa_enhanced_trust_model=TRUE"}));
  EXPECT_TRUE(options.sa.server.trust.enhanced);
}

/// As opensm's option file has it; every option that takes no value.
TEST(Refusal, ATruthMayBeAWordOfItsOwn) {
  for (const char* name : {"--sa_enhanced_trust_model", "-sa_enhanced_trust_model"}) {
    EXPECT_TRUE(std::get<DaemonOptions>(read({name, "TRUE", "-o"})).sa.server.trust.enhanced);
    EXPECT_TRUE(std::get<DaemonOptions>(read({name, "-o"})).sa.server.trust.enhanced);
    EXPECT_FALSE(std::get<DaemonOptions>(read({"-o", name, "FALSE"})).sa.server.trust.enhanced);
  }
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-Q", "TRUE"})).core.plan.qos);
  EXPECT_FALSE(std::get<DaemonOptions>(read({"-Q", "FALSE"})).core.plan.qos);
  EXPECT_FALSE(std::get<DaemonOptions>(read({"--mcgroup_join_validation", "FALSE"}))
                   .sa.server.multicast.join_validation);
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-o"})).sa.server.trust.untrusted_proxies);
  EXPECT_FALSE(std::get<DaemonOptions>(read({"--sa_etm_allow_untrusted_proxy_requests", "FALSE"}))
                   .sa.server.trust.untrusted_proxies);
  EXPECT_EQ(std::get<DaemonOptions>(read({"-f", "TRUE"})).log_file, "TRUE");
  for (const char* word : {"yes", "1", "true?"})
    EXPECT_EQ(refusal({"--sa_enhanced_trust_model", word}),
              std::string("ibsm: --sa_enhanced_trust_model: expected no value, or TRUE or FALSE, "
                          "got '") +
                  word + "'");
  EXPECT_EQ(refusal({"--verbose", "TRUE"}), "ibsm: --verbose: expected no value, got one");
  EXPECT_EQ(refusal({"-l", "0", "astray"}), "ibsm: expected an option or plan|ctl, got 'astray'");
}

TEST(Refusal, ABadLineOfTheFileOfPrefixRoutesEndsIt) {
  const std::string path = testing::TempDir() + "ibkit-prefix-routes-" + std::to_string(::getpid());
  std::ofstream(path) << "# campus\n* *\nfec0::7 *\n";
  EXPECT_EQ(
      all_of_refusal({"--prefix_routes_file", path.c_str()}),
      "ibsm: cannot use the prefix routes of " + path + "\nibsm: " + path +
          ":3:1: error: expected a subnet prefix and a router's port GUID, each in hex or * for "
          "any, got 'fec0::7 *'\nibsm:   fec0::7 *\nibsm:   ^\n");
  std::ofstream(path) << "fec0000000000007 0x2c90300001234\n";
  const Command command = read({"--prefix_routes_file", path.c_str()});
  EXPECT_EQ(std::get<DaemonOptions>(command).sa.server.policy.prefix_routes.size(), 1U);
  std::remove(path.c_str());
  EXPECT_NE(refusal({"--prefix_routes_file", path.c_str()}).find(path), std::string::npos);
}

/// A directory of its own for options files, which stands for the state directory too.
class OptionsFile : public testing::Test {
 protected:
  OptionsFile() {
    std::filesystem::create_directories(dir_);
    ::setenv("IBSM_STATE_DIR", dir_.c_str(), 1);
  }
  ~OptionsFile() override {
    ::unsetenv("IBSM_STATE_DIR");
    std::filesystem::remove_all(dir_);
  }
  std::string path(const char* name) const { return dir_ + "/" + name; }
  std::string write(const char* name, const char* text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  const std::string dir_ = testing::TempDir() + "ibkit-options-" + std::to_string(::getpid());
};

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
  const std::string conf =
      write("conf", ("qos TRUE\nenhanced_qos_policy_file " + rates + "\n").c_str());
  const auto start = [&] {
    return read({"-F", conf.c_str(), "-P", partitions.c_str(), "-Y", qos.c_str(),
                 "--prefix_routes_file", routes.c_str(), "--node_name_map", names.c_str()});
  };
  const auto first = std::get<DaemonOptions>(start());
  EXPECT_EQ(first.good_files.size(), 5U);
  EXPECT_EQ(first.trouble(), "");
  keep(first);
  for (const char* name : {"p", "q", "r", "routes", "names"}) write(name, "]\n");
  const auto second = std::get<DaemonOptions>(start());
  EXPECT_EQ(second.file_troubles.size(), 5U);
  EXPECT_TRUE(second.good_files.empty());
  for (const std::string& file : {partitions, qos, rates, routes, names})
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

TEST_F(OptionsFile, WhatIsToBeShownToEtcdIsThereOrTheStartEnds) {
  const auto trouble = [&](auto set) {
    config::Configuration configuration;
    configuration.settings.state_dir = dir_;
    configuration.settings.store = "etcds://127.0.0.1";
    set(configuration.settings);
    const auto options = daemon_options(configuration);
    return options ? std::string() : options.error().message;
  };
  const std::string there = write("there", "x");
  EXPECT_EQ(trouble([](auto& s) { s.store_user = "u"; }),
            "store_user is of no use without store_password_file");
  EXPECT_EQ(trouble([&](auto& s) { s.store_cert = there; }),
            "store_cert is of no use without store_key");
  EXPECT_EQ(trouble([&](auto& s) { s.store_key = there; }),
            "store_key is of no use without store_cert");
  EXPECT_EQ(trouble([&](auto& s) { s.store_ca = path("nonesuch"); }),
            "store_ca " + path("nonesuch") + ": No such file or directory");
  EXPECT_EQ(trouble([&](auto& s) { s.store_cert = s.store_key = s.store_ca = there; }), "");
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
  EXPECT_EQ(options.good_files.size(), 5U);
  EXPECT_EQ(options.core.plan.choice.engine.roots.entries.size(), 1U);
}

TEST_F(OptionsFile, ShowHasWhatTheCommandLineAloneCanSay) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(std::get<int>(read({"--show-config", "-d0", "-y"})), 0);
  const std::string text = testing::internal::GetCapturedStdout();
  for (const char* line :
       {"\n# --debug 0  # command line\n", "\n# --stay_on_fatal TRUE  # command line\n",
        "\nignore_other_sm TRUE  # command line\n",
        "\n# partition 0x7fff \"Default\": ALL=full  # default\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  const std::string broken = write("p", "red=0x8000 : ALL ;\n");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(read({"--show-config=json", "-P", broken.c_str(), "-d2"})), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(broken + ":1:5: error: "),
            std::string::npos);
  const std::string json = testing::internal::GetCapturedStdout();
  EXPECT_NE(
      json.find(
          R"("name": "force_log_flush", "value": "TRUE", "default": "FALSE", "origin": "command line")"),
      std::string::npos);
  EXPECT_NE(json.find(R"("name": "debug", "value": "2")"), std::string::npos);
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

class ChainOptions : public OptionsFile {
 protected:
  ChainOptions() {
    groups_ = write("groups", "port-group\nname: island\nport-guid: 0x77@1-3\nend-port-group\n");
    topologies_ =
        write("topo", "topology\nid: 1\nsw-grp: island\nhca-grp: ALL_CAS\nend-topology\n");
    roots_ = write("roots", "0x77\n");
    step_conf_ = write("step.conf", ("root_guid_file " + roots_ + "\nlmc 3\n").c_str());
    steps_ = write("steps", ("unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
                             "unicast-step\nid: 2\nengine: updn\ntopology: 1\npath-bit: 1\n"
                             "config: " +
                             step_conf_ + "\nend-unicast-step\n")
                                .c_str());
    conf_ =
        write("conf", ("routing_engine chain\nscatter_ports 7\nlmc 1\npgrp_policy_file " + groups_ +
                       "\ntopo_policy_file " + topologies_ + "\nrch_policy_file " + steps_ + "\n")
                          .c_str());
  }
  std::string groups_, topologies_, roots_, step_conf_, steps_, conf_;
};

TEST_F(ChainOptions, ARoutingChainIsReadWithItsFiles) {
  const auto options = std::get<DaemonOptions>(read({"-F", conf_.c_str()}));
  EXPECT_TRUE(options.routing_files);
  const auto* chain = options.core.plan.choice.engine.chain.get();
  ASSERT_NE(chain, nullptr);
  ASSERT_EQ(chain->steps.size(), 2U);
  EXPECT_EQ(chain->steps[0].options, nullptr);
  // What the step's file says, and what it leaves to the main one.
  ASSERT_NE(chain->steps[1].options, nullptr);
  EXPECT_EQ(chain->steps[1].options->roots.guids(), std::vector{ib::Guid{0x77}});
  EXPECT_EQ(chain->steps[1].options->scatter_seed, 7U);
  EXPECT_TRUE(options.core.plan.choice.engine.roots.empty());
  EXPECT_EQ(options.warnings,
            std::vector{step_conf_ + ": counts in the main options file alone: lmc (line 2)"});
  EXPECT_EQ(options.core.plan.mentions.size(), 2U);
  const auto unknown = unknown_names(ib::fabric::Fabric(), options.core.plan.mentions);
  EXPECT_EQ(unknown[0], groups_ + ":3: no node has the GUID 0x0000000000000077");
}

TEST_F(ChainOptions, ARoutingChainWithAMistakeIsRefusedWhole) {
  write("topo", "topology\nid: 1\nsw-grp: islnd\nhca-grp: ALL\nend-topology\n");
  EXPECT_EQ(all_of_refusal({"-F", conf_.c_str()}),
            "ibsm: cannot use the topologies of " + topologies_ + "\n" + topologies_ +
                ":3:9: error: 'islnd' is no port group of " + groups_ +
                "; did you mean 'island'?\n  sw-grp: islnd\n          ^\n");
  write("topo", "topology\nid: 2\nsw-grp: island\nhca-grp: ALL\nend-topology\n");
  EXPECT_EQ(refusal({"-F", conf_.c_str()}), "ibsm: cannot use the routing chain of " + steps_);
  std::filesystem::remove(roots_);
  write("topo", "topology\nid: 1\nsw-grp: island\nhca-grp: ALL\nend-topology\n");
  EXPECT_NE(refusal({"-F", conf_.c_str()}).find(roots_), std::string::npos);
}

TEST_F(ChainOptions, APathBitWithoutThatManyLidsIsWarnedOf) {
  const auto options = std::get<DaemonOptions>(read({"-F", conf_.c_str(), "-l", "0"}));
  ASSERT_FALSE(options.warnings.empty());
  EXPECT_EQ(options.warnings[0],
            steps_ + ":5: step 2 routes no host: with lmc 0 ports have no LID of path-bit 1");
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

TEST_F(OptionsFile, TheLogFlagOfFunctionsIsAcceptedAndSaidToHaveNoEffect) {
  const auto said = [](const DaemonOptions& options) {
    return std::ranges::count_if(options.notes, [](const std::string& note) {
      return note.starts_with("log_flags 0x10: accepted, no effect: ");
    });
  };
  EXPECT_EQ(said(std::get<DaemonOptions>(read({"-D", "0x13"}))), 1);
  EXPECT_EQ(said(std::get<DaemonOptions>(read({"-D", "0x23"}))), 0);
  EXPECT_EQ(said(std::get<DaemonOptions>(read({"-V"}))), 0);
}

TEST_F(OptionsFile, NamesOfNodesAreReadWithTheOptionsAndAgainOnReload) {
  const std::string names = write("names", "0x1 \"one\" # rack 1\n");
  const auto options = std::get<DaemonOptions>(read({"--node-name-map", names.c_str()}));
  ASSERT_NE(options.core.node_names, nullptr);
  EXPECT_EQ(options.core.node_names->find(ib::Guid{1}), "one");
  EXPECT_EQ(std::get<DaemonOptions>(read({})).core.node_names, nullptr);
  write("names", "0x1 \"first\"\n");
  const auto fresh = options.read_again();
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_EQ(fresh->core.node_names->find(ib::Guid{1}), "first");
  write("names", "0x1 first\n");
  const auto broken = options.read_again();
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find(names + ":1:5: error: "), std::string::npos);
}

TEST_F(OptionsFile, TheCommandLineComesBeforeTheFileAndTheFileBeforeTheDefault) {
  const std::string file = write("f", "lmc 2\nsweep_interval 30\nguid 0x0\nsm_sl 0\nqos TRUE\n");
  const auto options =
      std::get<DaemonOptions>(read({"-F", file.c_str(), "-l", "1", "--qos", "FALSE"}));
  EXPECT_EQ(options.core.plan.lmc, 1);
  EXPECT_EQ(options.core.sweep_interval, std::chrono::seconds(30));
  EXPECT_FALSE(options.core.plan.qos);
  EXPECT_EQ(options.core.transactor.window, 256U);
  // 0 in a file is opensm's way to say nothing.
  EXPECT_FALSE(options.list_ports);
  EXPECT_EQ(options.core.plan.sm_sl, std::nullopt);
  EXPECT_TRUE(std::get<DaemonOptions>(read({"-g", "0"})).list_ports);
}

TEST_F(OptionsFile, AnErrorInItEndsIt) {
  const std::string file = write("f", "lmc 8\n");
  EXPECT_EQ(refusal({"-F", file.c_str()}),
            file + ":1:5: error: expected a number from 0 to 7, got '8'");
  EXPECT_EQ(refusal({"-F", path("none").c_str()}),
            "ibsm: " + path("none") + ": No such file or directory");
}

/// `ibsm plan` goes by the options that ibsm would go by.
TEST_F(OptionsFile, IsThatOfPlansToo) {
  const std::string file = path("opts");
  std::ofstream(file) << "lmc 1\nrouting_engine updn\nqos TRUE\nmax_op_vls 3\n";
  const auto plan = std::get<PlanVerb>(read({"plan", "x.topo", "-F", file.c_str(), "-sm-sl", "2"}));
  EXPECT_EQ(plan.command.topology, "x.topo");
  EXPECT_EQ(plan.command.plan.lmc, 1);
  EXPECT_EQ(plan.command.plan.choice.engines, std::vector<std::string>{"updn"});
  EXPECT_TRUE(plan.options.core.plan.qos);
  EXPECT_EQ(plan.options.core.plan.operational_vls_max, 3);
  EXPECT_EQ(plan.options.core.plan.sm_sl, ib::Sl{2});
  // Words come before the file, and engines to compare take the place of the one that it names.
  const auto compared = std::get<PlanVerb>(
      read({"plan", "x.topo", "-F", file.c_str(), "-Q", "FALSE", "--compare", "minhop,nue"}));
  EXPECT_FALSE(compared.options.core.plan.qos);
  EXPECT_EQ(compared.command.plan.choice.engines, (std::vector<std::string>{"minhop", "nue"}));
  EXPECT_EQ(std::get<PlanVerb>(read({"plan", "x.topo"})).command.plan.lmc, std::nullopt);
  std::ofstream(file) << "lmc 8\n";
  EXPECT_NE(all_of_refusal({"plan", "x.topo", "-F", file.c_str()})
                .find("ibsm: cannot plan with the options of " + file),
            std::string::npos);
}

TEST_F(OptionsFile, IsWrittenAndReadAgain) {
  const std::string file = path("written");
  EXPECT_EQ(std::get<int>(read({"-c", file.c_str(), "-l", "3", "--sa_key", "77"})), 0);
  const auto mode = std::filesystem::status(file).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::group_read, std::filesystem::perms::none);
  const auto options = std::get<DaemonOptions>(read({"-F", file.c_str()}));
  EXPECT_EQ(options.core.plan.lmc, 3);
  EXPECT_EQ(options.sa.server.trust.sa_key, 77U);
}

TEST_F(OptionsFile, WithoutANameItIsTheCacheAndIbsmGoesOn) {
  EXPECT_EQ(std::get<DaemonOptions>(read({"-l", "3", "-c"})).core.plan.lmc, 3);
  EXPECT_EQ(std::get<DaemonOptions>(read({})).core.plan.lmc, 3);
  EXPECT_EQ(std::get<DaemonOptions>(read({"--lmc", "0"})).core.plan.lmc, 0);
}

TEST_F(OptionsFile, IsCheckedWithTheFilesItNames) {
  const auto status = [&](const char* text) {
    const std::string file = write("f", text);
    testing::internal::CaptureStderr();
    const Command command = read({"-F", file.c_str(), "--check-config"});
    testing::internal::GetCapturedStderr();
    return std::get<int>(command);
  };
  EXPECT_EQ(status("lmc 1\n"), 0);
  EXPECT_EQ(status("sm_assigned_guid 5\n"), 1);
  EXPECT_EQ(status("node_name_map_name /nonexistent/names\n"), 2);
  EXPECT_EQ(status("lmc 9\n"), 2);
  EXPECT_EQ(status("root_guid_file /nonexistent/roots\n"), 2);
  // opensm's default path, where there need be no file.
  EXPECT_EQ(status("torus_config /etc/opensm/torus-2QoS.conf\n"), 0);
}

TEST_F(OptionsFile, TheCongestionControlManagerIsTurnedOnByItsPluginsName) {
  const auto congestion = [&](const std::string& text) {
    const std::string file = write("f", text.c_str());
    return std::get<DaemonOptions>(read({"-F", file.c_str()}));
  };
  EXPECT_FALSE(congestion("lmc 0\n").congestion);
  EXPECT_EQ(congestion("event_plugin_name ccmgr\n").congestion, policy::CongestionSettings{});
  EXPECT_FALSE(congestion("event_plugin_name (null)\n").congestion);
  EXPECT_EQ(congestion("congestion_control TRUE\n").congestion->table_by_hosts, false);

  const std::string conf = write("cc.conf", "enable FALSE\nnum_hosts 7\n");
  const auto with_file =
      congestion("event_plugin_name ccmgr\nevent_plugin_options ccmgr --conf_file " + conf +
                 "\ncc_key 0x99\n");
  ASSERT_TRUE(with_file.congestion);
  EXPECT_FALSE(with_file.congestion->enable);
  EXPECT_EQ(with_file.congestion->num_hosts, 7U);
  EXPECT_EQ(with_file.congestion->cc_key, 0x99U);
  EXPECT_TRUE(with_file.warnings.empty());
}

TEST_F(OptionsFile, OtherPluginsAreWarnedOfOnce) {
  const std::string file = write("f", "event_plugin_name osmeventplugin,ccmgr other\n");
  const auto options = std::get<DaemonOptions>(read({"-F", file.c_str()}));
  EXPECT_TRUE(options.congestion);
  EXPECT_EQ(options.warnings,
            std::vector<std::string>{"event_plugin_name: ibsm loads no plug-ins, and does without "
                                     "osmeventplugin, other; events are written by --event_file "
                                     "(event_file)"});
}

TEST_F(OptionsFile, MistakesOfTheCongestionControlManagersFileEndIt) {
  const std::string conf = write("cc.conf", "enable TRUE\ntreshold 3\nthreshold 16\n");
  const std::string file = write(
      "f",
      ("event_plugin_name ccmgr\nevent_plugin_options ccmgr --conf_file " + conf + "\n").c_str());
  testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(read({"-F", file.c_str()})), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ibsm: cannot use the congestion control settings of " + conf + "\nibsm: " + conf +
                ":2:1: error: no option is called 'treshold'; did you mean 'threshold'?\n"
                "ibsm:   treshold 3\nibsm:   ^\nibsm: " +
                conf + ":3:11: error: expected a threshold from 0 to 15, got '16'\n" +
                "ibsm:   threshold 16\nibsm:             ^\n");
  const std::string odd =
      write("f", "event_plugin_name ccmgr\nevent_plugin_options ccmgr --file x\n");
  EXPECT_NE(
      refusal({"-F", odd.c_str()})
          .find(odd + ":2:22: error: expected `ccmgr --conf_file FILE`, got 'ccmgr --file x'"),
      std::string::npos);
  const std::string none = write(
      "f", "event_plugin_name ccmgr\nevent_plugin_options ccmgr --conf_file /nonexistent/cc\n");
  EXPECT_NE(refusal({"-F", none.c_str()}).find("/nonexistent/cc: No such file or directory"),
            std::string::npos);
}

TEST_F(OptionsFile, AdaptiveRoutingIsTurnedOnByItsPluginsName) {
  const auto adaptive = [&](const std::string& text) {
    const std::string file = write("f", text.c_str());
    return std::get<DaemonOptions>(read({"-F", file.c_str()}));
  };
  EXPECT_EQ(adaptive("shield_mode 0\n").core.plan.adaptive, nullptr);
  const std::string conf =
      write("ar.conf", "AR_ALGORITHM: TREE;\nSWITCH 0x10 { ENABLE: false; }\n");
  const auto options =
      adaptive("event_plugin_name ccmgr armgr\nevent_plugin_options armgr --conf_file " + conf +
               "\nshield_mode 0\nar_sl_mask 0x3\n");
  ASSERT_NE(options.core.plan.adaptive, nullptr);
  EXPECT_EQ(options.core.plan.adaptive->algorithm, policy::AdaptiveSettings::Algorithm::Tree);
  EXPECT_FALSE(options.core.plan.adaptive->enabled(ib::Guid{0x10}));
  EXPECT_FALSE(options.core.plan.adaptive->fast_recovery);
  EXPECT_EQ(options.core.plan.adaptive->sls, 3);
  EXPECT_TRUE(options.congestion);
  EXPECT_TRUE(options.warnings.empty());
}

TEST_F(OptionsFile, MistakesOfTheAdaptiveRoutingFileEndIt) {
  const std::string conf = write("ar.conf", "ENABLE: true;\nAR_MODE: tied;\n");
  const std::string file = write(
      "f",
      ("event_plugin_name armgr\nevent_plugin_options armgr --conf_file " + conf + "\n").c_str());
  EXPECT_NE(all_of_refusal({"-F", file.c_str()})
                .find(conf + ":2:10: error: expected bounded or free, got 'tied'"),
            std::string::npos);
}

TEST_F(OptionsFile, WithoutAFileOfItsOwnAdaptiveRoutingTakesTheDefaultOneThatIsThere) {
  DefaultPaths paths;
  paths.adaptive_routing = {path("none.conf"), write("ar_mgr.conf", "ENABLE: false;\n")};
  config::Settings settings;
  fill_in(paths, settings);
  EXPECT_EQ(settings.event_plugin_options, "");
  settings.event_plugin_name = "armgr";
  fill_in(paths, settings);
  EXPECT_EQ(config::plugin_file(config::kAdaptivePlugin, settings.event_plugin_options),
            path("ar_mgr.conf"));
  settings.event_plugin_options = "armgr --conf_file /other";
  fill_in(paths, settings);
  EXPECT_EQ(config::plugin_file(config::kAdaptivePlugin, settings.event_plugin_options), "/other");
}

TEST_F(OptionsFile, NotesSayWhatWasReadAndWhatHasNoEffect) {
  const std::string file = write("f", "single_thread TRUE\n");
  const auto options = std::get<DaemonOptions>(read({"-F", file.c_str(), "-t", "0", "-y"}));
  EXPECT_EQ(options.core.transactor.timeout_ceiling, std::chrono::milliseconds(60'000));
  ASSERT_EQ(options.notes.size(), 4U);
  EXPECT_EQ(options.notes[0], "options are those of " + file);
  EXPECT_EQ(options.notes[1],
            "--stay_on_fatal: accepted, no effect: ibsm always goes on, and leaves out what it "
            "cannot manage");
  EXPECT_EQ(options.notes[2],
            "single_thread: accepted, no effect: one thread owns all state in any case");
  EXPECT_NE(options.notes[3].find("60000 ms"), std::string::npos);
}

TEST_F(OptionsFile, UnderTheNameOpensmDefaultsAreThoseOfOpensm) {
  const auto paths = default_paths("/usr/sbin/opensm", {});
  EXPECT_EQ(paths.options, (std::vector<std::string>{"/usr/local/etc/opensm/opensm.conf",
                                                     "/etc/opensm/opensm.conf",
                                                     "/etc/ofa/opensm.conf", path("opensm.opts")}));
  EXPECT_EQ(paths.prefix_routes.back(), "/etc/ofa/opensm-prefix-routes.conf");
  EXPECT_EQ(paths.node_names[1], "/etc/opensm/ib-node-name-map");
  EXPECT_EQ(paths.log_file, "/var/log/opensm.log");
  EXPECT_EQ(default_paths("ibsm", {}).log_file, "");
  ::unsetenv("IBSM_STATE_DIR");
  EXPECT_EQ(default_paths("opensm", {}).state_dir, "/var/cache/opensm");
}

TEST_F(OptionsFile, OfSeveralPlacesTheFirstWhereThereIsAFileCounts) {
  const std::string second = write("b", ""), third = write("c", "");
  EXPECT_EQ(first_there({path("a"), second, third}), second);
  EXPECT_EQ(first_there({path("a")}), "");
  DefaultPaths paths;
  paths.prefix_routes = {path("a"), third};
  config::Settings settings;
  fill_in(paths, settings);
  EXPECT_EQ(settings.prefix_routes_file, third);
  paths.partitions = {path("a"), second};
  fill_in(paths, settings);
  EXPECT_EQ(settings.partition_config_file, second);
  EXPECT_EQ(settings.node_name_map_name, "");
  paths.node_names = {path("a"), third};
  fill_in(paths, settings);
  EXPECT_EQ(settings.node_name_map_name, third);
}

TEST(StateDir, IsTheOptionOrOneOfTwoVariablesOrTheSystems) {
  const auto dir = [](std::vector<const char*> words) {
    return std::get<DaemonOptions>(read(std::move(words))).state_dir;
  };
  ::setenv("IBSM_STATE_DIR", "/ours", 1);
  ::setenv("OSM_CACHE_DIR", "/opensms", 1);
  EXPECT_EQ(dir({"--state-dir", "/named"}), "/named");
  EXPECT_EQ(dir({}), "/ours");
  ::setenv("IBSM_STATE_DIR", "", 1);
  EXPECT_EQ(dir({}), "/opensms");
  ::unsetenv("OSM_CACHE_DIR");
  EXPECT_EQ(dir({}), "/var/lib/ibsm");
  ::unsetenv("IBSM_STATE_DIR");
  EXPECT_EQ(dir({}), "/var/lib/ibsm");
}

TEST(DumpFolder, UnderTheNameOpensmThereIsOneInAnyCase) {
  const auto folder = [](const char* program, const config::Settings& said = {}) {
    config::Settings settings = said;
    fill_in(default_paths(program, said), settings);
    return dump_directory(settings, false);
  };
  ::unsetenv("OSM_TMP_DIR");
  EXPECT_EQ(folder("/usr/sbin/opensm"), "/var/log");
  EXPECT_EQ(folder("ibsm"), "") << "nobody asked for any";
  EXPECT_EQ(dump_directory({}, true), "/var/log") << "--log_flags asks for tables";
  ::setenv("OSM_TMP_DIR", "/tmp/opensms", 1);
  EXPECT_EQ(folder("opensm"), "/tmp/opensms");
  EXPECT_EQ(folder("ibsm"), "/tmp/opensms");
  config::Settings said;
  said.dump_files_dir = "/named";
  EXPECT_EQ(folder("opensm", said), "/named");
  EXPECT_EQ(folder("ibsm", said), "/named");
  ::unsetenv("OSM_TMP_DIR");
}

TEST(StateDir, OfASimulatedFabricIsBesideItsSocket) {
  ::setenv("IBFABRIC_SOCKET", "/tmp/fabric/socket", 1);
  EXPECT_EQ(default_paths("ibsm", {}).state_dir, "/tmp/fabric/socket.ibsm");
  config::Settings said;
  said.state_dir = "/named";
  EXPECT_EQ(default_paths("ibsm", said).state_dir, "/named");
  ::unsetenv("IBFABRIC_SOCKET");
}

TEST(Refusal, AnUnknownOptionIsAnsweredWithTheNearest) {
  EXPECT_EQ(refusal({"--sweeep", "3"}),
            "ibsm: expected an option, got '--sweeep'; did you mean '--sweep'?");
  EXPECT_EQ(refusal({"-K"}), "ibsm: expected an option, got '-K'");
}

TEST(Refusal, AMistypedNameIsNotSplitIntoLetters) {
  EXPECT_EQ(refusal({"-Nfoo"}), "ibsm: expected an option, got '-Nfoo'; -N takes no value");
  EXPECT_EQ(refusal({"-No_part_enforce"}),
            "ibsm: expected an option, got '-No_part_enforce'; did you mean '--no_part_enforce'?");
  EXPECT_EQ(refusal({"-const_multicast"}),
            "ibsm: expected an option, got '-const_multicast'; -c has its value behind a blank");
  EXPECT_EQ(refusal({"-create-confg", "x"}),
            "ibsm: expected an option, got '-create-confg'; did you mean '--create-config'?");
  EXPECT_EQ(refusal({"-Pconfg=x"}),
            "ibsm: expected an option, got '-Pconfg'; did you mean '--Pconfig'?");
  const auto options = std::get<DaemonOptions>(read({"-oQ", "-l2", "-Nf", "x"}));
  EXPECT_TRUE(options.once && options.core.plan.qos);
  EXPECT_EQ(options.core.plan.lmc, 2);
}

TEST(Names, ALetterMayHaveItsValueBehindAnEqualsSign) {
  EXPECT_EQ(std::get<DaemonOptions>(read({"-g=0x0002c90300000001"})).port_guid,
            ib::Guid{0x0002c90300000001});
  EXPECT_EQ(std::get<DaemonOptions>(read({"-l=2", "-s7"})).core.plan.lmc, 2);
}

TEST(Names, DashesMayStandForUnderscores) {
  EXPECT_TRUE(std::get<DaemonOptions>(read({"--reassign-lids"})).core.plan.reassign_lids);
  const auto options = std::get<DaemonOptions>(read({"-vls_max", "4"}));
  EXPECT_EQ(options.core.plan.choice.vls_max, 4U);
}

TEST(Names, EveryLongOneMayHaveOneDash) {
  const Command command = read({"-sa_etm_max_num_mcgs", "7", "-store_sync=full", "-once"});
  const auto& options = std::get<DaemonOptions>(command);
  EXPECT_EQ(options.sa.server.quotas.groups, 7U);
  EXPECT_EQ(options.registry.sync, store::Sync::Full);
  EXPECT_TRUE(options.once);
}

TEST(ConsoleOptions, SayWhereItIs) {
  using Place = ConsoleOptions::Place;
  const auto options = [](std::vector<const char*> words) {
    return std::get<DaemonOptions>(read(std::move(words)));
  };
  EXPECT_EQ(options({}).console.place, Place::None);
  EXPECT_EQ(options({"-console", "off"}).console.place, Place::None);
  EXPECT_EQ(options({"-console", "local"}).console.place, Place::Terminal);
  const auto loopback = options({"-console", "loopback", "-console-port", "10321"}).console;
  EXPECT_EQ(loopback.place, Place::Loopback);
  EXPECT_EQ(loopback.port, 10321);
  const auto socket = options({"-q", "socket"}).console;
  EXPECT_EQ(socket.place, Place::AllAddresses);
  EXPECT_EQ(socket.port, 10000);
  for (const char* own : {"127.0.0.1", "::1"}) {
    sockaddr_storage address{};
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
    address.ss_family = inet_pton(AF_INET, own, &ipv4.sin_addr) == 1 ? AF_INET : AF_INET6;
    if (address.ss_family == AF_INET6) inet_pton(AF_INET6, own, &ipv6.sin6_addr);
    EXPECT_TRUE(socket.allowed.contain(address)) << own;
  }
  EXPECT_EQ(options({"-q", "socket"}).version, "ibsm 0");
}

TEST(ConsoleOptions, OfATerminalAreForAnIbsmThatStaysThere) {
  for (const char* word : {"-B", "-o"}) {
    const auto options = std::get<DaemonOptions>(read({"-console", "local", word}));
    EXPECT_EQ(options.console.place, ConsoleOptions::Place::None) << word;
    EXPECT_EQ(options.warnings.size(), 1U);
  }
}

/// Options of routing are the same for the daemon and for plans: names, letters, ranges.
TEST(PlanOptions, AreTheRowsOfRouting) {
  std::map<std::string, const ib::plan::RoutingOption*> by_name;
  for (const auto& option : ib::plan::routing_options())
    for (const auto name : ib::split(option.names, ',')) by_name[std::string(name)] = &option;
  std::size_t rows = 0;
  for (const config::Row& row : config::table()) {
    if (row.section != config::Section::Routing || row.names.empty() ||
        row.name() == "routing_engine")
      continue;
    ++rows;
    for (const auto name : ib::split(row.names, ',')) {
      const auto at = by_name.find(std::string(name));
      ASSERT_NE(at, by_name.end()) << name;
      EXPECT_EQ(at->second->number != nullptr, row.kind == config::Kind::Number) << name;
      EXPECT_EQ(at->second->min, row.min) << name;
      EXPECT_EQ(at->second->max, row.max) << name;
      EXPECT_EQ(std::string_view(at->second->help).find("no effect") != std::string_view::npos,
                row.effect == config::Effect::None)
          << name;
    }
  }
  EXPECT_EQ(rows, ib::plan::routing_options().size());
}

}  // namespace
}  // namespace sm::daemon
