// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs: what clients registered, and the blocks of GUIDInfo that ports should hold for it
// (IBA 14.2.5.5). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libdiag/discover/observed.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {

/// By index in the table of the port; entry 0 is the hardware's own and never among them.
using PortAliases = std::map<ib::Guid, std::map<std::uint16_t, ib::Guid>>;

/// By port and number of the block.
using GuidBlocks = std::map<std::pair<ib::fabric::PortRef, std::uint8_t>, device::GuidBlock>;

/// A block that holds no alias.
device::GuidBlock empty_block(const ib::discover::Observed& observed, ib::fabric::PortRef port,
                              std::uint8_t block);

/// Blocks with aliases, of the managed ports that are there. Of entries that a port has no room for
/// nothing comes.
GuidBlocks want_guids(const ib::discover::Observed& observed, const std::vector<bool>& managed,
                      const PortAliases& aliases);

}  // namespace sm::plan
