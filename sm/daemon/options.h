// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm's command line: letters and names as opensm has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "libdiag/plan/plan_args.h"
#include "sm/config/configuration.h"
#include "sm/core/subnet_manager.h"
#include "sm/daemon/console_options.h"
#include "sm/daemon/ctl_words.h"
#include "sm/daemon/dump_options.h"
#include "sm/daemon/event_options.h"
#include "sm/daemon/explain_report.h"
#include "sm/daemon/partition_options.h"
#include "sm/daemon/registry_options.h"
#include "sm/daemon/sa_options.h"
#include "sm/managers/performance/manager.h"
#include "sm/policy/congestion_settings.h"

namespace sm::daemon {

struct DaemonOptions {
  core::Options core;
  SaOptions sa;
  RegistryOptions registry;
  PartitionOptions partition_files;
  std::string rates_file;            // empty: no rate limits
  ReadPartitions partitions;         // that are in force
  std::vector<GoodFile> good_files;  // of which copies are to be kept, once they are in force
  std::vector<FileTrouble> file_troubles;
  std::optional<policy::CongestionSettings> congestion;  // empty: devices are left alone
  bool once{false};
  bool dry_run{false}, json{false};  // JSON: of a dry run
  bool background{false};
  std::vector<ib::Guid> port_guids;   // of -g, in their order; empty: the library's default
  std::optional<ib::Guid> port_guid;  // the one of them to work by
  std::uint32_t rx_threshold{8192};   // MADs that wait to be read at each QP, at most
  bool list_ports{false};             // -g 0
  std::string log_file;               // empty: the default place
  unsigned log_flags{0x03};
  bool flush_log{false};
  bool erase_log{false};
  std::size_t log_max_size{0};  // bytes; 0: no limit
  std::string log_prefix;
  bool exit_on_fatal{false};
  bool m_key_lookup{true};  // M_Keys that ports had last are read from guid2mkey
  DumpOptions dumps;
  std::optional<managers::performance::Options> performance;  // nothing: no counters are read
  EventOptions events;
  std::string counters_file;  // where they are dumped to; empty: among the dump files
  std::string pid_file;
  std::string state_dir;
  std::string control_socket;  // empty: there is none
  ConsoleOptions console;
  std::string version;                               // "ibsm 1.0.0"
  config::Configuration configuration;               // that all this was made of
  bool routing_files{false};                         // the options name some
  std::vector<policy::DroppedLevel> dropped_levels;  // of the QoS policy and the partitions
  std::vector<std::string> notes;     // for the log: what file was read, what has no effect
  std::vector<std::string> warnings;  // of policy files and of values beside each other
  /// Reads the options file and all files again, for SIGHUP. An error has everything that is wrong,
  /// and changes nothing for the next call. Options that take a restart are as before.
  std::function<ib::Result<DaemonOptions>()> read_again;
  /// Likewise as at a start: in the place of a broken policy file a copy counts.
  std::function<ib::Result<DaemonOptions>()> begin_again;

  /// A copy is in force in the place of the file.
  bool stands_in_for(const PolicyFile& kind) const {
    return std::ranges::find(file_troubles, &kind, &FileTrouble::kind) != file_troubles.end();
  }
  /// What is wrong with files in whose place their last good copies count; empty: nothing.
  std::string trouble() const {
    std::string out;
    for (const FileTrouble& file : file_troubles) out += (out.empty() ? "" : "\n") + file.message;
    return out;
  }
};

/// Which copies stand in for policy files that are broken.
enum class StandIns {
  OfThisHost,
  OfTheStore,  // those that subnet managers share, too: etcd may be asked
};

/// The options as the parts of the daemon take them. Files that they name are read here; an error
/// says what is wrong with one.
ib::Result<DaemonOptions> daemon_options(const config::Configuration& configuration,
                                         StandIns stand_ins = StandIns::OfThisHost);

/// `ibsm --explain-policy`.
struct ExplainCommand {
  DaemonOptions options;
  std::string topology;  // file of ibnetdiscover's text
  ExplainRequest request;
  std::string version;
};

/// `ibsm plan`.
struct PlanVerb {
  DaemonOptions options;
  ib::plan::PlanCommand command;
  bool json{false};
};

/// `ibsm --check-config --against TOPOLOGY`.
struct CheckCommand {
  DaemonOptions options;
  std::string topology;
  bool warned{false};  // of the options file, which was printed
};

/// What to do: serve, plan, explain, check, or leave with a status (the text was printed).
using Command = std::variant<int, DaemonOptions, PlanVerb, ExplainCommand, CheckCommand>;

Command read_command_line(int argc, const char* const* argv, const std::string& version);

// opensm's log flags (-D). 0x10, its functions' beginnings and ends, has nothing to log here.
inline constexpr unsigned kLogErrors = 0x01, kLogInfo = 0x02, kLogVerbose = 0x04, kLogDebug = 0x08,
                          kLogFrames = 0x20, kLogRouting = 0x40;

}  // namespace sm::daemon
