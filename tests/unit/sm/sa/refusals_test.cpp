// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the log says of refused requests, and that nobody can fill it with them.
#include "sm/sa/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/mask.h"
#include "sm/sa/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

TEST(RefusalLog, TheSameLineIsSaidOnceAMinuteAndThenCounted) {
  RefusalLog log;
  const Instant start = Instant{} + seconds(100);
  EXPECT_EQ(log.line(start, Lid{4}, "no"), "no");
  EXPECT_EQ(log.next_deadline(), ib::kNever) << "nothing was left out";
  for (int i = 1; i < 60; ++i) EXPECT_EQ(log.line(start + seconds(i), Lid{4}, "no"), std::nullopt);
  EXPECT_EQ(log.summary(start + seconds(59)), std::nullopt);
  EXPECT_EQ(log.next_deadline(), start + seconds(60));
  EXPECT_EQ(log.summary(start + seconds(60)),
            "59 more requests were refused for such reasons in a minute, 59 of them of LID 4");
  EXPECT_EQ(log.next_deadline(), ib::kNever);
  EXPECT_EQ(log.line(start + seconds(61), Lid{4}, "no"), "no");
}

TEST(RefusalLog, OneRequesterHasItsLinesAndAllHaveTheirs) {
  RefusalLog log;
  const Instant now = Instant{} + seconds(100);
  std::size_t said = 0;
  for (int i = 0; i < 1000; ++i)
    said += log.line(now, Lid{7}, "reason " + std::to_string(i)).has_value();
  EXPECT_EQ(said, RefusalLog::kLinesOfOne);
  EXPECT_TRUE(log.line(now, Lid{8}, "another's")) << "who else has something to say is heard";
  for (std::uint16_t lid = 100; lid < 1100; ++lid)
    said += log.line(now, Lid{lid}, "of " + std::to_string(lid)).has_value();
  EXPECT_EQ(said + 1, RefusalLog::kLinesInAll);
  EXPECT_EQ(log.line(now, Lid{9}, {}), std::nullopt) << "no news, and not counted";
  // A refusal in the next minute does not lose the count of the last.
  EXPECT_TRUE(log.line(now + seconds(70), Lid{7}, "reason 1"));
  EXPECT_EQ(log.next_deadline(), Instant{});
  EXPECT_EQ(log.summary(now + seconds(70)),
            "1901 more requests were refused for such reasons in a minute, 990 of them of LID 7");
}

std::vector<std::string> lines(Bench& bench) {
  std::vector<std::string> out;
  while (auto event = bench.server.next_log()) {
    EXPECT_EQ(event->level, ib::LogLevel::Warning) << event->message;
    out.push_back(event->message);
  }
  return out;
}

TEST(SaRefusals, AStormOfBadRegistrationsIsAFewLinesAndTheCountersAreExact) {
  Bench bench(small_tree());
  constexpr unsigned kStorm = 5000;
  for (unsigned i = 0; i < kStorm; ++i) {
    ib::wire::ServiceRecord r;
    r.service_id = i;
    r.service_gid = bench.gid(1);  // another port's
    const auto mask = bit(service_bit::kServiceId) | bit(service_bit::kServiceGid);
    EXPECT_EQ(bench.ask(bench.request(Method::Set, attr::kServiceRecord, r, mask)).mad.status(),
              status::kSaReqDenied);
    ib::wire::InformInfo info;
    info.subscribe = 2;
    info.trap_number = static_cast<std::uint16_t>(i);
    EXPECT_EQ(bench.ask(bench.request(Method::Set, attr::kInformInfo, info, 0)).mad.status(),
              status::kSaReqInvalid);
  }
  EXPECT_EQ(bench.server.counters().errors, 2 * kStorm);
  EXPECT_THAT(lines(bench), SizeIs(RefusalLog::kLinesOfOne));
  bench.now = bench.now + std::chrono::minutes(1);
  bench.server.on_time(bench.now);
  EXPECT_THAT(lines(bench), ElementsAre(HasSubstr("9990 more requests were refused")));
}

