// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/sa_congestion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libdiag/mad/sa_gate.h"
#include "libdiag/mad/session.h"

namespace ib::mad {
namespace {

using std::chrono::milliseconds;
using Congestion = SaCongestion<int>;
using Verdict = Congestion::Verdict;

Instant at_ms(int ms) { return Instant{} + milliseconds(ms); }

TEST(SaCongestion, HasTheDefaultsAndRangesOfTheSpecification) {
  const SaLimits defaults;
  EXPECT_EQ(defaults, (SaLimits{16, 16, 20}));
  EXPECT_EQ(defaults.longest_wait(), milliseconds(20));
  EXPECT_EQ(std::pair(kSaLimits[0].min, kSaLimits[0].max), std::pair(1U, 1U << 20));
  EXPECT_EQ(std::pair(kSaLimits[1].min, kSaLimits[1].max), std::pair(16U, 1U << 20));
  EXPECT_EQ(std::pair(kSaLimits[2].min, kSaLimits[2].max), std::pair(1U, 10'000U));
  for (const SaLimit& limit : kSaLimits) {
    EXPECT_GE(defaults.*limit.value, limit.min) << limit.name;
    EXPECT_LE(defaults.*limit.value, limit.max) << limit.name;
  }
}

/// One more request at `ms`.
Verdict offer(Congestion& to, int ms, int item) {
  const Verdict verdict = to.judge();
  if (verdict == Verdict::Send) to.sent();
  if (verdict == Verdict::Wait) to.wait(at_ms(ms), item);
  if (verdict == Verdict::Drop) to.drop();
  return verdict;
}

TEST(SaCongestion, SendsSoManyKeepsSoManyAndDropsTheRest) {
  Congestion c({2, 16, 20});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(offer(c, 0, i), Verdict::Send);
  for (int i = 2; i < 18; ++i) EXPECT_EQ(offer(c, 0, i), Verdict::Wait);
  for (int i = 18; i < 21; ++i) EXPECT_EQ(offer(c, 0, i), Verdict::Drop);
  EXPECT_EQ(c.outstanding(), 2U);
  EXPECT_EQ(c.waiting(), 16U);
  EXPECT_EQ(c.drops(), 3U);
  c.reset_drops();
  EXPECT_EQ(c.drops(), 0U);
  EXPECT_FALSE(c.next_send());
  // An answer makes room for the oldest, and for one more at the end.
  c.finished();
  EXPECT_EQ(c.next_deadline(), Instant{0});
  EXPECT_EQ(c.next_send(), 2);
  EXPECT_FALSE(c.next_send());
  EXPECT_EQ(offer(c, 1, 99), Verdict::Wait);
}

TEST(SaCongestion, NobodyOvertakesThoseThatWait) {
  Congestion c({1, 16, 20});
  offer(c, 0, 1);
  offer(c, 0, 2);
  c.finished();
  EXPECT_EQ(offer(c, 0, 3), Verdict::Wait) << "there is room, but 2 came before";
  EXPECT_EQ(c.next_send(), 2);
  c.finished();
  EXPECT_EQ(c.next_send(), 3);
}

TEST(SaCongestion, WhatWaitedTooLongIsGivenBack) {
  Congestion c({1, 16, 20});
  offer(c, 0, 1);
  offer(c, 5, 2);
  offer(c, 6, 3);
  EXPECT_EQ(c.next_deadline(), at_ms(25));
  EXPECT_FALSE(c.next_expired(at_ms(24)));
  EXPECT_EQ(c.next_expired(at_ms(25)), 2);
  EXPECT_FALSE(c.next_expired(at_ms(25)));
  EXPECT_EQ(c.next_deadline(), at_ms(26));
  EXPECT_EQ(c.expired(), 1U);
  EXPECT_EQ(c.drops(), 0U) << "these are those that found the queue full";
  c.finished();
  EXPECT_EQ(c.next_send(), 3);
  EXPECT_EQ(c.next_deadline(), kNever);
}

TEST(SaCongestion, LimitsChangeUnderLoad) {
  Congestion c({1, 32, 20});
  for (int i = 0; i < 30; ++i) offer(c, 0, i);
  c.set_limits({4, 16, 10});
  EXPECT_EQ(c.waiting(), 29U) << "what waits stays";
  for (int i = 1; i < 4; ++i) EXPECT_EQ(c.next_send(), i);
  EXPECT_FALSE(c.next_send());
  EXPECT_EQ(offer(c, 1, 99), Verdict::Drop);
  EXPECT_EQ(c.next_expired(at_ms(10)), 4);
  c.forget([](int item) { return item < 28; });
  EXPECT_EQ(c.waiting(), 2U);
  EXPECT_FALSE(c.is_idle());
  for (int i = 0; i < 9; ++i) c.finished();
  EXPECT_EQ(c.outstanding(), 0U);
}

// ---- the gate of a Session ----------------------------------------------------------------------

SendOrder order(std::uint32_t tid, int reply_within_ms = 1000) {
  SendOrder o;
  o.address = gsi_address(Lid{1});
  o.mad = wire::make_mad(wire::MgmtClass::SubnAdm, wire::Method::Get, wire::attr::kPathRecord);
  o.mad.set<&wire::MadHeader::tid>(Tid{tid});
  o.reply_within = milliseconds(reply_within_ms);
  return o;
}

TEST(SaGate, IsForRequestsToTheSa) {
  EXPECT_TRUE(SaGate::is_for(order(1).mad));
  auto answer = order(1).mad;
  answer.set<&wire::MadHeader::method>(wire::Method::GetResp);
  EXPECT_FALSE(SaGate::is_for(answer));
  EXPECT_FALSE(SaGate::is_for(wire::make_mad(wire::MgmtClass::Perf, wire::Method::Get, 0x12)));
}

TEST(SaGate, AnAnswerMakesRoomWhateverTheKernelDidToItsTid) {
  SaGate gate;
  gate.set_limits({1, 16, 20});
  gate.submit(at_ms(0), order(7));
  ASSERT_TRUE(gate.next_send(at_ms(0)));
  gate.submit(at_ms(0), order(8));
  EXPECT_FALSE(gate.next_send(at_ms(0)));
  auto answer = order(7).mad;
  answer.set<&wire::MadHeader::tid>(Tid{0xABCD'0000'0000'0007});
  gate.on_answer(answer);
  const auto next = gate.next_send(at_ms(1));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->mad.tid().value, 8U);
  gate.on_answer(answer);  // a second time, and nobody's
  EXPECT_EQ(gate.outstanding(), 1U);
}

TEST(SaGate, WhatTheTransportGaveUpMakesRoomToo) {
  SaGate gate;
  gate.set_limits({1, 16, 5000});
  gate.submit(at_ms(0), order(1, 300));
  ASSERT_TRUE(gate.next_send(at_ms(0)));
  gate.submit(at_ms(0), order(2));
  EXPECT_EQ(gate.next_deadline(), at_ms(300));
  EXPECT_FALSE(gate.next_send(at_ms(299)));
  EXPECT_TRUE(gate.next_send(at_ms(300)));
}

TEST(SaGate, SaysWhatIsNotSent) {
  SaGate gate;
  gate.set_limits({1, 16, 20});
  for (std::uint32_t tid = 0; tid < 18; ++tid) {
    gate.submit(at_ms(0), order(tid));
    while (gate.next_send(at_ms(0))) {
    }
  }
  const auto full = gate.next_refused(at_ms(0));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->mad.tid().value, 17U);
  EXPECT_EQ(gate.drops(), 1U);
  EXPECT_FALSE(gate.next_refused(at_ms(19)));
  for (std::uint32_t tid = 1; tid < 17; ++tid) {
    const auto late = gate.next_refused(at_ms(20));
    ASSERT_TRUE(late);
    EXPECT_EQ(late->mad.tid().value, tid);
  }
  EXPECT_EQ(gate.expired(), 16U);
}

// ---- a Session ----------------------------------------------------------------------------------

/// An SA that answers, in order, what it is asked when it is listened to; of some it says nothing.
class SlowSa final : public Port {
 public:
  Result<PortFacts> facts() override { return PortFacts{}; }
  Result<AgentId> register_agent(const AgentSpec&) override { return 1; }
  Result<void> send(AgentId, const Packet& packet, Duration) override {
    if (dead) {
      ++sent;
      return {};
    }
    ++sent;
    if (lost_every != 0 && sent % lost_every == 0) return {};
    asked.push_back(packet);
    most_asked = std::max(most_asked, asked.size());
    return {};
  }
  Result<void> receive(std::vector<Received>& out, Duration wait) override {
    if (asked.empty()) {
      now = now + wait;
      return {};
    }
    now = now + milliseconds(1);
    Received r;
    r.packet = asked.front();
    r.packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
    asked.erase(asked.begin());
    out.push_back(r);
    return {};
  }
  int readable_fd() const override { return -1; }
  std::optional<SaLimits> sa_limits() const override {
    ++limits_read;
    return limits;
  }

  Instant now{};
  std::vector<Packet> asked;
  std::size_t most_asked{0}, sent{0};
  bool dead{false};
  std::size_t lost_every{0};  // 0: none is
  std::optional<SaLimits> limits;
  mutable int limits_read{0};
};

std::vector<Request> questions(std::size_t count) {
  std::vector<Request> all(count);
  for (Request& r : all) {
    r.address = gsi_address(Lid{1});
    r.mad = order(0).mad;
    r.target_key = 1;
  }
  return all;
}
TransactorOptions eager() {
  TransactorOptions o;
  o.window_per_target = 200;
  return o;
}
std::size_t answered(const Result<std::vector<Completion>>& all) {
  std::size_t n = 0;
  for (const Completion& c : all.value()) n += c.reply.has_value() ? 1 : 0;
  return n;
}

TEST(SessionToTheSa, AsksNoMoreAtATimeThanTheDefaultAndLosesNone) {
  SlowSa sa;
  Session session(sa, eager(), [&] { return sa.now; });
  EXPECT_EQ(answered(session.call_all(questions(500))), 500U);
  EXPECT_EQ(sa.most_asked, 16U);
  EXPECT_EQ(sa.sent, 500U) << "nothing was asked twice";
  EXPECT_EQ(session.sa_gate().drops() + session.sa_gate().expired(), 0U);
}

TEST(SessionToTheSa, KeepsToTheLimitsOfTheDriverWhichMayChange) {
  SlowSa sa;
  sa.limits = SaLimits{3, 16, 20};
  Session session(sa, eager(), [&] { return sa.now; });
  EXPECT_EQ(answered(session.call_all(questions(100))), 100U);
  EXPECT_EQ(sa.most_asked, 3U);
  sa.limits = SaLimits{40, 16, 20};
  sa.now = sa.now + std::chrono::seconds(2);
  EXPECT_EQ(answered(session.call_all(questions(100))), 100U);
  EXPECT_EQ(sa.most_asked, 40U);
  EXPECT_EQ(sa.limits_read, 2) << "once a burst, and not for every request";
}

TEST(SessionToTheSa, LossIsRepairedAsSoonAsWithoutLimits) {
  const auto takes = [](std::uint32_t max_outstanding) {
    SlowSa sa;
    sa.lost_every = 10;
    sa.limits = SaLimits{max_outstanding, 16, 20};
    TransactorOptions options;
    options.window_per_target = 16;
    Session session(sa, options, [&] { return sa.now; });
    auto tables = questions(1000);
    for (Request& r : tables) r.resp_time_hint = std::chrono::seconds(2);
    EXPECT_EQ(answered(session.call_all(std::move(tables))), 1000U);
    EXPECT_EQ(session.sa_gate().drops() + session.sa_gate().expired(), 0U);
    return sa.now;
  };
  EXPECT_EQ(takes(16), takes(1U << 20));
  EXPECT_GT(takes(4), takes(16));
}

TEST(SessionToTheSa, OtherClassesAreNotHeldBack) {
  SlowSa sa;
  sa.limits = SaLimits{1, 16, 20};
  Session session(sa, eager(), [&] { return sa.now; });
  auto others = questions(100);
  for (Request& r : others)
    r.mad = wire::make_mad(wire::MgmtClass::Perf, wire::Method::Get, wire::attr::kPortCounters);
  EXPECT_EQ(answered(session.call_all(std::move(others))), 100U);
  EXPECT_GT(sa.most_asked, 10U);
  EXPECT_EQ(sa.limits_read, 0);
}

/// Each of two SAs may be asked as many at a time as the port may ask in all.
TEST(SessionToTheSa, WhatThePortKeepsBackIsRepeatedOrSaidToHaveBeen) {
  SlowSa sa;
  sa.limits = SaLimits{4, 16, 20};
  Session session(sa, eager(), [&] { return sa.now; });
  const auto of_two = [] {
    auto all = questions(200);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      all[i].address = gsi_address(Lid{2});
      all[i].target_key = 2;
    }
    return all;
  };
  EXPECT_EQ(answered(session.call_all(of_two())), 200U);
  EXPECT_EQ(sa.most_asked, 4U);
  sa.dead = true;
  const auto none = session.call_all(of_two());
  ASSERT_TRUE(none);
  EXPECT_EQ(answered(none), 0U);
  EXPECT_GT(session.sa_gate().expired(), 0U);
  EXPECT_TRUE(std::ranges::any_of(*none, [](const Completion& c) {
    return c.reply.error().message.find("not sent: too many requests to the SA have no answer") !=
           std::string::npos;
  }));
}

/// An answer to whichever attempt frees the one place that all of them have.
TEST(SaGate, ARepetitionHasThePlaceOfWhatItRepeats) {
  SaGate gate;
  gate.set_limits({1, 16, 5000});
  gate.submit(at_ms(0), order(1));
  ASSERT_TRUE(gate.next_send(at_ms(0)));
  auto again = order(2);
  again.repeats = 1;
  gate.submit(at_ms(100), again);
  ASSERT_TRUE(gate.next_send(at_ms(100)));
  again = order(3);
  again.repeats = 2;
  gate.submit(at_ms(200), again);
  ASSERT_TRUE(gate.next_send(at_ms(200)));
  EXPECT_EQ(gate.outstanding(), 1U);
  gate.submit(at_ms(200), order(4));
  EXPECT_FALSE(gate.next_send(at_ms(1100))) << "the last of them is still waited for";
  gate.on_answer(order(1).mad);
  EXPECT_TRUE(gate.next_send(at_ms(1100)));
  gate.on_answer(order(3).mad);
  EXPECT_EQ(gate.outstanding(), 1U);
}

}  // namespace
}  // namespace ib::mad
