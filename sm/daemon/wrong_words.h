// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is said of a command line that cannot be read: by the names that were typed, not by those
// that the options have here.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace sm::daemon {

/// The option without a value (of `app` or of its forms) that `word` names, with one dash or two;
/// nullptr when it names none.
const CLI::Option* find_flag(const CLI::App& app, const std::string& word);

/// `words` as typed, without the program's name.
std::string say_wrong(const CLI::ParseError& error, const CLI::App& app,
                      std::span<const char* const> words);

}  // namespace sm::daemon
