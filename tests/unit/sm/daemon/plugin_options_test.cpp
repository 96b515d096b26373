// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Managers that opensm has as plug-ins: turned on by the plug-in's name, with a file of their own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sm/config/plugins.h"
#include "sm/daemon/default_paths.h"
#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

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

}  // namespace
}  // namespace sm::daemon
