// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "sm/core/impl.h"
#include "sm/plan/kept_rows.h"
#include "sm/plan/routes.h"
#include "sm/plan/vl_tables.h"

namespace sm::core {
namespace {

// All hosts of a cluster may set their names at once.
constexpr Duration kRenamePause = std::chrono::seconds(1);

}  // namespace

void SubnetManager::Impl::begin_look(Instant now) {
  look_at = kNever;
  if (!desired) return;
  if (options.full_sweeps_only) return want_sweep(now, Reason::Timer);
  ++counters.light_sweeps;
  own_port.call_for(now);
  mastership.ask_again(*seen);
  go(Event::LookDue);
  look_covers_all = tables.at_rest();
  looking = std::make_unique<LightSweep>(*seen, desired->node_managed, silent_switches,
                                         kept.nodes(), flapping, port_states, kOwnerLook);
}

void SubnetManager::Impl::leave_look() {
  for (const ib::mad::Cookie cookie : looking->in_flight()) transactor.cancel(cookie);
  // What it has heard by now another master may have cleared when the next one asks.
  scope.want(looking->places());
  looking.reset();
  go(Event::Looked);
}

void SubnetManager::Impl::end_look(Instant now) {
  const auto changes = looking->changes();
  const auto places = looking->places();
  for (const ib::Guid guid : looking->unchanged()) {
    scope.on_unchanged(guid);
    brought_up.on_unchanged(guid);
  }
  for (const std::string& line : looking->notes()) log(LogLevel::Warning, "sweep", line);
  silent_switches = looking->silent();
  looking.reset();
  go(Event::Looked);
  for (const std::string& line : changes) log(LogLevel::Info, "sweep", line);
  if (!changes.empty()) {
    want_sweep_around(now, Reason::ChangeSeen, places);
  } else {
    if (look_covers_all && silent_switches.empty()) strays.on_unchanged(*seen);
    vports.retry();
    rest(now);
  }
}

bool SubnetManager::Impl::may_look_aside() const {
  return desired && !paused &&
         (state == State::Idle || state == State::Looking || state == State::Deciding);
}

void SubnetManager::Impl::check_own_port(Instant now) {
  if (may_look_aside() && own_port.due() <= now) own_port.begin(now, *seen, *desired);
  for (ib::mad::Request& r : own_port.take_requests()) ask(now, std::move(r));
  take_logs(own_port);
  if (own_port.take_sweep_wanted()) want_sweep(now, Reason::ChangeSeen);
  const auto lid = own_port.take_other_master();
  if (!lid) return;
  const auto at = seen->fabric.find_lid(*lid);
  const std::string name =
      at && *at != seen->local_port
          ? fmt::format("\"{}\"", ib::printable(seen->fabric.node(at->node).name()))
          : "a port that no sweep has found";
  on_other_master(fmt::format("{}, LID {}", name, lid->value));
  follow_mastership(now);
}

void SubnetManager::Impl::check_traps(Instant now) {
  if (may_look_aside() && trap_look.due() <= now)
    for (const ib::mad::Cookie cookie : trap_look.on_time(now, *seen, flapping))
      transactor.cancel(cookie);
  for (ib::mad::Request& r : trap_look.take_requests()) ask(now, std::move(r));
  // While it is to be found out who is master nothing is set.
  if (may_look_aside() && state != State::Deciding)
    for (ib::mad::Request& r : babbling.take_requests()) ask(now, std::move(r));
  take_logs(trap_look);
  take_logs(babbling);
  if (const auto at = trap_look.take_sweep_wanted())
    want_sweep_around(std::max(now, *at), Reason::Trap, trap_look.take_places());
  note_renamed(now, trap_look.take_renamed());
  if (may_look_aside() && trap_look.take_light_sweep_wanted())
    look_at = std::min(look_at, now + options.trap_pause);
}

void SubnetManager::Impl::note_renamed(Instant now, std::map<ib::Guid, std::string> names) {
  if (names.empty()) return;
  // Policies may go by names.
  if (desired->partitions->from_file || options.plan.rates != nullptr) {
    std::vector<SweepScope::Place> places;
    places.reserve(names.size());
    for (const auto& [guid, name] : names) places.push_back({guid, false});
    return want_sweep_around(now + kRenamePause, Reason::Trap, places);
  }
  rename_at = std::min(rename_at, now + kRenamePause);
  names.merge(renamed);
  renamed = std::move(names);
}

void SubnetManager::Impl::publish_renamed() {
  rename_at = kNever;
  const auto names = std::exchange(renamed, {});
  if (!snapshot) return;
  unshare();
  for (const auto& [guid, name] : names)
    if (const auto n = seen->fabric.find_node(guid)) seen->fabric.node(*n).description = name;
  publish(snapshot->up);
}

VPortSubnet SubnetManager::Impl::vport_subnet() const {
  return {*seen, *desired, known.inventory, options.plan.rates.get(),
          options.plan.p_keys.keep_indexes};
}

void SubnetManager::Impl::visit_vports() {
  if (options.rehearse) return;
  const auto restarted = [this](ib::fabric::PortRef at) {
    const ib::Guid guid = seen->fabric.node(at.node).guid;
    return restarts != nullptr && (restarts->nodes.contains(guid) ||
                                   std::ranges::any_of(restarts->links, [&](const auto& link) {
                                     const Restarts::Port port{guid, at.port};
                                     return link.first == port || link.second == port;
                                   }));
  };
  vports.on_swept(vport_subnet(), !sweeps_part, restarted);
}

void SubnetManager::Impl::look_after_vports(Instant now) {
  if (!may_look_aside() || state == State::Deciding || !mastership.is_master()) return;
  for (ib::mad::Request& r : vports.take_requests(vport_subnet())) ask(now, std::move(r));
  take_logs(vports);
  if (!snapshot || !vports.take_news()) return;
  publish(snapshot->up);
  // Ports of switches let pass what they are members of.
  if (desired->partitions->from_file && plan_blocks_again())
    multicast_at = std::min(multicast_at, now);
  // Tables of ports that came up just now are to be read first.
  if (has_unread_p_keys()) want_sweep(now, Reason::Unfinished);
}

void SubnetManager::Impl::begin_multicast(Instant now) {
  multicast_at = kNever;
  if (!desired) return;
  auto next = std::make_shared<plan::Desired>(*desired);
  gather_blocks(*next);
  desired_aliases_revision = inputs.aliases_revision();
  next->keep_unknown_groups = forget_groups_at != kNever;
  // Whom the sweep asked to register again has heard it.
  for (plan::PortWant& want : next->ports) want.reregister = false;
  if (options.plan.multicast)
    for (const std::string& line :
         plan::want_multicast(*next, seen->fabric, inputs.groups()).alarms)
      log(LogLevel::Warning, "plan", line);
  desired = std::move(next);
  patient = false;
  cut_at = now + kSilence;
  go(Event::MembersDue);
  begin_apply(now);
}

/// Rows that another subnet manager told, or an ibsm whose store is lost, stand while routes need
/// one VL, unless packets are lost by them.
void SubnetManager::Impl::put_back_foreign_vls(Instant now) {
  has_fewer_vls = false;
  if (desired->vl_tables || !inputs.vls_are_untouched() || !mastership.is_master()) return;
  const auto sls = static_cast<std::uint16_t>(plan::used_sls(options.plan) | 1U);
  if (!plan::any_row_drops(*seen, known.inventory, sls)) return;
  log(LogLevel::Warning, "tables",
      "SL2VL of some ports, which this subnet manager did not write, drops packets that are to "
      "arrive: all ports get the default");
  remember_vls(store::DeviceVls::Told);
  want_sweep(now, Reason::Unfinished);
}

bool SubnetManager::Impl::narrows_links() const {
  if (desired->vl_tables || !inputs.vls_are_untouched()) return false;
  for (NodeIndex n = 0; n < seen->nodes.size(); ++n) {
    for (unsigned p = 1; p <= seen->fabric.node(n).num_ports; ++p) {
      const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto* port = seen->known_port(at);
      const plan::PortWant& want = desired->ports[seen->port_index(at)];
      if (port != nullptr && want.activate && plan::comes_up(*seen, at) &&
          want.operational_vls < port->get<&ib::wire::PortInfo::vl_cap>())
        return true;
    }
  }
  return false;
}

void SubnetManager::Impl::go_on_reading(Instant now) {
  if (tables.due() <= now)
    tables.begin(now, snapshot, desired->node_managed, desired->partitions->from_file);
  for (ib::mad::Request& r : tables.take_requests()) ask(now, std::move(r));
  const bool was_to_come = tables.to_come();
  const bool news = tables.has_news(now);
  counters.tables_read = tables.nodes_read();
  take_logs(tables);
  if (news) publish_device_state();
  if (!news || !tables.at_rest()) return;
  if (was_to_come ? !tables.to_come() : has_fewer_vls) put_back_foreign_vls(now);
  // Without a partition file what they hold is no reason to keep a first sweep waiting.
  const bool planned_after_reading = !desired->partitions->from_file;
  if ((tables.take_rewritten() || planned_after_reading) && plan_blocks_again())
    multicast_at = std::min(multicast_at, now);
}

}  // namespace sm::core
