// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ib::route {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr Guid kSwitch{0x0002c90200000001}, kOther{0x0002c90200000002};

/// All that is said of a text.
std::string errors_of(OptionFile which, std::string_view text) {
  Options options;
  const auto read = read_option_text(which, text, "f", options);
  if (read) return "no error";
  EXPECT_EQ(read.error().kind, ErrorKind::Usage);
  return read.error().message;
}

/// The first line of it.
std::string error_of(OptionFile which, std::string_view text) {
  const std::string all = errors_of(which, text);
  return all.substr(0, all.find('\n'));
}

TEST(OptionFiles, EveryMistakeIsShownWithItsLineAndACaret) {
  EXPECT_EQ(errors_of(OptionFile::Roots, "0x1\nspine\n0x2 256\n"),
            "f:2:1: error: expected the GUID of a switch or host like 0x0002c90300a1b2c3, got "
            "'spine'\n  spine\n  ^\n"
            "f:3:5: error: expected a rank from 0 to 255, got '256'\n  0x2 256\n      ^");
  EXPECT_EQ(errors_of(OptionFile::Torus, "torus 3 0 3\nxp_link 0x1 0x2\n"),
            "f:1:9: error: expected three sizes like `8 8 8` or `4 3t 5m`, got '0'\n"
            "  torus 3 0 3\n          ^");
}

TEST(OptionFiles, MistakesOfSavedTablesAreShownLikewise) {
  EXPECT_EQ(errors_of(OptionFile::LidMatrix, "Switch: guid 0x1\n0x0002 01 01\n0x0003: 01 xx\n"),
            "f:2:7: error: expected `:` behind the LID, got '0x0002 01 01'\n"
            "  0x0002 01 01\n        ^\n"
            "f:3:12: error: expected hops of two hexadecimal digits, got '0x0003: 01 xx'\n"
            "  0x0003: 01 xx\n             ^");
  const std::string lfts =
      errors_of(OptionFile::Lfts,
                "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000001 ('s'):\n"
                "0x0001 xyz : (x)\n0x0002 001 : (x)\n0x0003 zzz : (x)\nno table\n");
  EXPECT_THAT(lfts, HasSubstr("f:2:8: error: "));
  EXPECT_THAT(lfts, HasSubstr("  0x0001 xyz : (x)\n"));
  EXPECT_THAT(lfts, HasSubstr("f:4:8: error: "));
  EXPECT_THAT(lfts, HasSubstr("f:5:1: error: expected the header or a row"));
}

TEST(OptionFiles, ReadsRootsWithRanksAndNames) {
  Options options;
  const auto read = read_option_text(OptionFile::Roots,
                                     "# tops of the tree\n"
                                     "0x0002c90200000001 0   # by rank\r\n"
                                     "\n"
                                     "  0002c90200000002 spine-2\n"
                                     "0x3#nothing between\n",
                                     "roots", options);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(options.roots.entries.size(), 3U);
  EXPECT_EQ(options.roots.file, "roots");
  EXPECT_EQ(options.roots.entries[0].guid, kSwitch);
  EXPECT_EQ(options.roots.entries[0].rank, 0);
  EXPECT_EQ(options.roots.entries[0].line, 2U);
  EXPECT_EQ(options.roots.entries[1].guid, kOther);
  EXPECT_FALSE(options.roots.entries[1].rank.has_value());
  EXPECT_EQ(options.roots.entries[2].guid, Guid{3});
  EXPECT_EQ(options.roots.entries[2].line, 5U);
}

TEST(OptionFiles, AnIgnoredPortMayBeAnEndPortByItsGuid) {
  Options options;
  const auto read = read_option_text(OptionFile::Ignored, "0x7 # a host\n0x1 3\n", "i", options);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(options.ignored, ElementsAre(std::pair(PortName{Guid{1}, 3}, true),
                                           std::pair(PortName{Guid{7}, 0}, true)));
  ASSERT_EQ(read->places.size(), 2U);
  EXPECT_EQ(read->places[0].means, Mention::Means::EndPort);
  EXPECT_EQ(error_of(OptionFile::Ignored, "0x7\n0x7\n"),
            "f:2:1: error: duplicate GUID 0x0000000000000007 (first on line 1)");
}

