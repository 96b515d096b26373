// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options that every tool has.
#pragma once

#include <string>

#include "libdiag/cli/command_line.h"

namespace ib::cli {

struct CommonOptions {
  std::string device;           // empty: the first with an active port
  unsigned port{0};             // 0: the first active port
  unsigned timeout_ms{200};     // longest wait for one answer before it is asked again
  unsigned outstanding{256};    // MADs in flight, at most
  unsigned rx_threshold{8192};  // received MADs that wait to be read, at most
  unsigned verbose{0};
  bool json{false};
};
/// Their letters; an empty one leaves the option out.
struct CommonLetters {
  std::string device{"-C,--device"};
  std::string port{"-P,--port"};
  std::string timeout{"-t,--timeout"};
  std::string outstanding{"-n,--outstanding"};
  std::string rx_threshold{"--rx_threshold"};
  std::string verbose{"-v,--verbose"};
  std::string json{"--json"};
};
void add_common(CommandLine& line, CommonOptions& out, const CommonLetters& letters = {});

/// The footer's paragraph on exit statuses.
std::string exit_status_help();

}  // namespace ib::cli
