// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the daemon says on stdout of the subnet, and by whose routes it works: each once, as long as
// it is news.
#pragma once

#include <string>
#include <vector>

#include "sm/daemon/log_file.h"
#include "sm/device/routing.h"

namespace sm::daemon {

class Announcer {
 public:
  /// `once`: who runs the program wants the result and nothing else.
  Announcer(LogFile& log, bool once) : log_(log), once_(once) {}

  /// Printed when it says something new; logged always. Why ibsm is to end, if that failed; empty
  /// as long as somebody can learn of it.
  std::string announce(const std::string& headline, const std::vector<std::string>& lines);
  void say_engine(const Routing& routing);

 private:
  std::string told_otherwise();

  LogFile& log_;
  bool once_;
  std::string last_engine_;
  std::string last_news_;
  bool unheard_{false};  // stdout takes nothing any more
};

}  // namespace sm::daemon
