// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <list>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/cli/spelling.h"

namespace ib::cli {
namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr int kAnyNumber = CLI::detail::expected_max_vector_size;

tl::unexpected<Error> expected(const std::string& what, const std::string& got) {
  return fail(ErrorKind::Usage, "expected " + what + ", got '" + printable(got) + "'");
}

}  // namespace

Result<std::uint64_t> Range::read(const std::string& text) const {
  std::uint64_t value = 0;
  if (parse_number(text, max, value) && value >= min) return value;
  return expected(what + " from " + std::to_string(min) + " to " + std::to_string(max), text);
}

struct CommandLine::Impl {
  std::string program;
  std::string version;
  std::string version_names{"--version"};
  CLI::App own;
  CLI::App* app{&own};
  Grammar grammar;
  std::list<CommandLine> verbs;
  std::function<std::string(const Error&)> failure;
  int usage_status{kExitUsage};
  std::vector<std::string>* rest{nullptr};
  struct Words {
    std::vector<std::string>* out;
    std::string form;
    std::size_t min, max;
  };
  std::optional<Words> words;
  std::vector<std::function<void()>> after;  // what is done once all words were read

  Spelling& spell(const std::string& names, Takes takes) {
    return grammar.options.emplace_back(spelling_of(names, takes));
  }

  CLI::Option* value(const std::string& names, Takes takes, const std::string& value_name,
                     const std::string& help, Read read) {
    const std::string name = spell(names, takes).name();
    return app
        ->add_option_function<std::string>(
            names,
            [name, read = std::move(read)](const std::string& text) {
              const auto done = read(text);
              if (!done) throw CLI::ValidationError(name + ": " + done.error().message);
            },
            help)
        ->type_name(value_name)
        ->expected(1);
  }

  void finish() {
    for (const auto& act : after) act();
    for (CommandLine& verb : verbs) verb.impl_->finish();
  }
  /// This one, or the verb that was given.
  Impl& deepest() {
    for (CommandLine& verb : verbs)
      if (verb.impl_->app->parsed()) return verb.impl_->deepest();
    return *this;
  }
  bool takes_operands() const {
    return std::ranges::any_of(app->get_options(),
                               [](const CLI::Option* o) { return o->get_positional(); });
  }
  bool wants_command() const {
    return rest != nullptr || words || std::ranges::any_of(verbs, [](const CommandLine& v) {
             return v.impl_->wants_command();
           });
  }
  std::string complaint_of(const CLI::ParseError& error, std::span<const std::string> typed,
                           Impl& verb) const;
  Result<void> hand_over(const std::vector<std::string>& command, bool dashes);
  int refuse(const std::string& message, const Impl& verb, bool json) const;
};

CommandLine::CommandLine(std::string program, std::string purpose, const std::string& version)
    : impl_(std::make_unique<Impl>()) {
  impl_->program = program;
  impl_->version = program + " " + version;
  impl_->own.name(std::move(program));
  impl_->own.description(std::move(purpose));
  help_names("-h,--help");
  impl_->own.get_formatter()->column_width(kHelpColumn);
}
CommandLine::CommandLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&&) noexcept = default;

void CommandLine::flag(const std::string& names, bool& out, const std::string& help) {
  impl_->spell(names, Takes::Truth);
  impl_->app->add_flag(names, out, help);
}

void CommandLine::flag(const std::string& names, const std::string& help,
                       const std::function<void(bool)>& take) {
  // CLI11 reads a truth into a bool, and into nothing else.
  auto value = std::make_shared<bool>(false);
  impl_->spell(names, Takes::Truth);
  const CLI::Option* option = impl_->app->add_flag(names, *value, help);
  impl_->after.emplace_back([value, option, take] {
    if (option->count() > 0) take(*value);
  });
}

void CommandLine::given(const std::string& names, const std::string& help,
                        const std::function<void(unsigned)>& take) {
  impl_->spell(names, Takes::Nothing);
  impl_->app
      ->add_flag_function(
          names, [take](std::int64_t times) { take(static_cast<unsigned>(times)); }, help)
      ->disable_flag_override();
}

void CommandLine::counter(const std::string& names, unsigned& out, const std::string& help) {
  given(names, help, [&out](unsigned times) { out = times; });
}

void CommandLine::option(const std::string& names, const std::string& value_name,
                         const std::string& help, const Read& read) {
  impl_->value(names, Takes::Value, value_name, help, read);
}

void CommandLine::optional_value(const std::string& names, const std::string& value_name,
                                 const std::string& help, const std::string& bare,
                                 const std::function<bool(const std::string&)>& is_value,
                                 const Read& read) {
  impl_->value(names, Takes::OptionalValue, "[" + value_name + "]", help, read);
  impl_->grammar.options.back().bare = bare;
  impl_->grammar.options.back().is_value = is_value;
}

