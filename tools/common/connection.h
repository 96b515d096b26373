// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Connection: the local port a tool works through, and the Session on it.
#pragma once

#include <memory>

#include "libdiag/cli/common_options.h"
#include "libdiag/mad/session.h"

namespace ib::tools {

class Connection {
 public:
  /// Opens the port the options name. An error of kind Unavailable says that there is no HCA and
  /// names ibfabric. -vv prints every MAD on standard error, -vvv its fields too.
  static Result<std::unique_ptr<Connection>> open(const cli::CommonOptions& options);
  static Result<std::unique_ptr<Connection>> open(const cli::CommonOptions& options,
                                                  const mad::TransactorOptions& transactor);
  ~Connection();

  mad::Port& port();
  mad::Session& session();
  /// As they were when the port was opened.
  const mad::PortFacts& facts() const;

 private:
  Connection();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// -t and -n as the Transactor has them.
mad::TransactorOptions transactor_options(const cli::CommonOptions& options);

}  // namespace ib::tools
