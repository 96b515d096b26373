// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Commands of the console: words and a view of the subnet manager make a text, in the form of
// opensm's console, and where something is to change an order to the daemon. No I/O.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libdiag/cli/exit_status.h"
#include "sm/control/protocol.h"
#include "sm/core/subnet_manager.h"
#include "sm/device/snapshot.h"
#include "sm/managers/performance/manager.h"
#include "sm/sa/counters.h"

namespace sm::console {

/// What commands look at, as it is now.
struct View {
  std::string version;   // "ibsm 1.0.0"
  SnapshotPtr snapshot;  // null: no sweep has ended yet, or another one is master
  plan::PortAliases aliases;
  core::SmStatus sm_status;
  std::vector<ib::wire::SmInfo> other_sms;  // as they answered
  bool sweeping{true};                      // sweeps are not inhibited
  ib::Duration sweep_interval{};
  unsigned log_flags{};
  core::Counters sweeps;
  ib::mad::TransactorCounters mads;
  std::size_t mads_outstanding{}, mads_pending{};  // of QP0: on the wire; with those that wait
  /// Nothing: subnet administration does not answer.
  std::function<std::optional<sa::Counters>()> sa;
  std::function<std::string()> configuration;  // an options file of all that is in force
  std::function<ib::Instant()> clock;
  const managers::performance::PerformanceManager* performance{nullptr};  // null: there is none
  /// The client is root or the user that ibsm runs as, and not anyone who reaches a port: files may
  /// be written anywhere.
  bool is_trusted{true};
};

struct SetLogFlags {
  unsigned flags{};
};
struct SetLogFlush {
  bool each_line{};
};
struct SetPriority {
  std::uint8_t priority{};
};
enum class SweepKind { Full, Light, RoutesAlone };
struct SweepNow {
  SweepKind kind{};
};
struct SetSweeping {
  bool is_on{};
};
/// `path` without a folder: in the folder of the console's files.
struct WriteFile {
  std::string path, text;
};
/// What the performance manager is to be: each where it is given.
struct SetCounters {
  std::optional<bool> is_enabled{}, forget_gone_nodes{}, ask_capabilities{};
  std::optional<std::uint16_t> sweep_time_s{};
};
struct ForgetGoneNodes {};
struct ForgetRedirections {
  std::string node;  // a GUID or NodeDescription; empty: of all
};
/// A verb of the control socket. Its answer is what is said; where it was done and `said` is there,
/// that is, since opensm's words are others or none.
struct AskVerb {
  control::Request request;
  std::optional<std::string> said{};
};
using Order = std::variant<SetLogFlags, SetLogFlush, SetPriority, SweepNow, SetSweeping, WriteFile,
                           SetCounters, ForgetGoneNodes, ForgetRedirections, AskVerb>;

struct Outcome {
  std::string text;
  std::optional<Order> order{};
  /// That of `ibsm ctl console`: kExitUsage: not understood; kExitFound: what is named is not
  /// there; kExitCannotRun: it cannot be done now.
  int status{ib::cli::kExitGood};
  bool ends{false};   // quit
  bool loops{false};  // the same again after each pause
};

using Words = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view syntax;  // the line in the list of commands; empty: it is not in it
  std::string_view detail;  // further lines of `help COMMAND`
  Outcome (*run)(const View& view, Words words);  // words behind the name
};

/// All commands, in the order of the list that `help` prints.
std::span<const Command> commands();

/// Words of a line, without what a telnet program says of itself (RFC 854: bytes from 255 on) and
/// without control characters.
std::vector<std::string> words_of(std::string_view line);

/// Whatever the words are. None: nothing is said.
Outcome run(const View& view, Words words);

}  // namespace sm::console
