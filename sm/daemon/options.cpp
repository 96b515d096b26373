// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/plan/plan_command.h"
#include "sm/config/command_words.h"
#include "sm/config/documents.h"
#include "sm/config/table.h"
#include "sm/control/client.h"
#include "sm/daemon/default_paths.h"
#include "sm/daemon/failure_documents.h"

namespace sm::daemon {
namespace {

using config::Configuration;

constexpr const char* kProgram = "ibsm";
constexpr std::size_t kOptionsBytesMax = std::size_t{1} << 20;

constexpr const char* kFooter =
    "Exit status of --once: 0 subnet up, 1 incomplete, 3 up with nodes or ports that are not\n"
    "managed, 5 another subnet manager is master; of every form: 2 usage, 4 cannot run. With\n"
    "--daemon the parent returns after the first result with the same status, but for 5, which\n"
    "is 0. Of --dry-run: 0 devices hold what is planned, 1 some do not, 3 some nodes were not\n"
    "compared. Of --check-config: 0 in order, 1 warnings, 2 errors.";

constexpr const char* kPlanFooter =
    "Exit status: 0 the routes are verified, 1 those of no engine are, or a name of --without\n"
    "does not exist, 2 usage or a bad file, 3 the file lacks some of the fabric, 4 something "
    "could\n"
    "not be written.";

int refuse(const ib::Error& error) {
  return ib::cli::complain(kProgram, error.message, ib::cli::kExitUsage);
}

/// The options file, and what is wrong with it on stderr.
ib::Result<std::vector<ib::Diagnostic>> read_file(const std::string& path, Configuration& to) {
  const auto text = ib::fabric::read_regular_file(path, kOptionsBytesMax);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  std::vector<ib::Diagnostic> problems;
  config::read_options_text(*text, path, to, problems);
  for (const auto& problem : problems)
    std::fprintf(stderr, "%s\n", ib::with_caret(problem, *text).c_str());
  return problems;
}

/// There may be keys among the options, so the file is its owner's.
ib::Result<void> write_file(const std::string& path, const std::string& text) {
  using std::filesystem::perms;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::ofstream file(path);
  if (file) std::filesystem::permissions(path, perms::owner_read | perms::owner_write, error);
  file << text;
  if (file.flush()) return {};
  return ib::fail(ib::ErrorKind::Io,
                  "cannot write the options to " + path + ": " + std::strerror(errno));
}

/// DaemonOptions::read_again, and begin_again.
class Rereading {
 public:
  Rereading(Configuration running, config::CommandWords words, std::string file, DefaultPaths paths)
      : running_(std::move(running)),
        words_(std::move(words)),
        file_(std::move(file)),
        paths_(std::move(paths)) {}

  ib::Result<DaemonOptions> read_again() {
    auto options = read(StandIns::OfThisHost);
    if (options && !options->trouble().empty())
      return ib::fail(ib::ErrorKind::Usage, options->trouble());
    if (options) running_ = options->configuration;
    return options;
  }
  ib::Result<DaemonOptions> begin_again() {
    auto options = read(StandIns::OfTheStore);
    if (options) running_ = options->configuration;
    return options;
  }

 private:
  ib::Result<DaemonOptions> read(StandIns stand_ins) const {
    Configuration fresh;
    std::vector<std::string> warnings;
    if (!file_.empty())
      if (auto read = read_into(fresh, warnings); !read)
        return tl::unexpected<ib::Error>(std::move(read.error()));
    words_.apply(fresh);
    fill_in(paths_, fresh.settings);
    config::Reloaded reloaded = config::reloaded(running_, std::move(fresh));
    auto options = daemon_options(reloaded.configuration, stand_ins);
    if (!options) return options;
    for (const std::string& key : reloaded.waiting)
      warnings.push_back(key + ": the new value takes a restart of ibsm");
    options->warnings.insert(options->warnings.begin(), warnings.begin(), warnings.end());
    return options;
  }
  ib::Result<void> read_into(Configuration& fresh, std::vector<std::string>& warnings) const {
    const auto text = ib::fabric::read_regular_file(file_, kOptionsBytesMax);
    if (!text) return tl::unexpected<ib::Error>(text.error());
    std::vector<ib::Diagnostic> problems;
    config::read_options_text(*text, file_, fresh, problems);
    std::string errors;
    for (const auto& problem : problems) {
      if (problem.severity == ib::Severity::Error)
        errors += '\n' + ib::with_caret(problem, *text);
      else
        warnings.push_back(to_string(problem));
    }
    if (errors.empty()) return {};
    return ib::fail(ib::ErrorKind::Usage, "cannot use the options of " + file_ + errors);
  }

