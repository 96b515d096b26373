// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/command_context.h"

#include <cstdio>

#include "libdiag/cli/exit_status.h"
#include "tools/ibpath/paths.h"

namespace ibpath {

CommandContext::CommandContext(const Options& options, ib::tools::Connection& connection,
                               const ib::query::SaAddress& address, ib::fabric::NodeNames names)
    : options_(options),
      connection_(connection),
      sa_(connection.session(), address),
      names_(std::move(names)) {}

ib::Result<std::vector<ib::Lid>> CommandContext::lids(const ib::tools::Target& target) {
  const auto ports = ports_of(*this, target);
  if (!ports) return tl::unexpected(ports.error());
  std::vector<ib::Lid> lids;
  for (const Port& port : *ports) lids.push_back(port.lid);
  return lids;
}

bool CommandContext::is_none(const ib::Error& error) {
  if (error.mad_status == ib::wire::status::kSaInvalidGid) about_gids_ = error.message;
  return error.mad_status == ib::wire::status::kSaNoRecords ||
         error.mad_status == ib::wire::status::kSaInvalidGid;
}

int CommandContext::found_nothing(const std::string& what) const {
  return ib::cli::complain(kProgram, about_gids_.empty() ? what : what + ": " + about_gids_,
                           ib::cli::kExitFound);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace ibpath
