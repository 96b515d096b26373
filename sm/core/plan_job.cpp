// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/plan_job.h"

#include <exception>
#include <utility>

namespace sm::core {

PlanResult PlanJob::run() && {
  try {
    return {generation, plan::make_plan(std::move(request))};
  } catch (const std::exception& error) {
    return {generation,
            {ib::fail(ib::ErrorKind::Unavailable,
                      std::string("routes and tables could not be computed: ") + error.what()),
             {}}};
  }
}

}  // namespace sm::core
