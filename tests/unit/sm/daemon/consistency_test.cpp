// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

using ib::wire::SmState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOther = "0x0002c90300000011";

config::Configuration configured(const std::string& options) {
  config::Configuration all;
  std::vector<ib::Diagnostic> problems;
  config::read_options_text(options, "options", all, problems);
  EXPECT_THAT(problems, IsEmpty());
  return all;
}
Fingerprint of(const std::string& options, std::vector<GoodFile> files = {}) {
  return fingerprint_of(configured(options), files);
}

TEST(Fingerprint, NamesWhatDecidesAboutTheSubnet) {
  EXPECT_THAT(differences(of(""), of("")), IsEmpty());
  EXPECT_THAT(differences(of(""), of("routing_engine ftree\nlmc 1\n")),
              ElementsAre("lmc", "routing_engine"));
  EXPECT_THAT(differences(of("lmc 0x1\n"), of("lmc 1\n")), IsEmpty());
}

TEST(Fingerprint, WhatIsOfOneHostMayDiffer) {
  EXPECT_THAT(differences(of(""), of("sm_priority 5\nguid 0x2c903000a1b2c\nlog_file /tmp/x\n"
                                     "sweep_interval 7\nsa_db_dump 9\nperfmgr TRUE\n")),
              IsEmpty());
}

TEST(Fingerprint, FilesGoByWhatTheySayWhereverTheyLie) {
  const GoodFile a{&kPartitionFile, "/etc/a.conf", "Default=0x7fff : ALL=full;\n"};
  GoodFile b = a;
  b.path = "/srv/b.conf";
  EXPECT_THAT(differences(of("partition_config_file /etc/a.conf\n", {a}),
                          of("partition_config_file /srv/b.conf\n", {b})),
              IsEmpty());
  b.text += "red=0x1 : ALL;\n";
  EXPECT_THAT(differences(of("", {a}), of("", {b})), ElementsAre("partitions.conf"));
  EXPECT_THAT(differences(of(""), of("", {b})), ElementsAre("partitions.conf"));
}

TEST(Fingerprint, OfASecretNoMoreIsShownThanTellsTwoApart) {
  const auto sums = of("m_key 0x1234567890abcdef\n");
  EXPECT_LE(sums.at("m_key"), 0xFFFFU);
  EXPECT_THAT(differences(sums, of("m_key 0x1234567890abcdee\n")), ElementsAre("m_key"));
}

TEST(Notice, ReadsWhatItWrites) {
  const Notice notice{"head1", SmState::Standby, 17, {{"lmc", 5}, {"partitions.conf", ~0ULL}}};
  EXPECT_EQ(text_of(notice),
            "ibkit-manager=1 host=head1 state=2 turn=17\n"
            "lmc 0000000000000005\npartitions.conf ffffffffffffffff\n");
  ASSERT_TRUE(read_notice(text_of(notice)));
  EXPECT_EQ(*read_notice(text_of(notice)), notice);
}

TEST(Notice, RefusesWhatIsNone) {
  for (const char* text :
       {"", "x", "ibkit-manager=1\n", "ibkit-manager=1 host=a state=4 turn=1\n",
        "ibkit-manager=1 host=a state=2 turn=1", "ibkit-manager=1 host= turn=1\n",
        "ibkit-manager=1 host=a state=2 turn=x\n", "ibkit-manager=1 host=a state=2 turn=1\nlmc\n",
        "ibkit-manager=1 host=a state=2 turn=1\nlmc xyz\n"}) {
    const auto read = read_notice(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ib::ErrorKind::Malformed) << text;
  }
  EXPECT_EQ(read_notice("ibkit-manager=2 host=a\n").error().kind, ib::ErrorKind::Unavailable);
}

