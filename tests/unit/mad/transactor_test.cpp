// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/transactor.h"

#include <gtest/gtest.h>

#include <set>

#include "libdiag/mad/session.h"
#include "tests/unit/mad/steps.h"
#include "tests/unit/mad/toy_fabric.h"

namespace ib::mad {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::at;
using test::ToyFabric;
using wire::Method;
namespace attr = wire::attr;

Request ask(std::uint16_t lid, Cookie cookie = 0, std::uint16_t attribute = attr::kNodeInfo) {
  return smp_request(cookie, lid, Lid{lid}, Method::Get, attribute, 0);
}

/// A bring-up in small: NodeInfo of every target, then `more` requests to each that answered.
class Sweep : public Exchange {
 public:
  Sweep(std::size_t targets, int more) : more_(more) {
    for (std::size_t t = 1; t <= targets; ++t)
      requests_.push_back(ask(static_cast<std::uint16_t>(t), t));
  }
  std::vector<Request> take_requests() override { return std::exchange(requests_, {}); }
  void on_completion(Instant now, const Completion& c) override {
    last = now;
    if (!c.reply) {
      errors.push_back(c.reply.error());
      return;
    }
    ++answered;
    if (c.cookie >= kFollowUp) return;
    for (int i = 0; i < more_; ++i)
      requests_.push_back(ask(static_cast<std::uint16_t>(c.cookie), kFollowUp, attr::kPortInfo));
  }
  bool done() const override { return false; }

  std::size_t answered{0};
  std::vector<Error> errors;
  Instant last;

 private:
  static constexpr Cookie kFollowUp = 1'000'000;
  int more_;
  std::vector<Request> requests_;
};

double seconds(Instant t) { return std::chrono::duration<double>(t - Instant{0}).count(); }

TEST(Transactor, CompletesWithTheAnswer) {
  Transactor t;
  t.submit(at(0ms), ask(7, 42));
  const auto order = t.next_send(at(0ms));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->address.lid, Lid{7});
  EXPECT_FALSE(t.next_send(at(0ms)));
  EXPECT_EQ(t.outstanding(), 1U);

  EXPECT_TRUE(t.on_packet(at(3ms), answer(*order)));
  const auto completion = t.next_completion();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->cookie, 42U);
  ASSERT_TRUE(completion->reply);
  EXPECT_EQ(completion->round_trip, 3ms);
  EXPECT_EQ(completion->attempts, 1);
  EXPECT_EQ(t.pending(), 0U);
  EXPECT_EQ(t.next_deadline(), kNever);
}

TEST(Transactor, LeavesTheUpperHalfOfTheTidToTheKernel) {
  Transactor t;
  t.submit(at(0ms), ask(7));
  const auto order = t.next_send(at(0ms));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->mad.tid().value >> 32, 0U);
  Packet reply = answer(*order);
  reply.mad.set<&wire::MadHeader::tid>(Tid{order->mad.tid().value | 0xABCD000000000000ULL});
  EXPECT_TRUE(t.on_packet(at(1ms), reply));
}

TEST(Transactor, RepeatsWithANewTidAndTakesTheAnswerToAnyAttempt) {
  Transactor t;
  t.submit(at(0ms), ask(7, 1));
  const auto first = t.next_send(at(0ms));
  EXPECT_EQ(t.next_deadline(), at(50ms));
  t.on_time(at(50ms));
  const auto second = t.next_send(at(50ms));
  ASSERT_TRUE(second);
  EXPECT_NE(first->mad.tid(), second->mad.tid());

  EXPECT_TRUE(t.on_packet(at(60ms), answer(*first)));
  const auto completion = t.next_completion();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->round_trip, 60ms);
  EXPECT_EQ(completion->attempts, 2);
  EXPECT_EQ(t.counters().spurious_retries, 1U);

  EXPECT_FALSE(t.on_packet(at(70ms), answer(*second)));
  EXPECT_EQ(t.counters().late_replies, 1U);
  EXPECT_FALSE(t.next_completion());
}

