// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/kept_rows.h"

#include <algorithm>

#include "libdiag/wire/smp_attributes.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {

using ib::fabric::SwitchIndex;

ib::tables::SlToVl with_kept_rows(const ib::tables::SlToVl& planned,
                                  const ib::fabric::CompactGraph& graph,
                                  const std::set<ib::Guid>& keepers,
                                  const device::Inventory& held) {
  ib::tables::SlToVl out =
      planned.uniform() ? ib::tables::SlToVl(graph, planned.injection()) : planned;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const device::NodeTables* tables =
        keepers.contains(graph.guid(s)) ? held.find(graph.guid(s)) : nullptr;
    if (tables == nullptr) continue;
    for (unsigned output = 0; output <= graph.max_ports(); ++output)
      for (unsigned input = 0; input <= graph.max_ports(); ++input) {
        const auto to = static_cast<std::uint8_t>(output), in = static_cast<std::uint8_t>(input);
        const device::Block* block = tables->held(device::kSlToVl, {to, in, 0});
        if (block == nullptr) continue;
        ib::tables::SlToVlRow row;
        std::ranges::copy(ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl,
                          row.vl.begin());
        out.set(s, in, to, row);
      }
  }
  return out;
}

}  // namespace sm::plan
