// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibtopo was asked for.
#pragma once

#include <optional>
#include <string>

#include "libdiag/cli/command_line.h"
#include "libdiag/cli/common_options.h"

namespace ib::tools::topo {

inline constexpr const char* kSchema = "ibkit.ibtopo/2";

struct Options {
  cli::CommonOptions common;
  std::optional<std::string> load;  // a file instead of a fabric
  std::string discover{"own"};      // or "libibnetdisc"
  unsigned hops_max{63};
  bool full{false};
  bool fec{false};
  bool dot{false};
  std::optional<std::string> svg;  // "-": standard output
  bool hosts{false};
  std::string fold{"auto"};
  std::optional<std::string> names;  // node-name map
  std::string title;
  std::optional<std::uint64_t> m_key;
};

cli::CommandLine command_line(Options& out);

}  // namespace ib::tools::topo
