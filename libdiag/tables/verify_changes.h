// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Verification by difference: after a reroute only the entries that changed are looked at. What was
// proved before stays proved; dependencies of old and new routes are taken together, which also
// covers the time in which both are in use.
#pragma once

#include <memory>
#include <span>

#include "libdiag/tables/verify.h"

namespace ib::tables {

/// An entry of a linear table.
struct EntryChange {
  fabric::SwitchIndex at{};
  Lid lid{};
  friend auto operator<=>(const EntryChange&, const EntryChange&) = default;
};

class Verifier {
 public:
  /// VerifyOptions::loads counts in full checks only.
  explicit Verifier(VerifyOptions options = {});
  ~Verifier();
  Verifier(Verifier&&) noexcept;
  Verifier& operator=(Verifier&&) noexcept;

  /// The full check. What it learns is kept where all is well on one SL: then nothing is left of
  /// earlier routes.
  Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                 const LinearTables& tables, const VirtualLanes& virtual_lanes = {},
                 const MulticastCheck& multicast = {});

  /// The same verdict (loads apart), given that `tables` differ from those of the last call in
  /// `changes` alone, whatever happened to links and LIDs since. Switches are told by their GUIDs:
  /// some may be gone, with their entries, and others new, whose entries need not be among
  /// `changes`. Where the difference does not prove that all is well, or nothing was kept, the full
  /// check decides.
  Verdict verify_changes(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                         const LinearTables& tables, std::span<const EntryChange> changes,
                         const VirtualLanes& virtual_lanes = {},
                         const MulticastCheck& multicast = {});

  /// Whether the last call looked at the difference only.
  bool by_difference() const { return by_difference_; }

 private:
  struct Kept;
  VerifyOptions options_;
  std::unique_ptr<Kept> kept_;
  bool by_difference_{false};
};

}  // namespace ib::tables
