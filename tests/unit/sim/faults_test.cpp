// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What goes wrong: loss, duplicates, delay, queues that overflow, nodes that are silent or babble.
#include <algorithm>

#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

/// Sends `count` requests at one instant and says how many answers came.
unsigned answers_to_burst(Model& model, unsigned count, const Hops& hops,
                          std::vector<Delivery>* all = nullptr) {
  Instant now = model.next_event() == kNever ? Instant{} : model.next_event();
  for (unsigned i = 0; i < count; ++i) {
    auto r = mad::smp_request(0, 0, mad::DirectedRoute{hops}, Method::Get, attr::kNodeInfo, 0);
    r.mad.set<&wire::MadHeader::tid>(Tid{i + 1});
    model.send(now, {kH1, 1}, true, {r.address, r.mad, {}});
  }
  unsigned answers = 0;
  while (model.next_event() != kNever) {
    model.advance(model.next_event());
    while (const auto* d = model.next_delivery()) {
      ++answers;
      if (all) all->push_back(*d);
    }
  }
  return answers;
}

TEST(Faults, LossIsPerDirectionWhateverTheHops) {
  ModelOptions options;
  options.faults.loss_percent = 10;
  options.faults.sma_queue = 100000;
  options.faults.vl15_buffer = 100000;
  Model model(small_fabric(), options);
  unsigned answered = 0;
  for (int i = 0; i < 100; ++i) answered += answers_to_burst(model, 40, {1, 3, 1});
  // 0.9 x 0.9 of 4000, five standard deviations either way.
  EXPECT_NEAR(answered, 3240, 130);
  EXPECT_EQ(answered + model.counters().dropped_loss, 4000U);
}

TEST(Faults, WhatStaysInTheNodeIsNotLost) {
  ModelOptions options;
  options.faults.loss_percent = 100;
  Model model(small_fabric(), options);
  EXPECT_EQ(answers_to_burst(model, 5, {}), 5U);
  EXPECT_EQ(answers_to_burst(model, 5, {1}), 0U);
}

TEST(Faults, DuplicatesArriveTwice) {
  ModelOptions options;
  options.faults.duplicate_percent = 100;
  Model model(small_fabric(), options);
  EXPECT_EQ(answers_to_burst(model, 1, {1}), 4U);  // request twice, each answer twice
}

TEST(Faults, OneCableCanBeBad) {
  Model model(small_fabric());
  Faults bad;
  bad.loss_percent = 100;
  model.set_link_faults({kS1, 3}, bad);
  EXPECT_EQ(answers_to_burst(model, 3, {1, 3}), 0U);
  EXPECT_EQ(answers_to_burst(model, 3, {1, 4}), 3U);
  model.set_link_faults({kS2, 3}, Faults{});  // either end names the cable
  EXPECT_EQ(answers_to_burst(model, 3, {1, 3}), 3U);
}

TEST(Faults, WithJitterOneOvertakesAnother) {
  ModelOptions options;
  options.faults.jitter = std::chrono::milliseconds(1);
  Model model(small_fabric(), options);
  std::vector<Delivery> answers;
  EXPECT_EQ(answers_to_burst(model, 20, {1}, &answers), 20U);
  EXPECT_FALSE(std::ranges::is_sorted(answers, {},
                                      [](const Delivery& d) { return d.packet.mad.tid().value; }));
}

TEST(Faults, DelayHoldsEveryMadBackOncePerDirection) {
  ModelOptions options;
  options.faults.delay = std::chrono::milliseconds(3);
  Model model(small_fabric(), options);
  Hand hand(model);
  EXPECT_TRUE(hand.directed({1, 3, 1}, Method::Get, attr::kNodeInfo));
  EXPECT_GE(hand.now(), Instant{} + std::chrono::milliseconds(6));
  EXPECT_LT(hand.now(), Instant{} + std::chrono::milliseconds(7));
}

TEST(Faults, AnSmaIsOneSlowProcessorWithAShortQueue) {
  ModelOptions options;
  options.faults.sma_service = std::chrono::milliseconds(1);
  options.faults.sma_queue = 16;
  Model model(small_fabric(), options);
  EXPECT_EQ(answers_to_burst(model, 40, {1}), 16U);
  EXPECT_EQ(model.counters().dropped_queue, 24U);
  EXPECT_EQ(answers_to_burst(model, 10, {1}), 10U);
}

TEST(Faults, AReceiveQueueThatNobodyEmptiesOverflows) {
  ModelOptions options;
  options.faults.receive_queue = 8;
  Model model(small_fabric(), options);
  for (unsigned i = 0; i < 20; ++i) {
    auto r = mad::smp_request(0, 0, mad::DirectedRoute{{1}}, Method::Get, attr::kNodeInfo, 0);
    model.send(Instant{}, {kH1, 1}, true, {r.address, r.mad, {}});
  }
  model.advance(Instant{} + std::chrono::seconds(1));
  unsigned taken = 0;
  while (model.next_delivery()) ++taken;
  EXPECT_EQ(taken, 8U);
  EXPECT_EQ(model.counters().dropped_queue, 12U);
}

