// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm --explain-policy`, text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "sm/daemon/explain_command.h"
#include "tests/golden/documents/golden.h"

namespace sm::daemon {
namespace {

using testing::HasSubstr;

struct Printed {
  int status{-1};
  std::string out, complaints;
};

/// explain.opts with what only an options file can name, and where that is.
std::string options_file() {
  std::string path = testing::TempDir() + "ibsm-explain-" + std::to_string(getpid());
  std::ifstream from(ib::golden::path("documents/explain.opts"));
  std::ofstream to(path);
  to << from.rdbuf() << "enhanced_qos_policy_file "
     << ib::golden::path("documents/explain-rates.conf") << '\n';
  return path;
}

/// What the command line prints that asks for the path from one host to the other.
Printed explain(const std::vector<std::string>& more, const std::string& from = "node01 HCA-1",
                const std::string& to = "node02 HCA-1:2") {
  std::vector<std::string> words{"ibsm",
                                 "-F",
                                 options_file(),
                                 "-Y",
                                 ib::golden::path("documents/explain-qos.conf"),
                                 "-P",
                                 ib::golden::path("documents/explain-partitions.conf"),
                                 "--against",
                                 ib::golden::path("topology/small.topo"),
                                 "--explain-policy",
                                 from,
                                 to};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  const Command command = read_command_line(static_cast<int>(argv.size()), argv.data(), "0");
  Printed printed;
  const auto* asked = std::get_if<ExplainCommand>(&command);
  if (asked == nullptr) {
    ADD_FAILURE() << "refused";
    return printed;
  }
  std::ostringstream out, complaints;
  printed.status = run_explain_command(*asked, out, complaints);
  printed.out = out.str();
  printed.complaints = complaints.str();
  return printed;
}

TEST(IbsmExplainGolden, Text) {
  const auto storage = explain({"--service-id", "0x1234"});
  EXPECT_EQ(storage.status, 0) << storage.complaints;
  ib::golden::expect_same(storage.out, "ibsm-explain.txt");
}

TEST(IbsmExplainGolden, Json) {
  const auto storage = explain({"--service-id", "0x1234", "--json"});
  EXPECT_EQ(storage.status, 0) << storage.complaints;
  ib::golden::expect_same(storage.out, "ibsm-explain.json");
}

TEST(IbsmExplainGolden, APartitionIsNamedAndItsSlStandsAboveTheDefaultLevel) {
  const auto blue = explain({"--pkey", "0x12"});
  EXPECT_EQ(blue.status, 0) << blue.complaints;
  EXPECT_THAT(blue.out, HasSubstr("P_Key 0x8012: partition 'blue', asked for; the source is a full "
                                  "member, the destination a limited member\n"));
  EXPECT_THAT(blue.out, HasSubstr("SL 2: sl= of the partition\n"));
  EXPECT_THAT(blue.out, HasSubstr("VL 2 of 8, weight 64 of 304 low\n"));
}

TEST(IbsmExplainGolden, WhatIsDroppedIsSaidWhereItIs) {
  const auto dropped = explain({"--qos-class", "9"});
  EXPECT_EQ(dropped.status, 1);
  EXPECT_THAT(dropped.out,
              HasSubstr("explain-qos.conf:22 (level 'Dropped') says, is none that packets "
                        "can travel by all the way\n"));
}

TEST(IbsmExplainGolden, EndsThatAreNobodyAreRefused) {
  const auto nobody = explain({}, "node01 HCA-1", "node77");
  EXPECT_EQ(nobody.status, 1);
  EXPECT_THAT(nobody.complaints,
              HasSubstr("ibsm: no node is named 'node77'; did you mean 'node01'"));
  EXPECT_THAT(explain({"--json"}, "4", "0x77").out, HasSubstr("no port has LID 119"));
  EXPECT_THAT(explain({"--json"}, "4", "0x0002c903000077").out,
              HasSubstr("no node or port has the GUID 0x000002c903000077"));
  const auto large = explain({}, "70000", "4");
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.complaints, HasSubstr("expected a LID up to 0xbfff, got '70000'\n"));
  EXPECT_EQ(explain({}, "node01", "node02:HCA-1").status, 0) << "a short name, and HOST:HCA";
  EXPECT_EQ(explain({}, "4", "0x0002c90300000022").status, 0) << "a LID and a GUID";
}

}  // namespace
}  // namespace sm::daemon
