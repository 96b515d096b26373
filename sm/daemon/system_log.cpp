// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/system_log.h"

#include <syslog.h>

#include <cstdlib>

namespace sm::daemon {

LogFile::Major system_log() {
  if (std::getenv("IBFABRIC_SOCKET") != nullptr) return [](ib::LogLevel, const std::string&) {};
  openlog("ibsm", LOG_PID, LOG_DAEMON);
  return [](ib::LogLevel level, const std::string& line) {
    syslog(level == ib::LogLevel::Error ? LOG_ERR : LOG_NOTICE, "%s", line.c_str());
  };
}

}  // namespace sm::daemon
