// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The exit statuses of every program, and how complaints are printed.
#pragma once

#include <functional>
#include <string>

#include "libdiag/base/result.h"

namespace ib::cli {

inline constexpr int kExitGood = 0;
inline constexpr int kExitFound =
    1;  // findings: a mismatch, a broken path, a name that does not exist
inline constexpr int kExitUsage = 2;       // wrong options, an ambiguous name, or a bad file
inline constexpr int kExitIncomplete = 3;  // an answer, but some of the data is missing
inline constexpr int kExitCannotRun = 4;   // no device, no permission, no server

/// The status of a process that this error kept from its work (doc/formats.md). What is named and
/// does not exist is a finding, not a usage error: it may have been there.
int status_of(const Error& error);

/// `PROGRAM: MESSAGE` on stderr, printable characters only, a line for each of the message; returns
/// the error's exit status.
int complain(const std::string& program, const Error& error);
int complain(const std::string& program, const std::string& message, int status);

/// Runs a program's body; an exception that escapes is printed and becomes kExitCannotRun. Standard
/// output is flushed, and a full disk or closed pipe there is an error too.
int run_main(const std::string& program, const std::function<int()>& body);

}  // namespace ib::cli
