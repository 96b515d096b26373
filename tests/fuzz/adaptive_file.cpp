// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as the file of adaptive routing: every diagnostic has a place inside the text, and what
// is read of a file without errors is what the file says.
#include "sm/policy/adaptive_file.h"

#include <string>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = sm::policy::read_adaptive_file(text, "fuzz.conf");
  for (const auto& d : file.diagnostics) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  require(file.diagnostics.size() < 1000, "no end of complaints");
  for (const auto& [guid, own] : file.settings.switches) {
    require(guid.value != 0, "a switch has a GUID");
    require(file.settings.enable || !file.settings.enabled(guid), "off is off for all");
  }
  return 0;
}
