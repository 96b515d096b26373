// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Batches: how the file is read, and that answers come out in its order whatever order they came
// in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/tools/ibpath_golden.h"
#include "tools/ibpath/batch.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::Lid;
using test::golden;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(BatchFile, ALineIsTwoPortsAndConditions) {
  const auto batch = read_batch(
      "# pairs\n"
      "4 9\r\n"
      "\n"
      "  \"host1 HCA-1\"\t0x0002c903000085d1 SL=2 Mtu>1024 # why not\n"
      "0,1,2 fe80::5",
      "pairs", {});
  EXPECT_THAT(batch.complaints, IsEmpty());
  ASSERT_THAT(batch.lines, SizeIs(3));
  EXPECT_EQ(batch.lines[0].number, 2U);
  EXPECT_EQ(std::get<Lid>(batch.lines[0].pair.destination), Lid{9});
  EXPECT_EQ(batch.lines[1].number, 4U);
  EXPECT_EQ(std::get<ib::tools::NodeName>(batch.lines[1].pair.source).text, "host1 HCA-1");
  EXPECT_EQ(batch.lines[1].pair.query.mask(), 1U << 15 | 3U << 16);
  EXPECT_EQ(batch.lines[2].number, 5U) << "without a newline at the end";
}

TEST(BatchFile, BadLinesAreNamedByLineAndColumnAndTheOthersAreRead) {
  const auto batch = read_batch(
      "1 2\n  7\n3 \"4\n5 6 SL=1  Colour=red Rate>10 x\n0x12345678901234567890 1\n8 9\n"
      "1 0x12345678901234567890\n1 2 Rate>10 MTU=4096 3\n",
      "a\x1b", {});
  ASSERT_THAT(batch.lines, SizeIs(2));
  EXPECT_EQ(batch.lines[1].number, 6U);
  ASSERT_THAT(
      batch.complaints,
      ElementsAre(HasSubstr("a :2:3: expected SRC DST, got '7' alone"),
                  HasSubstr("a :3:3: expected a closing quote, got the end of the line"),
                  HasSubstr("a :4:11: PathRecord has no field 'Colour'"), HasSubstr("a :5:1: "),
                  HasSubstr("a :7:3: "), HasSubstr("a :8:22: expected FIELD=VALUE, got '3'")));
}

TEST(BatchFile, OptionsAreConditionsOfEveryLine) {
  Options options;
  options.sl = 3;
  const auto batch = read_batch("1 2\n3 4 SL=5\n", "f", options);
  ASSERT_THAT(batch.lines, SizeIs(2));
  const auto sl = [](const BatchLine& line) {
    return ib::wire::decode<ib::wire::PathRecord>(line.pair.query.body().data()).sl.value;
  };
  EXPECT_EQ(sl(batch.lines[0]), 3);
  EXPECT_EQ(sl(batch.lines[1]), 5);
}

std::vector<PathQuery> queries(std::size_t count) {
  std::vector<PathQuery> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i].record.dlid = Lid{static_cast<std::uint16_t>(i + 1)};
  return all;
}

/// The path that was asked for, as a table of one.
ib::mad::Completion answered(const ib::mad::Request& request) {
  ib::mad::Packet packet;
  packet.mad = request.mad;
  packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetTableResp);
  packet.mad.set<&ib::wire::SaHeader::attribute_offset>(std::uint16_t{8});
  ib::wire::RmppHeader header;
  header.version = header.type = 1;
  header.active = header.first = header.last = true;
  header.data1 = 1;
  header.data2 = 20 + 64;
  ib::wire::encode(header, packet.mad.bytes.data());
  return {request.cookie, packet, {}, 1};
}

TEST(PathBatch, AnswersComeInOrderAndTheWindowIsKept) {
  constexpr std::size_t kCount = 200, kWindow = 16;
  std::vector<std::uint16_t> delivered;
  PathBatch batch({Lid{1}, {}, 0}, queries(kCount), kWindow,
                  [&](std::size_t index, PathBatch::Answer answer) {
                    EXPECT_EQ(index, delivered.size());
                    ASSERT_TRUE(answer);
                    ASSERT_THAT(*answer, SizeIs(1));
                    delivered.push_back(answer->front().dlid.value);
                  });
  std::mt19937 random(7);
  std::vector<ib::mad::Request> flying;
  std::size_t most = 0;
  while (!batch.finished()) {
    for (auto requests = batch.take_requests(); !requests.empty(); requests = batch.take_requests())
      std::move(requests.begin(), requests.end(), std::back_inserter(flying));
    most = std::max(most, flying.size());
    ASSERT_FALSE(flying.empty());
    const auto at = static_cast<std::ptrdiff_t>(random() % flying.size());
    batch.on_completion({}, answered(flying[static_cast<std::size_t>(at)]));
    flying.erase(flying.begin() + at);
  }
  EXPECT_EQ(most, kWindow);
  ASSERT_THAT(delivered, SizeIs(kCount));
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(delivered[i], i + 1);
}

