// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sm::daemon {
namespace {

using testing::HasSubstr;

control::Request request(std::vector<std::string> words) { return {"sa", std::move(words), {}}; }
SaState present() {
  SaState state;
  state.rx_threshold = 8192;
  return state;
}

TEST(SaVerbs, AloneAsksAndChangesNothing) {
  const auto change = sa_change(request({}), present());
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->changes());
}

TEST(SaVerbs, SetTakesSeveralLimitsAndKeepsTheOthers) {
  SaState state = present();
  state.limits.time_sa_mad = 700;
  const auto change = sa_change(
      request({"set", "queue_size=16", "max_outstanding=1048576", "rx_threshold=64"}), state);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->limits, (sa::Limits{1048576, 16, 700}));
  EXPECT_EQ(change->rx_threshold, 64U);
  EXPECT_FALSE(change->reset_counters);
  const auto threshold = sa_change(request({"set", "rx_threshold=64"}), state);
  ASSERT_TRUE(threshold);
  EXPECT_FALSE(threshold->limits);
}

TEST(SaVerbs, ResetIsOfTheCounters) {
  const auto change = sa_change(request({"reset"}), present());
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->reset_counters);
  EXPECT_FALSE(change->limits);
}

TEST(SaVerbs, WrongWordsSayWhatWasExpected) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"set"}, "expected sa, sa set NAME=VALUE... or sa reset"},
      {{"reset", "all"}, "expected sa, sa set NAME=VALUE... or sa reset"},
      {{"show"}, "expected sa, sa set NAME=VALUE... or sa reset"},
      {{"set", "queue_size"}, "'queue_size': expected max_outstanding, queue_size"},
      {{"set", "drops=0"}, "'drops=0': expected max_outstanding"},
      {{"set", "=5"}, "expected max_outstanding"},
      {{"set", "queue_size=15"}, "queue_size: expected a number from 16 to 1048576, got '15'"},
      {{"set", "max_outstanding=0"}, "max_outstanding: expected a number from 1 to 1048576"},
      {{"set", "time_sa_mad=10001"}, "time_sa_mad: expected a number from 1 to 10000"},
      {{"set", "rx_threshold=63"}, "rx_threshold: expected a number from 64 to 1048576"},
      {{"set", "queue_size=64", "time_sa_mad=x\n"}, "got 'x"},
  };
  for (const auto& [words, text] : wrong) {
    const auto change = sa_change(request(words), present());
    ASSERT_FALSE(change) << text;
    EXPECT_EQ(change.error().kind, ib::ErrorKind::Usage);
    EXPECT_THAT(change.error().message, HasSubstr(text));
    EXPECT_EQ(change.error().message.find('\n'), std::string::npos);
  }
}

TEST(SaVerbs, AnswersInTextWhatIsNotZero) {
  SaState state = present();
  state.counters.requests = 12;
  EXPECT_EQ(sa_answer(request({}), state, "9").text,
            "max_outstanding 16\nqueue_size 1024\ntime_sa_mad 2000\nrx_threshold 8192\n"
            "requests 12\n");
  state.dropped_at_port = 3;
  EXPECT_THAT(sa_answer(request({}), state, "9").text, HasSubstr("dropped_at_port 3\n"));
}

TEST(SaVerbs, AnswersInJsonWithEveryCounter) {
  SaState state = present();
  state.counters.busy_queue_full = 7;
  control::Request asked = request({});
  asked.options["json"] = "TRUE";
  const auto json = nlohmann::json::parse(sa_answer(asked, state, "9").text);
  EXPECT_EQ(json["schema"], "ibkit.ibsm-sa/2");
  EXPECT_EQ(json["version"], "9");
  EXPECT_EQ(json["limits"]["queue_size"], 1024);
  EXPECT_EQ(json["limits"]["rx_threshold"], 8192);
  EXPECT_EQ(json["counters"]["busy_queue_full"], 7);
  EXPECT_EQ(json["counters"].size(), sa::named_counters().size() + 1);
}

}  // namespace
}  // namespace sm::daemon
