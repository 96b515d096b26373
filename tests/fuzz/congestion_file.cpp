// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as the file of the congestion control manager, and as values of the options file: every
// diagnostic has a place inside the text, every value is in its range, and tables come of it.
#include "sm/policy/congestion_file.h"

#include <string>

#include "sm/managers/congestion/plan.h"
#include "sm/policy/congestion_values.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = sm::policy::read_congestion_file(text, "fuzz.conf");
  for (const auto& d : file.diagnostics) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  const auto& settings = file.settings;
  require(settings.num_hosts <= sm::policy::kCongestionHostsMax, "hosts there can be");
  require(settings.of_switch.threshold <= 15, "a threshold has 4 bits");
  require(settings.table.size() <= sm::policy::kCongestionTableMax, "a table has 128 entries");
  for (const std::uint8_t cap : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{255}})
    for (const auto& block : sm::managers::wanted_table(settings, settings.num_hosts, cap))
      require(block.ccti_limit < cap * ib::wire::CongestionControlTable::kEntries,
              "a table that fits");
  if (const auto table = sm::policy::read_congestion_table(text))
    for (const auto& delay : *table)
      require(delay.shift <= 3 && delay.multiplier <= 0x3FFF, "a delay that can be written");
  (void)sm::policy::read_port_mask(text);
  if (const auto values = sm::policy::read_sl_values(text, 255))
    for (const auto value : *values) require(value <= 255, "a value in its range");
  return 0;
}