TEST(Transactor, GivesUpAfterEightAttemptsAndSaysSo) {
  ToyFabric fabric(1);
  fabric.nodes[0].silent = true;
  Session session(fabric, {}, fabric.clock());
  const auto reply = session.call(smp_request(0, 1, Lid{1}, Method::Get, attr::kPortInfo, 3));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::TimedOut);
  EXPECT_EQ(reply.error().message, "Get(PortInfo) to LID 1: no answer after 8 attempts in 1.4 s");
  EXPECT_EQ(fabric.sent_to[0], 8U);
}

TEST(Transactor, NamesTheDirectedRouteThatDoesNotAnswer) {
  Transactor t;
  t.submit(at(0ms), smp_request(0, 1, DirectedRoute{{1, 3}}, Method::Get, attr::kNodeInfo, 0));
  Instant now = at(0ms);
  while (t.pending() > 0) {
    while (t.next_send(now)) {
    }
    now = t.next_deadline();
    if (now == kNever) break;
    t.on_time(now);
  }
  const auto completion = t.next_completion();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->reply.error().message,
            "Get(NodeInfo) to DR path 0,1,3: no answer after 8 attempts in 1.4 s");
}

TEST(Transactor, OneMadToATargetThatNeverAnsweredThenFour) {
  Transactor t;
  for (Cookie c = 0; c < 10; ++c) t.submit(at(0ms), ask(7, c));
  const auto first = t.next_send(at(0ms));
  ASSERT_TRUE(first);
  EXPECT_FALSE(t.next_send(at(0ms)));
  t.on_packet(at(1ms), answer(*first));
  int sent = 0;
  while (t.next_send(at(1ms))) ++sent;
  EXPECT_EQ(sent, 4);
}

TEST(Transactor, SendsInTheOrderOfSubmission) {
  ToyFabric fabric(1);
  fabric.keep_sent = true;
  Session session(fabric, {}, fabric.clock());
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < 50; ++i)
    requests.push_back(smp_request(i, 1, Lid{1}, Method::Set, attr::kLinearForwarding, i));
  const auto completions = session.call_all(std::move(requests));
  ASSERT_TRUE(completions);
  ASSERT_EQ(fabric.sent.size(), 50U);
  for (std::uint32_t i = 0; i < 50; ++i) {
    EXPECT_EQ(fabric.sent[i].attribute_modifier(), i);
    EXPECT_EQ((*completions)[i].cookie, i);
  }
}

TEST(Transactor, OvertakenMadIsRepeatedAfterTheFloor) {
  Transactor t;
  t.submit(at(0ms), ask(7));
  t.on_packet(at(1ms), answer(*t.next_send(at(0ms))));
  t.next_completion();

  t.submit(at(10ms), ask(7, 1));
  t.submit(at(10ms), ask(7, 2));
  const auto lost = t.next_send(at(10ms));
  const auto fine = t.next_send(at(10ms));
  t.on_packet(at(11ms), answer(*fine));
  EXPECT_EQ(t.next_completion()->cookie, 2U);
  // 10 ms after it was sent, not after the last answer.
  t.on_time(at(19ms));
  EXPECT_FALSE(t.next_send(at(19ms)));
  t.on_time(at(20ms));
  EXPECT_TRUE(t.next_send(at(20ms)));
  EXPECT_TRUE(t.on_packet(at(21ms), answer(*lost)));  // late, and welcome
  EXPECT_EQ(t.next_completion()->cookie, 1U);
}

TEST(Transactor, SilentTargetIsProbedWithItsOldestRequestOnly) {
  Transactor t;
  t.submit(at(0ms), ask(7));
  t.on_packet(at(1ms), answer(*t.next_send(at(0ms))));
  for (Cookie c = 1; c <= 4; ++c) t.submit(at(10ms), ask(7, c));
  while (t.next_send(at(10ms))) {
  }
  t.on_time(at(20ms));
  ASSERT_TRUE(t.next_send(at(20ms)));
  EXPECT_FALSE(t.next_send(at(20ms)));
  EXPECT_EQ(t.outstanding(), 1U);
}

