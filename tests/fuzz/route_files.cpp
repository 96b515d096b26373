// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a file of routing options (the first byte says which): an error in the promised form,
// or values that can be held against a fabric.
#include <string>

#include "libdiag/route/files.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  using ib::route::OptionFile;
  if (size == 0) return 0;
  constexpr unsigned kKinds = static_cast<unsigned>(OptionFile::Torus) + 1;
  const auto which = static_cast<OptionFile>(data[0] % kKinds);
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  ib::route::Options options;
  const auto read = ib::route::read_option_text(which, text, "fuzz.conf", options);
  if (!read) {
    require(read.error().message.starts_with("fuzz.conf:"), "an error names file and place");
    require(read.error().kind == ib::ErrorKind::Usage, "a bad file is the caller's");
    return 0;
  }
  // An empty fabric has nothing of what is named, and says so line by line.
  const auto lines = ib::route::unknown_names({}, {*read}, {}, SIZE_MAX);
  require(lines.size() == read->places.size(), "every mention is looked up");
  for (const std::string& line : lines)
    require(line.starts_with("fuzz.conf:"), "a complaint names file and place");
  return 0;
}
