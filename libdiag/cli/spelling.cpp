// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/spelling.h"

#include <algorithm>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"

namespace ib::cli {
namespace {

constexpr std::string_view kNotExpected = " not expected: ";  // CLI11 of a word that is left over

struct Typed {
  std::string_view name;
  std::optional<std::string_view> value;  // in the same word
};

bool is_truth(std::string_view word) {
  return word == "TRUE" || word == "true" || word == "FALSE" || word == "false";
}

/// Whether two names are the same but for dashes that stand for underscores.
bool same_name(std::string_view a, std::string_view b) {
  const auto dash = [](char c) { return c == '_' ? '-' : c; };
  return std::ranges::equal(a, b, {}, dash, dash);
}

/// `word` as one of the option's names, with one dash or two.
std::optional<Typed> typed(const Spelling& option, std::string_view word) {
  if (!word.starts_with('-')) return std::nullopt;
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const auto behind_equals =
      equals == std::string_view::npos ? std::nullopt : std::optional(word.substr(equals + 1));
  for (const std::string& known : option.longs)
    if (same_name(bare, known)) return Typed{name, behind_equals};
  for (const char letter : option.letters) {
    if (!word.substr(1).starts_with(letter)) continue;
    if (name.size() == 2) return Typed{name, behind_equals};
    return Typed{word.substr(0, 2), word.substr(2)};
  }
  return std::nullopt;
}

/// The option that `word` names, by its whole long name first: -ignore-guids is not -i gnore-guids.
const Spelling* option_named(std::span<const Spelling> options, std::string_view word) {
  const Spelling* by_letter = nullptr;
  for (const Spelling& option : options) {
    const auto here = typed(option, word);
    if (!here) continue;
    if (here->name.size() > 2) return &option;
    if (by_letter == nullptr) by_letter = &option;
  }
  return word.starts_with("--") ? nullptr : by_letter;
}

const Grammar* verb_named(const Grammar& grammar, std::string_view word) {
  for (const auto& [name, verb] : grammar.verbs)
    if (name == word) return verb;
  return nullptr;
}

/// The option of the parser's message, wherever it belongs to.
const Spelling* find_anywhere(const Grammar& grammar, const std::string& name) {
  const auto is_it = [&](const Spelling& option) { return option.name() == name; };
  const auto here = std::ranges::find_if(grammar.options, is_it);
  if (here != grammar.options.end()) return &*here;
  for (const auto& [_, verb] : grammar.verbs)
    if (const auto* option = find_anywhere(*verb, name)) return option;
  return nullptr;
}

/// Walks the words and tells of each the option it names, or nothing where it is a value or an
/// operand, and the verb whose options there are at that place.
template <class Visit>
void walk(std::span<const std::string> words, const Grammar& grammar, Visit visit) {
  const Grammar* verb = &grammar;
  std::size_t values = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const Spelling* option = nullptr;
    if (values > 0) {
      --values;
    } else if (const Grammar* next = verb_named(*verb, word)) {
      verb = next;
    } else {
      option = option_named(verb->options, word);
      if (option != nullptr && !typed(*option, word)->value)
        values = option->takes == Takes::Value ? 1 : option->takes == Takes::Pair ? 2 : 0;
    }
    visit(i, option, *verb);
  }
}

/// Not those of its verbs, which are no options there.
std::vector<std::string_view> long_names(const Grammar& grammar) {
  std::vector<std::string_view> known;
  for (const Spelling& option : grammar.options)
    known.insert(known.end(), option.longs.begin(), option.longs.end());
  return known;
}

/// "; did you mean '--json'?", or nothing.
std::string meant(std::string_view word, std::span<const std::string_view> known,
                  std::string_view before = {}) {
  const auto nearest = nearest_word(word, known);
  if (nearest.empty() || nearest == word) return {};
  return "; did you mean '" + std::string(before) + std::string(nearest) + "'?";
}

bool takes_nothing(const Spelling& option) {
  return option.takes == Takes::Truth || option.takes == Takes::Nothing;
}

/// Letters that can stand together.
bool are_flags(std::string_view letters, const Grammar& grammar) {
  return std::ranges::all_of(letters, [&](const char& letter) {
    const auto is_it = [&](const Spelling& o) { return o.letters.find(letter) != o.letters.npos; };
    const auto option = std::ranges::find_if(grammar.options, is_it);
    if (option == grammar.options.end()) return false;
    return takes_nothing(*option) || &letter == &letters.back();
  });
}

/// What stands behind an option that takes no value.
std::optional<std::string> say_of_stray(std::string_view complaint,
                                        std::span<const std::string> words,
                                        const Grammar& grammar) {
  if (complaint.find(kNotExpected) == std::string_view::npos) return std::nullopt;
  std::optional<std::string> said;
  walk(words, grammar, [&](std::size_t i, const Spelling* option, const Grammar&) {
    if (said || option == nullptr || option->takes != Takes::Truth || i + 1 >= words.size()) return;
    const std::string& stray = words[i + 1];
    if (stray.starts_with('-') || typed(*option, words[i])->value) return;
    if (complaint.ends_with(stray))
      said = words[i] + ": expected no value, or TRUE or FALSE, got '" + stray + "'";
  });
  return said;
}

/// "ibsm plan" of every verb that has the option, verbs of verbs included.
void add_owners(const Grammar& grammar, std::string_view option, const std::string& path,
                std::vector<std::string>& owners) {
  for (const auto& [name, verb] : grammar.verbs) {
    const bool own = std::ranges::any_of(verb->options, [&](const Spelling& known) {
      const auto here = typed(known, option);
      return here && here->name.size() > 2;
    });
    std::string to_verb = path;
    to_verb.append(1, ' ').append(name);
    if (own) owners.push_back(to_verb);
    add_owners(*verb, option, to_verb, owners);
  }
}

/// The name by which the option was given; where it was given twice, with the value complained of.
std::string name_typed(const Spelling& option, std::span<const std::string> words,
                       std::string_view complaint) {
  std::string_view found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto here = typed(option, words[i]);
    if (!here) continue;
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view{};
    const std::string quoted = "'" + printable(here->value.value_or(next)) + "'";
    if (complaint.ends_with("got " + quoted)) return std::string(here->name);
    if (found.empty()) found = here->name;
  }
  return std::string(found);
}

