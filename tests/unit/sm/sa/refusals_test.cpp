// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the log says of refused requests, and that nobody can fill it with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/base/log_limiter.h"
#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/registry/mask.h"
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

/// As they come out of the server; each says whose request it is about.
std::vector<std::string> lines(Bench& bench, ib::Lid of) {
  std::vector<std::string> out;
  while (auto event = bench.server.next_log()) {
    EXPECT_EQ(event->level, ib::LogLevel::Warning) << event->message;
    EXPECT_EQ(event->cause.value_or(ib::LogCause{}).sender, of) << event->message;
    out.push_back(event->message);
  }
  return out;
}

TEST(SaRefusals, AStormOfBadRegistrationsIsAFewLinesAndTheCountersAreExact) {
  Bench bench(small_tree());
  ib::LogLimiter limiter;
  std::vector<std::string> written;
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
    while (auto event = bench.server.next_log())
      if (limiter.admit(bench.now, *event)) written.push_back(event->message);
  }
  EXPECT_EQ(bench.server.counters().errors, 2 * kStorm);
  EXPECT_THAT(written, SizeIs(ib::LogLimiter::kLinesOfOne));
  const auto summary = limiter.last_summary(bench.now);
  ASSERT_TRUE(summary);
  EXPECT_THAT(summary->message, HasSubstr("9990 of \"SA request\" from LID "));
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
    return lines(bench, packet.address.lid);
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
  EXPECT_THAT(lines(bench, bench.host(0).lid),
              ElementsAre(HasSubstr(
                  "asks for GetTable(NodeRecord) without the SA key: sa_enhanced_trust_model")));
}

TEST(SaRefusals, SayHowManyPathsMayBeAskedForWithoutTheKey) {
  Options options;
  options.policy.untrusted_records_max = 10;
  Bench bench(small_tree(), options);
  EXPECT_EQ(bench.ask(bench.request(Method::GetTable, attr::kPathRecord)).mad.status(),
            kTooMuchForTheUntrusted);
  EXPECT_THAT(lines(bench, bench.host(0).lid),
              ElementsAre(HasSubstr("may be more than 10 records (sa_untrusted_records)")));
}

}  // namespace
}  // namespace sm::sa::test
