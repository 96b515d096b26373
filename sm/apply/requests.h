// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The SMP of one piece of work: to whom, by which way, and what a Set says. Inside sm/apply only.
#pragma once

#include "libdiag/mad/request.h"
#include "sm/apply/job.h"

namespace sm::apply {

/// A Set that takes a link down notes that in `job`.
ib::mad::Request request_for(Job& job, const Work& work, ib::mad::Cookie cookie);

}  // namespace sm::apply
