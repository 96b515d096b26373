// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/subnet_manager.h"

#include <utility>

#include "sm/core/foreign_store.h"
#include "sm/core/impl.h"

namespace sm::core {

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::Start:
      return "start";
    case Reason::Operator:
      return "operator";
    case Reason::Trap:
      return "trap";
    case Reason::Partitions:
      return "partitions changed";
    case Reason::Timer:
      return "timer";
    case Reason::ChangeSeen:
      return "change seen";
    case Reason::Unfinished:
      return "unfinished";
    case Reason::LinksRestarted:
      return "links restarted";
    case Reason::LinkReleased:
      return "link released";
    case Reason::Election:
      return "election";
    case Reason::Daily:
      return "daily";
    case Reason::Clients:
      return "clients to ask";
    case Reason::Watch:
      return "to watch the subnet of another master";
  }
  return "";
}

SubnetManager::SubnetManager(Options options, const store::Contents& contents)
    : impl_(std::make_unique<Impl>(std::move(options), contents)) {}
SubnetManager::~SubnetManager() = default;

void SubnetManager::start(Instant now) {
  impl_->started = true;
  impl_->mastership.start(now);
  if (impl_->mastership.sweeps()) impl_->want_sweep(now, Reason::Start);
  impl_->run(now);
}
void SubnetManager::on_packet(Instant now, const ib::mad::Packet& packet) {
  impl_->on_packet(now, packet);
}
void SubnetManager::on_send_failed(Instant now, const Outgoing& outgoing, ib::Error error) {
  ib::mad::SendOrder order;
  order.address = outgoing.packet.address;
  order.mad = outgoing.packet.mad;
  order.reply_within = outgoing.reply_within;
  if (outgoing.reply_within > Duration{0})
    impl_->transactor.on_send_failed(order, std::move(error));
  impl_->run(now);
}
void SubnetManager::on_time(Instant now) { impl_->on_time(now); }
void SubnetManager::sweep_now(Instant now, Reason reason) {
  if (impl_->may_watch()) {
    impl_->watch_at = now;
    return impl_->run(now);
  }
  if (!impl_->mastership.sweeps()) return;
  if (reason == Reason::Operator) impl_->outdate_plan();
  impl_->want_sweep(now, reason);
  impl_->break_off_taken_keys();
  impl_->run(now);
}
void SubnetManager::light_sweep_now(Instant now) {
  impl_->look_at = std::min(impl_->look_at, now);
  impl_->run(now);
}
void SubnetManager::reroute_now(Instant now) {
  if (!impl_->desired) return sweep_now(now, Reason::Operator);
  impl_->outdate_plan();
  impl_->reroute_wanted = true;
  impl_->run(now);
}
void SubnetManager::rewrite_now(Instant now) {
  impl_->rewriting = true;
  impl_->log(LogLevel::Info, "sweep",
             impl_->paused ? "all that devices are to hold is sent again after `ibsm ctl resume`"
                           : "all that devices are to hold is sent again");
  sweep_now(now, Reason::Operator);
}
bool SubnetManager::enable_port(Instant now, ib::Guid node, std::uint8_t port) {
  const auto& fabric = impl_->seen->fabric;
  const auto n = fabric.find_node(node);
  if (!n || port == 0 || port > fabric.node(*n).num_ports) return false;
  impl_->babbling.enable({*n, port}, *impl_->seen);
  impl_->run(now);
  return true;
}
void SubnetManager::set_sweeping(Instant now, bool on) {
  impl_->sweeping = on;
  impl_->run(now);
}
void SubnetManager::set_paused(Instant now, bool on) {
  if (impl_->paused != on)
    impl_->log(LogLevel::Warning, "sweep",
               on ? "paused: nothing is asked of devices and nothing set until `ibsm ctl resume`"
                  : "resumed");
  impl_->paused = on;
  impl_->run(now);
}
void SubnetManager::set_priority(Instant now, std::uint8_t priority) {
  impl_->mastership.set_priority(priority);
  impl_->run(now);
}
void SubnetManager::set_fit(Instant now, bool fit, const std::string& why) {
  impl_->mastership.set_fit(now, fit, why);
  impl_->run(now);
}
void SubnetManager::on_planned(Instant now, PlanResult result) {
  impl_->on_planned(now, std::move(result));
}
void SubnetManager::on_recalled(Instant now, const std::optional<store::Contents>& contents) {
  impl_->on_recalled(now, contents);
}
void SubnetManager::on_deposed(Instant now) {
  if (impl_->recall_wanted) return;  // that is known
  impl_->on_other_master("the place that the store names");
  impl_->run(now);
}
void SubnetManager::on_store_back(Instant now) {
  impl_->recall_wanted = true;
  sweep_now(now, Reason::Operator);
}
void SubnetManager::on_registrations_lost(Instant now) {
  impl_->registrations_lost = true;
  if (impl_->mastership.is_master()) sweep_now(now, Reason::Operator);
}
void SubnetManager::on_untold_clients(Instant now, const std::vector<ib::Guid>& ports) {
  impl_->ask_clients(now, ports);
  impl_->run(now);
}
std::vector<ib::Guid> SubnetManager::found_ports() const {
  return other_ports(impl_->found ? *impl_->found : *impl_->seen);
}
void SubnetManager::set_routing_files(ib::route::ReadOptions files) {
  impl_->outdate_plan();
  impl_->inputs.pending_options = std::make_shared<const ib::route::ReadOptions>(std::move(files));
}
void SubnetManager::set_groups(Instant now, std::vector<plan::MlidGroup> groups) {
  if (impl_->inputs.groups() == groups) return;
  impl_->inputs.set_groups(std::move(groups));
  impl_->members_changed(now);
}

