// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/plan_inputs.h"

#include <algorithm>
#include <utility>

namespace sm::core {

PlanInputs::PlanInputs(const store::Contents& contents, bool registrations_lost, bool forget_lids)
    : sa_state_lost(registrations_lost), forget_lids_(forget_lids) {
  recall(contents);
}

void PlanInputs::recall(const store::Contents& contents) {
  sa_state_lost = sa_state_lost || contents.lids.empty();
  ClientsToAsk due = clients_to_ask(contents);
  sa_state_lost = sa_state_lost || due.all;
  reregister_pending = std::move(due.ports);
  in_doubt = {contents.clients_in_doubt.begin(), contents.clients_in_doubt.end()};
  reregister_pending.insert(in_doubt.begin(), in_doubt.end());
  writers_ = {contents.writers.begin(), contents.writers.end()};
  knows_writers_ = !writers_.empty() || contents.lids.empty();
  vls_ = contents.vls;
  routes_made_ = plan::decode(contents.routes);
  routes_stored_ = contents.routes;
  stored_ = std::make_shared<ib::route::StoredLids>();
  for (const store::LidClaim& claim : contents.lids)
    (*stored_)[claim.port_guid] = {claim.lid, claim.lmc};
  // Also of aliases that were taken back: the port may not have heard of it.
  for (const store::AliasGuid& alias : contents.aliases)
    plan::note_blocks({{alias.port_guid, {{alias.index, alias.guid}}}}, alias_blocks_);
}

plan::PlanRequest PlanInputs::request_for(std::shared_ptr<const ib::discover::Observed> found,
                                          const plan::PlanOptions& options) {
  plan::PlanRequest request;
  request.observed = std::move(found);
  request.options = options;
  request.options.reassign_lids = forget_lids_;
  request.stored = stored_;
  request.sa_state_lost = sa_state_lost;
  request.reregister_pending = reregister_pending;
  request.reregister_pending.insert(untold.begin(), untold.end());
  request.in_doubt = in_doubt;
  request.groups = groups_;
  request.aliases = aliases_;
  request.alias_blocks = alias_blocks_;
  request.vls_programmed = vls_ == store::DeviceVls::Told;
  request.vls_put_back = vls_ == store::DeviceVls::PutBack;
  request.pending_options = pending_options;
  request.reroute = std::exchange(reroute_, {});
  return request;
}

void PlanInputs::take_back(plan::Planned& plan, bool counts) {
  reroute_ = std::exchange(plan.reroute, {});
  // Routes by files that do not count yet are nobody's to follow.
  if (!counts && plan.desired && plan.desired->options_adopted) reroute_ = {};
}

void PlanInputs::forget_routes() {
  reroute_ = {};
  routes_made_ = plan::decode(routes_stored_);
}

bool PlanInputs::is_stored(const ib::route::LidAssignment& lid) const {
  const auto it = stored_->find(lid.guid);
  return it != stored_->end() && it->second.lid == lid.lid && it->second.lmc == lid.lmc;
}

store::Batch PlanInputs::remember_lids(const plan::Desired& plan) {
  store::Batch batch;
  batch.forget_lids = std::exchange(forget_lids_, false);
  if (batch.forget_lids) stored_->clear();
  for (const ib::route::LidAssignment& a : plan.lids) {
    if (a.lid == ib::kNoLid || is_stored(a)) continue;
    (*stored_)[a.guid] = {a.lid, a.lmc};
    batch.lids.push_back({a.guid, a.lid, a.lmc});
  }
  return batch;
}

store::Batch PlanInputs::remember_vls(store::DeviceVls vls) {
  store::Batch batch;
  if (std::exchange(vls_, vls) != vls) batch.vls = vls;
  return batch;
}

store::Batch PlanInputs::remember_writer(ib::Guid port) {
  store::Batch batch;
  if (writers_.insert(port).second) batch.writers.push_back(port);
  return batch;
}

bool PlanInputs::has_written(ib::Lid lid) const {
  return !knows_writers() || std::ranges::any_of(writers_, [&](ib::Guid writer) {
    const auto at = stored_->find(writer);
    return at != stored_->end() && at->second.lid == lid;
  });
}

bool PlanInputs::all_are_there(const plan::Desired& plan) const {
  const auto has_lid = [](const ib::route::LidAssignment& a) { return a.lid != ib::kNoLid; };
  // All of them are stored.
  return static_cast<std::size_t>(std::ranges::count_if(plan.lids, has_lid)) == stored_->size();
}

store::Batch PlanInputs::remember_routes(const plan::Desired& plan,
                                         const ib::route::Options& options) {
  store::Batch batch;
  if (!reroute_.rerouter || !plan.program_lfts || plan.routing->engine.empty()) return batch;
  auto routes = encode(plan::remember(*reroute_.rerouter, plan.routing->graph, options));
  if (routes == routes_stored_) return batch;
  batch.routes = routes_stored_ = std::move(routes);
  return batch;
}

void PlanInputs::set_groups(std::vector<plan::MlidGroup> groups) {
  groups_ = std::make_shared<const std::vector<plan::MlidGroup>>(std::move(groups));
}

void PlanInputs::set_aliases(plan::PortAliases aliases, std::uint64_t revision) {
  aliases_ = std::move(aliases);
  plan::note_blocks(aliases_, alias_blocks_);
  aliases_revision_ = revision;
}

}  // namespace sm::core
