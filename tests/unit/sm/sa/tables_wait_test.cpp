// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Queries for tables of devices that come before the tables were read.
#include "sm/sa/intake/tables_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

const std::uint16_t kOfDevices[] = {attr::kPKeyTableRecord, attr::kSlToVlRecord,
                                    attr::kVlArbitrationRecord, attr::kGuidInfoRecord};

DeviceStatePtr to_come(bool wanting) {
  DeviceState device_state;
  device_state.tables_to_come = wanting;
  return std::make_shared<const DeviceState>(std::move(device_state));
}
/// One P_Key of one node, and nothing to come.
DeviceStatePtr read(const Bench& bench, NodeIndex node) {
  DeviceState device_state;
  device::Inventory all;
  const auto& of = bench.snapshot->fabric().node(node);
  ib::wire::PKeyTable keys{};
  keys.p_keys[0] = ib::kDefaultPKey;
  device::Block block{};
  ib::wire::encode(keys, block.data());
  all.put(device::kPKeyTable, of.guid, of.num_ports, {1, 0, 0}, block);
  device_state.tables = all.publish();
  return std::make_shared<const DeviceState>(std::move(device_state));
}

Packet query(Bench& bench, Method method, std::uint16_t attribute, std::size_t from = 0) {
  return bench.request(method, attribute, std::uint64_t{0}, 0, from);
}

TEST(TablesWait, AnswersComeWithTheTables) {
  Bench bench(small_tree());
  bench.sm_key = 1;
  bench.server.publish(to_come(true));
  const auto asked = query(bench, Method::Get, attr::kPKeyTableRecord);
  bench.give(asked);
  EXPECT_THAT(bench.drain(), IsEmpty());
  EXPECT_FALSE(bench.server.has_work());
  bench.give(asked);
  EXPECT_THAT(bench.drain(), IsEmpty()) << "asked again, it waits as one";
  bench.give(query(bench, Method::Get, attr::kSmInfoRecord));
  EXPECT_THAT(bench.drain(), SizeIs(1)) << "other requests of the same client do not wait";

  bench.server.publish(to_come(true));
  EXPECT_THAT(bench.drain(), IsEmpty()) << "what is read so far is not the end";
  bench.server.publish(read(bench, bench.hosts[2].node));
  EXPECT_TRUE(bench.server.has_work());
  const auto answers = bench.drain();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].mad.status(), status::kOk);
  EXPECT_EQ(answers[0].mad.get<&ib::wire::MadHeader::tid>(),
            asked.mad.get<&ib::wire::MadHeader::tid>());
  EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
  bench.give(query(bench, Method::Get, attr::kPKeyTableRecord));
  EXPECT_THAT(bench.drain(), SizeIs(1)) << "from now on nobody waits";
}

TEST(TablesWait, EndsAfterHalfASecond) {
  for (const auto method : {Method::Get, Method::GetTable})
    for (const auto attribute : kOfDevices) {
      Bench bench(small_tree());
      bench.sm_key = 1;
      bench.server.publish(to_come(true));
      const auto begun = bench.now;
      bench.give(query(bench, method, attribute));
      EXPECT_THAT(bench.drain(), IsEmpty());
      EXPECT_EQ(bench.server.next_deadline(), begun + TablesWait::kLongest);
      bench.now = begun + TablesWait::kLongest - std::chrono::nanoseconds(1);
      bench.server.on_time(bench.now);
      EXPECT_THAT(bench.drain(), IsEmpty());
      bench.now = begun + TablesWait::kLongest;
      bench.server.on_time(bench.now);
      EXPECT_TRUE(bench.server.has_work());
      EXPECT_THAT(bench.drain(), ::testing::Not(IsEmpty())) << attribute;
    }
}

TEST(TablesWait, OnlyWhatIsReadFromDevicesWaits) {
  Bench bench(small_tree());
  bench.sm_key = 1;
  bench.server.publish(to_come(true));
  for (const auto attribute :
       {attr::kNodeRecord, attr::kPortInfoRecord, attr::kSwitchInfoRecord, attr::kLinkRecord,
        attr::kLinearFdtRecord, attr::kMulticastFdtRecord, attr::kServiceRecord}) {
    bench.give(query(bench, Method::GetTable, attribute));
    EXPECT_THAT(bench.drain(), ::testing::Not(IsEmpty())) << attribute;
  }
  bench.give(query(bench, Method::Set, attr::kGuidInfoRecord));
  EXPECT_FALSE(TablesWait::concerns(query(bench, Method::Set, attr::kGuidInfoRecord)));
  EXPECT_FALSE(TablesWait::concerns(query(bench, Method::Delete, attr::kGuidInfoRecord)));
}

/// Who finds no room is answered with what is known, and is not told BUSY.
TEST(TablesWait, HasRoomForSoManyOfOneAndOfAll) {
  Bench bench(small_tree());
  TablesWait wait;
  std::size_t taken = 0;
  std::vector<std::uint64_t> order;
  for (std::size_t i = 0; i < 2 * TablesWait::kMost; ++i) {
    const Lid who{static_cast<std::uint16_t>(1 + i / (TablesWait::kMostOfOne + 1))};
    const auto request = query(bench, Method::Get, attr::kGuidInfoRecord);
    const bool of_one = i % (TablesWait::kMostOfOne + 1) < TablesWait::kMostOfOne;
    const bool took = wait.add(bench.now, who, request);
    EXPECT_EQ(took, of_one && taken < TablesWait::kMost) << i;
    if (!took) continue;
    ++taken;
    order.push_back(request.mad.get<&ib::wire::MadHeader::tid>().value);
  }
  EXPECT_EQ(taken, TablesWait::kMost);
  EXPECT_FALSE(wait.next());
  wait.release();
  EXPECT_EQ(wait.next_deadline(), ib::kNever);
  for (const auto tid : order) {
    const auto next = wait.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->mad.get<&ib::wire::MadHeader::tid>().value, tid);
  }
  EXPECT_FALSE(wait.has_next());

  Bench full(small_tree());
  full.sm_key = 1;
  full.server.publish(to_come(true));
  for (std::size_t i = 0; i < TablesWait::kMostOfOne; ++i)
    full.give(query(full, Method::Get, attr::kPKeyTableRecord));
  EXPECT_THAT(full.drain(), IsEmpty());
  full.give(query(full, Method::Get, attr::kPKeyTableRecord));
  const auto answers = full.drain();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].mad.status(), status::kSaNoRecords);
}

}  // namespace
}  // namespace sm::sa::test
