// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/common_options.h"

namespace ib::cli {

void add_common(CommandLine& line, CommonOptions& out, const CommonLetters& letters) {
  if (!letters.device.empty()) {
    line.text(letters.device, out.device, "NAME",
              "Local device (default: the first with an active port)");
  }
  if (!letters.port.empty()) {
    line.number(letters.port, out.port, 0, 254, "Local port (default 0: the first active port)");
  }
  if (!letters.timeout.empty()) {
    line.number(letters.timeout, out.timeout_ms, 1, 60'000,
                "Timeout of a request in ms before it is retried (default 200)");
  }
  if (!letters.outstanding.empty()) {
    line.number(letters.outstanding, out.outstanding, 1, 4096,
                "Maximum number of outstanding MADs (default 256)");
  }
  if (!letters.rx_threshold.empty()) {
    line.number(letters.rx_threshold, out.rx_threshold, 64, 1U << 20,
                "Received MADs that may wait to be read; more are dropped (default 8192)");
  }
  if (!letters.verbose.empty()) {
    line.counter(letters.verbose, out.verbose,
                 "More output; -vv: every MAD, on standard error; -vvv: with its fields");
  }
  if (!letters.json.empty()) line.flag(letters.json, out.json, "Print JSON");
}

std::string exit_status_help() {
  return "Exit status: 0 good, 1 a finding, 2 usage or bad file, 3 incomplete data, 4 cannot "
         "run.";
}

}  // namespace ib::cli
