// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Log events as data: rooms report, a program's sink decides where lines go (spdlog in ibsm and
// ibtracerd). Messages that carry text from the wire pass it through printable() first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libdiag/base/ids.h"

namespace ib {

enum class LogLevel { Error, Warning, Info, Verbose, Debug };

/// A packet that somebody else sent and that made us write the line: a trap, a request that was
/// refused. The sink bounds such lines by sender (LogLimiter).
struct LogCause {
  std::string_view kind;  // a literal of a word or two for the summary: "trap", "SA request"
  Lid sender{};           // kNoLid where it is not known, or where there are many
};

struct LogEvent {
  LogLevel level{LogLevel::Info};
  std::string topic;    // room or machine: "sweep", "sa", "apply"
  std::string message;  // one line
  std::optional<LogCause> cause{};
};

using LogSink = std::function<void(const LogEvent&)>;

}  // namespace ib
