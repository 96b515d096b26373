// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a QoS policy file: every diagnostic has a place inside the text; what was read
// without an error has SLs from 0 to 15, names that are defined, and normalized intervals.
#include "sm/policy/qos_file.h"

#include <string>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = sm::policy::read_qos_file(text, "fuzz.conf");
  for (const auto& d : file.diagnostics) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  if (ib::has_errors(file.diagnostics)) return 0;
  for (const auto& rule : file.rules) {
    require(file.find_level(rule.level) != nullptr, "a rule's level is defined");
    for (const auto& name : rule.sources)
      require(file.find_group(name) != nullptr, "a rule's group is defined");
  }
  for (const auto& level : file.levels) require(level.sl && *level.sl <= 15, "a level has an SL");
  for (const auto& rule : file.ulps) {
    require(rule.sl <= 15, "an SL has 4 bits");
    for (const auto& range : rule.service_ids)
      require(range.first <= range.last, "a range has something");
  }
  return 0;
}
