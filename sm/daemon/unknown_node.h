// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The answer to a request whose words were to name nodes, where one of them could not be read.
#pragma once

#include <string>

#include "libdiag/cli/exit_status.h"
#include "sm/control/protocol.h"

namespace sm::daemon {

/// `behind`: what the text says behind the reason ("; nothing was changed").
inline control::Answer misnamed(const ib::Error& error, const std::string& word,
                                const std::string& behind = {}) {
  control::Answer answer{ib::cli::status_of(error), error.message + behind + '\n'};
  if (error.kind == ib::ErrorKind::NotFound) answer.unknown_node = {word, behind};
  return answer;
}

}  // namespace sm::daemon
