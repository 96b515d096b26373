// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/partition_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

using testing::HasSubstr;

/// A switch, a host of one port and one of two.
SubnetView subnet() {
  ib::fabric::Fabric fabric;
  const auto add = [&](std::uint64_t guid, const char* name, std::uint8_t ports, bool is_switch) {
    ib::fabric::Node node;
    node.guid = ib::Guid{guid};
    node.description = name;
    node.num_ports = ports;
    if (is_switch) node.type = ib::wire::NodeType::Switch;
    const auto n = fabric.add_node(node);
    for (unsigned p = is_switch ? 0 : 1; p <= ports; ++p)
      fabric.port(n, p).guid = ib::Guid{is_switch ? guid : guid + p};
  };
  add(0x10, "leaf", 4, true);
  add(0x20, "one HCA-1", 1, false);
  add(0x30, "two HCA-1", 2, false);
  fabric.reindex();
  auto observed = std::make_shared<ib::discover::Observed>();
  observed->fabric = std::move(fabric);
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->observed = std::move(observed);
  return {snapshot, nullptr, false};
}

MembersChange add(const SubnetView& subnet, std::vector<std::string> ports) {
  ports.insert(ports.begin(), {"add", "0x8001"});
  return partition_verb({"partition", std::move(ports), {}}, {}, subnet);
}

std::vector<std::uint64_t> guids(const MembersChange& change) {
  std::vector<std::uint64_t> out;
  for (const auto& member : change.members) out.push_back(member.port_guid.value);
  return out;
}

TEST(PartitionVerbs, APortIsNamedByItsGuidOrByItsNode) {
  const auto view = subnet();
  EXPECT_THAT(guids(add(view, {"0x77", "one", "two:HCA-1:2", "leaf"})),
              testing::UnorderedElementsAre(0x77, 0x21, 0x32, 0x10));
}

TEST(PartitionVerbs, WhatIsNoPortChangesNothing) {
  const auto view = subnet();
  const auto refused = [&](const char* word, int status) {
    const auto change = add(view, {"one", word});
    EXPECT_EQ(change.answer.status, status) << word;
    EXPECT_THAT(change.members, testing::IsEmpty()) << word;
    EXPECT_THAT(change.answer.text, HasSubstr("; nothing was changed\n")) << word;
    return change.answer.text;
  };
  EXPECT_THAT(refused("two", 2), HasSubstr("'two' has 2 ports; name one as NODE:PORT or by its"));
  EXPECT_THAT(refused("onne", 1), HasSubstr("no node is named 'onne'; did you mean 'one'"));
  EXPECT_THAT(refused("0x", 2), HasSubstr("expected the GUID of a port (0x...), got '0x'"));
  EXPECT_THAT(add({}, {"one"}).answer.text,
              HasSubstr("expected the GUID of a port (0x...) as long as the subnet is not up"));
}

}  // namespace
}  // namespace sm::daemon
