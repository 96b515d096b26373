// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace sm::daemon {
namespace {

std::ptrdiff_t told(const EventLog& events, const std::string& word) {
  const std::string text = events.answer({}).text;
  std::ptrdiff_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(EventLog, AnotherSubnetManagerIsToldOfOncePerState) {
  auto log = LogFile::open("/dev/null", 0, true);
  ASSERT_TRUE(log);
  auto events = *EventLog::open({}, *log);
  const auto is = [&](ib::wire::SmState state, std::uint32_t activity) {
    ib::wire::SmInfo other;
    other.guid = ib::Guid{7};
    other.sm_state = state;
    other.act_count = activity;
    events->on_other_managers({other});
  };
  for (std::uint32_t i = 0; i < 5; ++i) is(ib::wire::SmState::Standby, i);
  EXPECT_EQ(told(*events, "0x0000000000000007"), 1);
  for (std::uint32_t i = 0; i < 5; ++i) is(ib::wire::SmState::Master, i);
  EXPECT_EQ(told(*events, "0x0000000000000007"), 2);
  events->on_other_managers({});
  EXPECT_EQ(told(*events, "a subnet manager is gone: 0x0000000000000007"), 1);
}

store::Batch a_new_group(std::uint64_t number) {
  store::Batch batch;
  batch.groups.emplace_back().mgid = ib::Gid::from(0xFF12'401B'FFFF'0000, ib::Guid{number});
  return batch;
}

TEST(EventLog, GroupsAreTheMastersToTellOf) {
  auto log = LogFile::open("/dev/null", 0, true);
  ASSERT_TRUE(log);
  auto events = *EventLog::open({}, *log);
  const std::string created = "multicast group created";
  events->on_registry(a_new_group(1));
  events->on_sm_status(ib::wire::SmState::Discovering, "started");
  EXPECT_EQ(told(*events, created), 0) << "who is master is not known yet";
  events->on_sm_status(ib::wire::SmState::Standby, "another one is");
  events->on_registry(a_new_group(2));
  EXPECT_EQ(told(*events, created), 0);
  events->on_sm_status(ib::wire::SmState::Master, "the other one is gone");
  EXPECT_EQ(told(*events, created), 0);
  events->on_registry(a_new_group(3));
  EXPECT_EQ(told(*events, created), 1);
}

TEST(EventLog, GroupsOfTheStartAreToldOnceThisOneIsMaster) {
  auto log = LogFile::open("/dev/null", 0, true);
  ASSERT_TRUE(log);
  auto events = *EventLog::open({}, *log);
  events->on_registry(a_new_group(1));
  events->on_sm_status(ib::wire::SmState::Discovering, "started");
  events->on_sm_status(ib::wire::SmState::Master, "no other one");
  EXPECT_EQ(told(*events, "multicast group created"), 1);
}

/// As a pipe into a program that hangs: the subnet manager waits for nobody.
TEST(EventLog, APipeThatNobodyReadsIsRefusedAndOneThatIsFullLosesLines) {
  const std::string pipe = testing::TempDir() + "ibkit-events-" + std::to_string(::getpid());
  const std::string log_path = pipe + ".log";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  auto log = LogFile::open(log_path, kLogErrors, true);
  ASSERT_TRUE(log);
  EventOptions options;
  options.file = pipe;
  const auto refused = EventLog::open(options, *log);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "cannot write events to " + pipe + ": no program reads this pipe");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  auto events = EventLog::open(options, *log);
  ASSERT_TRUE(events) << events.error().message;
  for (int i = 0; i < 2000; ++i)
    (*events)->on_sm_status(ib::wire::SmState::Standby, std::string(100, 'x'));
  std::ifstream written(log_path);
  const std::string said(std::istreambuf_iterator<char>(written), {});
  EXPECT_NE(said.find("its reader does not read; those that follow are lost there"),
            std::string::npos)
      << said;
  ::close(reader);
  std::remove(pipe.c_str());
  std::remove(log_path.c_str());
}

}  // namespace
}  // namespace sm::daemon
