// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracerd's command line.
#pragma once

#include <string>
#include <variant>

namespace agent {

struct Options {
  std::string device;  // empty: every device
  unsigned port{0};    // 0: every port
  std::string user{"nobody"};
  std::string host;  // empty: host name and domain
  unsigned rx_threshold{8192};
  double source_rate{5000};
  double total_rate{20000};
};

/// The options, or the status to exit with; what is to be said has been said.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace agent
