// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A plan as text and as JSON (doc/formats.md).
#pragma once

#include <optional>
#include <string>

#include "sm/daemon/plan_command.h"

namespace sm::daemon {

struct PlanReport {
  const PlanCommand& command;
  const ib::route::Plan& plan;
  std::optional<ib::routes::Figures> figures;
};

/// "figure: value" lines; with choice.compare a table of the engines.
std::string text_of(const PlanReport& report);
std::string json_of(const PlanReport& report);

}  // namespace sm::daemon
