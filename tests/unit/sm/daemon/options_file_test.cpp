// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options file: what comes first of several places, how it is written, checked and shown.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

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
  EXPECT_EQ(trouble([](auto& s) { s.store_user = "u"; }), "store_user needs store_password_file");
  EXPECT_EQ(trouble([&](auto& s) { s.store_cert = there; }), "store_cert needs store_key");
  EXPECT_EQ(trouble([&](auto& s) { s.store_key = there; }), "store_key needs store_cert");
  EXPECT_EQ(trouble([&](auto& s) { s.store_ca = path("nonesuch"); }),
            "store_ca " + path("nonesuch") + ": No such file or directory");
  EXPECT_EQ(trouble([&](auto& s) { s.store_cert = s.store_key = s.store_ca = there; }), "");
}

}  // namespace
}  // namespace sm::daemon
