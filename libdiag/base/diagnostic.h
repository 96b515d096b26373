// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Diagnostics: what is wrong with a text that an operator wrote, each with its place, so that all
// of them can be shown at once, with the line and a caret under the place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ib {

/// A place in a text. Lines and columns count from 1; columns count bytes.
struct TextPlace {
  std::uint32_t line{1}, column{1};
  friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
};

enum class Severity { Note, Warning, Error };

struct Diagnostic {
  Severity severity{Severity::Error};
  std::string file;  // as the operator named it
  TextPlace place;
  std::string message;  // one line: what was expected, what is there, the nearest right word
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// "FILE:LINE:COLUMN: error: MESSAGE".
std::string to_string(const Diagnostic& diagnostic);

/// The same, then the line of `text` and a caret under the place. `text` is what the file held.
std::string with_caret(const Diagnostic& diagnostic, std::string_view text);

bool has_errors(std::span<const Diagnostic> diagnostics);

/// The words of `known` that `word` is most likely meant to be, in their order, each once: the
/// fewest insertions, deletions, changes or swaps of neighbours away, at most `distance_max`,
/// whatever the case.
std::vector<std::string_view> nearest_words(std::string_view word,
                                            std::span<const std::string_view> known,
                                            unsigned distance_max = 2);

/// The one such word; empty when there is none, or when several are equally near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known,
                              unsigned distance_max = 2);

}  // namespace ib
