// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a file of prefix routes: errors that name file and place, and at most one route a
// line; the routes written again say the same.
#include "sm/sa/subnet/prefix_routes.h"

#include <algorithm>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace {

std::string text_of(const std::vector<sm::sa::PrefixRoute>& routes) {
  std::string text;
  const auto hex = [](std::uint64_t n) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(n));
    return std::string(digits);
  };
  for (const auto& r : routes) {
    text += (r.prefix ? hex(*r.prefix) : "*") + " ";
    text += (r.router ? hex(r.router->value) : "*") + "\n";
  }
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<ib::Diagnostic> problems;
  const auto read = sm::sa::read_prefix_routes(text, "fuzz.conf", problems);
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  require(static_cast<std::ptrdiff_t>(read.size() + problems.size()) <= lines,
          "a line is one route or one error at most");
  for (const auto& problem : problems) {
    require(problem.file == "fuzz.conf" && problem.place.line <= lines, "an error has its place");
    require(!ib::with_caret(problem, text).empty(), "and is shown there");
  }
  problems.clear();
  const auto again = sm::sa::read_prefix_routes(text_of(read), "fuzz.conf", problems);
  require(problems.empty(), "what was read can be written");
  require(text_of(again) == text_of(read), "and says the same");
  return 0;
}
