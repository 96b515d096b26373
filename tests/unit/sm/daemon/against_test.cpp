// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/against.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "libdiag/fabric/generate.h"

namespace sm::daemon {
namespace {

namespace fs = std::filesystem;

class Against : public testing::Test {
 protected:
  Against() {
    std::string name = (fs::temp_directory_path() / "ibsm-against-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Against() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  /// The lines without the folder.
  std::vector<std::string> lines() const {
    auto found = unknown_names(fabric_, options_);
    for (std::string& line : found) {
      const std::string folder = folder_.string() + "/";
      if (const auto at = line.find(folder); at != std::string::npos) line.erase(at, folder.size());
    }
    return found;
  }
  ib::Guid host(std::size_t which) const {
    for (ib::fabric::NodeIndex n = 0; n < fabric_.nodes().size(); ++n)
      if (!fabric_.node(n).is_switch() && which-- == 0) return fabric_.port(n, 1).guid;
    return {};
  }
  std::string name(std::size_t which) const {
    return fabric_.node(fabric_.find_port_guid(host(which))->node).description;
  }

  fs::path folder_;
  ib::fabric::Fabric fabric_ = *ib::fabric::generate(ib::fabric::FatTree{.radix = 4});
  DaemonOptions options_;
};

TEST_F(Against, MembersOfPartitionsAreNamedAtTheirPlaces) {
  options_.partition_files.file =
      file("p", "red=0x1 : " + to_string(host(0)) + "=full, 0xdead,\n  0xbeef-0xbeff, \"" +
                    name(1) + "\", \"nobody\", \"" + name(1) + "\"/P7, ALL_CAS ;\n");
  EXPECT_THAT(lines(),
              testing::ElementsAre(
                  "p:1:36: warning: no port of the topology has GUID 0x000000000000dead",
                  "p:2:3: warning: no port of the topology has a GUID from 0x000000000000beef to "
                  "0x000000000000beff",
                  testing::HasSubstr("warning: the topology has no node \"nobody\""),
                  testing::HasSubstr("\" with a port 7")));
}

TEST_F(Against, TheGuidOfANodeIsNoPortsGuid) {
  const auto at = *fabric_.find_port_guid(host(0));
  options_.partition_files.file =
      file("p", "red=0x1 : " + to_string(fabric_.node(at.node).guid) + " ;\n");
  const auto found = lines();
  if (fabric_.node(at.node).guid == host(0)) {
    EXPECT_TRUE(found.empty());
  } else {
    EXPECT_THAT(found, testing::ElementsAre(testing::HasSubstr("; a node has it")));
  }
}

TEST_F(Against, PortGroupsAndRatesToo) {
  options_.partition_files.groups_file =
      file("g", "port-groups\n port-group\n  name: here\n  port-guid: " + to_string(host(2)) +
                    "\n end-port-group\n port-group\n  name: gone\n  port-guid: 0x1-0x5\n"
                    " end-port-group\nend-port-groups\n");
  options_.rates_file = file(
      "r", "BW_NAMES a = 1\nBW_RULES\n" + to_string(host(1)) + " = 1:a\n0x77 = 2:a\nhere = 1:a\n");
  EXPECT_THAT(lines(), testing::ElementsAre(
                           testing::AllOf(testing::StartsWith("g:6:"),
                                          testing::HasSubstr("port group 'gone' names no port")),
                           "r:4:1: warning: no port of the topology has GUID 0x0000000000000077"));
}

TEST_F(Against, WithNothingUnknownNothingIsSaid) {
  options_.partition_files.file = file("p", "Default=0x7fff : ALL, SELF=full ;\n");
  EXPECT_TRUE(lines().empty());
}

}  // namespace
}  // namespace sm::daemon
