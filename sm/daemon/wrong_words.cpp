// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/wrong_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "libdiag/base/text.h"

namespace sm::daemon {
namespace {

struct Typed {
  std::string_view name;
  std::optional<std::string_view> value;  // in the same word
};

/// `word` as one of the option's names, with one dash or two.
std::optional<Typed> typed(const CLI::Option& option, std::string_view word) {
  if (!word.starts_with('-')) return std::nullopt;
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  for (const std::string& known : option.get_lnames())
    if (bare == known)
      return Typed{name, equals == std::string_view::npos ? std::nullopt
                                                          : std::optional(word.substr(equals + 1))};
  for (const std::string& letter : option.get_snames())
    if (word.substr(1).starts_with(letter))
      return Typed{word.substr(0, 2),
                   word.size() == 2 ? std::nullopt : std::optional(word.substr(2))};
  return std::nullopt;
}

const CLI::Option* find(const CLI::App& app, const std::string& name) {
  if (const auto* option = app.get_option_no_throw(name)) return option;
  for (const auto* sub : app.get_subcommands())
    if (const auto* option = sub->get_option_no_throw(name)) return option;
  return nullptr;
}

/// What stands behind an option that takes no value.
std::optional<std::string> say_of_stray(const CLI::ParseError& error, const CLI::App& app,
                                        std::span<const char* const> words) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view stray = words[i];
    if (stray.starts_with('-') || !std::string_view(error.what()).ends_with(stray)) continue;
    if (find_flag(app, words[i - 1]) != nullptr)
      return std::string(words[i - 1]) + ": expected no value, or TRUE or FALSE, got '" +
             std::string(stray) + "'";
  }
  return std::nullopt;
}

/// The name by which the option was given; where it was given twice, with the value complained of.
std::string name_typed(const CLI::Option& option, std::span<const char* const> words,
                       std::string_view complaint) {
  std::string_view found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto here = typed(option, words[i]);
    if (!here) continue;
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : "";
    const std::string quoted = "'" + ib::printable(here->value.value_or(next)) + "'";
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
                             kMissing = " missing";
  if (complaint.starts_with(kTwice)) return "expected once, got it several times";
  if (complaint.starts_with(kNone) && complaint.ends_with(kMissing)) {
    complaint.remove_prefix(kNone.size());
    complaint.remove_suffix(kMissing.size());
    return "expected " + std::string(complaint) + " after it, got nothing";
  }
  return std::string(complaint);
}

}  // namespace

const CLI::Option* find_flag(const CLI::App& app, const std::string& word) {
  const auto is_it = [&](const CLI::Option* option) {
    if (option->get_items_expected_max() != 0 || option == app.get_help_ptr()) return false;
    const auto here = typed(*option, word);
    return here && !here->value;
  };
  for (const CLI::Option* option : app.get_options())
    if (is_it(option)) return option;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    for (const CLI::Option* option : sub->get_options())
      if (is_it(option)) return option;
  return nullptr;
}

std::string say_wrong(const CLI::ParseError& error, const CLI::App& app,
                      std::span<const char* const> words) {
  std::string text = error.what();
  if (auto stray = say_of_stray(error, app, words)) return *std::move(stray);
  text = say_of_flag(text).value_or(text);
  const auto colon = text.find(": ");
  if (colon == std::string::npos) return text;
  const auto* option = find(app, text.substr(0, colon));
  if (option == nullptr) return text;
  const std::string complaint = text.substr(colon + 2);
  std::string name = name_typed(*option, words, complaint);
  if (name.empty()) name = text.substr(0, colon);
  return name + ": " + plainly(complaint);
}

}  // namespace sm::daemon