void CommandLine::text(const std::string& names, std::string& out, const std::string& value_name,
                       const std::string& help) {
  option(names, value_name, help, [&out](const std::string& v) -> Result<void> {
    out = v;
    return {};
  });
}

void CommandLine::text(const std::string& names, std::optional<std::string>& out,
                       const std::string& value_name, const std::string& help) {
  option(names, value_name, help, [&out](const std::string& v) -> Result<void> {
    out = v;
    return {};
  });
}

void CommandLine::number(const std::string& names, std::uint64_t& out, std::uint64_t min,
                         std::uint64_t max, const std::string& help) {
  const Range range{min, max};
  option(names, "N", help, [&out, range](const std::string& v) {
    return range.read(v).map([&out](std::uint64_t value) { out = value; });
  });
}

void CommandLine::number(const std::string& names, unsigned& out, unsigned min, unsigned max,
                         const std::string& help) {
  const Range range{min, max};
  option(names, "N", help, [&out, range](const std::string& v) {
    return range.read(v).map([&out](std::uint64_t value) { out = static_cast<unsigned>(value); });
  });
}

void CommandLine::number(const std::string& names, double& out, double min, double max,
                         const std::string& help) {
  option(names, "N", help, [&out, min, max](const std::string& v) -> Result<void> {
    // Not strtod() alone: it takes "nan" for a number.
    const auto wrong = range_complaint(v, min, max);
    if (!wrong.empty()) return fail(ErrorKind::Usage, wrong);
    out = std::strtod(v.c_str(), nullptr);
    return {};
  });
}

void CommandLine::number(const std::string& names, const Range& range, const std::string& help,
                         const std::function<void(std::uint64_t)>& take) {
  const std::string said = range.max == UINT64_MAX ? help
                                                   : help + "; " + std::to_string(range.min) +
                                                         " to " + std::to_string(range.max);
  option(names, "N", said, [range, take](const std::string& v) { return range.read(v).map(take); });
}

void CommandLine::truth(const std::string& names, bool& out, const std::string& help) {
  option(names, "BOOL", help, [&out](const std::string& v) -> Result<void> {
    if (v != "TRUE" && v != "true" && v != "FALSE" && v != "false")
      return expected("TRUE or FALSE", v);
    out = v == "TRUE" || v == "true";
    return {};
  });
}

void CommandLine::choice(const std::string& names, std::string& out,
                         const std::vector<std::string>& choices, const std::string& help) {
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : "|") + choice;
  option(names, all, help, [&out, choices, all](const std::string& v) -> Result<void> {
    if (std::ranges::find(choices, v) == choices.end()) return expected(all, v);
    out = v;
    return {};
  });
}

void CommandLine::guid(const std::string& names, std::optional<Guid>& out,
                       const std::string& help) {
  option(names, "GUID", help, [&out](const std::string& v) -> Result<void> {
    Guid value;
    if (!parse_guid(v, value)) return expected("a GUID (0x and up to 16 hexadecimal digits)", v);
    out = value;
    return {};
  });
}

void CommandLine::lid(const std::string& names, std::optional<Lid>& out, const std::string& help) {
  option(names, "LID", help, [&out](const std::string& v) -> Result<void> {
    Lid value;
    if (!parse_lid(v, value) || !value.is_unicast()) return expected("a LID up to 0xbfff", v);
    out = value;
    return {};
  });
}

void CommandLine::texts(const std::string& names, std::vector<std::string>& out,
                        const std::string& value_name, const std::string& help) {
  impl_->spell(names, Takes::Value);
  impl_->app->add_option(names, out, help)->type_name(value_name)->allow_extra_args(false);
}

void CommandLine::pair(const std::string& names, std::vector<std::string>& out,
                       const std::string& value_name, const std::string& help) {
  impl_->spell(names, Takes::Pair);
  impl_->app->add_option(names, out, help)->expected(2)->type_name(value_name);
}

void CommandLine::required_text(const std::string& names, std::string& out,
                                const std::string& value_name, const std::string& help) {
  text(names, out, value_name, help);
  impl_->app->get_option(impl_->grammar.options.back().name())->required();
}

