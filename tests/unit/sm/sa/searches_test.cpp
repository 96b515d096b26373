// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Questions that take long to answer: in steps, with everybody else served in between.
#include "sm/sa/intake/searches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/intake/transfers.h"
#include "sm/sa/paths/multi_path.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/registry/mask.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::PathRecord;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

/// `records` records, one in every `apart` candidates; `looked` counts these.
class Sparse final : public RecordSource {
 public:
  Sparse(std::size_t records, std::size_t apart) : RecordSource(8), left_(records), apart_(apart) {}
  std::size_t looked{0};

  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    while (left_ != 0) {
      if (looked_at == most) return Found::NotYet;
      ++looked_at;
      if (++looked % apart_ != 0) continue;
      std::fill_n(record, 8, static_cast<std::byte>(left_--));
      return Found::Record;
    }
    return Found::Nothing;
  }

 private:
  std::size_t left_, apart_;
};

/// One that the test and the search have together.
class Shared final : public RecordSource {
 public:
  explicit Shared(std::shared_ptr<Sparse> source) : RecordSource(8), source_(std::move(source)) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    return source_->search(record, most, looked_at);
  }
  std::shared_ptr<Sparse> source_;
};

Searches::Search search_of(const std::shared_ptr<Sparse>& source, std::uint16_t who) {
  return {{}, Lid{who}, std::make_unique<Shared>(source), 16, {}, false};
}

TEST(Searches, AStepLooksAtSoManyCandidatesAndEveryoneHasATurn) {
  Searches searches;
  const auto never = std::make_shared<Sparse>(1, SIZE_MAX), soon = std::make_shared<Sparse>(2, 100);
  searches.begin(search_of(never, 1));
  searches.begin(search_of(soon, 2));
  EXPECT_EQ(searches.size_of(Lid{1}), 1U);
  std::vector<std::size_t> steps;
  std::vector<std::uint16_t> done;
  for (auto before = std::size_t{0}; !searches.empty();) {
    if (const auto ended = searches.step()) done.push_back(ended->who.value);
    steps.push_back(never->looked + soon->looked - before);
    before = never->looked + soon->looked;
    if (done.size() == 1 && soon->looked != 0) {
      EXPECT_LE(never->looked, 5 * kCandidatesPerStep) << "turn by turn";
    }
    if (done.size() == 1 && done[0] == 2) break;
  }
  while (!searches.empty()) {
    const auto before = never->looked;
    if (const auto ended = searches.step()) {
      EXPECT_THAT(ended->found, IsEmpty());
      EXPECT_TRUE(ended->at_end);
      EXPECT_TRUE(ended->source->gave_up());
    }
    steps.push_back(never->looked - before);
  }
  EXPECT_THAT(steps, Each(Le(kCandidatesPerStep)));
  EXPECT_EQ(never->looked, kCandidatesMax);
  EXPECT_EQ(soon->looked, 200U) << "no more than were needed";
}

/// A tree on which an SL that no route has matches none of some 500 pairs.
struct Vain {
  Bench bench{small_tree()};
  Packet question(std::size_t from, Method method = Method::Get) {
    PathRecord wanted;
    wanted.mtu = 5;
    wanted.mtu_selector = ib::wire::Selector::GreaterThan;
    return bench.request(method, attr::kPathRecord, wanted,
                         bit(path_bit::kMtuSelector) | bit(path_bit::kMtu), 0, from);
  }
  std::vector<Packet> sent() {
    std::vector<Packet> out;
    while (auto packet = bench.server.next_send(bench.now)) out.push_back(std::move(*packet));
    return out;
  }
};

TEST(SaSearches, AGetThatMatchesNothingHoldsUpNobody) {
  Vain vain;
  auto& bench = vain.bench;
  const auto pairs = (bench.hosts.size() + 6) * (bench.hosts.size() + 6);  // and 6 switches
  const auto question = vain.question(1);
  bench.server.on_packet(bench.now, question);
  ASSERT_TRUE(bench.server.work(bench.now));
  EXPECT_THAT(vain.sent(), IsEmpty());
  // Who asks something simple meanwhile is served with the next step or the one after it.
  std::size_t steps = 1;
  for (int i = 0; i < 2; ++i) {
    const auto simple = bench.request(Method::Get, attr::kClassPortInfo);
    bench.server.on_packet(bench.now, simple);
    EXPECT_TRUE(bench.server.work(bench.now));
    EXPECT_TRUE(bench.server.work(bench.now));
    ++steps;
    EXPECT_THAT(vain.sent(), SizeIs(1));
  }
  bench.server.on_packet(bench.now, question);
  EXPECT_EQ(bench.server.counters().under_way, 1U) << "asked again while it is looked for";
  while (bench.server.has_work()) {
    EXPECT_TRUE(bench.server.work(bench.now));
    ++steps;
  }
  EXPECT_FALSE(bench.server.work(bench.now));
  EXPECT_EQ(steps, (pairs + kCandidatesPerStep - 1) / kCandidatesPerStep);
  const auto answers = vain.sent();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].mad.status(), status::kSaNoRecords);
  EXPECT_EQ(bench.server.counters().answers, 3U);
}