TEST(Transactor, DeadTargetTakesItsQueueWithItAfterTwoRequests) {
  ToyFabric fabric(1);
  fabric.nodes[0].silent = true;
  Session session(fabric, {}, fabric.clock());
  std::vector<Request> requests;
  for (Cookie c = 0; c < 100; ++c) requests.push_back(ask(1, c));
  const auto completions = session.call_all(std::move(requests));
  ASSERT_TRUE(completions);
  for (const Completion& c : *completions) EXPECT_EQ(c.reply.error().kind, ErrorKind::TimedOut);
  EXPECT_EQ(fabric.sent_to[0], 16U);
  EXPECT_LT(seconds(fabric.now), 3.5);
  EXPECT_EQ(completions->back().reply.error().message,
            "Get(NodeInfo) to LID 1: not sent, the target has stopped answering");
}

TEST(Transactor, AnAttributeThatIsIgnoredTakesNothingElseWithIt) {
  ToyFabric fabric(1);
  fabric.nodes[0].deaf_attribute = attr::kMlnxExtendedPortInfo;
  Session session(fabric, {}, fabric.clock());
  std::vector<Request> requests;
  requests.push_back(ask(1, 0, attr::kMlnxExtendedPortInfo));
  for (Cookie c = 1; c <= 20; ++c)
    requests.push_back(ask(1, c, c % 5 == 0 ? attr::kMlnxExtendedPortInfo : attr::kPortInfo));
  const auto completions = session.call_all(std::move(requests));
  ASSERT_TRUE(completions);
  for (const Completion& c : *completions) EXPECT_EQ(c.reply.has_value(), c.cookie % 5 != 0);
}

TEST(Transactor, SlowTargetsGetAtMostOneSpuriousRetryEach) {
  ToyFabric fabric(40);
  for (auto& node : fabric.nodes) node.service = 150ms;
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(40, 12);
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 40U * 13);
  for (std::size_t n = 0; n < 40; ++n) EXPECT_LE(fabric.sent_to[n], 14U) << "target " << n + 1;
  EXPECT_LE(session.transactor().counters().spurious_retries, 40U);
}

TEST(Transactor, WhatOneSlowTargetShowedSparesTheNext) {
  ToyFabric fabric(20);
  for (auto& node : fabric.nodes) node.service = 150ms;
  Session session(fabric, {}, fabric.clock());
  for (std::uint16_t lid = 1; lid <= 20; ++lid) ASSERT_TRUE(session.call(ask(lid)));
  EXPECT_EQ(session.transactor().counters().retries, 1U);
}

TEST(Transactor, ShortQueuesOfSlowishAgentsDoNotOverflow) {
  ToyFabric fabric(600);
  for (auto& node : fabric.nodes) {
    node.service = 1ms;
    node.depth = 16;
  }
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(600, 15);
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 600U * 16);
  const auto& c = session.transactor().counters();
  EXPECT_LT(100 * c.retries, c.sends);
  EXPECT_EQ(c.retries, 0U);
}

TEST(Transactor, NeverMoreThanFourUnansweredPerTarget) {
  ToyFabric fabric(3);
  for (auto& node : fabric.nodes) node.service = 1ms;
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(3, 100);
  ASSERT_TRUE(session.run(sweep));
  for (const auto& node : fabric.nodes) EXPECT_EQ(node.queued_most, 4U);
}

