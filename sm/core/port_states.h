// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortStates: what switches tell of the states of all their ports in one MAD, SwitchPortStateTable,
// beside PortStateChange, which another subnet manager may have cleared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "libdiag/discover/observed.h"
#include "libdiag/wire/mad.h"
#include "libdiag/wire/port_attributes.h"
#include "sm/core/flapping.h"

namespace sm::core {

/// Blocks of the table that this node has: 0 if it is no switch, or does not say that it has one.
unsigned port_state_blocks(const ib::discover::Observed& seen, ib::fabric::NodeIndex n);

/// The first port of which a block of that table shows another state than was `seen`, links that
/// are held down aside. ActiveDefer counts as ACTIVE.
std::optional<std::uint8_t> port_with_other_state(const ib::discover::Observed& seen,
                                                  ib::fabric::NodeIndex n, unsigned block,
                                                  const ib::wire::Mad& answer,
                                                  const Flapping& flapping);

/// Which differences called for a sweep already. A table that goes on to tell the same, whatever
/// PortInfo says, calls for no more than a few.
class PortStates {
 public:
  /// `answer`: a block that differs from what was seen.
  bool calls_for_sweep(ib::Guid node, unsigned block, const ib::wire::Mad& answer);
  /// A block is as it was seen.
  void on_agreed(ib::Guid node, unsigned block) { told_.erase({node, block}); }

 private:
  using Bytes = std::array<std::byte, 64>;
  struct Told {
    Bytes table{};
    unsigned times{0};
  };
  std::map<std::pair<ib::Guid, unsigned>, Told> told_;
};

}  // namespace sm::core
