// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// GUIDInfo on its way to the devices: which blocks a node should hold, and what is known of those
// it does. Only blocks that hold aliases, or did, are ever read or written.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sm/plan/desired.h"

namespace sm::apply {

/// Blocks by port GUID and number, from answers.
struct KnownGuids {
  using Key = std::pair<ib::Guid, std::uint8_t>;
  std::map<Key, device::GuidBlock> held;
  /// Blocks that had to do with aliases at any time: who had one may have it still.
  std::set<Key> ours;
  /// What a device did not take; asked the same again it would answer the same again.
  std::map<Key, device::GuidBlock> refused;

  /// Ports that came up again may have lost what they held.
  void forget_restarted(const ib::discover::Observed& observed);
};

struct GuidBlockWant {
  std::uint8_t port{};
  std::uint8_t block{};
  device::GuidBlock entries{};
  KnownGuids::Key key;
};
/// Of one node: blocks with aliases, and those that had some.
std::vector<GuidBlockWant> guid_blocks(const plan::Desired& desired,
                                       const ib::discover::Observed& observed,
                                       const KnownGuids& known, ib::fabric::NodeIndex node);

bool must_read(const KnownGuids& known, const GuidBlockWant& want);
bool must_write(const KnownGuids& known, const GuidBlockWant& want);

/// An answer to a Get, or to the Set of `want`.
void note_guids(KnownGuids& known, const GuidBlockWant& want, const device::GuidBlock& held,
                bool was_set);
/// No answer, or a status.
void note_guids_failed(KnownGuids& known, const GuidBlockWant& want, bool refused);

}  // namespace sm::apply
