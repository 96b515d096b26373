// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SweepScope: how much of the fabric the next sweep is to ask: all of it, or what is around places
// that changed; and what is known of the fabric, to begin with, that only a sweep of all would
// find out. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "libdiag/discover/sweep.h"

namespace sm::core {

class SweepScope {
 public:
  using Place = ib::discover::PartialSweep::Place;

  /// The next sweep is of the whole fabric.
  void want_whole() { whole_ = true; }
  /// It is to look around this place at least.
  void want(const Place& place);
  void want(const std::vector<Place>& places) {
    for (const Place& place : places) want(place);
  }
  /// A sweep begins: what it is to be; nullopt: of the whole. `seen` stays what it is until it has
  /// ended. What was wanted is served by it.
  std::optional<ib::discover::PartialSweep> take(
      const std::shared_ptr<const ib::discover::Observed>& seen);
  void forget();
  /// What the sweep that was taken last found is what is known now. Before that the next one is of
  /// the whole: switches do not tell again what they told a sweep that came to nothing.
  void on_known() { awaits_outcome_ = false; }

  /// What the sweep found, before anybody edits its troubles. `cleared`: switches were told to
  /// clear PortStateChange before they were read.
  void on_whole_swept(const ib::discover::Observed& found, bool cleared);
  void on_part_swept(const ib::discover::Observed& found, const std::vector<ib::Guid>& asked_anew);
  /// Sets follow, which take links to ACTIVE and clear what the sweep did not.
  void on_apply(const ib::discover::Observed& seen);
  /// Between sweeps the switch said that none of its ports changed.
  void on_unchanged(ib::Guid switch_guid);
  /// Some of its ports may be ACTIVE with another neighbour than is known.
  bool is_unsure(ib::Guid switch_guid) const { return unsure_.contains(switch_guid); }
  /// A link of the switch was ACTIVE `before` and is, which it would not be if it had rebooted:
  /// only a subnet manager takes links to ACTIVE. Before on_part_swept() or on_whole_swept().
  bool cannot_have_rebooted(ib::Guid switch_guid, const ib::discover::Observed& before,
                            const ib::discover::Observed& found) const;

 private:
  enum class Doubt {
    Activated,  // a link may have been unplugged before it was taken to ACTIVE; the switch tells
    Uncleared,  // likewise, and the bit that would tell was cleared afterwards
  };
  bool whole_{false};
  bool awaits_outcome_{false};
  std::map<ib::Guid, bool> places_;
  std::map<ib::Guid, Doubt> unsure_;
  std::vector<ib::discover::Trouble> troubles_;  // of the last sweep, as it told them
};

/// Around these nodes.
std::vector<SweepScope::Place> places_of(const std::vector<ib::Guid>& nodes);
/// The switches that the route to this node leads by, and itself: where to look if it cannot be
/// asked any more.
std::vector<SweepScope::Place> places_on_the_way(const ib::discover::Observed& seen,
                                                 ib::fabric::NodeIndex to);

}  // namespace sm::core