class ConsistencyTest : public ::testing::Test {
 protected:
  ConsistencyTest() { ours_.set_fingerprint(of("lmc 0\n")); }
  /// Another one says this, in one more turn.
  std::vector<Consistency::News> hear(SmState own, SmState theirs, const std::string& options) {
    return again(own, text_of({"head2", theirs, ++turn_, of(options)}));
  }
  std::vector<Consistency::News> again(SmState own, const std::string& text) {
    last_ = text;
    const store::Posting posting{kOther, text};
    return ours_.on_postings(own, {&posting, 1});
  }
  std::vector<std::string> names() const {
    const auto at = ours_.all().find(kOther);
    return at == ours_.all().end() ? std::vector<std::string>() : at->second.names;
  }
  Consistency ours_{"head1"};
  std::uint64_t turn_{0};
  std::string last_;
};

TEST_F(ConsistencyTest, ADifferenceBeginsAndEndsOnce) {
  EXPECT_THAT(hear(SmState::Master, SmState::Standby, "lmc 1\n"), IsEmpty())
      << "it may have been there for years";
  const auto begins = hear(SmState::Master, SmState::Standby, "lmc 1\n");
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_EQ(begins[0].who, kOther);
  EXPECT_EQ(begins[0].difference.host, "head2");
  EXPECT_THAT(begins[0].difference.names, ElementsAre("lmc"));
  EXPECT_EQ(ours_.trouble(), "the subnet manager on head2 is configured otherwise: lmc");
  EXPECT_FALSE(ours_.differs_from_master());
  EXPECT_THAT(hear(SmState::Master, SmState::Standby, "lmc 1\n"), IsEmpty()) << "said once";
  const auto ends = hear(SmState::Master, SmState::Standby, "lmc 0\n");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_THAT(ends[0].difference.names, IsEmpty());
  EXPECT_EQ(ours_.trouble(), "");
}

TEST_F(ConsistencyTest, TwoStandbysMayBeWhatTheyLike) {
  for (int i = 0; i < 3; ++i) hear(SmState::Standby, SmState::Standby, "lmc 1\n");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ConsistencyTest, OneThatSaysNothingNewHasDied) {
  for (int i = 0; i < 2; ++i) hear(SmState::Master, SmState::Standby, "lmc 1\n");
  EXPECT_THAT(names(), ElementsAre("lmc"));
  for (unsigned i = 0; i < Consistency::kStaleAfter; ++i) again(SmState::Master, last_);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ConsistencyTest, AStandbyKnowsThatItDiffersEvenWhenItsMasterIsGone) {
  for (int i = 0; i < 2; ++i) hear(SmState::Standby, SmState::Master, "lmc 1\n");
  EXPECT_TRUE(ours_.differs_from_master());
  for (unsigned i = 0; i < Consistency::kStaleAfter; ++i) again(SmState::Standby, last_);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(ours_.differs_from_master());
  ours_.set_fingerprint(of("lmc 1\n"));
  hear(SmState::NotActive, SmState::Master, "lmc 1\n");
  EXPECT_FALSE(ours_.differs_from_master());
}

TEST_F(ConsistencyTest, WhatCannotBeReadIsADifferenceOfItsOwn) {
  again(SmState::Master, "ibkit-manager=2 turn=1");
  again(SmState::Master, "ibkit-manager=2 turn=2");
  EXPECT_THAT(names(), ElementsAre(HasSubstr("newer release")));
}

TEST_F(ConsistencyTest, ABoardThatIsGoneIsSaidOnceAndEndsNothing) {
  for (int i = 0; i < 2; ++i) hear(SmState::Master, SmState::Standby, "lmc 1\n");
  const auto line = ours_.on_failure({ib::ErrorKind::TimedOut, "nobody answers", 0});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->message, HasSubstr("nobody answers"));
  EXPECT_FALSE(ours_.on_failure({ib::ErrorKind::TimedOut, "nobody answers", 0}));
  EXPECT_THAT(names(), ElementsAre("lmc"));
}

TEST_F(ConsistencyTest, EachPostingIsAnotherOne) {
  const auto first = ours_.posting(SmState::Master), second = ours_.posting(SmState::Master);
  EXPECT_NE(first, second);
  EXPECT_EQ(read_notice(second)->turn, 2U);
}

}  // namespace
}  // namespace sm::daemon
