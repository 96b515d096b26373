// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TraceRecord (IBA 15.2.5.19): the nodes on the way of one path, in order, both ends included. The
// request is a GetTraceTable whose data is a PathRecord with its component mask; both ends must be
// named.
#pragma once

#include "sm/sa/records/record_source.h"

namespace sm::sa {

Opened open_trace_query(const World& world, const Query& query);

}  // namespace sm::sa
