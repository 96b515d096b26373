// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/guids.h"

namespace sm::plan {

device::GuidBlock empty_block(const ib::discover::Observed& observed, ib::fabric::PortRef port,
                              std::uint8_t block) {
  device::GuidBlock entries{};
  if (block == 0) entries[0] = observed.fabric.port(port).guid;
  return entries;
}

GuidBlocks want_guids(const ib::discover::Observed& observed, const std::vector<bool>& managed,
                      const PortAliases& aliases) {
  GuidBlocks out;
  for (const auto& [guid, entries] : aliases) {
    const auto port = observed.fabric.find_port_guid(guid);
    if (!port || !managed[port->node]) continue;
    const auto* seen = observed.known_port(*port);
    if (seen == nullptr) continue;
    const auto capacity = seen->get<&ib::wire::PortInfo::guid_cap>();
    for (const auto& [index, alias] : entries) {
      if (index == 0 || index >= capacity) continue;
      const auto block = static_cast<std::uint8_t>(index / device::kGuidsInBlock);
      const auto [at, fresh] = out.try_emplace({*port, block});
      if (fresh) at->second = empty_block(observed, *port, block);
      at->second[index % device::kGuidsInBlock] = alias;
    }
  }
  return out;
}

}  // namespace sm::plan