TEST(SaSearches, OneRequesterLooksForSoMuchAtOnceAndOthersPassIt) {
  Options options;
  options.transfers_per_requester = 2;
  Vain vain{Bench(small_tree(), options)};
  auto& bench = vain.bench;
  for (int i = 0; i < 5; ++i) bench.server.on_packet(bench.now, vain.question(1));
  for (int i = 0; i < 4; ++i) bench.server.work(bench.now);
  bench.server.on_packet(bench.now, vain.question(2));
  std::vector<std::uint16_t> order;
  while (bench.server.work(bench.now))
    for (const auto& packet : vain.sent()) order.push_back(packet.address.lid.value);
  ASSERT_THAT(order, SizeIs(6));
  EXPECT_LT(std::ranges::find(order, bench.host(2).lid.value) - order.begin(), 3);
}

TEST(SaSearches, ATableWithoutRecordsIsEmptyAtTheEndOfItsSearch) {
  Vain vain;
  const auto table = vain.bench.ask_table(vain.question(1, Method::GetTable));
  EXPECT_EQ(table.mad.status(), status::kOk);
  EXPECT_EQ(rmpp::data_bytes(table), 0U);
}

/// 255 sources and as many destinations, and no path for any of them.
TEST(SaSearches, AGetMultiOfManyGidsHoldsUpNobody) {
  Options options;
  options.kernel_rmpp = true;  // so that it comes whole
  ib::fabric::FatTree tree;
  tree.levels = 2;
  tree.radix = 24;  // 288 hosts
  Bench bench(*ib::fabric::generate(tree), options);
  ib::wire::MultiPathRecord wanted;
  wanted.sgid_count = wanted.dgid_count = 255;
  wanted.mtu = 5;
  wanted.mtu_selector = ib::wire::Selector::GreaterThan;
  auto question = bench.request(Method::GetMulti, attr::kMultiPathRecord, wanted,
                                bit(multi_path_bit::kSgidCount) | bit(multi_path_bit::kDgidCount) |
                                    bit(multi_path_bit::kMtuSelector) | bit(multi_path_bit::kMtu),
                                0, 1);
  std::vector<std::byte> message(ib::wire::LayoutOf<ib::wire::MultiPathRecord>::kBytes);
  std::copy_n(question.mad.data(), message.size(), message.begin());
  for (const std::size_t first : {0U, 33U})
    for (std::size_t i = first; i < first + 255; ++i)
      for (const auto byte : bench.gid(i).bytes) message.push_back(std::byte{byte});
  std::copy_n(message.begin(), ib::wire::kSaDataBytes, question.mad.data());
  question.more.assign(message.begin() + ib::wire::kSaDataBytes, message.end());

  const auto [others, answer] = ask_beside_others(bench, question);
  EXPECT_EQ(answer.mad.status(), status::kOk) << "a table without records";
  EXPECT_GE(others, 20'000 / kCandidatesPerStep) << "as many as it may look at, in steps";
}

/// A client that takes a table as the kernel does.
struct Taker {
  explicit Taker(Transfers& t) : transfers(t) {
    head.address = ib::mad::gsi_address(Lid{9});
    head.mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnAdm, Method::GetTableResp, attr::kNodeRecord);
    head.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{77});
  }
  /// What arrives now; ACKs go back.
  void take() {
    while (auto packet = transfers.next_send(now)) {
      last = *packet;
      receiver.on_mad(now, ib::mad::gsi_address(Lid{1}), packet->mad);
      while (auto ack = receiver.next_send()) {
        ack->address = head.address;
        transfers.on_mad(now, *ack);
      }
    }
  }
  Transfers& transfers;
  Instant now{1'000'000'000};
  rmpp::Receiver receiver;
  Packet head;
  Packet last;
};

TEST(SaTransfers, RecordsFarApartAreLookedForInSteps) {
  Transfers transfers;
  Taker taker(transfers);
  const auto source = std::make_shared<Sparse>(100, 1000);
  transfers.begin(Lid{1}, 0, taker.head, std::vector<std::byte>(400, std::byte{0xAA}), source);
  std::size_t most = 0;
  for (int i = 0; i < 10'000 && transfers.size() != 0; ++i) {
    auto before = source->looked;
    taker.take();
    most = std::max(most, source->looked - before);
    before = source->looked;
    if (transfers.is_short()) transfers.step();
    most = std::max(most, source->looked - before);
  }
  EXPECT_LE(most, 512U);
  EXPECT_EQ(transfers.size(), 0U);
  const auto message = taker.receiver.next_message();
  ASSERT_TRUE(message);
  EXPECT_EQ(rmpp::data_bytes(*message), 400U + 8 * 100);
  EXPECT_EQ(message->more.back(), std::byte{1}) << "the last record";
}

TEST(SaTransfers, ATableWhoseRestIsNotFoundIsAborted) {
  Transfers transfers;
  Taker taker(transfers);
  transfers.begin(Lid{1}, 0, taker.head, std::vector<std::byte>(400),
                  std::make_shared<Sparse>(1, SIZE_MAX));
  std::size_t steps = 0;
  for (taker.take(); transfers.is_short(); taker.take()) {
    transfers.step();
    ASSERT_LE(++steps, kCandidatesMax / kCandidatesPerStep);
  }
  EXPECT_EQ(transfers.counters().aborted, 1U);
  EXPECT_EQ(taker.last.mad.get<&ib::wire::RmppHeader::type>(),
            static_cast<std::uint8_t>(rmpp::Type::Abort));
}

}  // namespace
}  // namespace sm::sa::test
