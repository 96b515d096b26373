// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a node name map: errors that name file and place, and at most one name a line; what
// was read stands in the text.
#include <algorithm>

#include "libdiag/fabric/names.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<ib::Diagnostic> problems;
  const auto names = ib::fabric::NodeNames::read(text, "fuzz.map", problems);
  const auto lines = static_cast<std::size_t>(1 + std::count(text.begin(), text.end(), '\n'));
  require(names.size() + problems.size() <= lines, "a line is one name or one error at most");
  for (const auto& problem : problems) {
    require(problem.file == "fuzz.map" && problem.place.line <= lines, "an error has its place");
    require(!ib::with_caret(problem, text).empty(), "and is shown there");
  }
  const auto whole = ib::fabric::NodeNames::read(text, "fuzz.map");
  require(whole.has_value() == problems.empty(), "a map is whole or refused");
  if (!whole)
    require(whole.error().message.starts_with("fuzz.map:"), "an error names file and place");
  return 0;
}
