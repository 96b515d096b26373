// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How a tool ends when it has nothing to print.
#pragma once

#include <functional>
#include <string>

#include "libdiag/base/result.h"

namespace ib::tools {

/// The complaint on stderr and, where JSON was asked for, a document that says the same on stdout.
struct Refusal {
  std::string program;
  std::string schema;  // of its documents
  std::string version;
  bool json{false};

  /// Returns the error's exit status.
  int operator()(const Error& error) const;
};

/// The documents of usage errors, for CommandLine::documents().
std::function<std::string(const Error&)> failures_of(std::string program, std::string schema,
                                                     std::string version);

}  // namespace ib::tools
