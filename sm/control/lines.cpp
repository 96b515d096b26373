// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/lines.h"

namespace sm::control {

std::optional<std::string> Lines::next() {
  const std::size_t end = said_.find('\n', begin_);
  if (end == std::string::npos || end - begin_ > most_) {
    said_.erase(0, begin_);
    begin_ = 0;
    return std::nullopt;
  }
  std::string line = said_.substr(begin_, end - begin_);
  begin_ = end + 1;
  return line;
}

}  // namespace sm::control
