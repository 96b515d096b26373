// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/options.h"

#include <algorithm>
#include <cstdlib>

#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/exit_status.h"
#include "sm/daemon/path_options.h"
#include "sm/daemon/plan_failure.h"
#include "sm/daemon/routing_options.h"

namespace sm::daemon {
namespace {

int cannot_read(const ib::Error& error) {
  return ib::cli::complain("ibsm", error.message, ib::cli::kExitUsage);
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

  ib::cli::CommandLine line("ibsm", "ibsm: InfiniBand subnet manager and subnet administrator",
                            version);
  line.spelled_as_in_opensm();
  line.help_names("-h,-?,--help");
  line.documents([&](const ib::Error& error) { return plan_failure(version, error); });
  line.footer(kFooter);

  line.flag("-o,--once", o.once, "Configure the subnet once, then exit; links stay ACTIVE");
  line.option("-g,--guid", "GUID", "Local port to work by; 0 lists them",
              [&](const std::string& text) -> ib::Result<void> {
                ib::Guid guid;
                std::uint64_t value = 0;
                if (ib::parse_number(text, 0, value)) {
                  o.list_ports = true;
                } else if (!ib::parse_guid(text, guid)) {
                  return ib::fail(ib::ErrorKind::Usage,
                                  "expected a port GUID like 0x0002c90300a1b2c3, got '" +
                                      ib::printable(text) + "'");
                } else {
                  o.port_guid = guid;
                }
                return {};
              });
  line.number("-l,--lmc", {0, 7}, "2^LMC LIDs for each host port (default 0)",
              [&](std::uint64_t v) { o.core.plan.lmc = static_cast<std::uint8_t>(v); });
  line.flag("-r,--reassign_lids", o.core.plan.reassign_lids,
            "Forget all LIDs, those that ports hold and those of the store");
  add_routing_options(line, words);
  line.flag("-Q,--qos", o.core.plan.qos,
            "Program SL to VL mapping and VL arbitration whatever the engine");
  line.number("--sm_sl", {0, 15},
              "SL by which ports reach the subnet manager (default: that of the path)",
              [&](std::uint64_t v) { o.core.plan.sm_sl = ib::Sl{static_cast<std::uint8_t>(v)}; });
  line.number("-s,--sweep", {0, 4294}, "Seconds between light sweeps (default 10); 0: none",
              [&](std::uint64_t v) { o.core.sweep_interval = seconds(v); });
  line.number("-t,--timeout", {1, 60000},
              "Longest wait for one answer, in ms, before it is asked again (default 200)",
              [&](std::uint64_t v) { o.core.transactor.timeout_ceiling = milliseconds(v); });
  line.number("-n,--maxsmps", {0, 0x7fffffff},
              "Requests under way, at most (default 256); 0: no limit of its own",
              [&](std::uint64_t v) {
                o.core.transactor.window =
                    v == 0 ? 4096U : static_cast<std::uint32_t>(std::min<std::uint64_t>(v, 4096));
              });
  add_sa_options(line, o.sa);
  add_registry_options(line, o.registry, o.sa.server);
  add_path_options(line, o.sa);
  line.text("-f,--log_file", o.log_file, "FILE",
            "Log to this file, or to `stdout` or `stderr` (default /var/log/ibsm.log)");
  line.given("-v,--verbose", "Log more; may be repeated", [&](unsigned times) {
    for (; times > 0; --times) o.log_flags = (o.log_flags << 1 | 1) & 0xFF;
  });
  line.given("-V,--V", "Log everything, every line at once", [&](unsigned) {
    o.log_flags = 0xFF;
    o.flush_log = true;
  });
  line.number("-D,--D", {0, 0xFF},
              "What to log: 1 errors, 2 information, 4 verbose, 8 debug (default 3)",
              [&](std::uint64_t v) { o.log_flags = static_cast<unsigned>(v); });
  line.flag("-B,--daemon", o.background, "Go to the background once the first result is known");
  line.text("-J,--pidfile", o.pid_file, "FILE", "Write the process id here");
  line.text("--state-dir", o.state_dir, "DIR",
            "What must survive a restart is kept here (default $IBSM_STATE_DIR, "
            "$OSM_CACHE_DIR, /var/lib/ibsm)");

  auto& plan_line = line.optional_verb("plan", "Routes of a saved topology, no fabric attached");
  plan.add_to(plan_line);

  if (const auto status = line.parse(argc, argv)) return *status;
  if (plan_line.chosen()) return plan;
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