TEST(Transactor, NeverMoreUnansweredThanTheWindow) {
  for (const std::uint32_t n : {1U, 8U, 256U}) {
    ToyFabric fabric(700);
    TransactorOptions options;
    options.window = n;
    fabric.transit = {10us, 100'000};
    Session session(fabric, options, fabric.clock());
    Sweep sweep(700, 3);
    ASSERT_TRUE(session.run(sweep));
    EXPECT_EQ(sweep.answered, 2800U);
    EXPECT_LE(fabric.transit.queued_most, n);
    EXPECT_EQ(session.transactor().counters().retries, 0U);
  }
}

TEST(Transactor, RandomLossNeitherStopsNorSlowsIt) {
  struct Case {
    double loss;
    double seconds;
  };
  for (const Case& c : {Case{0.01, 1.0}, Case{0.05, 1.5}, Case{0.10, 2.0}}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      ToyFabric fabric(612, seed);
      fabric.loss = c.loss;
      Session session(fabric, {}, fabric.clock());
      Sweep sweep(612, 15);
      ASSERT_TRUE(session.run(sweep));
      EXPECT_EQ(sweep.answered, 612U * 16) << "loss " << c.loss << " seed " << seed;
      EXPECT_LT(seconds(sweep.last), c.seconds) << "loss " << c.loss << " seed " << seed;
      EXPECT_GE(session.transactor().window(), 100U) << "loss " << c.loss << " seed " << seed;
      EXPECT_EQ(session.transactor().counters().spurious_retries, 0U);
    }
  }
}

TEST(Transactor, LongQueueToOneSwitchUnderLoss) {
  ToyFabric fabric(1);
  fabric.loss = 0.1;
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(1, 750);  // an LFT of 48,000 LIDs
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 751U);
  EXPECT_LT(seconds(sweep.last), 2.5);
}

TEST(Transactor, ClosesTheWindowWhereABufferOverflows) {
  ToyFabric fabric(600);
  fabric.transit = {50us, 32};
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(600, 15);
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 600U * 16);
  const auto& c = session.transactor().counters();
  EXPECT_LT(5 * c.retries, c.sends);
  EXPECT_LT(seconds(sweep.last), 1.0);  // the buffer's server needs 0.48 s
  EXPECT_LT(session.transactor().window(), 100U);
}

TEST(Transactor, WhatIsLostTakesNoPlaceForLong) {
  ToyFabric fabric(612);
  fabric.loss = 0.1;
  fabric.places = 128;
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(612, 15);
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 612U * 16);
  EXPECT_LT(seconds(sweep.last), 2.0);
  // Nothing had to wait for a place of its own, where its timeout would have run out.
  EXPECT_EQ(fabric.kept_back, 0U);
}

TEST(Transactor, WakesWhenAPlaceIsFreeAgain) {
  TransactorOptions options;
  options.awaited_most = 2;
  options.window_per_target = 1;
  Transactor transactor(options);
  const auto submit = [&](std::uint16_t target) { transactor.submit(at(0ms), ask(target)); };
  submit(1);
  submit(2);
  ASSERT_TRUE(transactor.next_send(at(0ms)));
  ASSERT_TRUE(transactor.next_send(at(0ms)));
  // Both are lost; what they are repeated with has to wait for the places they had.
  Instant now = at(0ms);
  int sent = 0;
  for (int turns = 0; turns < 200 && transactor.pending() > 0; ++turns) {
    const Instant next = transactor.next_deadline();
    ASSERT_NE(next, kNever) << sent;
    ASSERT_GE(next, now);
    now = next;
    transactor.on_time(now);
    while (transactor.next_send(now)) ++sent;
    while (transactor.next_completion()) {
    }
  }
  EXPECT_EQ(transactor.pending(), 0U);
  EXPECT_EQ(sent, 2 * (options.attempts_min - 1));
}

TEST(Transactor, SilentTargetsDelayNobodyElse) {
  for (const std::size_t silent : {5U, 300U}) {
    ToyFabric fabric(900);
    for (std::size_t n = 0; n < silent; ++n) fabric.nodes[n * 3].silent = true;
    Session session(fabric, {}, fabric.clock());
    Sweep sweep(900, 10);
    ASSERT_TRUE(session.run(sweep));
    EXPECT_EQ(sweep.answered, (900 - silent) * 11);
    EXPECT_EQ(sweep.errors.size(), silent);
    // One transaction timeout is 1.4 s; 300 share the kernel's places with everybody.
    EXPECT_LT(seconds(sweep.last), silent < 100 ? 2.3 : 2.6);
  }
}

