// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the Transactor takes for the same: a request and its answer, two requests in one queue.
#pragma once

#include <cstdint>

#include "libdiag/mad/request.h"

namespace ib::mad {

/// Whether `reply`, whose TID is that of `request`, is what such a request is answered with.
bool is_answer_to(const wire::Mad& request, const wire::Mad& reply);

/// The queue that a request waits in. An SA is software on a host and answers in its own time; it
/// shares neither queue nor estimate with the SMA behind the same key.
std::uint64_t queue_of(const Request& request);

}  // namespace ib::mad