  Configuration running_;
  config::CommandWords words_;
  std::string file_;  // empty: there is none
  DefaultPaths paths_;
};

/// --check-config: what the options file says was printed already.
Command check(const Configuration& configuration, const std::vector<ib::Diagnostic>& problems,
              const std::string& topology) {
  auto options = daemon_options(configuration);
  if (!options) return refuse(options.error());
  if (const std::string trouble = options->trouble(); !trouble.empty())
    return refuse({ib::ErrorKind::Usage, trouble});
  if (ib::has_errors(problems)) return ib::cli::kExitUsage;
  if (!topology.empty()) return CheckCommand{*std::move(options), topology, !problems.empty()};
  for (const std::string& line : options->warnings) std::fprintf(stderr, "%s\n", line.c_str());
  return problems.empty() && options->warnings.empty() ? ib::cli::kExitGood : ib::cli::kExitFound;
}

/// Members that were added to partitions while ibsm runs, as it tells them; empty: there are none,
/// or no ibsm runs.
std::string added_members(const Configuration& configuration, bool json) {
  control::Request request{"partition", {"list"}, {}};
  if (json) request.options["json"] = "TRUE";
  const auto answer = control::ask(configuration.settings.control_socket, request);
  return answer && answer->status == 0 ? answer->text : std::string();
}

/// Options are shown whatever is wrong with the files that they name; that is said, and is
/// status 2.
int show(const Configuration& configuration, const std::string& form, const std::string& version) {
  const auto options = daemon_options(configuration);
  config::ShownPartitions partitions;
  if (options) partitions = {&options->partitions.policy->partitions, options->partitions.name};
  std::string text;
  if (form == "json") {
    text =
        config::show_json(configuration, version, partitions, added_members(configuration, true));
  } else {
    text = config::show_text(configuration) + show_text(partitions);
    if (const std::string added = added_members(configuration, false); added.starts_with("0x"))
      for (const std::string_view line : ib::split(ib::trim(added), '\n'))
        text += fmt::format("# partition member {}  # ibsm ctl partition\n", line);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!options) return refuse(options.error());
  if (const std::string trouble = options->trouble(); !trouble.empty())
    return refuse({ib::ErrorKind::Usage, trouble});
  return ib::cli::kExitGood;
}

/// What is said beside nothing that it belongs to; empty: all is in its place.
std::string out_of_place(const config::Requests& asked) {
  const bool explains = !asked.explain.empty();
  if (!asked.against.empty() && !asked.check && !explains)
    return "--against: expected --check-config or --explain-policy beside it";
  if (explains && asked.against.empty())
    return "--explain-policy: expected --against TOPOLOGY beside it";
  if (!explains && (asked.service_id || asked.p_key || asked.qos_class))
    return "--service-id, --pkey and --qos-class: expected --explain-policy beside them";
  if (asked.json && !explains && !asked.dry_run)
    return "--json: expected --dry-run or --explain-policy beside it";
  return {};
}

Command explain(const config::Requests& asked, const Configuration& configuration,
                const std::string& version) {
  const auto refused = [&](const ib::Error& error) {
    if (asked.json) std::fputs(explain_failure(version, error).c_str(), stdout);
    return refuse(error);
  };
  auto options = daemon_options(configuration);
  if (!options) return refused(options.error());
  if (const std::string trouble = options->trouble(); !trouble.empty())
    return refused({ib::ErrorKind::Usage, trouble});
  ExplainCommand command;
  command.options = *std::move(options);
  command.topology = asked.against;
  command.request = {
      asked.explain[0], asked.explain[1], {asked.qos_class, asked.service_id, {}}, asked.json};
  if (asked.p_key) command.request.traffic.p_key = ib::PKey{*asked.p_key}.base();
  command.version = version;
  return command;
}

/// The words of `ibsm plan`.
struct PlanArgs {
  ib::plan::PlanArgs args;
  config::CommandWords words;
  std::optional<std::string> file;
  bool json{false};

