// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the reader of device tables asks, of whom, how much at once, and what it makes of answers.
#include "sm/core/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::core {
namespace {

using device::NodeTables;
using ib::Guid;
using ib::fabric::NodeIndex;
using ib::mad::Completion;
using ib::mad::Request;
namespace attr = ib::wire::attr;

/// Devices that answer as told, one request after the other.
class Devices {
 public:
  explicit Devices(ib::fabric::Fabric fabric)
      : snapshot_(sa::test::snapshot_of(std::move(fabric))) {
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot_->observed);
    for (auto& port : observed->ports) {
      ib::wire::PortInfo info = port.info();
      info.capability_mask |= ib::wire::port_cap::kSlMapping;
      info.vl_arbitration_low_cap = 8;
      info.vl_arbitration_high_cap = 48;
      ib::wire::encode(info, port.bytes.data());
    }
    for (auto& node : observed->nodes)
      if (node.switch_info) node.switch_info->partition_enforcement_cap = 40;
    snapshot_->observed = observed;
    managed_.assign(snapshot_->observed->nodes.size(), true);
  }

  /// 0xFFFF: silence.
  using Status = std::function<std::uint16_t(const Request&)>;
  static constexpr std::uint16_t kSilence = 0xFFFF;

  std::size_t read(TableReaderOptions options = {}, const Status& status_of = {}) {
    TableReader reader(snapshot_, managed_, tables_, options);
    std::deque<Request> under_way;
    const auto take = [&] {
      for (auto& r : reader.take_requests()) {
        ++asked_[r.mad.attribute_id()];
        ++now_[r.target_key];
        most_of_one_ = std::max(most_of_one_, now_[r.target_key]);
        under_way.push_back(std::move(r));
      }
      most_ = std::max(most_, under_way.size());
    };
    for (take(); !under_way.empty(); take()) {
      const Request request = std::move(under_way.front());
      under_way.pop_front();
      --now_[request.target_key];
      reader.on_completion({}, answer(request, status_of ? status_of(request) : 0));
    }
    EXPECT_TRUE(reader.done());
    note_ = reader.note();
    return reader.nodes_read();
  }

  const ib::fabric::Fabric& fabric() const { return snapshot_->fabric(); }
  NodeIndex first(bool is_switch) const {
    NodeIndex n = 0;
    while (fabric().node(n).is_switch() != is_switch) ++n;
    return n;
  }

  std::shared_ptr<Snapshot> snapshot_;
  std::vector<bool> managed_;
  device::Inventory tables_;
  std::map<std::uint16_t, unsigned> asked_;
  std::map<std::uint64_t, unsigned> now_;
  unsigned most_of_one_{0};
  std::size_t most_{0};
  std::string note_;

 private:
  /// Every byte tells which block it is of; a row has the output in every nibble.
  static Completion answer(const Request& request, std::uint16_t status) {
    Completion c;
    c.cookie = request.cookie;
    if (status == kSilence) {
      c.reply = ib::fail(ib::ErrorKind::TimedOut, "no answer");
      return c;
    }
    ib::mad::Packet packet;
    packet.mad = request.mad;
    packet.mad.set<&ib::wire::MadHeader::status>(status);
    std::fill_n(packet.mad.data(), 64, static_cast<std::byte>(request.mad.attribute_modifier()));
    c.reply = std::move(packet);
    return c;
  }
};

TEST(TableReader, ReadsEveryTableOfEveryNodeOnce) {
  Devices d(sa::test::small_tree());
  EXPECT_EQ(d.read(), 16U + 6U);
  EXPECT_EQ(d.tables_.nodes_read(), 16U + 6U);
  // 128 keys of a host are 4 blocks, 32 of port 0 one, 40 of an external port two.
  EXPECT_EQ(d.asked_[attr::kPKeyTable], 16U * 4 + 6 * (1 + 8 * 2));
  EXPECT_EQ(d.asked_[attr::kGuidInfo], 16U + 6);
  // 8 entries of low priority are one block, 48 of high priority two.
  EXPECT_EQ(d.asked_[attr::kVlArbitration], (16U + 6 * 9) * 3);
  EXPECT_EQ(d.asked_[attr::kSlToVl], 16U + 6 * 81);

  const NodeTables* host = d.tables_.find(d.fabric().node(d.first(false)).guid);
  ASSERT_NE(host, nullptr);
  EXPECT_NE(host->held(device::kPKeyTable, {1, 0, 3}), nullptr);
  EXPECT_EQ(host->held(device::kPKeyTable, {1, 0, 4}), nullptr);
  EXPECT_EQ(host->held(device::kPKeyTable, {0, 0, 0}), nullptr);
  EXPECT_EQ(host->held(device::kVlArbitration, {1, 0, 2}), nullptr);
  EXPECT_NE(host->held(device::kVlArbitration, {1, 0, 4}), nullptr);
  const NodeTables* leaf = d.tables_.find(d.fabric().node(d.first(true)).guid);
  ASSERT_NE(leaf, nullptr);
  const auto* keys = leaf->held(device::kPKeyTable, {5, 0, 1});
  ASSERT_NE(keys, nullptr);
  EXPECT_EQ((*keys)[0], std::byte{1}) << "block 1 of port 5: modifier 0x50001";
  ASSERT_NE(leaf->held(device::kSlToVl, {7, 3, 0}), nullptr);
  EXPECT_EQ((*leaf->held(device::kSlToVl, {7, 3, 0}))[0], std::byte{7});
  for (const std::uint8_t p : {std::uint8_t{9}, std::uint8_t{254}, std::uint8_t{255}}) {
    EXPECT_EQ(leaf->held(device::kSlToVl, {1, p, 0}), nullptr);
    EXPECT_EQ(leaf->held(device::kSlToVl, {p, 1, 0}), nullptr);
    EXPECT_EQ(leaf->held(device::kPKeyTable, {p, 0, 0}), nullptr);
    EXPECT_EQ(leaf->held(device::kPKeyTable, {1, 0, p}), nullptr);
  }

  d.asked_.clear();
  EXPECT_EQ(d.read(), 0U) << "what is known is not asked again";
  EXPECT_TRUE(d.asked_.empty());
  d.tables_.forget(d.fabric().node(d.first(true)).guid);
  EXPECT_EQ(d.read(), 1U);
}