/// The two things that CLI11 says of flags do not begin with the name.
std::optional<std::string> say_of_flag(const std::string& text) {
  constexpr std::string_view kNoValue = " was given a disallowed flag override",
                             kConvert = "Could not convert: ", kEquals = " = ";
  if (text.ends_with(kNoValue))
    return "--" + text.substr(0, text.size() - kNoValue.size()) + ": expected no value, got one";
  const auto equals = text.find(kEquals);
  if (!text.starts_with(kConvert) || equals == std::string::npos) return std::nullopt;
  return text.substr(kConvert.size(), equals - kConvert.size()) +
         ": expected no value, or TRUE or FALSE, got '" + text.substr(equals + kEquals.size()) +
         "'";
}

/// CLI11 counts arguments; a person who typed an option twice or without a value does not.
std::string plainly(std::string_view complaint) {
  constexpr std::string_view kTwice = "At Most 1 required", kNone = "1 required ",
                             kNoPair = "2 required ", kMissing = " missing";
  if (complaint.starts_with(kTwice)) return "expected once, got it several times";
  if (complaint == "At least 2 required but received 1")
    return "expected two words after it, got one";
  if ((complaint.starts_with(kNone) || complaint.starts_with(kNoPair)) &&
      complaint.ends_with(kMissing)) {
    complaint.remove_prefix(kNone.size());
    complaint.remove_suffix(kMissing.size());
    return "expected " + std::string(complaint) + " after it, got nothing";
  }
  return std::string(complaint);
}

}  // namespace

std::string Spelling::name() const {
  return longs.empty() ? std::string("-") + letters.front() : "--" + longs.front();
}

Spelling spelling_of(const std::string& names, Takes takes) {
  Spelling out;
  out.takes = takes;
  for (const std::string_view name : split(names, ',')) {
    if (name.starts_with("--")) {
      out.longs.emplace_back(name.substr(2));
    } else {
      out.letters += name.substr(1);
    }
  }
  return out;
}

