// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where files are that nobody names: under ibsm's name, under opensm's, and beside ibfabric.
#include "sm/daemon/default_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

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

}  // namespace
}  // namespace sm::daemon
