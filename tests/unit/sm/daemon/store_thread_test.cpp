// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store has its turn while nothing is to be written, and what it says is heard.
#include "sm/daemon/store_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

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

}  // namespace
}  // namespace sm::daemon
