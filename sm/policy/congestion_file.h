// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The file that the ccmgr plug-in of other subnet managers is given (--conf_file): lines of
// `key value` or `key = value`, # comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "sm/policy/congestion_settings.h"

namespace sm::policy {

struct CongestionFile {
  CongestionSettings settings;
  std::vector<ib::Diagnostic> diagnostics;  // by place; with an error the settings mean nothing
};

CongestionFile read_congestion_file(std::string_view text, const std::string& file);

}  // namespace sm::policy
