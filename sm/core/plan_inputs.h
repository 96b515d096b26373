// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PlanInputs: what a plan is made from beside the sweep: stored LIDs, memberships, alias GUIDs, the
// operator's files, and what earlier plans left. Kept from plan to plan.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sm/core/clients_to_ask.h"
#include "sm/plan/plan.h"
#include "sm/store/store.h"

namespace sm::core {

class PlanInputs {
 public:
  PlanInputs(const store::Contents& contents, bool registrations_lost, bool forget_lids);

  /// What is stored is this now.
  void recall(const store::Contents& contents);

  /// The request for `found`, with all that is known now. The routes that follow go with it, until
  /// take_back().
  plan::PlanRequest request_for(std::shared_ptr<const ib::discover::Observed> found,
                                const plan::PlanOptions& options);
  /// Takes back from a plan what was lent to it. `counts`: the plan is in force from now on.
  void take_back(plan::Planned& plan, bool counts);
  /// Nobody follows routes of before: another one may change them. What made those is known.
  void forget_routes();

  /// `plan` counts: its LIDs are to be stored before the first of them is sent to a device.
  store::Batch remember_lids(const plan::Desired& plan);
  /// What is so of SL2VL and VL arbitration of devices from now on. Empty: that is known.
  store::Batch remember_vls(store::DeviceVls vls);
  /// As far as is remembered nobody told devices any.
  bool vls_are_untouched() const { return vls_ == store::DeviceVls::Untouched; }
  /// Everybody who ever had a LID is in `plan`, whose LIDs are remembered.
  bool all_are_there(const plan::Desired& plan) const;
  /// How the routes were made that are followed; of an engine that passed only.
  store::Batch remember_routes(const plan::Desired& plan, const ib::route::Options& options);
  /// That the subnet manager at this port writes what is stored. Empty: that is known.
  store::Batch remember_writer(ib::Guid port);
  /// Whether it is known which subnet managers wrote what is stored: an earlier release did not
  /// say.
  bool knows_writers() const { return knows_writers_; }
  /// The one at this port did.
  bool is_writer(ib::Guid port) const { return writers_.contains(port); }
  /// One that did has this LID by what is stored; or nobody knows who did.
  bool has_written(ib::Lid lid) const;
  /// How those in switches were, before there was a plan; nullptr: nobody knows.
  const std::optional<plan::RouteMemory>& routes_made() const { return routes_made_; }
  bool is_stored(const ib::route::LidAssignment& lid) const;
  bool no_lids_stored() const { return stored_->empty(); }
  const ib::route::StoredLids& stored_lids() const { return *stored_; }
  bool lids_are_forgotten() const { return forget_lids_; }

  void set_groups(std::vector<plan::MlidGroup> groups);
  const std::vector<plan::MlidGroup>& groups() const { return *groups_; }
  void set_aliases(plan::PortAliases aliases, std::uint64_t revision);
  const plan::PortAliases& aliases() const { return aliases_; }
  const plan::AliasBlocks& alias_blocks() const { return alias_blocks_; }
  std::uint64_t aliases_revision() const { return aliases_revision_; }

  /// Port GUIDs that have a LID in the store.
  template <class F>
  void for_each_stored(F&& f) const {
    for (const auto& [guid, claim] : *stored_) f(guid);
  }

  std::shared_ptr<const ib::route::ReadOptions> pending_options;  // routing files not taken yet
  bool sa_state_lost;
  std::set<ib::Guid> reregister_pending;  // who was to register again and did not answer
  std::set<ib::Guid> untold;              // likewise; what else they registered is not in doubt
  std::set<ib::Guid> in_doubt;            // by what is stored, and did not take the request since

 private:
  // Written between plans only, and shared with the one that is being made.
  std::shared_ptr<ib::route::StoredLids> stored_{std::make_shared<ib::route::StoredLids>()};
  bool forget_lids_;
  std::set<ib::Guid> writers_;
  bool knows_writers_{true};  // those before us
  store::DeviceVls vls_{store::DeviceVls::Untouched};
  std::optional<plan::RouteMemory> routes_made_;  // by the master before
  std::vector<std::byte> routes_stored_;
  std::shared_ptr<const std::vector<plan::MlidGroup>> groups_{
      std::make_shared<const std::vector<plan::MlidGroup>>()};
  plan::PortAliases aliases_;
  plan::AliasBlocks alias_blocks_;     // that hold some, or did
  std::uint64_t aliases_revision_{0};  // of these
  plan::RerouteState reroute_;
};

}  // namespace sm::core
