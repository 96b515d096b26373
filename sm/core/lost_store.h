// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a fabric tells of a store that is lost together with its backups: ports that
// hold LIDs and name ours for their subnet manager's, while no LID is stored.
#pragma once

#include <string>

#include "sm/plan/desired.h"

namespace sm::core {

/// The line for it, empty where nothing tells of it. Of the first sweep after a start without
/// stored LIDs.
std::string describe_lost_store(const ib::discover::Observed& found, const plan::Desired& planned);

}  // namespace sm::core
