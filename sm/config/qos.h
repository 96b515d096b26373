// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The qos_* keys as values.
#pragma once

#include "sm/config/configuration.h"
#include "sm/policy/qos_sets.h"

namespace sm::config {

/// What was said of VLs by kind of port. The values were checked when they were read.
policy::QosSets qos_sets(const Configuration& configuration);

}  // namespace sm::config