TEST(OptionFiles, ReadsPortsWeightsAndOrders) {
  Options options;
  ASSERT_TRUE(read_option_text(OptionFile::Ignored, "0x1 3\n0x1 4", "i", options).has_value());
  ASSERT_TRUE(
      read_option_text(OptionFile::HopWeights, "0x2 1 0\n0x2\t2 255\n", "w", options).has_value());
  ASSERT_TRUE(read_option_text(OptionFile::PortSearchOrder, "0x2 5 1 0x10 # rest as they are\n",
                               "O", options)
                  .has_value());
  ASSERT_TRUE(read_option_text(OptionFile::Ids, "0x2 7\n0x3 0x10\n", "m", options).has_value());
  EXPECT_THAT(options.ignored, UnorderedElementsAre(Pair(PortName{Guid{1}, 3}, true),
                                                    Pair(PortName{Guid{1}, 4}, true)));
  EXPECT_THAT(options.hop_weights,
              UnorderedElementsAre(Pair(PortName{Guid{2}, 1}, 0), Pair(PortName{Guid{2}, 2}, 255)));
  EXPECT_THAT(options.port_search_order.at(Guid{2}), ElementsAre(5, 1, 16));
  EXPECT_EQ(options.ids.entries[1].number, 16U);
}

TEST(OptionFiles, AMistakeIsNamedByFileLineAndColumn) {
  EXPECT_EQ(
      error_of(OptionFile::Roots, "# x\nspine-1\n"),
      "f:2:1: error: expected the GUID of a switch or host like 0x0002c90300a1b2c3, got 'spine-1'");
  EXPECT_EQ(error_of(OptionFile::Roots, "0x1 256\n"),
            "f:1:5: error: expected a rank from 0 to 255, got '256'");
  EXPECT_EQ(error_of(OptionFile::ComputeNodes, "0x1\n0x2\n0x1\n"),
            "f:3:1: error: duplicate GUID 0x0000000000000001 (first on line 1)");
  EXPECT_THAT(error_of(OptionFile::IoNodes, "0x1z\n"),
              HasSubstr("f:1:1: error: expected a port GUID"));
  EXPECT_THAT(error_of(OptionFile::GuidRoutingOrder, "0x0\n"), HasSubstr("expected a port GUID"));
  EXPECT_EQ(error_of(OptionFile::Ids, "0x1 5\n0x2 5\n"),
            "f:2:5: error: duplicate id 5 (first on line 1)");
  EXPECT_EQ(error_of(OptionFile::Ids, "0x1\n"),
            "f:1:4: error: expected a number, got the end of the line");
  EXPECT_EQ(error_of(OptionFile::Ignored, "0x1 0\n"),
            "f:1:5: error: expected a port number from 1 to 254, got '0'");
  EXPECT_EQ(error_of(OptionFile::Ignored, "0x1 1 2\n"),
            "f:1:7: error: expected a comment or the end of the line, got '2'");
  EXPECT_EQ(error_of(OptionFile::HopWeights, "0x1 1 256\n"),
            "f:1:7: error: expected a weight from 0 to 255, got '256'");
  EXPECT_EQ(error_of(OptionFile::HopWeights, "0x1 1 2\n0x1 1 3\n"),
            "f:2:5: error: duplicate GUID 0x0000000000000001 port 1 (first on line 1)");
  EXPECT_EQ(error_of(OptionFile::PortSearchOrder, "0x1 1 2 1\n"), "f:1:9: error: duplicate port 1");
  EXPECT_THAT(error_of(OptionFile::PortSearchOrder, "0x1\n"), HasSubstr("expected a port number"));
}

TEST(OptionFiles, ReadsTorus2Qos) {
  Options options;
  const auto read = read_option_text(OptionFile::Torus,
                                     "# a torus\n"
                                     "mesh 3T 4 5   trailing words\n"
                                     "xp_link 0x10 0x11\n"
                                     "xm_link 0x10 0x12\n"
                                     "yp_link 0x10 0x13\n"
                                     "y_dateline -1\n"
                                     "port_order 3 1 2\n"
                                     "portgroup_max_ports 8\n"
                                     "max_changes 64\n"
                                     "next_seed\n"
                                     "zp_link 0x20 0x21\n"
                                     "z_dateline +2\n",
                                     "torus", options);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const TorusConfig& t = *options.torus;
  EXPECT_THAT(t.radix, ElementsAre(3, 4, 5));
  EXPECT_THAT(t.mesh, ElementsAre(false, true, true));
  ASSERT_EQ(t.seeds.size(), 2U);
  EXPECT_EQ(t.seeds[0].plus[0]->to, Guid{0x11});
  EXPECT_EQ(t.seeds[0].minus[0]->to, Guid{0x12});
  EXPECT_EQ(t.seeds[0].plus[1]->line, 5U);
  EXPECT_EQ(t.seeds[0].dateline[1], -1);
  EXPECT_EQ(t.seeds[1].plus[2]->from, Guid{0x20});
  EXPECT_EQ(t.seeds[1].dateline[2], 2);
  EXPECT_THAT(t.port_order, ElementsAre(3, 1, 2));
  EXPECT_EQ(t.portgroup_max_ports, 8U);
  EXPECT_EQ(read->places.size(), 8U);
}

