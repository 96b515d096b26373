// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as the file that holds the SA key: none, or a key that is a secret and that is read
// again as it is written.
#include <string>

#include "sm/daemon/sa_options.h"
#include "sm/sa/intake/trust.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const auto key = sm::daemon::parse_sa_key_file({reinterpret_cast<const char*>(data), size});
  if (!key) return 0;
  require(*key > sm::sa::kKnownSaKey, "neither no key nor everybody's");
  require(sm::daemon::parse_sa_key_file(std::to_string(*key) + "\n") == key, "written and read");
  return 0;
}
