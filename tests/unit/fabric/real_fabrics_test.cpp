// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Files that ibnetdiscover printed on real systems, where they lie beside the project
// (../shared/fabrics, or $IBKIT_FABRICS). The generated look-alikes cover the same ground where
// they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "libdiag/fabric/topology_text.h"

namespace ib::fabric {
namespace {

std::filesystem::path fabrics_dir() {
  const char* dir = std::getenv("IBKIT_FABRICS");
  return dir != nullptr ? dir : std::string(IBKIT_SOURCE_DIR "/../shared/fabrics");
}

struct Expected {
  const char* file;
  std::size_t switches, cas, links;
};

TEST(RealFabrics, AreReadWhole) {
  for (const Expected& e :
       {Expected{"janus-qdr-1356.topo", 214, 1356, 4168},
        Expected{"dgx-ndr-582.topo", 40, 582, 1114}, Expected{"lab-mixed-13.topo", 2, 13, 16}}) {
    const auto path = fabrics_dir() / e.file;
    if (!std::filesystem::exists(path)) continue;
    std::vector<std::string> warnings;
    const auto fabric = read_topology_file(path, &warnings);
    ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
    EXPECT_EQ(fabric->count(wire::NodeType::Switch), e.switches) << e.file;
    EXPECT_EQ(fabric->count(wire::NodeType::ChannelAdapter), e.cas) << e.file;
    EXPECT_EQ(fabric->link_count(), e.links) << e.file;
    EXPECT_THAT(warnings, ::testing::SizeIs(::testing::Le(40))) << e.file << "\n" << warnings[0];

    // What we write of it we read back to the same.
    const std::string text = topology_text(*fabric);
    const auto again = read_topology(text, e.file);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(topology_text(*again), text);
  }
}

}  // namespace
}  // namespace ib::fabric
