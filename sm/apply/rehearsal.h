// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rehearsal: Sets that are not sent, as the differences between what devices hold and what the plan
// says, and as the answers that devices would give. Inside sm/apply only.
#pragma once

#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "sm/apply/known.h"
#include "sm/apply/work.h"

namespace sm::apply {

class Rehearsal {
 public:
  /// Each takes one Set, `mad`, and makes it what the device would answer. `held` is what the
  /// device says now; a Set that changes nothing of it (client reregistration, the PortStateChange
  /// bit) is no difference. A port that would be restarted keeps its state.
  void port(const Work& work, const ib::discover::ObservedPort& held, ib::wire::Mad& mad);
  void switch_info(const Work& work, const ib::wire::SwitchInfo& held, ib::wire::Mad& mad);
  /// A block of a table, which is only set where it differs or is not known.
  void table(const Work& work);

  const std::vector<Difference>& differences() const { return differences_; }

 private:
  /// Of the several Sets of one slot (LFT blocks go out in rounds) the first counts.
  void note_once(const Work& work, std::string_view table, std::string slot);

  std::set<std::tuple<ib::fabric::NodeIndex, Kind, std::uint32_t>> noted_;
  std::vector<Difference> differences_;
};

}  // namespace sm::apply
