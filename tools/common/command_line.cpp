// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <list>

#include "libdiag/base/text.h"
#include "tools/common/exit_status.h"

namespace ib::tools {
namespace {

/// CLI11 puts the option's name in front.
[[noreturn]] void expected(const std::string& what, const std::string& got) {
  throw CLI::ValidationError("expected " + what + ", got '" + printable(got) + "'");
}

std::string range(std::uint64_t min, std::uint64_t max) {
  if (max == ~std::uint64_t{0}) return "a number";
  return "a number from " + std::to_string(min) + " to " + std::to_string(max);
}

/// "-t,--timeout" is known by its last name in messages.
std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

}  // namespace

struct CommandLine::Impl {
  std::string program;
  std::string version;
  std::string schema;  // of JSON documents; empty: it has none
  CLI::App own;
  CLI::App* app{&own};
  std::list<CommandLine> verbs;
  std::vector<std::string>* rest{nullptr};

  template <class Read>
  CLI::Option* option(const std::string& names, const std::string& value_name,
                      const std::string& help, Read read) {
    const std::string name = long_name(names);
    return app
        ->add_option_function<std::string>(
            names,
            [name, read](const std::string& value) {
              try {
                read(value);
              } catch (const CLI::ValidationError& e) {
                throw CLI::ValidationError(name + ": " + e.what());
              }
            },
            help)
        ->type_name(value_name)
        ->expected(1);
  }
};

CommandLine::CommandLine(std::string program, std::string purpose, const std::string& version)
    : impl_(std::make_unique<Impl>()) {
  impl_->program = program;
  impl_->version = version;
  impl_->own.name(std::move(program));
  impl_->own.description(std::move(purpose));
  impl_->own.set_help_flag("-h,--help", "Print this and exit");
  impl_->own.set_version_flag("--version", impl_->program + " " + version);
  impl_->own.get_formatter()->column_width(34);
}
CommandLine::CommandLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&&) noexcept = default;

void CommandLine::flag(const std::string& names, bool& out, const std::string& help) {
  impl_->app->add_flag(names, out, help);
}

void CommandLine::counter(const std::string& names, unsigned& out, const std::string& help) {
  impl_->app
      ->add_flag_function(
          names, [&out](std::int64_t count) { out = static_cast<unsigned>(count); }, help)
      ->disable_flag_override();
}

void CommandLine::text(const std::string& names, std::string& out, const std::string& value_name,
                       const std::string& help) {
  impl_->option(names, value_name, help, [&out](const std::string& v) { out = v; });
}

void CommandLine::text(const std::string& names, std::optional<std::string>& out,
                       const std::string& value_name, const std::string& help) {
  impl_->option(names, value_name, help, [&out](const std::string& v) { out = v; });
}

void CommandLine::number(const std::string& names, std::uint64_t& out, std::uint64_t min,
                         std::uint64_t max, const std::string& help) {
  impl_->option(names, "N", help, [&out, min, max](const std::string& v) {
    std::uint64_t value = 0;
    if (!parse_number(v, max, value) || value < min) expected(range(min, max), v);
    out = value;
  });
}

void CommandLine::number(const std::string& names, unsigned& out, unsigned min, unsigned max,
                         const std::string& help) {
  impl_->option(names, "N", help, [&out, min, max](const std::string& v) {
    std::uint64_t value = 0;
    if (!parse_number(v, max, value) || value < min) expected(range(min, max), v);
    out = static_cast<unsigned>(value);
  });
}

void CommandLine::choice(const std::string& names, std::string& out,
                         const std::vector<std::string>& choices, const std::string& help) {
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : "|") + choice;
  impl_->option(names, all, help, [&out, choices, all](const std::string& v) {
    if (std::find(choices.begin(), choices.end(), v) == choices.end()) expected(all, v);
    out = v;
  });
}

void CommandLine::guid(const std::string& names, std::optional<Guid>& out,
                       const std::string& help) {
  impl_->option(names, "GUID", help, [&out](const std::string& v) {
    Guid value;
    if (!parse_guid(v, value)) expected("a GUID (0x and up to 16 hexadecimal digits)", v);
    out = value;
  });
}

