// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/light_sweep.h"

#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::Trouble;
namespace attr = ib::wire::attr;

/// One switch, and somebody silent behind its port 3.
Observed observed(std::uint16_t attribute, std::uint8_t port) {
  ib::fabric::FatTree kind;
  kind.radix = 4;
  Observed seen;
  seen.fabric = *ib::fabric::generate(kind);
  seen.nodes.resize(seen.fabric.nodes().size());
  for (ib::fabric::NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    seen.nodes[n].info.node_type = seen.fabric.node(n).is_switch()
                                       ? ib::wire::NodeType::Switch
                                       : ib::wire::NodeType::ChannelAdapter;
    seen.nodes[n].info.node_guid = seen.fabric.node(n).guid;
  }
  Trouble silent;
  silent.kind = Trouble::Kind::Silent;
  for (ib::fabric::NodeIndex n = 0; n < seen.nodes.size(); ++n)
    if (seen.fabric.node(n).is_switch()) silent.behind = {n, 3};
  silent.attribute = attribute;
  silent.port = port;
  silent.route.hops = {1, 3};
  seen.troubles = {silent};
  return seen;
}

/// The light sweep's question to the silent one, and what an answer to it calls for.
void expect_asks(std::uint16_t attribute, std::uint8_t port) {
  const Observed seen = observed(attribute, port);
  LightSweep sweep(seen, std::vector<bool>(seen.nodes.size(), true), {}, 0);
  const auto requests = sweep.take_requests();
  const auto expected = ib::mad::smp_request(0, 0, seen.troubles.front().route,
                                             ib::wire::Method::Get, attribute, port);
  std::vector<ib::mad::Request> to_silent;
  for (const auto& r : requests)
    if (r.mad.bytes == expected.mad.bytes) to_silent.push_back(r);
  ASSERT_EQ(to_silent.size(), 1U);
  EXPECT_TRUE(sweep.in_flight().contains(to_silent[0].cookie));

  ib::mad::Completion answer;
  answer.cookie = to_silent[0].cookie;
  ib::mad::Packet packet;
  packet.mad = to_silent[0].mad;
  answer.reply = packet;
  sweep.on_completion({}, answer);
  ASSERT_EQ(sweep.changes().size(), 1U);
  EXPECT_TRUE(sweep.changes()[0].ends_with(" answers now")) << sweep.changes()[0];
}

TEST(LightSweep, AsksTheSilentWhatTheyDidNotAnswer) {
  expect_asks(attr::kNodeInfo, 0);
  expect_asks(attr::kSwitchInfo, 0);
  expect_asks(attr::kPortInfo, 2);
}

}  // namespace
}  // namespace sm::core