TEST(PathBatch, AnErrorIsTheAnswerOfItsPlaceOnly) {
  std::vector<bool> good;
  PathBatch batch({Lid{1}, {}, 0}, queries(3), 8,
                  [&](std::size_t, const PathBatch::Answer& answer) {
                    good.push_back(answer.has_value());
                    if (!answer) {
                      EXPECT_THAT(answer.error().message, HasSubstr("no answer"));
                    }
                  });
  const auto requests = batch.take_requests();
  ASSERT_THAT(requests, SizeIs(3));
  batch.on_completion({}, answered(requests[2]));
  batch.on_completion(
      {}, {1, ib::fail(ib::ErrorKind::TimedOut, "GetTable(PathRecord): no answer"), {}, 3});
  batch.on_completion({}, answered(requests[0]));
  EXPECT_TRUE(batch.done());
  EXPECT_EQ(good, (std::vector<bool>{true, false, true}));
}

ib::mad::Completion busy(const ib::mad::Request& request) {
  auto completion = answered(request);
  completion.reply->mad.set<&ib::wire::MadHeader::status>(ib::wire::status::kBusy);
  return completion;
}

TEST(PathBatch, ABusySaIsAskedAgainAfterARestAndByFewer) {
  std::vector<bool> good;
  PathBatch batch({Lid{1}, {}, 0}, queries(20), 8,
                  [&](std::size_t index, const PathBatch::Answer& answer) {
                    EXPECT_EQ(index, good.size());
                    good.push_back(answer.has_value());
                  });
  auto requests = batch.take_requests();
  ASSERT_THAT(requests, SizeIs(8));
  for (const auto& request : requests) {
    EXPECT_FALSE(batch.done());
    batch.on_completion({}, busy(request));
    EXPECT_THAT(batch.take_requests(), IsEmpty()) << "it is left in peace";
  }
  EXPECT_TRUE(batch.done());
  EXPECT_FALSE(batch.finished());
  const auto first = batch.rest();
  requests = batch.take_requests();
  ASSERT_THAT(requests, SizeIs(1)) << "the window was halved by every refusal";
  EXPECT_EQ(requests[0].cookie, 0U);
  batch.on_completion({}, busy(requests[0]));
  EXPECT_EQ(batch.rest(), 2 * first);
  while (!batch.finished()) {
    requests = batch.take_requests();
    ASSERT_FALSE(requests.empty());
    for (const auto& request : requests) batch.on_completion({}, answered(request));
  }
  EXPECT_EQ(good, std::vector<bool>(20, true));
}

TEST(PathBatch, AnSaThatStaysBusyIsAnErrorInTheEnd) {
  std::vector<std::string> errors;
  PathBatch batch({Lid{1}, {}, 0}, queries(1), 8,
                  [&](std::size_t, const PathBatch::Answer& answer) {
                    errors.push_back(answer ? "" : answer.error().message);
                  });
  unsigned rests = 0;
  while (!batch.finished()) {
    for (const auto& request : batch.take_requests()) batch.on_completion({}, busy(request));
    if (batch.finished()) break;
    ASSERT_TRUE(batch.done());
    batch.rest();
    ++rests;
  }
  EXPECT_EQ(rests, 10U);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("busy")));
}

TEST(PathBatch, TextAndJsonAreAsInTheFiles) {
  ib::wire::PathRecord path;
  path.slid = Lid{4};
  path.dlid = Lid{9};
  path.p_key = ib::kDefaultPKey;
  path.mtu = 5;
  path.rate = 16;
  path.reversible = true;
  const std::vector<BatchAnswer> answers{
      {2, "4", "host-9\x1b HCA-1", {path}, "", false},
      {3, "4", "77", {}, "", false},
      {5, "4", "nobody", {}, "the SA knows no node named \"nobody\"", false},
      {6, "4", "10", {}, "SA GetTable(PathRecord): status 0x0001 (busy)", true},
  };
  std::string text;
  for (const auto& answer : answers) text += text_batch_answer(answer, true);
  EXPECT_EQ(text, golden("batch.txt"));
  EXPECT_EQ(json_batch(answers, "0.0.0"), golden("batch.json"));
}

TEST(PathBatch, NoQueriesAreDoneAtOnce) {
  PathBatch batch({Lid{1}, {}, 0}, {}, 8, [](std::size_t, const PathBatch::Answer&) { FAIL(); });
  EXPECT_TRUE(batch.done());
  EXPECT_THAT(batch.take_requests(), IsEmpty());
}

}  // namespace
}  // namespace ibpath
