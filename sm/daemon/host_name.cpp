// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/host_name.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace sm::daemon {

std::string host_name() {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  std::string word = name.data();
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return word.empty() ? "?" : word;
}

}  // namespace sm::daemon
