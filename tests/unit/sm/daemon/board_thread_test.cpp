// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/board_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

namespace sm::daemon {
namespace {

using ::testing::ElementsAre;

/// A board that answers when it is let.
class SlowBoard final : public store::Board {
 public:
  explicit SlowBoard(std::vector<std::string>& did) : did_(did) {}
  ib::Result<std::vector<store::Posting>> exchange(const std::string& text) override {
    began.set_value();
    go_on.get_future().wait();
    did_.push_back(text);
    return std::vector<store::Posting>{{"other", "of " + text}};
  }
  ib::Result<void> withdraw() override {
    did_.push_back("withdrawn");
    return {};
  }
  std::promise<void> began, go_on;

 private:
  std::vector<std::string>& did_;
};

TEST(BoardThread, NobodyWaitsForTheBoardAndOursIsTakenDownAtTheEnd) {
  std::vector<std::string> did;
  auto board = std::make_unique<SlowBoard>(did);
  SlowBoard& slow = *board;
  {
    BoardThread thread(std::move(board));
    EXPECT_FALSE(thread.take());
    EXPECT_TRUE(thread.post("one"));
    slow.began.get_future().wait();
    EXPECT_FALSE(thread.post("two")) << "one at a time";
    EXPECT_FALSE(thread.take());
    slow.go_on.set_value();
    pollfd fd{thread.readable_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, -1), 1);
    const auto answer = thread.take();
    ASSERT_TRUE(answer && *answer);
    EXPECT_THAT(**answer, ElementsAre(store::Posting{"other", "of one"}));
    EXPECT_FALSE(thread.take());
  }
  EXPECT_THAT(did, ElementsAre("one", "withdrawn"));
}

}  // namespace
}  // namespace sm::daemon