void CommandLine::lid(const std::string& names, std::optional<Lid>& out, const std::string& help) {
  impl_->option(names, "LID", help, [&out](const std::string& v) {
    Lid value;
    if (!parse_lid(v, value)) expected("a LID (1 to 65534, decimal or 0x)", v);
    out = value;
  });
}

void CommandLine::operand(const std::string& name, std::string& out, const std::string& help) {
  impl_->app->add_option(name, out, help)->required()->type_name("");
}

void CommandLine::operand(const std::string& name, std::optional<std::string>& out,
                          const std::string& help) {
  impl_->app
      ->add_option_function<std::string>(
          name, [&out](const std::string& v) { out = v; }, help)
      ->type_name("");
}

void CommandLine::operands(const std::string& name, std::vector<std::string>& out,
                           const std::string& help) {
  impl_->app->add_option(name, out, help)->type_name("");
}

void CommandLine::command_to_run(std::vector<std::string>& out) {
  impl_->rest = &out;
  impl_->app->prefix_command();
}

CommandLine& CommandLine::verb(const std::string& name, const std::string& purpose) {
  auto impl = std::make_unique<Impl>();
  impl->program = impl_->program + " " + name;
  impl->app = impl_->app->add_subcommand(name, purpose);
  impl->app->get_formatter()->column_width(34);
  impl_->app->require_subcommand(1);
  impl_->verbs.push_back(CommandLine(std::move(impl)));
  return impl_->verbs.back();
}

void CommandLine::documents(const std::string& schema) { impl_->schema = schema; }

void CommandLine::footer(const std::string& text) { impl_->app->footer(text); }

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  // CLI11 wants the words last to first. What follows "--" is the command to run, where one is.
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> command;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end() && wants_command()) {
    command.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  const bool json = !impl_->schema.empty() && std::ranges::find(words, "--json") != words.end();
  std::reverse(words.begin(), words.end());
  try {
    impl_->app->parse(words);
  } catch (const CLI::Success& e) {
    impl_->app->exit(e);  // prints --help or --version on stdout
    return kExitGood;
  } catch (const CLI::ParseError& e) {
    const Refusal refuse{impl_->program, impl_->schema, impl_->version, json};
    refuse({ErrorKind::Usage, e.what(), 0});
    std::fprintf(stderr, "Try '%s --help'.\n", impl_->program.c_str());
    return kExitUsage;
  }
  hand_over(command);
  return std::nullopt;
}

bool CommandLine::wants_command() const {
  return impl_->rest != nullptr ||
         std::any_of(impl_->verbs.begin(), impl_->verbs.end(),
                     [](const CommandLine& verb) { return verb.wants_command(); });
}

void CommandLine::hand_over(const std::vector<std::string>& command) {
  if (impl_->rest != nullptr) {
    *impl_->rest = impl_->app->remaining();
    impl_->rest->insert(impl_->rest->end(), command.begin(), command.end());
  }
  for (CommandLine& verb : impl_->verbs) verb.hand_over(command);
}

void add_common(CommandLine& line, CommonOptions& out, const CommonLetters& letters) {
  if (!letters.device.empty()) {
    line.text(letters.device, out.device, "NAME", "Local device (default: the first that is up)");
  }
  if (!letters.port.empty()) {
    line.number(letters.port, out.port, 0, 254, "Local port (default 0: the first active one)");
  }
  if (!letters.timeout.empty()) {
    line.number(letters.timeout, out.timeout_ms, 1, 60'000,
                "Longest wait for an answer, in ms, before asking again (default 200)");
  }
  if (!letters.outstanding.empty()) {
    line.number(letters.outstanding, out.outstanding, 1, 4096,
                "MADs in flight, at most (default 256)");
  }
  if (!letters.verbose.empty()) {
    line.counter(letters.verbose, out.verbose,
                 "Say more; -vv: every MAD, on standard error; -vvv: its fields too");
  }
  if (!letters.json.empty()) line.flag(letters.json, out.json, "Print JSON");
}

std::string exit_status_help() {
  return "Exit status: 0 good, 1 found something, 2 usage or bad file, 3 incomplete data, 4 cannot "
         "run.";
}

}  // namespace ib::tools