TEST(Faults, ASwitchHasSoManyVl15BuffersAndNoMore) {
  ModelOptions options;
  options.faults.vl15_buffer = 4;
  // Cable S1-S2 is slower than the hosts': what comes in faster than it goes out piles up.
  auto fabric = small_fabric();
  fabric.port(kS1, 3).speed = fabric.port(kS2, 3).speed = LinkSpeed::Sdr;
  fabric.port(kS1, 3).width = fabric.port(kS2, 3).width = LinkWidth::W1x;
  Model model(fabric, options);
  EXPECT_LT(answers_to_burst(model, 60, {1, 3}), 60U);
  EXPECT_GT(model.counters().dropped_queue, 0U);
}

TEST(Faults, ASilentSmaStillForwards) {
  Model model(small_fabric());
  model.set_behaviour(kS2, Behaviour::Silent);
  EXPECT_EQ(answers_to_burst(model, 2, {1, 3}), 0U);
  EXPECT_EQ(answers_to_burst(model, 2, {1, 3, 1}), 2U);
  model.set_behaviour(kS2, Behaviour::Normal);
  EXPECT_EQ(answers_to_burst(model, 2, {1, 3}), 2U);
}

TEST(Faults, GarbageHasAGoodHeaderAndNothingElse) {
  Model model(small_fabric());
  model.set_behaviour(kS2, Behaviour::Garbage);
  std::vector<Delivery> all;
  ASSERT_EQ(answers_to_burst(model, 2, {1, 3}, &all), 2U);
  EXPECT_EQ(all[0].packet.mad.method(), Method::GetResp);
  EXPECT_NE(wire::body<wire::NodeInfo>(all[0].packet.mad).node_guid, Guid{0x20});
  EXPECT_NE(wire::body<wire::NodeInfo>(all[0].packet.mad),
            wire::body<wire::NodeInfo>(all[1].packet.mad));
}

TEST(Faults, StatsAndTapSeeWhatHappens) {
  Model model(small_fabric());
  unsigned seen = 0;
  model.set_tap([](void* context, Instant, Lid, Lid, bool,
                   const mad::Packet&) { ++*static_cast<unsigned*>(context); },
                &seen);
  EXPECT_EQ(answers_to_burst(model, 3, {1}), 3U);
  EXPECT_EQ(seen, 6U);
  const auto stats = model.stats();
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].mgmt_class, 0x81);
  EXPECT_EQ(stats[0].method, 0x01);
  EXPECT_EQ(stats[0].attribute, attr::kNodeInfo);
  EXPECT_EQ(stats[0].count, 3U);
  EXPECT_EQ(stats[1].method, 0x81);
}

// Whatever comes in, nothing breaks, nothing is left under way and no buffer leaks.
TEST(Faults, RandomMadsDoNoHarm) {
  Model model(small_fabric());
  Hand hand(model);
  bring_up(hand);
  std::uint64_t state = 12345;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (int i = 0; i < 20000; ++i) {
    mad::Packet p;
    for (std::byte& b : p.mad.bytes) b = static_cast<std::byte>(random());
    const bool smi = random() % 2 == 0;
    constexpr std::array<std::uint8_t, 4> classes{0x01, 0x81, 0x04, 0x03};
    p.mad.bytes[1] = static_cast<std::byte>(classes[random() % 4]);
    if (random() % 4 != 0) {
      p.mad.bytes[0] = p.mad.bytes[2] = std::byte{1};
      p.mad.bytes[3] = static_cast<std::byte>(1 + random() % 2);
      p.mad.bytes[16] = std::byte{0};
      p.mad.bytes[17] = static_cast<std::byte>(0x10 + random() % 0x12);
      p.mad.bytes[20] = std::byte{0};
    }
    if (random() % 2 == 0) {
      p.mad.bytes[4] = p.mad.bytes[6] = std::byte{0};
      p.mad.bytes[7] = static_cast<std::byte>(random() % 4);
      p.mad.bytes[129] = std::byte{1};
      p.mad.bytes[130] = std::byte{3};
      for (std::size_t at = 32; at < 36; ++at) p.mad.bytes[at] = std::byte{0xFF};
    }
    p.address = smi ? mad::smi_address(
                          Lid{static_cast<std::uint16_t>(random() % 2 ? 0xFFFF : random() % 10)})
                    : mad::gsi_address(Lid{static_cast<std::uint16_t>(random() % 10)});
    p.address.path_bits = static_cast<std::uint8_t>(random());
    p.address.p_key_index = static_cast<std::uint16_t>(random() % 3);
    model.send(hand.now(), {kH1, 1}, smi, p);
    if (i % 8 == 0) hand.run_for(std::chrono::microseconds(50));
    hand.unasked.clear();
  }
  hand.run_for(std::chrono::hours(24 * 365));
  EXPECT_EQ(model.next_event(), kNever);
}

}  // namespace
}  // namespace ib::sim::test
