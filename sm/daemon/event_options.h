// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where events are written, and which the activity report has.
#pragma once

#include <cstdint>
#include <string>

namespace sm::daemon {

struct EventOptions {
  std::string file;                   // JSON lines; empty: none
  std::uint8_t activity_subjects{0};  // sm::events::subject; 0: there is no activity report
  std::string activity_file;
  friend bool operator==(const EventOptions&, const EventOptions&) = default;
};

}  // namespace sm::daemon
