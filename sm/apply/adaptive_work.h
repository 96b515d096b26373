// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adaptive routing of switches: turned off before forwarding tables change, since what switches
// choose among is proved for the tables that stand only, and on again when all of them are as they
// are to be. Inside sm/apply only.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "libdiag/wire/adaptive_attributes.h"
#include "sm/apply/table_work.h"
#include "sm/apply/work.h"

namespace sm::apply {

class AdaptiveWork {
 public:
  AdaptiveWork(const plan::Desired& desired, const ib::discover::Observed& seen, Known& known,
               const TableWork& tables, const ApplyOptions& options);
  AdaptiveWork(const AdaptiveWork&) = delete;  // blocks that were asked for are in here
  AdaptiveWork& operator=(const AdaptiveWork&) = delete;

  bool any() const { return !desired_.adaptive_blocks.empty(); }
  /// All begin anew. `off`: what is to be off, and what must not be on while tables change; else
  /// all that is to be on.
  void begin(bool off);
  /// What the switch needs next; with `wait` nothing until what is `in_flight` is answered.
  std::optional<Work> next(ib::fabric::NodeIndex n, std::uint32_t in_flight, bool& wait);

 private:
  struct Cursor {
    std::uint8_t step{0};
    std::size_t at{0};
  };

  std::optional<Work> next_off(ib::fabric::NodeIndex n, Cursor& c, std::uint32_t in_flight,
                               bool& wait);
  std::optional<Work> next_on(ib::fabric::NodeIndex n, Cursor& c, std::uint32_t in_flight,
                              bool& wait);
  std::span<const plan::WantedBlock> tables_of(ib::fabric::NodeIndex n) const;
  const plan::WantedBlock* info_of(ib::fabric::NodeIndex n) const;
  std::optional<ib::wire::MlnxArInfo> held_info(ib::fabric::NodeIndex n) const;
  bool differs(ib::fabric::NodeIndex n, const plan::WantedBlock& want) const;
  bool must_be_off(ib::fabric::NodeIndex n) const;
  /// ARInfo as wanted, but off.
  Work set_off(ib::fabric::NodeIndex n);
  Holder holder(ib::fabric::NodeIndex n) const {
    return {seen_, known_.inventory, known_.refused, n};
  }

  const plan::Desired& desired_;
  const ib::discover::Observed& seen_;
  Known& known_;
  const TableWork& tables_;
  const ApplyOptions& options_;
  bool off_{true};
  bool tables_change_{false};
  std::vector<Cursor> cursors_;                                // by node
  std::map<ib::fabric::NodeIndex, device::Block> off_blocks_;  // that were asked for
};

}  // namespace sm::apply