void CommandLine::text_or_environment(const std::string& names, std::string& out,
                                      const std::string& variable, const std::string& value_name,
                                      const std::string& help) {
  required_text(names, out, value_name, help);
  impl_->app->get_option(impl_->grammar.options.back().name())->envname(variable);
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

void CommandLine::operands(const std::string& form, std::vector<std::string>& out, std::size_t min,
                           std::size_t max) {
  // Words are counted after parsing: CLI11 would complain of its own name for them.
  impl_->words = Impl::Words{&out, form, min, max};
  if (max > 0) impl_->app->add_option("words", out)->option_text(form)->expected(0, kAnyNumber);
}

void CommandLine::command_to_run(std::vector<std::string>& out) { impl_->rest = &out; }

CommandLine& CommandLine::optional_verb(const std::string& name, const std::string& purpose) {
  auto impl = std::make_unique<Impl>();
  impl->program = impl_->program + " " + name;
  impl->app = impl_->app->add_subcommand(name, purpose);
  impl->app->get_formatter()->column_width(kHelpColumn);
  impl_->grammar.verbs.emplace_back(name, &impl->grammar);
  impl_->verbs.push_back(CommandLine(std::move(impl)));
  return impl_->verbs.back();
}

CommandLine& CommandLine::verb(const std::string& name, const std::string& purpose) {
  impl_->app->require_subcommand(1);
  return optional_verb(name, purpose);
}

bool CommandLine::chosen() const { return impl_->app->parsed(); }

void CommandLine::spelled_as_in_opensm() { impl_->grammar.as_in_opensm = true; }

void CommandLine::help_names(const std::string& names) {
  impl_->own.set_help_flag(names, "Print this and exit");
  // What is set last is listed last; help comes first.
  version_names(impl_->version_names);
}

void CommandLine::version_names(const std::string& names) {
  impl_->version_names = names;
  impl_->own.set_version_flag(names, impl_->version);
}

void CommandLine::documents(std::function<std::string(const Error&)> failure) {
  impl_->failure = std::move(failure);
}

void CommandLine::usage_status(int status) { impl_->usage_status = status; }

void CommandLine::footer(const std::string& text) { impl_->app->footer(text); }

/// Where a verb is missing, which there are; of words that are left over the first; else what CLI11
/// says, plainly.
std::string CommandLine::Impl::complaint_of(const CLI::ParseError& error,
                                            std::span<const std::string> typed, Impl& verb) const {
  if (verb.app->get_require_subcommand_min() == 0 || !verb.app->get_subcommands().empty()) {
    std::string plain = in_plain_words(error.what(), typed, grammar);
    const auto left = own.remaining(true);
    if (plain != error.what() || left.empty() ||
        dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
      return plain;
    const Leftover where{program, &grammar, &verb.grammar, verb.takes_operands()};
    return say_of_leftover(left.front(), where);
  }
  std::string text = "expected";
  for (const auto& [name, _] : verb.grammar.verbs) text += (text == "expected" ? " " : "|") + name;
  const auto strays = verb.app->remaining();
  if (strays.empty()) return text + ", got nothing";
  return text + ", got '" + strays.front() + "'" + meant_verb(strays.front(), verb.grammar);
}

/// What stood behind "--", to the verb that was given: a command to run, or operands.
Result<void> CommandLine::Impl::hand_over(const std::vector<std::string>& command, bool dashes) {
  if (rest != nullptr) {
    if (command.empty()) return fail(ErrorKind::Usage, "expected -- COMMAND");
    *rest = command;
    return {};
  }
  if (!words) {
    if (!dashes || command.empty()) return {};
    return fail(ErrorKind::Usage, "expected nothing behind --, got '" + command.front() + "'");
  }
  words->out->insert(words->out->end(), command.begin(), command.end());
  const auto count = words->out->size();
  if (count >= words->min && count <= words->max) return {};
  return fail(ErrorKind::Usage, "expected " + (words->form.empty() ? "no words" : words->form) +
                                    ", got " + std::to_string(count) + " words");
}

int CommandLine::Impl::refuse(const std::string& message, const Impl& verb, bool json) const {
  complain(verb.program, message, verb.usage_status);
  std::fprintf(stderr, "Try '%s --help'.\n", verb.program.c_str());
  const auto& write = verb.failure ? verb.failure : failure;
  if (json && write) {
    const std::string document = write({ErrorKind::Usage, message, 0});
    std::fwrite(document.data(), 1, document.size(), stdout);
  }
  return verb.usage_status;
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  const std::vector<std::string> typed(argv + std::min(argc, 1), argv + argc);
  // What follows "--" is the command to run, where one is: not for CLI11 to read.
  std::vector<std::string> words = typed, command;
  const auto dashes = std::ranges::find(words, "--");
  const bool cut = dashes != words.end() && impl_->wants_command();
  if (cut) {
    command.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  const bool json = std::ranges::find(words, "--json") != words.end();
  if (impl_->grammar.as_in_opensm)
    if (const auto odd = say_of_letters(words, impl_->grammar))
      return impl_->refuse(*odd, *impl_, json);
  words = as_gnu_spells(words, impl_->grammar);
  std::ranges::reverse(words);  // CLI11 wants them last to first
  try {
    impl_->app->parse(words);
  } catch (const CLI::Success& e) {
    impl_->app->exit(e);  // prints --help or --version on stdout
    return kExitGood;
  } catch (const CLI::ParseError& e) {
    Impl& verb = impl_->deepest();
    return impl_->refuse(impl_->complaint_of(e, typed, verb), verb, json);
  }
  impl_->finish();
  Impl& verb = impl_->deepest();
  if (const auto done = verb.hand_over(command, cut); !done)
    return impl_->refuse(done.error().message, verb, json);
  return std::nullopt;
}

}  // namespace ib::cli
