// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/scenario/manager.h"

#include <fmt/format.h>

#include "sm/sa/reports/reports.h"

namespace scenario {

using ib::Duration;
using ib::Instant;
using ib::wire::Method;
using ib::wire::MgmtClass;

namespace {

ib::mad::AgentSpec serve(MgmtClass mgmt_class, std::vector<Method> methods) {
  ib::mad::AgentSpec spec;
  spec.mgmt_class = mgmt_class;
  spec.methods = std::move(methods);
  return spec;
}

ib::mad::AgentSpec serve_sa() {
  auto spec = serve(MgmtClass::SubnAdm,
                    {Method::Get, Method::Set, Method::Report, Method::Delete, Method::GetTable});
  spec.class_version = 2;
  spec.rmpp = ib::mad::AgentSpec::Rmpp::User;
  return spec;
}

}  // namespace

Manager::Manager(ib::sim::World& world, ib::fabric::PortRef at, const sm::core::Options& options,
                 sm::store::Contents& kept, sm::managers::ClientChannel beside,
                 const sm::sa::Options& sa_options)
    : world_(world),
      smi_(world.open(at)),
      gsi_(world.open(at)),
      beside_port_(world.open(at)),
      kept_(kept),
      beside_(std::move(beside)) {
  const std::vector<Method> smp{Method::Get, Method::Set, Method::Trap, Method::TrapRepress};
  directed_ = smi_->register_agent(serve(MgmtClass::SubnDirected, smp)).value();
  by_lid_ = smi_->register_agent(serve(MgmtClass::SubnLid, smp)).value();
  sa_agent_ = gsi_->register_agent(serve_sa()).value();
  auto client = serve(MgmtClass::SubnAdm, {});
  client.class_version = 2;
  for (std::size_t i = 0; i < sm::sa::kReportAgents; ++i)
    reporters_.push_back(gsi_->register_agent(client).value());
  for (const ib::mad::AgentSpec& agent : beside_.agents())
    beside_agents_[agent.mgmt_class] = beside_port_->register_agent(agent).value();
  smi_->set_is_sm(true);
  sm_ = std::make_unique<sm::core::SubnetManager>(options, kept_);
  sa_ = std::make_unique<sm::sa::Server>(sa_options, kept_);
  // Before the first plan, or it would take what the groups need out of the switches.
  pass_groups(world.now());
  pass_aliases(world.now());
  sm_->start(world.now());
  world.add(*this);
}

Manager::~Manager() { world_.remove(*this); }

void Manager::sweep_now() {
  sm_->sweep_now(world_.now(), sm::core::Reason::Operator);
  speak(world_.now());
}

Instant Manager::next_deadline() const {
  return std::min({sm_->next_deadline(), sa_->next_deadline(), beside_.next_deadline()});
}

void Manager::step(Instant now) {
  std::vector<ib::mad::Received> arrived;
  (void)smi_->receive(arrived, Duration{0});
  for (const auto& r : arrived)
    if (!r.timed_out) sm_->on_packet(now, r.packet);
  arrived.clear();
  (void)gsi_->receive(arrived, Duration{0});
  for (const auto& r : arrived)
    if (!r.timed_out) sa_->on_packet(now, r.packet);
  arrived.clear();
  (void)beside_port_->receive(arrived, Duration{0});
  for (const auto& r : arrived)
    if (!r.timed_out) beside_.on_packet(now, r.packet);
  if (sm_->next_deadline() <= now) sm_->on_time(now);
  if (sa_->next_deadline() <= now) sa_->on_time(now);
  if (beside_.next_deadline() <= now) beside_.on_time(now);
  speak(now);
}

void Manager::speak(Instant now) {
  if (sa_->take_multicast_changed()) pass_groups(now);
  if (sa_->take_aliases_changed()) pass_aliases(now);
  pass_untold(now);
  carry_out(*sm_, now, *this);
  do {
    while (sa_->work(now)) {
    }
    while (auto commit = sa_->next_commit()) {
      const bool durable = keep(commit->batch);
      sa_->on_commit_done(now, commit->ticket, durable);
    }
  } while (sa_->has_work());
  if (sa_->take_multicast_changed()) pass_groups(now);
  if (sa_->take_aliases_changed()) pass_aliases(now);
  while (auto packet = sa_->next_send(now))
    if (lets_out(*packet))
      (void)gsi_->send(packet->mad.method() == Method::Report
                           ? reporters_[++reported_ % reporters_.size()]
                           : sa_agent_,
                       *packet, sa_->reply_within());
  speak_beside(now);
}

void Manager::speak_beside(Instant now) {
  while (const auto order = beside_.next_send(now))
    if (auto sent =
            beside_port_->send(beside_agents_.at(order->mad.mgmt_class()),
                               {order->address, order->mad, order->more}, order->reply_within);
        !sent)
      beside_.on_send_failed(*order, std::move(sent.error()));
  while (const auto event = beside_.next_log()) log(*event);
}

void Manager::publish_stopgap(const sm::SnapshotPtr& snapshot, bool registers) {
  sa_->publish(world_.now(), snapshot, registers);
}

void Manager::doubt_subscriptions(const std::vector<ib::Guid>& ports) {
  sa_->doubt_subscriptions(world_.now(), ports);
}

void Manager::on_asked_again(const std::vector<ib::Guid>& ports) {
  sa_->on_asked_again(world_.now(), ports);
}

void Manager::publish(const sm::SnapshotPtr& snapshot) {
  sa_->publish(world_.now(), snapshot);
  pass_groups(world_.now());
}
void Manager::log(const ib::LogEvent& event) {
  say(world_.now(), event.topic + ": " + event.message);
}
/// Another one answers for the subnet.
void Manager::on_sm_status(const sm::core::SmStatus& status) {
  if (status.answers) return sa_->hand_over(shares_store());
  if (status.state != ib::wire::SmState::Master) sa_->withdraw();
}
std::string Manager::state() const {
  return std::string(sm::core::election::state_name(sm_->mastership().state()));
}
void Manager::on_notice(const sm::core::ReceivedNotice& notice) {
  sa_->on_notice(world_.now(), notice.notice, notice.from);
}
ib::Result<void> Manager::send(const sm::core::Outgoing& out) {
  return smi_->send(out.packet.mad.is_directed() ? directed_ : by_lid_, out.packet,
                    out.reply_within);
}
void Manager::report(sm::core::Report report) {
  last_ = std::move(report);
  ++reports_;
  beside_.on_subnet_up(world_.now(), sm_->snapshot());
  const std::string headline = last_.headline();
  // Costs are `sent`'s and `took`'s to show.
  say(world_.now(), headline.substr(0, headline.find(" mads=")));
}

void Manager::pass_aliases(Instant now) {
  sm::plan::PortAliases aliases;
  for (const auto& [place, guid] : sa_->aliases()) aliases[place.first][place.second] = guid;
  sm_->set_aliases(now, std::move(aliases), sa_->aliases_revision());
}

void Manager::pass_untold(Instant now) {
  if (const auto ports = sa_->take_untold_clients(); !ports.empty()) ask_clients(now, ports);
}

void Manager::ask_clients(Instant now, const std::vector<ib::Guid>& ports) {
  sm_->on_untold_clients(now, ports);
}

void Manager::pass_groups(Instant now) {
  std::vector<sm::plan::MlidGroup> groups;
  for (auto& g : sa_->multicast())
    groups.push_back({g.mlid, std::move(g.receivers), std::move(g.senders)});
  sm_->set_groups(now, std::move(groups));
}

void Manager::say(Instant now, const std::string& line) {
  // How many MADs it took is not the scenario's matter, and changes with every improvement.
  if (line.ends_with("SubnSets")) return;
  lines_.push_back({now, line});
}

}  // namespace scenario
