// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tokens of a policy file: words, quoted strings and the marks = , : ; each with its place.
// Comments (from # to the end of the line) and blanks are left out. Inside sm/policy only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"

namespace sm::policy {

struct Token {
  enum class Kind { Word, Quoted, Mark, NewLine, End };
  Kind kind{Kind::End};
  std::string_view text;  // of a quoted string what is between the quotes; of a mark its character
  ib::TextPlace place;

  bool is(char mark) const { return kind == Kind::Mark && text.front() == mark; }
  bool is_text() const { return kind == Kind::Word || kind == Kind::Quoted; }
};

/// "'text'", "the end of the line" or "the end of the file": for messages.
std::string describe(const Token& token);

class Tokens {
 public:
  /// `text` outlives this. A quoted string that is not closed on its line ends there, and
  /// `problems` gets an error.
  Tokens(std::string_view text, const std::string& file, std::vector<ib::Diagnostic>& problems);

  /// The next one, and the one after; End repeats itself.
  const Token& peek() const { return ahead_[0]; }
  const Token& peek_second() const { return ahead_[1]; }
  Token take();
  /// What is left of the present line from behind the token before peek(), up to a comment or ';',
  /// without blanks at its ends; for values that hold marks themselves (an MGID). The tokens go on
  /// behind it.
  Token take_raw(std::string_view ends_at);

 private:
  Token scan();
  Token scan_quoted();
  ib::TextPlace place() const { return {line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)}; }
  void fill();

  std::string_view text_;
  const std::string& file_;
  std::vector<ib::Diagnostic>& problems_;
  std::size_t at_{0}, line_start_{0};
  std::uint32_t line_{1};
  Token ahead_[2];
  struct Position {
    std::size_t at, line_start;
    std::uint32_t line;
  };
  Position before_[2]{};  // where scanning of the tokens in ahead_ began
};

}  // namespace sm::policy
