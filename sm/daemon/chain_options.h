// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The routing chain that options name: its files, and the options files of its steps, as a value
// of the routing options. Read with the options, and again on SIGHUP like other routing files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/route/files.h"
#include "sm/config/settings.h"

namespace sm::daemon {

struct ReadChain {
  std::shared_ptr<const ib::route::Chain> chain;  // nullptr: no file of steps is named
  std::vector<ib::route::Mentions> mentions;      // GUIDs of port groups, and of options of steps
  std::vector<std::string> warnings;
};
/// An error has every mistake of the files, with its line and a caret under the place.
ib::Result<ReadChain> read_chain(const config::Settings& settings);

}  // namespace sm::daemon
