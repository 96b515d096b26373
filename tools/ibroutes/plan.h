// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes made for a running fabric (or a saved one), and how far they are from what is programmed.
// Nothing is written to the fabric.
#pragma once

#include <optional>
#include <string>

#include "libdiag/report/plan.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

/// What switches would be sent if the plan were programmed.
struct Changes {
  std::size_t entries{0}, blocks{0};
};

/// None where it cannot be said: the plan has no routes, or is for other switches than `source`
/// has.
std::optional<Changes> changes_of(const Source& source, const route::Plan& plan);

std::string plan_text(const report::PlanReport& report, const std::optional<Changes>& changes);
std::string plan_json(const Source& source, const report::PlanReport& report,
                      const std::optional<Changes>& changes, const std::string& version);

}  // namespace ib::tools
