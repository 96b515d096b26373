// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as an options file: every diagnostic has a place inside the text; what was read is
// written and read again without an error, and is the same.
#include <string>

#include "sm/config/configuration.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sm::config::Configuration first, second;
  std::vector<ib::Diagnostic> problems;
  sm::config::read_options_text(text, "fuzz.conf", first, problems);
  for (const auto& d : problems) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  problems.clear();
  sm::config::read_options_text(sm::config::options_text(first), "again.conf", second, problems);
  require(first.settings == second.settings, "settings survive a file");
  return 0;
}
