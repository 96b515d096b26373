// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What one Apply is about, and how far it is with it: what is wanted, what was seen and is known,
// and what went wrong. Inside sm/apply only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sm/apply/adaptive_work.h"
#include "sm/apply/known.h"
#include "sm/apply/table_work.h"
#include "sm/apply/work.h"
#include "sm/plan/desired.h"

namespace sm::apply {

struct Job {
  Job(std::shared_ptr<const plan::Desired> desired, ib::discover::Observed& seen, Known& known,
      ApplyOptions options);
  Job(const Job&) = delete;  // `tables` names what is in here
  Job& operator=(const Job&) = delete;

  std::shared_ptr<const plan::Desired> desired;
  ib::discover::Observed& seen;
  Known& known;
  ApplyOptions options;
  TableWork tables;
  AdaptiveWork adaptive;
  Phase phase{Phase::Switches};
  std::vector<bool> failed;              // by node: it is asked nothing more
  std::vector<std::uint32_t> in_flight;  // by node
  std::vector<bool> probing;             // by node: one table says whether it lost others
  std::vector<bool> acknowledged;        // by port index: a Set of its wanted fields was answered
  std::set<ib::fabric::PortRef> read_again;  // ports to be read before their node's next step
  std::multimap<ib::fabric::NodeIndex, Ask> blocks_to_read;  // likewise
  std::set<ib::fabric::NodeIndex> vls_again;  // whose SL2VL is asked for row by row, once read
  std::set<ib::fabric::NodeIndex> fell_back;  // switches that may have been rebooted meanwhile
  bool restarted{false};                      // links were taken down
  bool outdated{false};                       // Phase::Compare, Phase::Check
  bool held_up{false};                        // by devices: Phase::Check asks switches, too
  std::vector<Failure> failures;

  ib::Guid guid(ib::fabric::NodeIndex n) const { return seen.nodes[n].info.node_guid; }
  Holder holder(ib::fabric::NodeIndex n) const { return {seen, known.inventory, known.refused, n}; }
  bool vls_are_ours() const { return options.after_sweep && desired->vl_tables != nullptr; }
  /// Both its switches forward already: it is to carry packets before their tables send any.
  bool joins_routed(ib::fabric::PortRef p) const;
  /// Its link is to go down, or is to stay down where it was taken down.
  bool restarts(ib::fabric::PortRef p) const;
  /// What it is to hold of speeds.
  bool holds_speeds(ib::fabric::PortRef p) const;
  void note(const Work& work, bool timed_out, std::string_view what);
};

constexpr bool arms(Phase phase) { return phase == Phase::ArmLinks || phase == Phase::Arm; }
constexpr bool activates(Phase phase) {
  return phase == Phase::ActivateLinks || phase == Phase::Activate;
}

}  // namespace sm::apply
