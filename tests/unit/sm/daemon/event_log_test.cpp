// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sm::daemon {
namespace {

std::ptrdiff_t told(const EventLog& events, const std::string& word) {
  const std::string text = events.answer({}).text;
  std::ptrdiff_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// A sweep publishes several times, before tables are read.
TEST(EventLog, AnotherSubnetManagerIsToldOfOnceThoughTablesAreStillBeingRead) {
  auto log = LogFile::open("/dev/null", 0, true);
  ASSERT_TRUE(log);
  auto events = *EventLog::open({}, *log);
  const auto subnet = std::make_shared<Snapshot>();
  subnet->observed = std::make_shared<ib::discover::Observed>();
  const auto hold = [&](ib::wire::SmState state, bool to_come) {
    auto device_state = std::make_shared<DeviceState>();
    device_state->tables_to_come = to_come;
    ib::wire::SmInfo other;
    other.guid = ib::Guid{7};
    other.sm_state = state;
    device_state->other_sms = {other};
    events->on_device_state(device_state, subnet);
  };
  for (int i = 0; i < 5; ++i) hold(ib::wire::SmState::Standby, i < 4);
  EXPECT_EQ(told(*events, "0x0000000000000007"), 1);
  for (int i = 0; i < 5; ++i) hold(ib::wire::SmState::Master, true);
  EXPECT_EQ(told(*events, "0x0000000000000007"), 2);
}

}  // namespace
}  // namespace sm::daemon