TEST(OptionFiles, AMistakeInTorus2QosIsNamed) {
  const auto error = [](std::string_view text) { return error_of(OptionFile::Torus, text); };
  EXPECT_EQ(error("\n"), "f:1:1: error: expected torus or mesh, got nothing");
  EXPECT_EQ(error("xp_link 0x1 0x2\n"),
            "f:1:1: error: expected torus or mesh before anything else, got 'xp_link'");
  EXPECT_THAT(error("torus 3 0 5\n"), HasSubstr("f:1:9: error: expected three sizes"));
  EXPECT_THAT(error("torus 3 4\n"), HasSubstr("f:1:9: error: expected three sizes"));
  EXPECT_EQ(error("torus 3 3 3\ntorus 3 3 3\n"), "f:2:1: error: duplicate size of the torus");
  EXPECT_EQ(error("torus 3 3 3\nxp_link 0x1 0x1\n"),
            "f:2:13: error: a link from a switch to itself");
  EXPECT_EQ(error("torus 3 3 3\nxp_link 0x1 0x2\nxp_link 0x1 0x3\n"),
            "f:3:1: error: duplicate link of the seed (first on line 2)");
  EXPECT_THAT(error("torus 3 3 3\nxp_link 0x1 0x2\nyp_link 0x2 0x3\n"),
              HasSubstr("f:3:13: error: the links of a seed share their first switch"));
  EXPECT_EQ(error("torus 3 3 3\nnext_seed\n"),
            "f:2:1: error: the seed before this one has no links");
  EXPECT_EQ(error("torus 3 3 3\nzz_link 0x1 0x2\n"),
            "f:2:1: error: no keyword of torus-2QoS.conf is called 'zz_link'");
  EXPECT_THAT(error("torus 3 3 3\nx_dateline one\n"),
              HasSubstr("f:2:12: error: expected a whole number"));
}

/// kSwitch with 4 ports, and a host of one port; no cable.
fabric::Fabric switch_and_host(Guid host, Guid host_port) {
  fabric::Fabric f;
  fabric::Node node;
  node.type = wire::NodeType::Switch;
  node.guid = kSwitch;
  node.num_ports = 4;
  f.add_node(node);
  node.type = wire::NodeType::ChannelAdapter;
  node.guid = host;
  node.num_ports = 1;
  f.port(f.add_node(node), 1).guid = host_port;
  f.reindex();
  return f;
}

TEST(OptionFiles, WhatTheFabricLacksIsNamedAndWhatIsAwayIsNot) {
  const Guid host_port{0x0002c90300000011};
  const fabric::Fabric f = switch_and_host(Guid{0x0002c90300000010}, host_port);

  Options options;
  std::vector<Mentions> mentions;
  const auto read = [&](OptionFile which, const std::string& text, const std::string& name) {
    mentions.push_back(*read_option_text(which, text, name, options));
  };
  read(OptionFile::Roots, to_string(kSwitch) + "\n" + to_string(host_port) + "\n0x77\n0x88\n",
       "roots");
  read(OptionFile::HopWeights, to_string(kSwitch) + " 4 2\n" + to_string(kSwitch) + " 5 2\n", "w");
  read(OptionFile::ComputeNodes, to_string(host_port) + "\n0x99\n", "cn");
  EXPECT_THAT(unknown_names(f, mentions, [](Guid g) { return g == Guid{0x88}; }),
              ElementsAre("roots:3: no node has the GUID 0x0000000000000077",
                          "w:2: 0x0002c90200000001 has 4 ports, no port 5",
                          "cn:2: no port has the GUID 0x0000000000000099"));
  EXPECT_THAT(unknown_names(f, mentions, {}, 1),
              ElementsAre("roots:3: no node has the GUID 0x0000000000000077",
                          "roots: and 1 more lines name what is not there",
                          "w:2: 0x0002c90200000001 has 4 ports, no port 5",
                          "cn:2: no port has the GUID 0x0000000000000099"));
}

