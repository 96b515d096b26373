// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm's command line: what is said of words that cannot be read, and how names may be written.
#include "sm/daemon/options.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "libdiag/base/text.h"
#include "sm/config/table.h"
#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

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
