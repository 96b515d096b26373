// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// WantedBlock: what one block of a table that a device holds is to say.
#pragma once

#include "sm/device/table.h"

namespace sm::plan {

struct WantedBlock {
  ib::fabric::NodeIndex node{};
  const device::TableKind* kind{};
  device::Slot slot;
  device::Block block{};
};

}  // namespace sm::plan
