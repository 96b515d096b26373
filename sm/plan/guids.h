// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs: what clients registered, and the blocks of GUIDInfo that ports should hold for it
// (IBA 14.2.5.5). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "libdiag/discover/observed.h"
#include "sm/plan/wanted_block.h"

namespace sm::plan {

/// By index in the table of the port; entry 0 is the hardware's own and never among them.
using PortAliases = std::map<ib::Guid, std::map<std::uint16_t, ib::Guid>>;

/// Blocks that had to do with aliases at any time, by port GUID and number: who had one may have it
/// still.
using AliasBlocks = std::set<std::pair<ib::Guid, std::uint8_t>>;
/// Adds the blocks of `aliases`.
void note_blocks(const PortAliases& aliases, AliasBlocks& blocks);

/// What `blocks` of the managed ports that are there should hold, by node: the port's own GUID, its
/// aliases and nothing else. Of entries that a port has no room for nothing comes.
std::vector<WantedBlock> want_guids(const ib::discover::Observed& observed,
                                    const std::vector<bool>& managed, const PortAliases& aliases,
                                    const AliasBlocks& blocks);

}  // namespace sm::plan
