// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PathRecord queries (IBA 15.2.5.16): which pairs of LIDs are meant, and what may be promised
// about each.
#pragma once

#include <memory>
#include <variant>

#include "sm/sa/paths/path_bits.h"
#include "sm/sa/paths/path_ends.h"
#include "sm/sa/records/record_source.h"

namespace sm::sa {

/// What an untrusted client hears that asks for all paths of a large subnet.
inline constexpr std::uint16_t kTooMuchForTheUntrusted = 0x0003;

/// The ends that a PathRecord names.
NamedEnd named_source(const ib::wire::PathRecord& wanted, std::uint64_t mask);
NamedEnd named_destination(const ib::wire::PathRecord& wanted, std::uint64_t mask);

Opened open_path_query(const World& world, const Query& query);

/// Writes the answer to a Get, whose record is `asked`, that names one port at either end, if the
/// first path between them will do, as it nearly always does; false: look at what open_path_query()
/// has to say.
bool write_first_path(const World& world, const Requester& requester, std::uint64_t mask,
                      const std::byte* asked, std::byte* record);

}  // namespace sm::sa