  void add_to(ib::cli::CommandLine& line) {
    using ib::plan::PlanArgs;
    args.add_to(line, PlanArgs::Operand::Topology, PlanArgs::Routing::OfTheCaller);
    line.text("-F,--config", file, "FILE", "Read options from this file first");
    words.add_those_of_plans_to(line);
    line.flag("--json", json, "JSON instead of text");
    line.footer(kPlanFooter);
  }
};

/// The options of a plan, as ibsm would have them: the file, then the words, those before `plan`
/// first.
ib::Result<PlanVerb> plan_verb(const PlanArgs& said, const config::Requests& asked,
                               const config::CommandWords& before, std::string_view program) {
  Configuration configuration, of_words;
  before.apply(of_words);
  const DefaultPaths paths = default_paths(program, of_words.settings);
  const auto& named = said.file ? said.file : asked.file;
  const std::string file = named ? *named : first_there(paths.options);
  if (!file.empty()) {
    const auto problems = read_file(file, configuration);
    if (!problems) return tl::unexpected<ib::Error>(problems.error());
    if (ib::has_errors(*problems))
      return ib::fail(ib::ErrorKind::Usage, "cannot plan with the options of " + file);
  }
  before.apply(configuration);
  said.words.apply(configuration);
  fill_in(paths, configuration.settings);
  const auto origin = [&](const char* key) {
    return configuration.origin(*config::find_key(key)).from;
  };
  // Of an options file, the engines to compare take the place.
  if (said.args.compares() && origin("routing_engine") == config::Origin::From::File)
    configuration.settings.routing_engine.clear();
  auto options = daemon_options(configuration);
  if (!options) return tl::unexpected<ib::Error>(std::move(options.error()));
  if (const std::string trouble = options->trouble(); !trouble.empty())
    return ib::fail(ib::ErrorKind::Usage, trouble);
  const auto& settings = configuration.settings;
  auto command = said.args.command(options->core.plan.choice);
  if (!command) return tl::unexpected<ib::Error>(std::move(command.error()));
  if (origin("lmc") != config::Origin::From::Default)
    command->plan.lmc = static_cast<std::uint8_t>(settings.lmc);
  return PlanVerb{*std::move(options), *std::move(command), said.json};
}

/// The file, then the words; then what was asked for about them, or the options to serve by.
Command settle(const config::Requests& asked, const config::CommandWords& words,
               std::string_view program, const std::string& version) {
  Configuration configuration, said;
  words.apply(said);
  const DefaultPaths paths = default_paths(program, said.settings);
  std::vector<ib::Diagnostic> problems;
  const std::string file = asked.file ? *asked.file : first_there(paths.options);
  if (!file.empty()) {
    auto read = read_file(file, configuration);
    if (!read) return refuse(read.error());
    problems = *std::move(read);
  }
  words.apply(configuration);
  fill_in(paths, configuration.settings);
  if (const std::string odd = out_of_place(asked); !odd.empty())
    return refuse({ib::ErrorKind::Usage, odd});
  if (asked.check) return check(configuration, problems, asked.against);
  if (ib::has_errors(problems)) return ib::cli::kExitUsage;
  if (!asked.explain.empty()) return explain(asked, configuration, version);
  if (asked.show) return show(configuration, *asked.show, version);
  if (asked.create) {
    const bool leave = !asked.create->empty();
    const auto written =
        write_file(leave ? *asked.create : configuration.settings.state_dir + "/opensm.opts",
                   config::options_text(configuration));
    if (!written) return ib::cli::complain(kProgram, written.error());
    if (leave) return ib::cli::kExitGood;
  }
  auto options = daemon_options(configuration, StandIns::OfTheStore);
  if (!options) return refuse(options.error());
  options->dry_run = asked.dry_run;
  options->json = asked.json;
  options->version = std::string(kProgram) + ' ' + version;
  const auto files = std::make_shared<Rereading>(std::move(configuration), words, file, paths);
  options->read_again = [files] { return files->read_again(); };
  options->begin_again = [files] { return files->begin_again(); };
  return *std::move(options);
}

}  // namespace

Command read_command_line(int argc, const char* const* argv, const std::string& version) {
  config::CommandWords words;
  config::Requests asked;
  PlanArgs plan;
  ib::cli::CommandLine line(kProgram, "ibsm: InfiniBand subnet manager and subnet administrator",
                            version);
  line.spelled_as_in_opensm();
  line.help_names("-h,-?,--help");
  line.documents([&](const ib::Error& error) {
    const auto said = [&](std::string_view option) {
      return std::any_of(argv, argv + argc,
                         [&](std::string_view word) { return word.starts_with(option); });
    };
    if (said("--explain-policy")) return explain_failure(version, error);
    return said("--dry-run") ? dry_run_failure(version, error)
                             : ib::plan::failure(kProgram, version, error);
  });
  line.footer(kFooter);
  asked.add_to(line);
  words.add_to(line);
  auto& plan_line = line.optional_verb("plan", "Routes of a saved topology, no fabric attached");
  plan.add_to(plan_line);
  CtlWords ctl(version);
  auto& ctl_line = line.optional_verb("ctl", "Ask the running ibsm");
  ctl.add_to(ctl_line);

  if (const auto status = line.parse(argc, argv)) return *status;
  if (plan_line.chosen()) {
    auto verb = plan_verb(plan, asked, words, argc > 0 ? argv[0] : kProgram);
    if (verb) return *std::move(verb);
    return ib::plan::Reporter{kProgram, version, plan.json, &std::cout, &std::cerr}.refuse(
        verb.error());
  }
  if (ctl_line.chosen()) {
    Configuration said;
    words.apply(said);
    if (!ctl.state_dir().empty()) said.settings.state_dir = ctl.state_dir();
    return ctl.run(control_socket(default_paths(argc > 0 ? argv[0] : kProgram, said.settings)));
  }
  return settle(asked, words, argc > 0 ? argv[0] : kProgram, version);
}

}  // namespace sm::daemon