TEST(Transactor, SilenceOfEverybodyIsNotLoss) {
  ToyFabric fabric(300);
  fabric.transit = {10us, 1000};
  fabric.frozen_from = at(10ms);
  fabric.frozen_to = at(45ms);
  Session session(fabric, {}, fabric.clock());
  Sweep sweep(300, 20);
  ASSERT_TRUE(session.run(sweep));
  EXPECT_EQ(sweep.answered, 300U * 21);
  EXPECT_EQ(session.transactor().counters().retries, 0U);
  EXPECT_EQ(session.transactor().window(), TransactorOptions{}.awaited_most);
}

TEST(Transactor, MoreAttemptsForATargetThatIsKnownToLive) {
  ToyFabric fabric(1);
  Session session(fabric, {}, fabric.clock());
  ASSERT_TRUE(session.call(ask(1)));
  fabric.nodes[0].silent = true;
  const auto reply = session.call(ask(1));
  ASSERT_FALSE(reply);
  EXPECT_EQ(fabric.sent_to[0], 1U + 12U);
}

TEST(Transactor, LateAnswersAreKnownAfterTheCompletion) {
  Transactor t;
  t.submit(at(0ms), ask(7, 1));
  const auto first = t.next_send(at(0ms));
  t.on_time(at(50ms));
  const auto second = t.next_send(at(50ms));
  ASSERT_TRUE(second);
  EXPECT_TRUE(t.on_packet(at(60ms), answer(*second)));
  ASSERT_TRUE(t.next_completion());
  EXPECT_FALSE(t.on_packet(at(70ms), answer(*first)));
  EXPECT_EQ(t.counters().late_replies, 1U);
  t.submit(at(80ms), ask(7, 2));
  const auto next = t.next_send(at(80ms));
  ASSERT_TRUE(next);
  EXPECT_NE(next->mad.tid(), first->mad.tid());
  EXPECT_NE(next->mad.tid(), second->mad.tid());
  EXPECT_TRUE(t.on_packet(at(81ms), answer(*next)));
}

TEST(Transactor, RespTimeValueRaisesTheCeiling) {
  ToyFabric fabric(1);
  fabric.nodes[0].silent = true;
  Session session(fabric, {}, fabric.clock());
  Request request = ask(1);
  request.resp_time_hint = 2s;
  ASSERT_FALSE(session.call(std::move(request)));
  EXPECT_GT(seconds(fabric.now), 14.0);
}

TEST(Transactor, ASmallAnswerOfASlowAttributeIsWaitedForLessAtFirst) {
  const auto second_try = [](Duration first_wait) {
    Transactor t;
    Request request = ask(7, 1);
    request.mad.set<&wire::MadHeader::mgmt_class>(wire::MgmtClass::SubnAdm);
    request.resp_time_hint = 2s;
    request.first_wait = first_wait;
    t.submit(at(0ms), std::move(request));
    EXPECT_TRUE(t.next_send(at(0ms)));
    for (auto now = 50ms;; now += 50ms) {
      t.on_time(at(now));
      if (t.next_send(at(now))) return now;
    }
  };
  EXPECT_EQ(second_try(Duration{0}), 2000ms);
  EXPECT_EQ(second_try(250ms), 250ms);
}

/// While an SA goes on answering, a small answer that is missing is lost; a table may take its
/// time.
TEST(Transactor, ASmallAnswerThatIsOvertakenIsAskedForSoon) {
  const auto second_try = [](Duration first_wait) {
    Transactor t;
    const auto request = [&](Cookie cookie) {
      Request r = ask(7, cookie);
      r.mad.set<&wire::MadHeader::mgmt_class>(wire::MgmtClass::SubnAdm);
      r.resp_time_hint = 2s;
      r.first_wait = first_wait;
      return r;
    };
    t.submit(at(0ms), request(1));
    EXPECT_TRUE(t.on_packet(at(1ms), answer(*t.next_send(at(0ms)))));
    t.submit(at(10ms), request(2));
    t.submit(at(10ms), request(3));
    EXPECT_TRUE(t.next_send(at(10ms)));
    EXPECT_TRUE(t.on_packet(at(11ms), answer(*t.next_send(at(10ms)))));
    for (auto now = 20ms;; now += 10ms) {
      t.on_time(at(now));
      if (t.next_send(at(now))) return now - 10ms;
    }
  };
  EXPECT_EQ(second_try(250ms), 50ms);
  EXPECT_EQ(second_try(20ms), 20ms);
  EXPECT_EQ(second_try(Duration{0}), 2000ms);
}

