// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as an SA dump: what is read can be written and read again, and says the same; and an SA
// that starts with it has what was read.
#include <string>

#include "sm/sa/registry/dump_file.h"
#include "sm/sa/registry/state.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = sm::sa::read_dump(text);
  const auto again = sm::sa::read_dump(sm::sa::write_dump(read.contents));
  require(again.complaints.empty(), "what is written can be read");
  require(again.contents == read.contents, "and says the same");
  sm::store::Contents taken;
  sm::store::apply(sm::sa::missing_from({}, read.contents, 0).batch, taken);
  require(sm::sa::State(taken).contents() == taken, "an SA can hold it");
  return 0;
}
