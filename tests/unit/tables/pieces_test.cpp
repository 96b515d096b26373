// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/tables/cut.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

fabric::Fabric row(unsigned switches) {
  return fabric::generate(fabric::Grid{{switches}, false, 1, 1}).value();
}

std::vector<std::string> lines_of(const fabric::Fabric& fabric) {
  return piece_lines(fabric, find_pieces(fabric, fabric::CompactGraph(fabric)));
}

TEST(Pieces, OneIsNotWorthALine) { EXPECT_THAT(lines_of(row(4)), IsEmpty()); }

TEST(Pieces, EachIsALineWithWhatIsInIt) {
  auto fabric = row(8);
  cut(fabric, [](SwitchIndex a, SwitchIndex b) { return a < 6 && b >= 6; });
  const auto lines = lines_of(fabric);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0], "the fabric is disconnected: no link joins its 2 subfabrics");
  EXPECT_THAT(lines[1], StartsWith("subfabric 1: 6 switches ('sw-0' (0x"));
  EXPECT_THAT(lines[1], HasSubstr(" and 2 more) and 6 hosts ('host"));
  EXPECT_THAT(lines[2], StartsWith("subfabric 2: 2 switches ('sw-6' (0x"));
  EXPECT_THAT(lines[2], HasSubstr("'sw-7'"));
  EXPECT_THAT(lines[2], Not(HasSubstr("more")));
}

TEST(Pieces, ManyEndInHowManyMore) {
  auto fabric = row(12);
  cut(fabric, [](SwitchIndex, SwitchIndex) { return true; });
  const auto lines = lines_of(fabric);
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_EQ(lines[0], "the fabric is disconnected: no link joins its 12 subfabrics");
  EXPECT_EQ(lines[9], "and 4 more subfabrics");
}

/// A host with a port in each of two planes is in both and joins nothing: packets do not pass it.
TEST(Pieces, AHostJoinsNothing) {
  const auto fabric = fabric::read_topology(R"(switchguid=0x20(20)
Switch	4 "S-20"		# "left" enhanced port 0 lid 1 lmc 0
[1]	"H-10"[1](11) 		# "both HCA-1" lid 3 4xEDR

switchguid=0x30(30)
Switch	4 "S-30"		# "right" enhanced port 0 lid 2 lmc 0
[1]	"H-10"[2](12) 		# "both HCA-1" lid 4 4xEDR

caguid=0x10
Ca	2 "H-10"		# "both HCA-1"
[1](11) 	"S-20"[1]		# lid 3 lmc 0 "left" lid 1 4xEDR
[2](12) 	"S-30"[1]		# lid 4 lmc 0 "right" lid 2 4xEDR
)",
                                            "planes");
  ASSERT_TRUE(fabric) << fabric.error().message;
  const auto lines = lines_of(*fabric);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], HasSubstr("1 host ('both HCA-1'"));
  EXPECT_THAT(lines[2], HasSubstr("1 host ('both HCA-1'"));
}

TEST(Pieces, HostsBackToBackAreOne) {
  auto fabric = row(2);
  const auto add_host = [&](std::uint64_t guid) {
    fabric::Node node;
    node.guid = Guid{guid};
    node.num_ports = 1;
    return fabric.add_node(node);
  };
  const auto a = add_host(0xA), b = add_host(0xB);
  fabric.connect({a, 1}, {b, 1}, wire::LinkWidth::W4x, wire::LinkSpeed::Edr);
  add_host(0xC);  // no cable: no piece of anything
  const auto pieces = find_pieces(fabric, fabric::CompactGraph(fabric));
  ASSERT_THAT(pieces, SizeIs(2));
  EXPECT_THAT(pieces[1].hosts, ElementsAre(a, b));
  EXPECT_THAT(lines_of(fabric)[2], StartsWith("subfabric 2: no switch and 2 hosts ("));
}

}  // namespace
}  // namespace ib::tables
