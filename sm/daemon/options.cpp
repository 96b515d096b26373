// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <span>
#include <string_view>

#include "libdiag/base/output.h"
#include "libdiag/base/text.h"
#include "sm/daemon/path_options.h"
#include "sm/daemon/plan_failure.h"
#include "sm/daemon/routing_options.h"
#include "sm/daemon/wrong_words.h"

namespace sm::daemon {
namespace {

void add_names(const CLI::App& app, std::set<std::string>& names) {
  for (const CLI::Option* option : app.get_options())
    names.insert(option->get_lnames().begin(), option->get_lnames().end());
}

bool is_truth(std::string_view word) {
  return word == "TRUE" || word == "true" || word == "FALSE" || word == "false";
}

/// opensm reads long options with one dash as well: -maxsmps 4. What takes no value may have a
/// truth behind it, as it stands in opensm's option files: --qos TRUE. In the order that CLI11
/// takes.
std::vector<std::string> as_cli11_reads(std::span<const char* const> typed, const CLI::App& app,
                                        const std::set<std::string>& names) {
  std::vector<std::string> words;
  for (std::string word : typed) {
    if (!words.empty() && is_truth(word)) {
      if (const auto* flag = find_flag(app, words.back())) {
        words.back() = flag->get_name() + "=" + word;
        continue;
      }
    }
    if (word.starts_with('-') && names.contains(word.substr(1, word.find('=') - 1)))
      word.insert(0, "-");
    words.push_back(std::move(word));
  }
  PlanWords::join_compare(words);
  std::reverse(words.begin(), words.end());
  return words;
}

int cannot_read(const ib::Error& error) {
  std::cerr << "ibsm: " << ib::printable(error.message) << '\n';
  return 2;
}

/// `plan`'s alone, and to be heard even where it stands behind a word that is wrong.
bool wants_json(std::span<const char* const> words) {
  return std::ranges::any_of(words,
                             [](const char* word) { return std::string_view(word) == "--json"; });
}

constexpr const char* kFooter =
    "Exit status of --once: 0 subnet up, 1 incomplete, 3 up with nodes that are not managed;\n"
    "of every form: 2 usage, 4 cannot run. With --daemon the parent returns after the first\n"
    "result with the same status.";

}  // namespace

std::string default_state_dir() {
  for (const char* name : {"IBSM_STATE_DIR", "OSM_CACHE_DIR"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "/var/lib/ibsm";
}

Command read_command_line(int argc, const char* const* argv, const std::string& version) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  DaemonOptions o;
  PlanWords plan;
  RoutingWords words;

  CLI::App app("ibsm: InfiniBand subnet manager and subnet administrator", "ibsm");
  app.set_help_flag("-h,-?,--help", "Print this and exit");
  app.set_version_flag("--version", "ibsm " + version);
  app.get_formatter()->column_width(34);
  app.footer(kFooter);

  app.add_flag("-o,--once", o.once, "Configure the subnet once, then exit; links stay ACTIVE");
  app.add_option_function<std::string>(
         "-g,--guid",
         [&](const std::string& text) {
           ib::Guid guid;
           std::uint64_t value = 0;
           if (ib::parse_number(text, 0, value)) {
             o.list_ports = true;
           } else if (!ib::parse_guid(text, guid)) {
             throw CLI::ValidationError(
                 "--guid: expected a port GUID like 0x0002c90300a1b2c3, got '" +
                 ib::printable(text) + "'");
           } else {
             o.port_guid = guid;
           }
         },
         "Local port to work by; 0 lists them")
      ->type_name("GUID");
  number(app, "-l,--lmc", 0, 7, "a number", "2^LMC LIDs for each host port (default 0)",
         [&](std::uint64_t v) { o.core.plan.lmc = static_cast<std::uint8_t>(v); });
  app.add_flag("-r,--reassign_lids", o.core.plan.reassign_lids,
               "Forget all LIDs, those that ports hold and those of the store");
  add_routing_options(app, words);
  app.add_flag("-Q,--qos", o.core.plan.qos,
               "Program SL to VL mapping and VL arbitration whatever the engine");
  number(app, "--sm_sl", 0, 15, "a number",
         "SL by which ports reach the subnet manager (default: that of the path)",
         [&](std::uint64_t v) { o.core.plan.sm_sl = ib::Sl{static_cast<std::uint8_t>(v)}; });
  number(app, "-s,--sweep", 0, 4294, "a number",
         "Seconds between light sweeps (default 10); 0: none",
         [&](std::uint64_t v) { o.core.sweep_interval = seconds(v); });
  number(app, "-t,--timeout", 1, 60000, "a number",
         "Longest wait for one answer, in ms, before it is asked again (default 200)",
         [&](std::uint64_t v) { o.core.transactor.timeout_ceiling = milliseconds(v); });
  number(app, "-n,--maxsmps", 0, 0x7fffffff, "a number",
         "Requests under way, at most (default 256); 0: no limit of its own", [&](std::uint64_t v) {
           o.core.transactor.window =
               v == 0 ? 4096U : static_cast<std::uint32_t>(std::min<std::uint64_t>(v, 4096));
         });
  add_sa_options(app, o.sa);
  add_registry_options(app, o.registry, o.sa.server);
  add_path_options(app, o.sa);
  app.add_option("-f,--log_file", o.log_file,
                 "Log to this file, or to `stdout` or `stderr` (default /var/log/ibsm.log)")
      ->type_name("FILE");
  app.add_flag_function(
         "-v,--verbose",
         [&](std::int64_t times) {
           for (; times > 0; --times) o.log_flags = (o.log_flags << 1 | 1) & 0xFF;
         },
         "Log more; may be repeated")
      ->disable_flag_override();
  app.add_flag_function(
         "-V,--V",
         [&](std::int64_t) {
           o.log_flags = 0xFF;
           o.flush_log = true;
         },
         "Log everything, every line at once")
      ->disable_flag_override();
  number(app, "-D,--D", 0, 0xFF, "a number",
         "What to log: 1 errors, 2 information, 4 verbose, 8 debug (default 3)",
         [&](std::uint64_t v) { o.log_flags = static_cast<unsigned>(v); });
  app.add_flag("-B,--daemon", o.background, "Go to the background once the first result is known");
  app.add_option("-J,--pidfile", o.pid_file, "Write the process id here")->type_name("FILE");
  app.add_option("--state-dir", o.state_dir,
                 "What must survive a restart is kept here (default $IBSM_STATE_DIR, "
                 "$OSM_CACHE_DIR, /var/lib/ibsm)")
      ->type_name("DIR");

  CLI::App* plan_app = app.add_subcommand("plan", "Routes of a saved topology, no fabric attached");
  plan.add_to(*plan_app);

  const auto typed = std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1U : 0U);
  std::set<std::string> names;
  add_names(app, names);
  add_names(*plan_app, names);
  try {
    app.parse(as_cli11_reads(typed, app, names));
    if (plan_app->parsed()) return plan;
  } catch (const CLI::Success& e) {
    app.exit(e);  // prints
    const auto whole = ib::finish_output();
    if (whole) return 0;
    std::cerr << "ibsm: " << whole.error().message << '\n';
    return 4;
  } catch (const CLI::ParseError& e) {
    const std::string wrong = say_wrong(e, app, typed);
    const bool of_plan = !typed.empty() && std::string_view(typed[0]) == "plan";
    std::cerr << "ibsm: " << ib::printable(wrong) << "\nTry `ibsm " << (of_plan ? "plan " : "")
              << "--help`.\n";
    if (wants_json(typed)) std::cout << plan_failure(version, {ib::ErrorKind::Usage, wrong, 0});
    return 2;
  }
  auto read = ib::route::read_option_files(words.files, words.choice.engine);
  if (!read) return cannot_read(read.error());
  auto routes = read_prefix_routes(o.sa);
  if (!routes) return cannot_read(routes.error());
  o.sa.server.policy.prefix_routes = *std::move(routes);
  o.routing_files = std::move(words.files);
  o.routing_words = words.choice.engine;
  o.core.plan.choice = std::move(words.choice);
  o.core.plan.choice.engine = std::move(read->options);
  o.core.plan.mentions = std::move(read->mentions);
  if (o.state_dir.empty()) o.state_dir = default_state_dir();
  return o;
}

}  // namespace sm::daemon
