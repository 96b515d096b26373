// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Log events as data: rooms report, a program's sink decides where lines go (spdlog in ibsm and
// ibtracerd). Messages that carry text from the wire pass it through printable() first.
#pragma once

#include <functional>
#include <string>

namespace ib {

enum class LogLevel { Error, Warning, Info, Verbose, Debug };

struct LogEvent {
  LogLevel level{LogLevel::Info};
  std::string topic;    // room or machine: "sweep", "sa", "apply"
  std::string message;  // one line
};

using LogSink = std::function<void(const LogEvent&)>;

}  // namespace ib
