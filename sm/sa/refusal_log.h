// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Why requests were refused, for the log: a client that tries again and again says the same line
// once a minute.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "libdiag/base/instant.h"

namespace sm::sa {

class RefusalLog {
 public:
  /// `why` if it is to be written now; it names the port and the group.
  std::optional<std::string> line(ib::Instant now, const std::string& why);

 private:
  std::unordered_set<std::string> recent_;
  std::deque<std::pair<ib::Instant, std::string>> until_;  // when each may be said again
};

}  // namespace sm::sa