TEST(OptionFiles, WhatHasNoHostIsNamedByNodeOrPort) {
  const fabric::Fabric f = switch_and_host(Guid{0x10}, Guid{0x11});

  Options options;
  const auto mentions = read_option_text(
      OptionFile::NoHosts, "# management\n0x10 by node\n0x11 by port\n0x12\n" + to_string(kSwitch),
      "no-hosts", options);
  ASSERT_TRUE(mentions) << mentions.error().message;
  EXPECT_THAT(options.no_hosts.guids(), ElementsAre(Guid{0x10}, Guid{0x11}, Guid{0x12}, kSwitch));
  EXPECT_THAT(
      unknown_names(f, {*mentions}),
      ElementsAre("no-hosts:4: no node and no port has the GUID 0x0000000000000012",
                  "no-hosts:5: 0x0002c90200000001 is a switch, where a CA or router is meant"));
  EXPECT_EQ(error_of(OptionFile::NoHosts, "0x10\n  gateway\n"),
            "f:2:3: error: expected the GUID of a node or port like 0x0002c90300a1b2c3, got "
            "'gateway'");
  EXPECT_THAT(error_of(OptionFile::NoHosts, "0x10\n0x10\n"),
              HasSubstr("f:2:1: error: duplicate GUID"));
}

TEST(OptionFiles, ReadsThemAllFromDisk) {
  const std::string dir = ::testing::TempDir() + "ibkit-" + std::to_string(::getpid());
  const std::string roots = dir + "-roots", orders = dir + "-orders";
  std::ofstream(roots) << "0x1\n";
  std::ofstream(orders) << "0x1 2\n";
  Options given;
  given.connect_roots = true;
  const auto read =
      read_option_files({{OptionFile::Roots, roots}, {OptionFile::PortSearchOrder, orders}}, given);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(read->options.connect_roots);
  EXPECT_EQ(read->options.roots.entries.size(), 1U);
  EXPECT_EQ(read->mentions.size(), 2U);
  std::remove(roots.c_str());
  std::remove(orders.c_str());
  const auto missing =
      read_option_files({{OptionFile::Roots, roots}, {OptionFile::PortSearchOrder, orders}}, given);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message,
            roots + ": No such file or directory\n" + orders + ": No such file or directory");
}

/// A file of its own in a folder that is gone afterwards.
class Folder {
 public:
  Folder() { EXPECT_NE(::mkdtemp(name_), nullptr); }
  ~Folder() { std::filesystem::remove_all(name_); }
  std::string path(const std::string& file) const { return std::string(name_) + "/" + file; }

 private:
  char name_[32] = "/tmp/ibkit-files-XXXXXX";
};

std::string error_of_file(OptionFile which, const std::string& path) {
  const auto read = read_option_files({{which, path}}, {});
  return read ? "no error" : read.error().message;
}

TEST(OptionFiles, WhatIsNoRegularFileIsRefusedAtOnce) {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of_file(OptionFile::Roots, pipe),
            pipe +
                ": expected a regular file, got a pipe, which is read only once; write what it "
                "says into a file, and name that");
  EXPECT_THAT(error_of_file(OptionFile::Roots, "/dev/zero"),
              HasSubstr("/dev/zero: expected a regular file, got a device or socket"));
  EXPECT_THAT(error_of_file(OptionFile::Lfts, folder.path(".")), HasSubstr("got a folder"));
  EXPECT_THAT(error_of_file(OptionFile::Lfts, folder.path("none")),
              HasSubstr("No such file or directory"));
}

TEST(OptionFiles, WhatIsTooBigToBeMeantIsRefusedUnread) {
  const Folder folder;
  const std::string big = folder.path("big");
  std::ofstream(big).put('#');
  std::filesystem::resize_file(big, (std::uintmax_t{64} << 20) + 1);  // a hole
  EXPECT_EQ(error_of_file(OptionFile::ComputeNodes, big),
            big + ": expected a file of 64 MB at most, got 65 MB: is it the file that was meant?");
}

TEST(OptionFiles, AListThatNamesNothingIsSaidWithItsOption) {
  const Folder folder;
  const std::string empty = folder.path("empty"), torus = folder.path("torus");
  std::ofstream(empty) << "# nothing yet\n\n";
  std::ofstream(torus) << "torus 3 3 3\n";
  for (const auto& [which, option] : {std::pair{OptionFile::Roots, "--root_guid_file"},
                                      {OptionFile::ComputeNodes, "--cn_guid_file"},
                                      {OptionFile::IoNodes, "--io_guid_file"},
                                      {OptionFile::Ids, "--ids_guid_file"},
                                      {OptionFile::Ignored, "--ignore_guids"},
                                      {OptionFile::HopWeights, "--hop_weights_file"},
                                      {OptionFile::PortSearchOrder, "--port_search_ordering_file"},
                                      {OptionFile::GuidRoutingOrder, "--guid_routing_order_file"},
                                      {OptionFile::NoHosts, "--no_host_guid_file"}}) {
    const auto read = read_option_files({{which, empty}, {OptionFile::Torus, torus}}, {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(empty_files(read->mentions),
                ElementsAre(empty + ": names nothing (" + option + "): routed as without it"));
  }
}

}  // namespace
}  // namespace ib::route
