// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How much of each thing the thread of subnet administration does before it turns to the next one.
// The daemon's thread and the models of it in the tests keep to these.
#pragma once

#include <cstddef>

#include "libdiag/base/instant.h"

namespace sm::sa::turn {

/// MADs read, so that what one host sends waits in its own queue and not in the port's, where it is
/// in the way of everybody. A flood that comes faster than MADs are taken in does not keep the
/// thread here for more than some 10 ms.
inline constexpr std::size_t kRead = 4096;
/// Requests served before what has arrived meanwhile is looked at, and answers leave. Fewer keep
/// the answers of a storm back: each slice wakes a client that slept meanwhile, which on a virtual
/// machine costs as much as twenty answers (doc/sa.md).
inline constexpr std::size_t kServed = 128;
/// ... and not for longer than that, where requests are expensive. How long has been served is
/// looked at after every few.
inline constexpr ib::Duration kServedFor{std::chrono::microseconds(500)};
inline constexpr std::size_t kServedAtOnce = 16;
/// Segments of tables sent. A requester may have 16 tables with as many each under way.
inline constexpr std::size_t kSegments = 128;

}  // namespace sm::sa::turn
