// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CommandLine: what a program understands, declared once; the help text and every usage error come
// from that. (CLI11 is behind command_line.cpp, and nowhere else.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/result.h"

namespace ib::cli {

/// Takes the value of an option; an error is printed behind the option's name.
using Read = std::function<Result<void>(const std::string& value)>;

/// What a number may be; `what` names it in messages.
struct Range {
  std::uint64_t min{0};
  std::uint64_t max{~std::uint64_t{0}};
  std::string what{"a number"};

  /// The number, or an error: "expected a number from 1 to 60000, got 'x'". Decimal or 0x.
  Result<std::uint64_t> read(const std::string& text) const;
};

/// Names are written as "-t,--timeout". Values are left untouched where an option is not given.
/// A value that does not fit is a usage error: "--timeout: expected a number from 1 to 60000, got
/// 'x'".
class CommandLine {
 public:
  CommandLine(std::string program, std::string purpose, const std::string& version);
  ~CommandLine();
  CommandLine(CommandLine&&) noexcept;
  CommandLine(const CommandLine&) = delete;

  void flag(const std::string& names, bool& out, const std::string& help);
  void flag(const std::string& names, const std::string& help,
            const std::function<void(bool)>& take);
  void counter(const std::string& names, unsigned& out, const std::string& help);  // -vv
  void text(const std::string& names, std::string& out, const std::string& value_name,
            const std::string& help);
  void text(const std::string& names, std::optional<std::string>& out,
            const std::string& value_name, const std::string& help);
  void number(const std::string& names, std::uint64_t& out, std::uint64_t min, std::uint64_t max,
              const std::string& help);  // decimal or 0x
  void number(const std::string& names, unsigned& out, unsigned min, unsigned max,
              const std::string& help);
  void number(const std::string& names, double& out, double min, double max,
              const std::string& help);
  /// The help says the range too.
  void number(const std::string& names, const Range& range, const std::string& help,
              const std::function<void(std::uint64_t)>& take);
  /// TRUE or FALSE, as opensm's option files have them.
  void truth(const std::string& names, bool& out, const std::string& help);
  void choice(const std::string& names, std::string& out, const std::vector<std::string>& choices,
              const std::string& help);
  void guid(const std::string& names, std::optional<Guid>& out, const std::string& help);
  void lid(const std::string& names, std::optional<Lid>& out, const std::string& help);
  /// A value that none of the above reads.
  void option(const std::string& names, const std::string& value_name, const std::string& help,
              const Read& read);
  /// A value that may be left out, which is then `bare`; `is_value` tells whether the next word is
  /// one.
  void optional_value(const std::string& names, const std::string& value_name,
                      const std::string& help, const std::string& bare,
                      const std::function<bool(const std::string&)>& is_value, const Read& read);
  /// No value; `take` is told how many times it was given.
  void given(const std::string& names, const std::string& help,
             const std::function<void(unsigned times)>& take);
  /// May be given several times.
  void texts(const std::string& names, std::vector<std::string>& out, const std::string& value_name,
             const std::string& help);
  /// Two words: --link NODE PORT.
  void pair(const std::string& names, std::vector<std::string>& out, const std::string& value_name,
            const std::string& help);
  /// Must be given; or else the variable of the environment must be set.
  void required_text(const std::string& names, std::string& out, const std::string& value_name,
                     const std::string& help);
  void text_or_environment(const std::string& names, std::string& out, const std::string& variable,
                           const std::string& value_name, const std::string& help);

  /// Operands, in the order of declaration; names in capitals.
  void operand(const std::string& name, std::string& out, const std::string& help);
  void operand(const std::string& name, std::optional<std::string>& out, const std::string& help);
  /// All operands there are, however many.
  void operands(const std::string& name, std::vector<std::string>& out, const std::string& help);
  /// All there are, which must be `min` to `max` words like `form`; also those that begin with a
  /// dash, behind "--".
  void operands(const std::string& form, std::vector<std::string>& out, std::size_t min,
                std::size_t max);
  /// Everything after "--", unread: a command and its own options. There must be one.
  void command_to_run(std::vector<std::string>& out);

  /// A verb with options of its own; exactly one must be given. The reference stays valid.
  CommandLine& verb(const std::string& name, const std::string& purpose);
  /// ... at most one.
  CommandLine& optional_verb(const std::string& name, const std::string& purpose);
  /// Whether this verb was given.
  bool chosen() const;

  /// opensm's spelling: long names with one dash too, dashes for underscores, a value behind "=",
  /// TRUE or FALSE behind a flag. Messages name options as they were typed.
  void spelled_as_in_opensm();
  /// Instead of "-h,--help" and "--version".
  void help_names(const std::string& names);
  void version_names(const std::string& names);
  /// The document that says why there is none, printed with a usage error where --json is among the
  /// words.
  void documents(std::function<std::string(const Error&)> failure);
  /// The status after a usage error, where it is another.
  void usage_status(int status);

  /// Text after the options in --help: exit statuses, examples.
  void footer(const std::string& text);

  /// Reads the words. A status to exit with: 0 after --help or --version (printed), 2 after a
  /// usage error (printed); none: go on.
  std::optional<int> parse(int argc, const char* const* argv);

  struct Impl;

 private:
  explicit CommandLine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ib::cli
