// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One line of a line-oriented policy file, without its comment, and readers of the values in it
// that report what is wrong with its place. Inside sm/policy only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "sm/policy/interval.h"

namespace sm::policy {

/// A piece of a text that knows where it is.
struct Piece {
  std::string_view text;
  ib::TextPlace place;

  /// Without blanks at either end.
  Piece trimmed() const;
  /// What is before and behind the first `mark`; without one all of it and nothing.
  std::pair<Piece, std::optional<Piece>> cut(char mark) const;
  /// ... the last `mark`.
  std::pair<Piece, std::optional<Piece>> cut_last(char mark) const;
  /// The parts between commas, trimmed; empty ones are kept.
  std::vector<Piece> list() const;
  Piece part(std::size_t from, std::size_t length = std::string_view::npos) const;
};

/// The lines of a text without comments and blanks at their ends; empty ones are left out.
std::vector<Piece> text_lines(std::string_view text);

/// `text` without double quotes, straight or typographic, and without blanks at its ends.
std::string unquoted(std::string_view text);

/// Whether `text` has an odd number of double quotes.
bool has_open_quote(std::string_view text);

/// The first place of `text` that no text file has: a control character, or the byte order mark of
/// UTF-16. An error about it, for a reader to give in place of all others; nothing: it is text.
std::optional<ib::Diagnostic> not_text(std::string_view text, const std::string& file);

/// Collects what is wrong with one file.
class Problems {
 public:
  Problems(const std::string& file, std::vector<ib::Diagnostic>& out) : file_(file), out_(out) {}

  void error(ib::TextPlace place, std::string message);
  void warning(ib::TextPlace place, std::string message);
  /// "expected WHAT, got 'TEXT'".
  void expected(std::string_view what, const Piece& got);
  /// No option is called so: an error where one of `known` may be meant, else a warning, since it
  /// may belong to another version.
  void unknown_option(const Piece& key, std::span<const std::string_view> known);

  /// A number from `min` to `max`, decimal or 0x hex; `what` names it in an error ("an SL").
  std::optional<std::uint64_t> number(const Piece& piece, std::string_view what, std::uint64_t min,
                                      std::uint64_t max);
  /// Numbers and ranges FIRST-LAST with commas between them; a reversed range is turned round with
  /// a warning. Values are masked with `mask` after the check.
  template <class T>
  void ranges(const Piece& piece, std::string_view what, std::uint64_t max, Intervals<T>& out,
              std::uint64_t mask = ~std::uint64_t{0}) {
    for (const auto& [first, last] : read_ranges(piece, what, max))
      out.push_back({static_cast<T>(first & mask), static_cast<T>(last & mask)});
    normalize(out);
  }

 private:
  Intervals<std::uint64_t> read_ranges(const Piece& piece, std::string_view what,
                                       std::uint64_t max);

  const std::string& file_;
  std::vector<ib::Diagnostic>& out_;
};

}  // namespace sm::policy
