// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The text, JSON and dot that scripts read, against files. After a wanted change:
//   ibtopo --load small.topo --json > small.json    (and --dot > small.dot)
#include <gtest/gtest.h>

#include "libdiag/fabric/export/draw.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/topology_json.h"

namespace ib {
namespace {

std::string golden(const std::string& name) {
  auto text = fabric::read_file_or_pipe(IBKIT_SOURCE_DIR "/tests/golden/topology/" + name);
  EXPECT_TRUE(text.has_value()) << text.error().message;
  return text.value_or("");
}

class TopologyGolden : public ::testing::Test {
 protected:
  std::string source = golden("small.topo");
  fabric::Fabric fabric = fabric::read_topology(source, "small.topo").value();
};

TEST_F(TopologyGolden, Text) {
  fabric::TopologyTextOptions options;
  options.generated_on = "Sun Feb 21 16:30:17 2021";
  EXPECT_EQ(fabric::topology_text(fabric, options), source);
}

TEST_F(TopologyGolden, Json) {
  EXPECT_EQ(report::topology_json(fabric, {"ibkit.ibtopo/2", "ibtopo", "0.1.0", true, {}}),
            golden("small.json"));
}

TEST_F(TopologyGolden, Dot) {
  fabric::PictureOptions options;
  options.title = "small.topo";
  EXPECT_EQ(fabric::dot_text(fabric::make_picture(fabric, options)).value(), golden("small.dot"));
}

}  // namespace
}  // namespace ib
