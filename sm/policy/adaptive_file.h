// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The file that the armgr plug-in of other subnet managers is given (--conf_file): `KEY: value;`,
// and `SWITCH GUID { KEY: value; ... }` for one switch, # comments. Upper and lower case differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "sm/policy/adaptive_settings.h"

namespace sm::policy {

struct AdaptiveFile {
  AdaptiveSettings settings;
  std::vector<ib::Diagnostic> diagnostics;  // by place; with an error the settings mean nothing
};

AdaptiveFile read_adaptive_file(std::string_view text, const std::string& file);

}  // namespace sm::policy
