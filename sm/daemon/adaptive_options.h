// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether and how ibsm manages adaptive routing: by the plug-in keys of other subnet managers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/config/configuration.h"
#include "sm/daemon/last_good.h"
#include "sm/policy/adaptive_settings.h"

namespace sm::daemon {

struct AdaptiveChoice {
  std::shared_ptr<const policy::AdaptiveSettings> settings;  // null: switches are left alone
  std::vector<std::string> warnings;                         // a line each
};

/// The armgr file is read here. An error has every mistake of it, each with its line and a caret
/// under the place.
ib::Result<AdaptiveChoice> read_adaptive_routing(const config::Configuration& configuration,
                                                 PolicyFiles& files);

}  // namespace sm::daemon