TEST(Transactor, AnswerToAnotherQuestionDoesNotCount) {
  Transactor t;
  t.submit(at(0ms), ask(7, 1, attr::kNodeInfo));
  const auto order = t.next_send(at(0ms));
  Packet garbage = answer(*order);
  garbage.mad.set<&wire::MadHeader::attribute_id>(attr::kPortInfo);
  EXPECT_FALSE(t.on_packet(at(1ms), garbage));
  garbage.mad.bytes.fill(std::byte{0xFF});
  garbage.mad.set<&wire::MadHeader::tid>(order->mad.tid());
  EXPECT_FALSE(t.on_packet(at(1ms), garbage));
  EXPECT_EQ(t.counters().strange_replies, 2U);
  EXPECT_TRUE(t.on_packet(at(2ms), answer(*order)));
}

TEST(Transactor, ErrorStatusIsAnAnswer) {
  Transactor t;
  t.submit(at(0ms), ask(7, 1));
  Packet reply = answer(*t.next_send(at(0ms)));
  reply.mad.set<&wire::MadHeader::status>(wire::status::kBadAttribute);
  EXPECT_TRUE(t.on_packet(at(1ms), reply));
  EXPECT_EQ(t.next_completion()->reply->mad.status(), wire::status::kBadAttribute);
}

TEST(Transactor, CancelledRequestsComplete) {
  Transactor t;
  for (Cookie c = 0; c < 6; ++c) t.submit(at(0ms), ask(7, c));
  const auto first = t.next_send(at(0ms));
  t.cancel(0);  // on the wire
  t.cancel(3);  // in the middle of the queue
  t.cancel(5);  // its end
  EXPECT_EQ(t.pending(), 3U);
  EXPECT_FALSE(t.on_packet(at(1ms), answer(*first)));
  std::set<Cookie> completed;
  while (auto order = t.next_send(at(2ms))) {
    t.on_packet(at(2ms), answer(*order));
    while (auto c = t.next_completion()) completed.insert(c->cookie);
  }
  EXPECT_EQ(completed, (std::set<Cookie>{1, 2, 4}));
  EXPECT_EQ(t.outstanding(), 0U);
}

TEST(Transactor, RefusedSendCompletesItsRequestOnly) {
  ToyFabric fabric(2);
  Session session(fabric, {}, fabric.clock());
  std::vector<Request> requests;
  requests.push_back(ask(1));
  requests.push_back(ask(99));  // no such LID in the toy
  requests.push_back(ask(2));
  const auto completions = session.call_all(std::move(requests));
  ASSERT_TRUE(completions);
  EXPECT_TRUE((*completions)[0].reply);
  EXPECT_EQ((*completions)[1].reply.error().kind, ErrorKind::Io);
  EXPECT_TRUE((*completions)[2].reply);
}

TEST(Transactor, ForgetsIdleTargetsRatherThanGrowWithoutBound) {
  Transactor t;
  for (std::uint64_t key = 1; key <= 140'000; ++key) {
    Request request = ask(1);
    request.target_key = key;
    t.submit(at(0ms), std::move(request));
    t.on_packet(at(0ms), answer(*t.next_send(at(0ms))));
    ASSERT_TRUE(t.next_completion());
  }
  EXPECT_EQ(t.counters().replies, 140'000U);
}

}  // namespace
}  // namespace ib::mad
