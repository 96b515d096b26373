// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Matchers of log events.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "libdiag/base/log.h"

namespace ib::test {

/// An event of that level whose message has `text` in it.
inline auto says(LogLevel level, const std::string& text) {
  return testing::AllOf(testing::Field(&LogEvent::level, level),
                        testing::Field(&LogEvent::message, testing::HasSubstr(text)));
}

}  // namespace ib::test
