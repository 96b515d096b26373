// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/guids.h"

#include <algorithm>

#include "sm/device/tables/kinds.h"

namespace sm::plan {

using device::kGuidsInBlock;

void note_blocks(const PortAliases& aliases, AliasBlocks& blocks) {
  for (const auto& [port, entries] : aliases)
    for (const auto& [index, alias] : entries)
      if (index / kGuidsInBlock <= 0xFF)
        blocks.insert({port, static_cast<std::uint8_t>(index / kGuidsInBlock)});
}

std::vector<WantedBlock> want_guids(const ib::discover::Observed& observed,
                                    const std::vector<bool>& managed, const PortAliases& aliases,
                                    const AliasBlocks& blocks) {
  std::vector<WantedBlock> out;
  for (const auto& [guid, block] : blocks) {
    const auto port = observed.fabric.find_port_guid(guid);
    if (!port || !managed[port->node]) continue;
    const auto* seen = observed.known_port(*port);
    if (seen == nullptr) continue;
    const unsigned capacity = seen->get<&ib::wire::PortInfo::guid_cap>();
    const unsigned first = block * kGuidsInBlock;
    if (first >= capacity) continue;
    ib::wire::GuidInfo entries{};
    if (const auto of_port = aliases.find(guid); of_port != aliases.end())
      for (const auto& [index, alias] : of_port->second)
        if (index >= first && index < std::min(first + kGuidsInBlock, capacity))
          entries.guid[index - first] = alias;
    if (block == 0) entries.guid[0] = guid;
    WantedBlock& want =
        out.emplace_back(WantedBlock{port->node, &device::kGuidInfo, {port->port, 0, block}, {}});
    ib::wire::encode(entries, want.block.data());
  }
  std::ranges::sort(out, {}, [](const WantedBlock& w) { return std::pair(w.node, w.slot); });
  return out;
}

}  // namespace sm::plan
