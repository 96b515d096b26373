// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/seldom.h"

#include <fmt/format.h>

#include <utility>

namespace sm::daemon {

std::optional<std::string> Seldom::line(ib::Instant now, const std::string& what) {
  if (now < again_at_) {
    ++left_out_;
    return std::nullopt;
  }
  again_at_ = now + kEvery;
  const auto others = std::exchange(left_out_, 0);
  if (others == 0) return what;
  return fmt::format("{} (and {} more since the last such line)", what, others);
}

}  // namespace sm::daemon