std::vector<std::string> as_gnu_spells(std::span<const std::string> words, const Grammar& grammar) {
  std::vector<std::string> out;
  const Spelling* before = nullptr;  // the option of the last word, where it has no value yet
  walk(words, grammar, [&](std::size_t i, const Spelling* option, const Grammar&) {
    const std::string& word = words[i];
    if (before != nullptr && before->takes == Takes::OptionalValue) {
      const bool value = option == nullptr && before->is_value(word);
      out.back() = before->name() + "=" + (value ? word : before->bare);
      before = nullptr;
      if (value) return;
    }
    const bool takes_none =
        before != nullptr && (before->takes == Takes::Truth || before->takes == Takes::Nothing);
    if (grammar.as_in_opensm && takes_none && is_truth(word)) {
      out.back() = before->name() + "=" + word;
      before = nullptr;
      return;
    }
    before = nullptr;
    out.push_back(word);
    if (option == nullptr) return;
    const auto here = typed(*option, word);
    if (!here->value) before = option;
    // A letter with its value, or several letters, are read by the parser itself.
    const bool of_letters =
        here->name.size() == 2 && !word.starts_with(std::string(here->name) + "=");
    const bool of_dashes = grammar.as_in_opensm || word.starts_with("--");
    if (!of_dashes || (of_letters && here->value)) return;
    out.back() = option->name();
    if (here->value) (out.back() += '=') += *here->value;
  });
  if (before != nullptr && before->takes == Takes::OptionalValue)
    out.back() = before->name() + "=" + before->bare;
  return out;
}

std::optional<std::string> say_of_letters(std::span<const std::string> words,
                                          const Grammar& grammar) {
  constexpr std::size_t kNameMin = 5;  // a shorter one is as near to a value
  std::optional<std::string> said;
  walk(words, grammar, [&](std::size_t i, const Spelling* option, const Grammar& verb) {
    const std::string_view word = words[i];
    const bool is_letter = option != nullptr && word.size() > 2 && word[1] != '-' &&
                           word[2] != '=' && typed(*option, word)->name.size() == 2;
    if (said || !is_letter) return;
    const std::string_view name = word.substr(0, word.find('='));
    const std::string hint =
        name.size() > kNameMin ? meant(name.substr(1), long_names(verb), "--") : std::string();
    const bool none = takes_nothing(*option);
    const bool good = none ? are_flags(word.substr(1), verb)
                           : option->takes != Takes::OptionalValue && hint.empty();
    if (good) return;
    said = "expected an option, got '" + printable(name) + "'";
    if (!hint.empty())
      *said += hint;
    else
      *said += "; " + std::string(word.substr(0, 2)) +
               (none ? " takes no value" : " has its value behind a blank");
  });
  return said;
}

std::string meant_verb(std::string_view word, const Grammar& grammar) {
  std::vector<std::string_view> names;
  names.reserve(grammar.verbs.size());
  for (const auto& [name, _] : grammar.verbs) names.push_back(name);
  return meant(word, names);
}

std::string say_of_leftover(const std::string& word, const Leftover& where) {
  if (word.size() > 1 && word.starts_with('-')) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    const std::string_view bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    std::string said = "expected an option, got '" + printable(name) + "'";
    if (option_named(where.verb->options, word) != nullptr) return said + "; it follows the verb";
    std::vector<std::string> owners;
    add_owners(*where.grammar, name, where.program, owners);
    if (owners.size() == 1) return said + "; it is one of '" + owners.front() + "'";
    return said + meant(bare, long_names(*where.verb), "--");
  }
  const std::string got = ", got '" + printable(word) + "'";
  if (!where.verb->verbs.empty()) {
    std::string verbs;
    for (const auto& [name, _] : where.verb->verbs) verbs += (verbs.empty() ? "" : "|") + name;
    return "expected an option or " + verbs + got + meant_verb(word, *where.verb);
  }
  return (where.takes_operands ? "expected no more operands" : "expected no operand") + got;
}

std::string in_plain_words(std::string complaint, std::span<const std::string> words,
                           const Grammar& grammar) {
  if (words.empty()) return complaint;
  if (grammar.as_in_opensm) {
    if (auto stray = say_of_stray(complaint, words, grammar)) return *std::move(stray);
  }
  std::string text = say_of_flag(complaint).value_or(complaint);
  const auto colon = text.find(": ");
  if (colon == std::string::npos) return text;
  const auto* option = find_anywhere(grammar, text.substr(0, colon));
  if (option == nullptr) return text;
  const std::string what = text.substr(colon + 2);
  std::string name;
  if (grammar.as_in_opensm) name = name_typed(*option, words, what);
  if (name.empty()) name = text.substr(0, colon);
  return name + ": " + plainly(what);
}

}  // namespace ib::cli
