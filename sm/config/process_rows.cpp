// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>

#include "sm/config/peers.h"
#include "sm/config/rows.h"

namespace sm::config {
namespace {

using S = Settings;

void more_verbose(Settings& settings, unsigned times) {
  for (; times > 0; --times) settings.log_flags = (settings.log_flags << 1 | 1) & 0xFF;
}

void everything(Settings& settings, unsigned) {
  settings.log_flags = 0xFF;
  settings.force_log_flush = true;
}

ib::Result<void> check_peers(std::string_view value) {
  return Peers::read(value).map([](const auto&) {});
}

constexpr std::array kLog = {
    text("-f,--log_file", "log_file", &S::log_file, "FILE",
         "Log to this file, or to `stdout` or `stderr` (default /var/log/ibsm.log)")
        .opensm_has("/var/log/opensm.log"),
    number("-D,--D,--log_flags", "log_flags", &S::log_flags, 0, 0xFF,
           "What to log: 1 errors, 2 information, 4 verbose, 8 debug, 0x20 every MAD, 0x40 dump "
           "files of routes (default 3); 0x10 is accepted and has no effect")
        .hex(),
    action("-v,--verbose", more_verbose, "Log more; may be repeated"),
    action("-V,--V", everything, "Log everything, every line at once"),
    flag("--force_log_flush", "force_log_flush", &S::force_log_flush,
         "Write lines of -V at once, too"),
    unflag("-e,--erase_log_file", "accum_log_file", &S::accum_log_file,
           "Begin with an empty log file"),
    number("-L,--log_limit", "log_max_size", &S::log_max_size, 0, 1U << 20,
           "Size at which the log file is truncated (default 0: never)")
        .in("MB"),
    text("--log_prefix", "log_prefix", &S::log_prefix, "TEXT",
         "Beginning of every line of the log, behind time and level"),
    text("", "per_module_logging_file", {}, "FILE", "Log flags of single modules")
        .opensm_has("/etc/opensm/per-module-logging.conf")
        .no_effect("modules are not opensm's"),
    text("--dump_files_dir", "dump_files_dir", &S::dump_files_dir, "DIR",
         "After each full sweep opensm-subnet.lst is written here, with --log_flags 0x40 tables "
         "and hop counts too (default $OSM_TMP_DIR; with 0x40 or under the name opensm, "
         "under ibfabric the state directory, else /var/log)")
        .opensm_has("/var/log/"),
    text("--node_name_map", "node_name_map_name", &S::node_name_map_name, "FILE",
         "What nodes are called in the log, events, dumps and policy files, beside their "
         "NodeDescription: lines of a node's GUID and a name in quotes")
        .contents_on_reload(),
};

constexpr std::array kProcess = {
    flag("-B,--daemon", "daemon", &S::daemon,
         "Go to the background once the first result is known"),
    text("-J,--pidfile", "pid_file", &S::pid_file, "FILE", "Write the process id here"),
    text("--control_socket", "control_socket", &S::control_socket, "PATH",
         "Socket that `ibsm ctl` asks at (default: control in the state directory); none: there is "
         "none"),
    word("-q,--console", "console", &S::console, "WORD", "off|local|loopback|socket",
         "Console for an operator: on the terminal, by TCP from this host, by TCP from those in "
         "console_allow"),
    number("-C,--console-port", "console_port", &S::console_port, 0, 65535,
           "TCP port of the console"),
    text("", "console_allow", &S::console_allow, "LIST",
         "Addresses and prefixes that `--console socket` admits (default: 127.0.0.1 and ::1)",
         check_peers)
        .is_list(),
    truth("", "single_thread", {}, "One thread for everything")
        .opensm_has("FALSE")
        .no_effect("one thread owns all state in any case"),
    number(
        "-d,--debug", "", &S::debug, 0, 3,
        "0: other subnet managers are ignored (--force); 1: nothing, one thread owns all state in "
        "any case; 2: --force_log_flush; 3: no multicast routing"),
};

}  // namespace

std::vector<Part> process_rows() { return {{Section::Log, kLog}, {Section::Process, kProcess}}; }

}  // namespace sm::config
