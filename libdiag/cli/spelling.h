// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How options may be written and what is said of those that cannot be read: the part of a command
// line that needs no parser. Inside libdiag/cli only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ib::cli {

enum class Takes { Nothing, Truth, Value, Pair, OptionalValue };

/// An option by its names.
struct Spelling {
  std::vector<std::string> longs;  // without dashes, the first stands for all in messages
  std::string letters;
  Takes takes{Takes::Nothing};
  std::string bare;                                  // of an optional value: what none stands for
  std::function<bool(const std::string&)> is_value;  // ... and whether a word is one

  /// "--timeout", or "-t" where that is all there is.
  std::string name() const;
};

/// The options of "-t,--timeout", as names are declared.
Spelling spelling_of(const std::string& names, Takes takes);

/// The options of a program and, once the verb's name was typed, those of the verb before them.
struct Grammar {
  std::vector<Spelling> options;
  std::vector<std::pair<std::string, const Grammar*>> verbs;
  bool as_in_opensm{false};
};

/// `words` as a parser of GNU style reads them: canonical names, values behind "=".
std::vector<std::string> as_gnu_spells(std::span<const std::string> words, const Grammar& grammar);

/// What is wrong with a word of one dash that only its first letter makes an option ("-Nfoo"):
/// letters stand together where none but the last takes a value, and a letter has its value beside
/// it where that is no long name but for a slip. Nothing: no word is one of these.
std::optional<std::string> say_of_letters(std::span<const std::string> words,
                                          const Grammar& grammar);

/// Where a word was left over.
struct Leftover {
  std::string program;     // "ibsm"
  const Grammar* grammar;  // of the program
  const Grammar* verb;     // of the verb that was given, or the program
  bool takes_operands{false};
};
/// What is said of a word that nothing takes: an option that is none, or an operand too many.
std::string say_of_leftover(const std::string& word, const Leftover& where);

/// "; did you mean 'pause'?" where a verb of the grammar is near to the word.
std::string meant_verb(std::string_view word, const Grammar& grammar);

/// A parser's complaint in the words of a person who typed `words`.
std::string in_plain_words(std::string complaint, std::span<const std::string> words,
                           const Grammar& grammar);

}  // namespace ib::cli
