// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The built programs, run on files: what they print and their exit status.
#pragma once

#include <cstddef>
#include <string>

#include "tests/unit/tables/judge.h"

namespace ib::tools {

/// What a program printed, on both streams, and the status that it ended with.
struct Ran {
  std::string out;
  int status;
};
inline Ran run(const std::string& program, const std::string& arguments) {
  const std::string text = judge::output_of(std::string(IBKIT_BIN_DIR "/") + program + " " +
                                            arguments + " 2>&1; printf '\\nstatus %d' $?");
  const std::size_t at = text.rfind("\nstatus ");
  return {text.substr(0, at), std::stoi(text.substr(at + 8))};
}
inline Ran ibroutes(const std::string& arguments) { return run("ibroutes", arguments); }

inline const std::string kNet4 = IBKIT_SOURCE_DIR "/tests/golden/net4/";

}  // namespace ib::tools
