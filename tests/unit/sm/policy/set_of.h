// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The qos_* set of a kind of ports, for tests.
#pragma once

#include "sm/policy/qos_sets.h"

namespace sm::policy::test {

inline QosSet& set_of(QosSets& sets, QosKind kind) { return sets[static_cast<std::size_t>(kind)]; }

}  // namespace sm::policy::test
