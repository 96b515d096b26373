// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Expression: a regular expression (POSIX, extended) that somebody types to pick names. Those that
// can cost more than a few passes over a name are refused: counted repetitions, which the C library
// writes out, references to what matched, and long ones.
#pragma once

#include <memory>
#include <string>

namespace ib {

class Expression {
 public:
  /// Null: it cannot be used.
  static std::shared_ptr<const Expression> of(const std::string& text);
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// Whether it is found anywhere in `text`.
  bool matches(const std::string& text) const;

 private:
  struct Compiled;
  Expression();
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace ib
