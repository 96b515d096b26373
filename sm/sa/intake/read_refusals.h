// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Why a request that changes nothing was refused, in words for the log: who asked for what, and
// what would have to be otherwise.
#pragma once

#include <string>

#include "sm/sa/records/record_source.h"

namespace sm::sa {

/// "H-3 port 1 (0x..., LID 4)"
std::string name_of_requester(const Paths& paths, ib::Lid from);

/// Of what open_query() refused; empty where the client alone is wrong and nobody can help it.
std::string why_not_read(const World& world, const Query& query, ib::Lid from,
                         std::uint16_t status);
/// Of what the enhanced trust model keeps to itself.
std::string why_not_trusted(const Paths& paths, const ib::mad::Packet& request);
/// Of a GRH with a GID that is not the requester's.
std::string why_not_its_gid(const Paths& paths, const ib::mad::Packet& request);

}  // namespace sm::sa
