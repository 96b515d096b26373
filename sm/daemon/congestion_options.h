// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether and how ibsm manages congestion control: by the plug-in keys of other subnet managers,
// or by opensm's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/config/configuration.h"
#include "sm/daemon/last_good.h"
#include "sm/policy/congestion_settings.h"

namespace sm::daemon {

struct CongestionChoice {
  std::optional<policy::CongestionSettings> settings;  // empty: devices are left alone
  std::vector<std::string> warnings;                   // a line each
};

/// The ccmgr file is read here. An error has every mistake of it, each with its line and a caret
/// under the place.
ib::Result<CongestionChoice> read_congestion(const config::Configuration& configuration,
                                             PolicyFiles& files);

}  // namespace sm::daemon
