// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as an enhanced QoS policy file, and as the tables of the options file: every diagnostic
// has a place inside the text, and every value is in its range.
#include "sm/policy/rate_file.h"

#include <string>

#include "sm/policy/vl_tables.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = sm::policy::read_rate_file(text, "fuzz.conf");
  for (const auto& d : file.diagnostics) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  if (const auto map = sm::policy::read_sl_to_vl(text))
    for (const auto vl : *map) require(vl <= 15, "a VL has 4 bits");
  if (const auto table = sm::policy::read_vl_arbitration(text)) {
    require(table->size() <= 64, "a table has 64 entries");
    for (const auto& entry : *table) require(entry.vl <= 14, "a data VL");
  }
  return 0;
}
