// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "libdiag/cli/service_manager.h"
#include "sm/daemon/daemon_impl.h"
#include "sm/daemon/host_levels.h"

namespace sm::daemon {

namespace {

using ib::Instant;

constexpr int kAnotherIsMaster = 5;  // exit status of --once

}  // namespace

void Daemon::refuse_store(const store::Kinship& kin) {
  end_status_ = give_up(fmt::format(
      "{0}/ibsm.db is another fabric's: {1}. Nothing is written to it. Another --state-dir has "
      "room for this fabric; where all devices of this one were replaced, `ibsm -r` goes on with "
      "it once and gives new LIDs",
      options_.state_dir, kin.words()));
}

void Daemon::commit(store::Batch batch) {
  // LIDs that are stored hide that all was lost.
  store::Batch clients = clients_->add(manager_->clients_to_ask());
  batch.clients_asked = std::move(clients.clients_asked);
  batch.clients_to_ask = std::move(clients.clients_to_ask);
  lid_backup_->take(batch);
  if (const auto event = lids_.commit(now_, std::move(batch))) log_.write(*event);
}

void Daemon::publish(const DeviceStatePtr& device_state) {
  trim_due_ = true;
  // A full sweep has its dumps written when it is reported.
  if (dumps_ && manager_->idle() && device_state->multicast != dumped_trees_)
    dumps_->write(manager_->snapshot(), device_state);
  dumped_trees_ = device_state->multicast;
  events_->on_device_state(device_state, manager_->snapshot());
  sa_->post([held = device_state](Instant, sa::Server& server) mutable {
    server.publish(std::move(held));
  });
}

void Daemon::keep_clients(store::Batch batch) {
  if (batch.empty()) return;
  if (const auto event = lids_.commit(now_, std::move(batch))) log_.write(*event);
}

void Daemon::publish(const SnapshotPtr& snapshot) {
  keep_clients(clients_->add(manager_->clients_to_ask()));  // before what they have is dropped
  if (snapshot->routing) announcer_.say_engine(*snapshot->routing);
  events_->on_snapshot(snapshot, manager_->routes_load_max());
  events_->on_virtual_ports(snapshot->virtual_ports);
  tell_dropped_levels(snapshot);
  sa_->publish(snapshot);
}

void Daemon::publish_stopgap(const SnapshotPtr& snapshot, bool registers) {
  keep_clients(clients_->add(manager_->clients_to_ask()));
  sa_->publish(snapshot, registers);
}

void Daemon::doubt_clients(const std::vector<ib::Guid>& ports) {
  sa_->post([ports](Instant, sa::Server& server) { server.doubt(ports); });
}

void Daemon::doubt_subscriptions(const std::vector<ib::Guid>& ports) {
  sa_->post([ports](Instant when, sa::Server& server) { server.doubt_subscriptions(when, ports); });
}

void Daemon::on_asked_again(const std::vector<ib::Guid>& ports) {
  sa_->post([ports](Instant when, sa::Server& server) { server.on_asked_again(when, ports); });
}

void Daemon::tell_dropped_levels(const SnapshotPtr& subnet) {
  auto by_hosts = subnet ? levels_dropped_by_hosts(in_force().sa.server.qos.get(), *subnet)
                         : std::vector<policy::DroppedLevel>{};
  for (const policy::DroppedLevel& level : by_hosts)
    if (std::ranges::find(dropped_by_hosts_, level) == dropped_by_hosts_.end())
      say(ib::LogLevel::Warning, "qos", line_of(level));
  auto all = in_force().dropped_levels;
  all.insert(all.end(), by_hosts.begin(), by_hosts.end());
  dropped_by_hosts_ = std::move(by_hosts);
  events_->on_dropped_levels(std::move(all));
}

void Daemon::watch(const core::Watched& watched) {
  events_->on_watched(watched.subnet);
  if (managers_) managers_->on_watched(now_, watched);
}

void Daemon::on_notice(const core::ReceivedNotice& notice) {
  sa_->post([notice](Instant when, sa::Server& server) {
    server.on_notice(when, notice.notice, notice.from);
  });
}

ib::Result<void> Daemon::send(const core::Outgoing& out) {
  auto sent = smi_.send(out.packet, out.reply_within);
  if (!sent && sent.error().kind == ib::ErrorKind::Unavailable && !end_status_)
    end_status_ = moves_on(sent.error().message) ? 0 : give_up(sent.error().message);
  return sent;
}

std::optional<core::PlanResult> Daemon::plan(core::PlanJob job) {
  planner_->post(std::move(job));
  return std::nullopt;
}

void Daemon::report(core::Report report) {
  if (end_status_) return;
  keep_clients(clients_->set(manager_->clients_to_ask()));
  events_->on_report(manager_->snapshot(), report);
  if (dumps_) dumps_->write(manager_->snapshot(), manager_->device_state());
  if (options_.exit_on_fatal && report.duplicate_guids > 0) {
    end_status_ = give_up(
        fmt::format("{} nodes have the GUID of another node, and --exit-on-fatal is given: {}",
                    report.duplicate_guids, fmt::join(report.lines, "; ")));
    return;
  }
  if (!trouble_.empty()) {
    say(ib::LogLevel::Error, "config", trouble_);
    report.lines.push_back("config: " + trouble_);
  }
  if (comparison_)
    if (const std::string other = comparison_->consistency().trouble(); !other.empty()) {
      say(ib::LogLevel::Error, "config", other);
      report.lines.push_back("config: " + other);
    }
  if (!announce(report.headline(), report.lines)) return;
  background_.tell(report.exit_status());
  if (managers_) managers_->on_subnet_up(now_, manager_->snapshot());
  if (options_.once) once_status_ = report.exit_status();
}

void Daemon::on_relieved() {
  sa_->post([](Instant, sa::Server& server) { server.withdraw(); });
  store_->post_stand_by();
}

void Daemon::on_sm_status(const core::SmStatus& status) {
  events_->on_sm_status(status.state, status.why);
  using ib::wire::SmState;
  if (status.state != SmState::Discovering) keep_what_was_read();
  if (status.state == SmState::Master || end_status_) return;
  deposed_ = apart_ = false;
  if (status.answers)
    sa_->post([shares = comparison_.has_value()](Instant, sa::Server& server) {
      server.hand_over(shares);  // the next master reads what is stored, if that is not its own
    });
  else
    on_relieved();
  if (status.state == SmState::Discovering)
    return ib::cli::tell_service_manager("STATUS=SUBNET DISCOVERING " + status.why);
  if (!announce(manager_->mastership().headline(), {})) return;
  background_.tell(0);
  if (options_.once && !once_status_) end_status_ = kAnotherIsMaster;
}

bool Daemon::announce(const std::string& headline, const std::vector<std::string>& lines) {
  const std::string failure = announcer_.announce(headline, lines);
  ib::cli::tell_service_manager("READY=1\nSTATUS=" + headline);
  if (!failure.empty()) end_status_ = give_up(failure);
  return failure.empty();
}

}  // namespace sm::daemon
