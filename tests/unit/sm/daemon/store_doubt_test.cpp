// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether what a master answered may be missing in the store, by what the board and the fabric
// heard of it.
#include "sm/daemon/store_doubt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kMaster = "0x0002c90300000011";

/// A master and a standby, in seconds. The master posts every 5 s, as it is heard every second.
class StoreDoubtTest : public ::testing::Test {
 protected:
  static ib::Instant at(double seconds) {
    return ib::Instant{0} +
           std::chrono::duration_cast<ib::Duration>(std::chrono::duration<double>(seconds));
  }
  void post(bool behind = false) {
    const Notice notice{"head1", ib::wire::SmState::Master, ++turn_, {{"lmc", 0}}, behind};
    board_ = {{kMaster, text_of(notice)}};
  }
  void look(double now) { doubt_.on_postings(at(now), board_); }
  void hear(double now) { doubt_.on_master_heard(kMaster, at(now)); }

  StoreDoubt doubt_;
  std::vector<store::Posting> board_;
  std::uint64_t turn_{0};
};

TEST_F(StoreDoubtTest, AMasterThatWritesAndDiesLeavesNone) {
  // Whenever it dies, whatever the phase between its turns and our looks.
  for (double phase = 0; phase < 5; phase += 0.25)
    for (double life = 20; life < 26; life += 0.25) {
      doubt_ = {};
      double next_post = 0, next_look = phase;
      for (double now = 0; now < life + 3.5; now += 0.25) {
        if (now < life && now >= next_post) post(), next_post += 5;
        if (now < life) hear(now);
        if (now >= next_look) look(now), next_look += 5;
      }
      EXPECT_EQ(doubt_.take(), "") << phase << ' ' << life;
    }
}

TEST_F(StoreDoubtTest, OneThatGoesOnWhileTheBoardHearsNothingOfItIsDoubted) {
  post();
  for (double now = 0; now < 20; now += 5) look(now), hear(now);
  EXPECT_THAT(doubt_.take(), HasSubstr("etcd did not hear of it for 15 s while it was there"));
  EXPECT_EQ(doubt_.take(), "") << "once";
}

TEST_F(StoreDoubtTest, WhoIsNotOnTheBoardAtAllDoesNotShareTheStore) {
  for (double now = 0; now < 20; now += 5) look(now), hear(now);
  EXPECT_THAT(doubt_.take(), HasSubstr("etcd did not hear of it"));
}

TEST_F(StoreDoubtTest, OneThatSaidThatItCannotWriteIsDoubtedUntilItSaysOtherwise) {
  post(true);
  look(0);
  hear(1);
  board_.clear();  // it ended
  look(5);
  EXPECT_EQ(doubt_.take(), "it said that it could not write to etcd");
  post(true);
  look(10);
  post();
  look(11);
  hear(11.5);
  EXPECT_EQ(doubt_.take(), "");
}

TEST_F(StoreDoubtTest, OneThatEndsInOrderLeavesNone) {
  post();
  look(0);
  hear(4);
  board_.clear();
  look(5);
  look(30);
  EXPECT_EQ(doubt_.take(), "");
}

TEST_F(StoreDoubtTest, AnEtcdThatHungWhileTheMasterWasThereLeavesSome) {
  post();
  look(0);
  hear(4);
  doubt_.on_failure(at(5));
  hear(6);
  look(7);
  EXPECT_THAT(doubt_.take(), HasSubstr("etcd did not answer while it was there"));
  // What it posts afterwards tells that it wrote.
  doubt_.on_failure(at(8));
  post();
  look(9);
  hear(9);
  EXPECT_EQ(doubt_.take(), "");
  // One that had died before has nothing to do with it.
  hear(10);
  doubt_.on_failure(at(14));
  EXPECT_EQ(doubt_.take(), "");
}

TEST_F(StoreDoubtTest, WhoHeardOfNoMasterHasNone) {
  look(0);
  look(60);
  EXPECT_EQ(doubt_.take(), "");
}

}  // namespace
}  // namespace sm::daemon