TEST(TableReader, AsksFewAtOnce) {
  Devices d(sa::test::small_tree());
  TableReaderOptions options;
  options.per_node = 2;
  options.nodes = 3;
  d.read(options);
  EXPECT_EQ(d.most_of_one_, 2U);
  EXPECT_EQ(d.most_, 6U);
}

TEST(TableReader, ASilentNodeIsAskedNoMoreAndAgainTheNextTime) {
  Devices d(sa::test::small_tree());
  const Guid silent = d.fabric().node(d.first(true)).guid;
  const auto silence = [&](const Request& r) -> std::uint16_t {
    return r.target_key == silent.value ? Devices::kSilence : 0;
  };
  EXPECT_EQ(d.read({}, silence), 21U);
  EXPECT_FALSE(d.tables_.is_read(silent));
  d.asked_.clear();
  EXPECT_EQ(d.read({}, silence), 0U);
  unsigned asked = 0;
  for (const auto& [attribute, count] : d.asked_) asked += count;
  EXPECT_LE(asked, 2U);
  EXPECT_EQ(d.read(), 1U);
}

TEST(TableReader, WhatADeviceDoesNotKnowIsNotAskedBlockByBlock) {
  Devices d(sa::test::small_tree());
  EXPECT_EQ(d.read({},
                   [](const Request& r) -> std::uint16_t {
                     return r.mad.attribute_id() == attr::kPKeyTable
                                ? ib::wire::status::kBadAttribute
                                : std::uint16_t{0};
                   }),
            22U);
  EXPECT_LE(d.asked_[attr::kPKeyTable], 22U * 2) << "what is under way, at most";
  const NodeTables* host = d.tables_.find(d.fabric().node(d.first(false)).guid);
  EXPECT_EQ(host->held(device::kPKeyTable, {1, 0, 0}), nullptr);
  EXPECT_NE(host->held(device::kGuidInfo, {1, 0, 0}), nullptr);
}

TEST(TableReader, WhatSetsWereAnsweredWithIsNotAskedAgain) {
  Devices d(sa::test::small_tree());
  const auto& leaf = d.fabric().node(d.first(true));
  device::Block row{}, low{};
  row.fill(std::byte{0x21});
  for (std::uint8_t out = 0; out <= 8; ++out)
    for (std::uint8_t in = 0; in <= 8; ++in)
      if (in != 2 || out != 3)
        d.tables_.put(device::kSlToVl, leaf.guid, leaf.num_ports, {out, in, 0}, row);
  low.fill(std::byte{4});
  d.tables_.put(device::kVlArbitration, leaf.guid, leaf.num_ports, {4, 0, 1}, low);
  d.read();
  EXPECT_EQ(d.asked_[attr::kSlToVl], 16U + 5 * 81 + 1);
  EXPECT_EQ(d.asked_[attr::kVlArbitration], (16U + 6 * 9) * 3 - 1);
  const NodeTables* held = d.tables_.find(leaf.guid);
  EXPECT_EQ(*held->held(device::kSlToVl, {8, 8, 0}), row);
  EXPECT_EQ((*held->held(device::kSlToVl, {3, 2, 0}))[0], std::byte{3});
  EXPECT_EQ(*held->held(device::kVlArbitration, {4, 0, 1}), low);
}

TEST(TableReader, RowsBeyondTheBoundAreLeftAndItSaysSo) {
  Devices d(sa::test::small_tree());
  TableReaderOptions options;
  options.pairs_max = 6 * 81 - 1;
  EXPECT_EQ(d.read(options), 22U);
  EXPECT_EQ(d.asked_[attr::kSlToVl], 16U) << "the hosts' one each";
  EXPECT_THAT(d.note_, ::testing::HasSubstr("6 switches"));
  EXPECT_THAT(d.note_, ::testing::HasSubstr("486"));
}

TEST(TableReader, LeavesAloneWhatIsNotManaged) {
  Devices d(sa::test::small_tree());
  d.managed_[d.first(true)] = false;
  EXPECT_EQ(d.read(), 21U);
}

}  // namespace
}  // namespace sm::core
