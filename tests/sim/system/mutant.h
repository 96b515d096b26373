// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Mutant: something wrong with ibsm, on purpose: it stands between the subnet manager and the
// fabric. The checks are worth what they find of these.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "tests/sim/system/manager.h"

namespace soak {

class System;

class Mutant {
 public:
  virtual ~Mutant() = default;
  virtual void prepare(System&) {}
  /// A subnet manager sends an SMP.
  virtual Overseer::Fate on_send(System&, Seat&, const sm::core::Outgoing&) {
    return Overseer::Fate::Done;
  }
  virtual void on_report(System&, Seat&, sm::core::Report&) {}
  virtual void on_commit(System&, Seat&, sm::store::Batch&) {}
  virtual bool on_sa_packet(System&, Seat&, ib::mad::Packet&) { return true; }
};

struct MutantRow {
  std::string_view name;
  std::string_view breaks;  // the invariant
  std::unique_ptr<Mutant> (*make)();
};
std::span<const MutantRow> mutants();

}  // namespace soak
