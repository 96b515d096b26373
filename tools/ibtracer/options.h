// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer's command line.
#pragma once

#include <optional>
#include <variant>

#include "libdiag/cli/common_options.h"
#include "libdiag/mad/transactor.h"
#include "tools/common/target.h"
#include "tools/ibtracer/multicast.h"

namespace ibtracer {

struct Options {
  ib::cli::CommonOptions common;
  std::optional<unsigned> retries;
  bool both{}, lmc_all{}, counters{}, prove{}, by_sa{};
  std::optional<ib::Sl> sl;
  ib::tools::Target target;
  std::optional<Group> multicast;         // in place of a target
  std::optional<ib::tools::Target> from;  // who sends; of a group one of its members
  std::uint64_t sm_key{};
  std::string sm_key_file;
  std::string node_name_map;
  std::uint64_t m_key{};
};

/// The options, or the status to exit with (help and version 0, usage 2); what is to be said has
/// been said.
std::variant<Options, int> parse_options(int argc, char** argv);

/// How requests are repeated.
ib::mad::TransactorOptions transactor_options(const Options& options);

}  // namespace ibtracer
