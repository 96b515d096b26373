// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Session: one who is at the console. Lines go in, what is printed comes out. No I/O, no clock.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "libdiag/base/instant.h"
#include "sm/console/command.h"
#include "sm/control/clients.h"

namespace sm::console {

inline constexpr const char* kPrompt = "OpenSM $ ";
inline constexpr ib::Duration kLoopPause = std::chrono::seconds(2);  // of `status loop`
inline constexpr std::size_t kLineMost = 4096;                       // bytes

class Session {
 public:
  /// Has words done, orders included, and gives what came of it: the text is the whole of it.
  using Runner = std::function<Outcome(Words)>;

  control::Reply on_line(ib::Instant now, std::string_view line, const Runner& run);
  /// The next round of a loop, when it is due; else nothing.
  std::string on_time(ib::Instant now, const Runner& run);
  ib::Instant next_deadline() const { return loop_at_; }

 private:
  std::vector<std::string> looping_;  // words; empty: there is no loop
  ib::Instant loop_at_{ib::kNever};
};

}  // namespace sm::console
