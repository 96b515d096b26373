// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CommandLine: what a tool understands, declared once; the help text and every usage error come
// from that. (CLI11 is behind command_line.cpp.)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/ids.h"

namespace ib::tools {

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
  void counter(const std::string& names, unsigned& out, const std::string& help);  // -vv
  void text(const std::string& names, std::string& out, const std::string& value_name,
            const std::string& help);
  void text(const std::string& names, std::optional<std::string>& out,
            const std::string& value_name, const std::string& help);
  void number(const std::string& names, std::uint64_t& out, std::uint64_t min, std::uint64_t max,
              const std::string& help);  // decimal or 0x
  void number(const std::string& names, unsigned& out, unsigned min, unsigned max,
              const std::string& help);
  void choice(const std::string& names, std::string& out, const std::vector<std::string>& choices,
              const std::string& help);
  void guid(const std::string& names, std::optional<Guid>& out, const std::string& help);
  void lid(const std::string& names, std::optional<Lid>& out, const std::string& help);

  /// Operands, in the order of declaration; names in capitals.
  void operand(const std::string& name, std::string& out, const std::string& help);
  void operand(const std::string& name, std::optional<std::string>& out, const std::string& help);
  /// All operands there are, however many.
  void operands(const std::string& name, std::vector<std::string>& out, const std::string& help);
  /// Everything after the operands or after "--", unread: a command and its own options.
  void command_to_run(std::vector<std::string>& out);

  /// A verb with options of its own; exactly one must be given. The reference stays valid.
  CommandLine& verb(const std::string& name, const std::string& purpose);

  /// The schema of the documents of --json: of a usage error, too, where --json is among the words.
  void documents(const std::string& schema);

  /// Text after the options in --help: exit statuses, examples.
  void footer(const std::string& text);

  /// Reads the words. A status to exit with: 0 after --help or --version (printed), 2 after a
  /// usage error (printed); none: go on.
  std::optional<int> parse(int argc, const char* const* argv);

  struct Impl;

 private:
  explicit CommandLine(std::unique_ptr<Impl> impl);
  bool wants_command() const;
  void hand_over(const std::vector<std::string>& command);
  std::unique_ptr<Impl> impl_;
};

/// Options every tool has.
struct CommonOptions {
  std::string device;         // empty: the first with an active port
  unsigned port{0};           // 0: the first active port
  unsigned timeout_ms{200};   // longest wait for one answer before it is asked again
  unsigned outstanding{256};  // MADs in flight, at most
  unsigned verbose{0};
  bool json{false};
};
/// Their letters; an empty one leaves the option out.
struct CommonLetters {
  std::string device{"-C,--device"};
  std::string port{"-P,--port"};
  std::string timeout{"-t,--timeout"};
  std::string outstanding{"-n,--outstanding"};
  std::string verbose{"-v,--verbose"};
  std::string json{"--json"};
};
void add_common(CommandLine& line, CommonOptions& out, const CommonLetters& letters = {});

/// The footer's paragraph on exit statuses.
std::string exit_status_help();

}  // namespace ib::tools