/// A refused request to read, and the line that it leaves in the log.
TEST(SaRefusals, SayWhatWouldHelp) {
  Bench bench(small_tree());
  bench.server.set_prefix_routes({});
  const auto who = " port 1 (" + to_string(bench.host(2).guid) + ", LID " +
                   std::to_string(bench.host(2).lid.value) + ") ";
  const auto bare = [&](Method method, std::uint16_t attribute) {
    return bench.request(method, attribute, std::uint64_t{0}, std::uint32_t{0}, std::size_t{2});
  };
  const auto asked = [&](const Packet& packet) {
    const auto answer = bench.ask(packet).mad.status();
    EXPECT_NE(answer, status::kOk);
    return lines(bench);
  };
  EXPECT_THAT(asked(bare(Method::GetTable, attr::kPKeyTableRecord)),
              ElementsAre(AllOf(HasSubstr(who + "asks for P_Key tables"),
                                HasSubstr("with the SA key only"))));

  ib::wire::PathRecord path;
  path.sgid = bench.gid(2);
  path.dgid = Gid::from(0xfec0000000000007, Guid{1});
  const auto ends = bit(path_bit::kSgid) | bit(path_bit::kDgid);
  EXPECT_THAT(asked(bench.request(Method::Get, attr::kPathRecord, path, ends, 0, 2)),
              ElementsAre(AllOf(HasSubstr(who + "asks for a path: no router is known"),
                                HasSubstr("prefix_routes_file"))));
  path.dlid = ib::Lid{5};
  EXPECT_THAT(
      asked(bench.request(Method::Get, attr::kPathRecord, path, ends | bit(path_bit::kDlid), 0, 2)),
      ElementsAre(HasSubstr("no router with DLID 5 is known to lead to the subnet of DGID")))
      << "another may";
  std::swap(path.sgid, path.dgid);
  EXPECT_THAT(asked(bench.request(Method::Get, attr::kPathRecord, path, ends, 0, 2)),
              ElementsAre(HasSubstr("the prefix of SGID fec0:0:0:7::1 is not that of this "
                                    "subnet, 0xfe80000000000000")));
  auto of_a_group = path;
  ASSERT_TRUE(ib::parse_gid("ff12:401b:ffff::1", of_a_group.sgid));
  EXPECT_THAT(asked(bench.request(Method::Get, attr::kPathRecord, of_a_group, ends, 0, 2)),
              ElementsAre(HasSubstr("SGID ff12:401b:ffff::1 is a group's: no port sends from it")));

  auto borrowed = bench.request(Method::Get, attr::kPathRecord, path, ends, 0, 2);
  borrowed.address.grh.emplace();
  borrowed.address.grh->gid = bench.gid(3);
  EXPECT_THAT(asked(borrowed), ElementsAre(AllOf(HasSubstr(who + "sends a GRH"),
                                                 HasSubstr("no_sa_check_sgid_spoofing"))));
  EXPECT_THAT(asked(bare(Method::Get, attr::kNodeRecord)), IsEmpty())
      << "too many records are the client's affair";
}

TEST(SaRefusals, SayThatTheTrustModelDeniesIt) {
  Options options;
  options.trust.enhanced = true;
  options.policy.untrusted_records_max = 10;
  Bench bench(small_tree(), options);
  bench.ask(bench.request(Method::GetTable, attr::kNodeRecord));
  EXPECT_THAT(lines(bench),
              ElementsAre(HasSubstr(
                  "asks for GetTable(NodeRecord) without the SA key: sa_enhanced_trust_model")));
}

TEST(SaRefusals, SayHowManyPathsMayBeAskedForWithoutTheKey) {
  Options options;
  options.policy.untrusted_records_max = 10;
  Bench bench(small_tree(), options);
  EXPECT_EQ(bench.ask(bench.request(Method::GetTable, attr::kPathRecord)).mad.status(),
            kTooMuchForTheUntrusted);
  EXPECT_THAT(lines(bench),
              ElementsAre(HasSubstr("may be more than 10 records (sa_untrusted_records)")));
}

}  // namespace
}  // namespace sm::sa::test
