// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/console_orders.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "sm/daemon/console_files.h"

namespace sm::daemon {
namespace {

using namespace console;

/// What is in force, orders of before included.
std::string configuration_text(const ConsoleWorld& world) {
  config::Configuration now = world.configuration;
  now.settings.sm_priority = world.manager.mastership().status().priority;
  now.settings.log_flags = world.log.flags();
  return config::options_text(now);
}

View view_of(const ConsoleWorld& world, bool is_trusted) {
  View view;
  view.version = world.version;
  view.snapshot = world.manager.snapshot();
  view.aliases = world.manager.aliases();
  view.sm_status = world.manager.mastership().status();
  view.other_sms = world.manager.mastership().others().known();
  view.sweeping = world.manager.sweeping();
  view.sweep_interval = world.manager.sweep_interval();
  view.log_flags = world.log.flags();
  view.sweeps = world.manager.counters();
  view.mads = world.manager.mad_counters();
  view.mads_outstanding = world.manager.mads_outstanding();
  view.mads_pending = world.manager.mads_pending();
  view.sa = world.sa_counters;
  view.configuration = [&world] { return configuration_text(world); };
  view.clock = ib::monotonic_now;
  view.performance = world.performance;
  view.is_trusted = is_trusted;
  return view;
}

/// Carries out one order; gives what is to be said of it.
struct Carrying {
  const ConsoleWorld& world;
  ib::Instant now;
  int& status;

  std::string operator()(const SetLogFlags& order) const {
    world.log.set_flags(order.flags);
    return {};
  }
  std::string operator()(const SetLogFlush& order) const {
    world.log.set_flush(order.each_line);
    return {};
  }
  std::string operator()(const SetPriority& order) const {
    world.manager.set_priority(now, order.priority);
    return {};
  }
  std::string operator()(const SweepNow& order) const {
    if (order.kind == SweepKind::Light)
      world.manager.light_sweep_now(now);
    else if (order.kind == SweepKind::RoutesAlone)
      world.manager.reroute_now(now);
    else
      world.manager.sweep_now(now, core::Reason::Operator);
    return {};
  }
  std::string operator()(const SetSweeping& order) const {
    world.manager.set_sweeping(now, order.is_on);
    return {};
  }
  std::string operator()(const WriteFile& order) const {
    const bool is_a_name = order.path.find('/') == std::string::npos;
    const auto written = is_a_name ? write_console_file(world.dump_folder, order.path, order.text)
                                   : write_file_anywhere(world.state_dir, order.path, order.text);
    if (!written)
      return failed(fmt::format("Could not open file {}: {}\n", ib::printable(order.path),
                                ib::printable(written.error().message)),
                    ib::cli::status_of(written.error()));
    return {};
  }
  std::string operator()(const SetCounters& order) const {
    auto& counters = *world.performance;
    if (order.is_enabled) counters.set_enabled(now, *order.is_enabled);
    if (order.forget_gone_nodes) counters.set_forget_gone_nodes(*order.forget_gone_nodes);
    if (order.ask_capabilities) counters.set_ask_capabilities(*order.ask_capabilities);
    if (order.sweep_time_s) counters.set_sweep_time(now, std::chrono::seconds(*order.sweep_time_s));
    return {};
  }
  std::string operator()(const ForgetGoneNodes&) const {
    world.performance->forget_gone_nodes();
    return {};
  }
  std::string operator()(const ForgetRedirections& order) const {
    world.performance->forget_redirections(order.node);
    return {};
  }
  std::string operator()(const AskVerb& order) const {
    control::Answer answer = world.ask(order.request);
    if (answer.status == ib::cli::kExitGood && order.said) return *order.said;
    return failed(std::move(answer.text), answer.status);
  }

 private:
  std::string failed(std::string text, int why) const {
    status = why;
    return text;
  }
};

}  // namespace

Outcome run_console(const ConsoleWorld& world, Words words, bool is_trusted) {
  Outcome outcome = run(view_of(world, is_trusted), words);
  if (!outcome.order) return outcome;
  if (!std::holds_alternative<AskVerb>(*outcome.order))
    world.log.write(
        {ib::LogLevel::Info, "console", ib::printable(fmt::format("{}", fmt::join(words, " ")))});
  outcome.text += std::visit(Carrying{world, ib::monotonic_now(), outcome.status}, *outcome.order);
  outcome.order.reset();
  return outcome;
}

control::Answer console_verb(const ConsoleWorld& world, const control::Request& request) {
  Outcome outcome = run_console(world, request.words, true);
  if (outcome.loops)
    return {ib::cli::kExitUsage,
            "there is no loop here: `watch ibsm ctl console status` has the same\n"};
  return {outcome.status, std::move(outcome.text)};
}

}  // namespace sm::daemon
