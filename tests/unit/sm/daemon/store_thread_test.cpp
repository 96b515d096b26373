// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store has its turn while nothing is to be written, and what it says is heard.
#include "sm/daemon/store_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <vector>

namespace sm::daemon {
namespace {

/// Wants one turn.
class OneTurn final : public store::Store {
 public:
  ib::Result<store::Contents> load() override { return store::Contents{}; }
  ib::Result<void> commit(const store::Batch&) override { return {}; }
  std::optional<ib::Duration> rest() const override {
    return done_ ? std::nullopt : std::optional(ib::Duration{0});
  }
  std::vector<ib::LogEvent> on_time() override {
    done_ = true;
    return {{ib::LogLevel::Info, "store", "had its turn"}};
  }

 private:
  bool done_{false};
};

TEST(StoreThread, GivesTheStoreItsTurn) {
  std::promise<std::string> said;
  StoreThread thread(std::make_unique<OneTurn>(),
                     [&](const ib::LogEvent& line) { said.set_value(line.message); });
  EXPECT_EQ(said.get_future().get(), "had its turn");
  EXPECT_TRUE(thread.commit({}));
}

/// A take fails, and is made up for in the store's own time.
class LateTake final : public store::Store {
 public:
  ib::Result<store::Contents> load() override { return store::Contents{}; }
  ib::Result<void> commit(const store::Batch&) override { return {}; }
  ib::Result<store::Contents> take() override {
    failed_ = true;
    return ib::fail(ib::ErrorKind::TimedOut, "away");
  }
  std::optional<ib::Duration> rest() const override {
    return failed_ ? ib::Duration{0} : std::chrono::hours(1);  // it looks about, too
  }
  std::vector<ib::LogEvent> on_time() override {
    failed_ = false;
    return {};
  }
  bool is_whole() const override { return !failed_; }

 private:
  bool failed_{false};
};

TEST(StoreThread, SaysOnceThatATakeThatFailedWasMadeUpFor) {
  StoreThread thread(std::make_unique<LateTake>(), [](const ib::LogEvent&) {});
  thread.post_take();
  bool failed = false, made_up = false;
  while (!failed || !made_up) {
    pollfd fd{thread.taken_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, -1), 1);
    if (const auto taken = thread.next_taken()) failed = !*taken;
    made_up = thread.take_made_up() || made_up;
  }
  EXPECT_FALSE(thread.take_made_up());
}

/// Another one takes it while nothing is written.
class Lost final : public store::SharedStore {
 public:
  ib::Result<store::Contents> load() override { return store::Contents{}; }
  ib::Result<void> commit(const store::Batch&) override { return {}; }
  std::optional<ib::Duration> rest() const override {
    return lost_ ? std::nullopt : std::optional(ib::Duration{0});
  }
  std::vector<ib::LogEvent> on_time() override {
    lost_ = lacks_ = true;
    return {};
  }
  ib::Result<store::Contents> look() override {
    store::Contents contents;
    contents.lids = {{ib::Guid{1}, ib::Lid{1}, 0}, {ib::Guid{2}, ib::Lid{2}, 0}};
    return contents;
  }
  void set_ports(std::vector<ib::Guid>) override {}
  void set_policy(std::vector<store::PolicyCopy>) override {}
  bool is_deposed() const override { return lost_; }
  store::Contents go_apart() override {
    store::Contents contents;
    contents.lids = {{ib::Guid{1}, ib::Lid{1}, 0}};
    return contents;
  }
  bool take_lacks() override { return std::exchange(lacks_, false); }

 private:
  bool lost_{false}, lacks_{false};
};

TEST(StoreThread, AMasterThatWritesNothingHearsThatItIsDeposed) {
  StoreThread thread(std::make_unique<Lost>(), [](const ib::LogEvent&) {});
  pollfd fd{thread.taken_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, -1), 1);
  EXPECT_TRUE(thread.take_deposed());
  EXPECT_FALSE(thread.take_deposed()) << "once";
  EXPECT_TRUE(thread.take_lacks());
  thread.post_apart();
  std::optional<ib::Result<store::Contents>> kept;
  while (!(kept = thread.next_taken())) ASSERT_EQ(poll(&fd, 1, -1), 1);
  EXPECT_EQ((*kept)->lids.size(), 1U);
  thread.post_look();
  while (!(kept = thread.next_taken())) ASSERT_EQ(poll(&fd, 1, -1), 1);
  EXPECT_EQ((*kept)->lids.size(), 2U);
}

/// Says in which order batches come, by the number of their LIDs; the first waits for the gate.
class Ordered final : public store::Store {
 public:
  Ordered(std::shared_future<void> gate, std::vector<std::size_t>& order)
      : gate_(std::move(gate)), order_(order) {}
  ib::Result<store::Contents> load() override { return store::Contents{}; }
  ib::Result<void> commit(const store::Batch& batch) override {
    gate_.wait();
    order_.push_back(batch.lids.size());
    return {};
  }

 private:
  std::shared_future<void> gate_;
  std::vector<std::size_t>& order_;
};

TEST(StoreThread, WhatCanWaitComesLastAndIsDoneBeforeTheEnd) {
  const auto batch_of = [](std::size_t lids) {
    store::Batch batch;
    batch.lids.resize(lids);
    return batch;
  };
  std::promise<void> gate;
  std::vector<std::size_t> order;
  {
    StoreThread thread(std::make_unique<Ordered>(gate.get_future().share(), order),
                       [](const ib::LogEvent&) {});
    thread.post(1, batch_of(1));
    thread.post_later(batch_of(4));
    thread.post_later(batch_of(5));
    thread.post(2, batch_of(2));
    thread.post(3, batch_of(3));
    gate.set_value();
  }
  // The thread may have begun with what can wait before there was anything else.
  std::vector<std::size_t> late;
  for (const std::size_t lids : order)
    if (lids > 3) late.push_back(lids);
  EXPECT_THAT(order, testing::UnorderedElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(late, testing::ElementsAre(4, 5));
  EXPECT_EQ(order.back(), 5U);
}

}  // namespace
}  // namespace sm::daemon
