// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/options.h"

#include "libdiag/base/output.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/exit_status.h"

namespace agent {

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options o;
  ib::cli::CommandLine line(
      "ibtracerd",
      "Answer ibtracer (class 0x30) and ibping (class 0x32) on every InfiniBand port of this host.",
      IBKIT_VERSION);
  line.text("-C,--device", o.device, "DEVICE", "serve this device only");
  line.number("-P,--port", o.port, 0, 254, "serve this port number only");
  line.text("--user", o.user, "NAME",
            "user to become once the devices are open (default " + o.user + ")");
  line.text("--host", o.host, "NAME", "name in answers to ibping (default: host name and domain)");
  line.number("--source-rate", o.source_rate, 1, 1e6,
              "answers a second to one source (default 5000)");
  line.number("--total-rate", o.total_rate, 1, 1e6, "answers a second in total (default 20000)");
  line.number("--rx_threshold", o.rx_threshold, 64, 1U << 20,
              "received MADs of a port that may wait to be read; more are dropped (default "
              "8192)");
  line.footer("exit status: 0 ended by a signal, 2 usage, 4 cannot run");
  if (const auto status = line.parse(argc, argv)) {
    const auto whole = ib::finish_output();
    return whole ? *status : ib::cli::complain("ibtracerd", whole.error());
  }
  return o;
}

}  // namespace agent
