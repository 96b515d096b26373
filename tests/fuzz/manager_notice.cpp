// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as what another subnet manager says of itself: an error of one line, or a notice that is
// read again as it is written.
#include <string_view>

#include "sm/daemon/fingerprint.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const auto notice = sm::daemon::read_notice({reinterpret_cast<const char*>(data), size});
  if (!notice) {
    require(notice.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const auto again = sm::daemon::read_notice(sm::daemon::text_of(*notice));
  require(again && *again == *notice, "what was written is read again");
  return 0;
}