void SubnetManager::set_aliases(Instant now, plan::PortAliases aliases, std::uint64_t revision) {
  PlanInputs& inputs = impl_->inputs;
  if (inputs.aliases() == aliases && inputs.aliases_revision() == revision) return;
  inputs.set_aliases(std::move(aliases), revision);
  impl_->members_changed(now);
}

void SubnetManager::set_options(const Options& options) {
  impl_->outdate_plan();
  Options& now = impl_->options;
  now.node_names = options.node_names;
  now.sweep_interval = options.sweep_interval;
  now.full_sweeps_only = options.full_sweeps_only;
  now.full_sweep_every = options.full_sweep_every;
  now.balance_after = options.balance_after;
  now.act_on_traps = options.act_on_traps;
  now.disables_babbling_ports = options.disables_babbling_ports;
  now.vports = options.vports;
  impl_->vports.set_options(options.vports);
  impl_->m_keys.set_key(options.m_keys.key);
  plan::PlanOptions plan = options.plan;
  plan.choice = std::move(now.plan.choice);
  plan.mentions = std::move(now.plan.mentions);
  plan.partitions = std::move(now.plan.partitions);
  plan.rates = std::move(now.plan.rates);
  now.plan = std::move(plan);
}

void SubnetManager::set_partitions(std::shared_ptr<const policy::PartitionPolicy> partitions) {
  impl_->outdate_plan();
  impl_->options.plan.partitions = std::move(partitions);
}

void SubnetManager::set_rates(std::shared_ptr<const policy::RatePolicy> rates) {
  impl_->outdate_plan();
  impl_->options.plan.rates = std::move(rates);
}

void SubnetManager::set_adaptive_routing(std::shared_ptr<const policy::AdaptiveSettings> adaptive) {
  impl_->outdate_plan();
  impl_->options.plan.adaptive = std::move(adaptive);
}

const MKeys& SubnetManager::m_keys() const { return impl_->m_keys; }
const Mastership& SubnetManager::mastership() const { return impl_->mastership; }

Instant SubnetManager::next_deadline() const { return impl_->next_deadline(); }

Effects SubnetManager::take_effects(Instant now) { return impl_->take_effects(now); }
SnapshotPtr SubnetManager::snapshot() const { return impl_->snapshot; }
ClientsToAsk SubnetManager::clients_to_ask() const {
  ClientsToAsk due{impl_->inputs.sa_state_lost || impl_->registrations_lost,
                   impl_->inputs.reregister_pending};
  for (const auto* untold : {&impl_->untold, &impl_->inputs.untold})
    due.ports.insert(untold->begin(), untold->end());
  due.ports.merge(impl_->ports_away());
  return due;
}
DeviceStatePtr SubnetManager::device_state() const { return impl_->device_state; }
std::uint64_t SubnetManager::routes_load_max() const {
  return impl_->desired && impl_->desired->program_lfts ? impl_->desired->verdict.load_max : 0;
}
bool SubnetManager::keeps_unknown_groups() const { return impl_->forget_groups_at != kNever; }
bool SubnetManager::idle() const {
  return !impl_->busy() && impl_->reasons.empty() && impl_->multicast_at == kNever;
}
const plan::PortAliases& SubnetManager::aliases() const { return impl_->inputs.aliases(); }
bool SubnetManager::sweeping() const { return impl_->sweeping; }
bool SubnetManager::paused() const { return impl_->paused; }
Duration SubnetManager::sweep_interval() const { return impl_->options.sweep_interval; }
std::size_t SubnetManager::mads_outstanding() const { return impl_->transactor.outstanding(); }
std::size_t SubnetManager::mads_pending() const { return impl_->transactor.pending(); }
const Counters& SubnetManager::counters() const { return impl_->counters; }
const ib::mad::TransactorCounters& SubnetManager::mad_counters() const {
  return impl_->transactor.counters();
}
const Observed& SubnetManager::observed() const { return *impl_->seen; }

}  // namespace sm::core
