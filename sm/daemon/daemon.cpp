// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "libdiag/cli/service_manager.h"
#include "libdiag/mad/umad/umad_port.h"
#include "sm/daemon/daemon_impl.h"
#include "sm/daemon/local_ports.h"

namespace sm::daemon {

namespace {

using ib::Instant;

constexpr const char* kEnding = "ending";

int cannot_run(const std::string& message) {
  std::cerr << "ibsm: " << message << std::endl;
  return 4;
}

}  // namespace

int Daemon::run() {
  const int status = serve();
  end();
  return status;
}

int Daemon::serve() {
  if (auto opened = open(); !opened) {
    const int status = give_up(opened.error().message);
    return opened.error().kind == ib::ErrorKind::Usage ? 2 : status;
  }
  manager_->start(ib::monotonic_now());
  while (true) {
    const Instant now = ib::monotonic_now();
    if (!listen(now)) return status_;
    if (manager_->next_deadline() <= now) manager_->on_time(now);
    if (!speak(now)) return status_;
    if (!wait()) return status_;
  }
}

void Daemon::end() {
  console_.reset();
  control_.reset();
  planner_.reset();
  comparison_.reset();
  managers_.reset();
  dumps_.reset();
  manager_.reset();
  sa_.reset();
  if (events_) events_->on_end();
  finish_lid_backup();
  log_.finish();
}

void Daemon::finish_lid_backup() {
  if (!lid_backup_) return;
  if (const auto failure = lid_backup_->finish()) say(ib::LogLevel::Error, "store", *failure);
  if (!m_key_file_ || !manager_) return;
  if (const auto failure = m_key_file_->finish(manager_->m_keys()))
    say(ib::LogLevel::Error, "store", *failure);
}

int Daemon::give_up(const std::string& message) {
  sa_.reset();  // which may have something to say, too; the reason comes last
  say(ib::LogLevel::Error, "ibsm", message);
  return cannot_run(message);
}

void Daemon::say(ib::LogLevel level, std::string topic, std::string message) {
  log_.write({level, std::move(topic), std::move(message)});
}

bool Daemon::watch_port(Instant now) {
  if (options_.port_guids.size() < 2 || !port_watch_.is_due(now)) return true;
  const auto facts = smi_.port->facts();
  return !port_watch_.look(now, facts && facts->state >= ib::wire::PortState::Initialize) ||
         !moves_on("its link is down");
}

bool Daemon::moves_on(const std::string& why) {
  const auto ports = ib::mad::list_umad_ports();
  if (!ports || !options_.port_guid) return false;
  const auto next = next_port(options_.port_guids, *options_.port_guid, *ports);
  if (!next || *next == *options_.port_guid) return false;
  say(ib::LogLevel::Error, "port",
      fmt::format("the port with GUID {} can no longer be used ({}): ibsm goes on from {}",
                  to_string(*options_.port_guid), why, to_string(*next)));
  successor_ = latest_ ? *latest_ : options_;
  successor_->port_guid = next;
  return true;
}

bool Daemon::listen(Instant now) {
  if (auto got = smi_.receive(); !got) {
    if (!moves_on(got.error().message)) status_ = give_up(got.error().message);
    return false;
  }
  if (!watch_port(now)) return false;
  if (const auto broken = sa_->broken()) {
    status_ = give_up(*broken);
    return false;
  }
  // A request that the transport gave up says nothing new: the Transactor has a clock of its own.
  for (const auto& r : smi_.arrived)
    if (!r.timed_out) manager_->on_packet(now, r.packet);
  if (managers_) {
    if (auto got = managers_->listen(now); !got) {
      status_ = give_up(got.error().message);
      return false;
    }
  }
  if (control_) control_->serve([this](const control::Request& r) { return answer(r); });
  if (console_) console_->serve(now);
  if (auto made = planner_->take()) manager_->on_planned(now, *std::move(made));
  if (comparison_) compare(now);
  if (store_->take_deposed()) {
    deposed_ = manager_->mastership().is_master();
    manager_->on_deposed(now);
  }
  if (store_->take_lacks()) {
    say(ib::LogLevel::Warning, "store",
        "clients were answered whose registrations may not be stored: all are asked to register "
        "again");
    manager_->on_registrations_lost(now);
  }
  if (store_->take_made_up()) manager_->on_store_back(now);
  if (auto taken = store_->next_taken()) on_taken(now, *std::move(taken));
  if (auto groups = sa_->take_groups()) manager_->set_groups(now, *std::move(groups));
  if (auto news = sa_->take_aliases())
    manager_->set_aliases(now, std::move(news->aliases), news->revision);
  if (const auto ports = sa_->take_untold_clients(); !ports.empty()) {
    manager_->on_untold_clients(now, ports);
    if (manager_->mastership().is_master()) keep_clients(clients_->add(manager_->clients_to_ask()));
  }
  while (const int signal = signals_.next()) {
    if (signal == SIGHUP) {
      reload(Rereads::AllOrNothing);
      manager_->sweep_now(now, core::Reason::Operator);
    } else if (signal == SIGUSR1) {
      if (auto reopened = log_.reopen(); !reopened)
        say(ib::LogLevel::Error, "ibsm", "the log goes on as it was: " + reopened.error().message);
      if (auto reopened = events_->reopen(); !reopened)
        say(ib::LogLevel::Error, "event", reopened.error().message);
    } else {
      say(ib::LogLevel::Info, "ibsm", kEnding);
      ib::cli::tell_service_manager("STOPPING=1");
      return false;
    }
  }
  return true;
}

bool Daemon::speak(Instant now) {
  now_ = now;
  carry_out(*manager_, now, *this);
  events_->on_other_managers(manager_->mastership().others().known());
  if (managers_) {
    managers_->set_master(manager_->mastership().is_master());
    managers_->speak(now);
    if (const auto changes = managers_->take_error_changes(); !changes.empty())
      events_->on_errors(changes);
    if (const auto change = managers_->take_congestion_change()) events_->on_congestion(*change);
    if (auto counted = managers_->take_counted(); !counted.empty())
      store_->post_later(std::move(counted));
  }
  if (once_status_ && (!managers_ || !manager_->mastership().is_master() || managers_->idle()))
    end_status_ = once_status_;
  if (const auto event = lids_.on_time(now)) log_.write(*event);
  if (const auto event = lid_backup_->look(now)) log_.write(*event);
  if (const auto event = m_key_file_->look(now, manager_->m_keys())) log_.write(*event);
  log_.on_time(now);
  if (end_status_) {
    status_ = *end_status_;
    return false;
  }
  // Why: doc/ibsm.md, Memory.
  if (sa_->release_snapshots()) trim_due_ = true;
  if (trim_due_ && manager_->idle() && manager_->mads_pending() == 0) {
    trim_due_ = false;
    malloc_trim(0);
  }
  return true;
}

bool Daemon::wait() {
  const Instant deadline =
      std::min({manager_->next_deadline(), lids_.next_deadline(), lid_backup_->next_deadline(),
                m_key_file_->next_deadline(manager_->m_keys()), log_.next_deadline(),
                managers_ ? managers_->next_deadline() : ib::kNever,
                comparison_ ? comparison_->next_deadline() : ib::kNever,
                options_.port_guids.size() < 2 ? ib::kNever : port_watch_.next_deadline(),
                console_ ? console_->next_deadline() : ib::kNever});
  int ms = -1;
  if (deadline != ib::kNever) {
    const auto left = deadline - ib::monotonic_now();
    // Upwards, so that a part of a millisecond is not spent turning round.
    ms =
        static_cast<int>(std::clamp<std::int64_t>((left.count() + 999'999) / 1'000'000, 0, 60'000));
  }
  pollfd fds[] = {{smi_.port->readable_fd(), POLLIN, 0},
                  {sa_->readable_fd(), POLLIN, 0},
                  {planner_->readable_fd(), POLLIN, 0},
                  {managers_ ? managers_->readable_fd() : -1, POLLIN, 0},
                  {signals_.fd(), POLLIN, 0},
                  {store_->taken_fd(), POLLIN, 0},
                  {comparison_ ? comparison_->readable_fd() : -1, POLLIN, 0},
                  {control_ ? control_->readable_fd() : -1, POLLIN, 0},
                  {console_ ? console_->port_fd() : -1, POLLIN, 0},
                  {console_ ? console_->terminal_fd() : -1, POLLIN, 0}};
  if (poll(fds, std::size(fds), ms) < 0 && errno != EINTR) {
    status_ = give_up(fmt::format("poll: {}", std::strerror(errno)));
    return false;
  }
  return true;
}

int run_daemon(const DaemonOptions& options, LogFile& log, Background& background) {
  hold_back_requests();  // who sends one so early means a daemon that runs
  // While SIGTERM still ends the process: under ibsim without a server this waits for ever. What is
  // wrong with the ports the daemon says itself.
  const auto ports = ib::mad::list_umad_ports();
  DaemonOptions current = options;
  if (ports && !options.port_guids.empty())
    current.port_guid = first_port(options.port_guids, *ports);
  for (const ib::Guid guid : options.port_guids)
    if (ports && options.port_guids.size() > 1 &&
        std::ranges::find(*ports, guid, &ib::mad::PortFacts::port_guid) == ports->end())
      log.write({ib::LogLevel::Warning, "port",
                 fmt::format("this host has no port with GUID {}, which --guid lists: it is "
                             "ignored",
                             to_string(guid))});
  const Signals between;  // none ends the process while it moves from one port to another
  int status = 0;
  for (bool goes_on = true; goes_on;) {
    std::optional<DaemonOptions> successor;
    {
      Daemon daemon(current, log, background);
      status = daemon.run();
      successor = daemon.take_successor();
    }  // all is closed that the next one opens
    goes_on = successor.has_value();
    if (goes_on) current = *std::move(successor);
  }
  if (PlanWorker::abandoned()) std::quick_exit(status);  // all is closed that others see
  return status;
}

int with_chosen_port(const DaemonOptions& options,
                     const std::function<int(const DaemonOptions&)>& go_on) {
  const auto ports = ib::mad::list_umad_ports();
  if (!ports) return cannot_run(ports.error().message);
  if (ports->empty())
    return cannot_run("no InfiniBand port on this host; `ibfabric run TOPOLOGY -- ibsm` has one");
  if (isatty(STDIN_FILENO) == 0) {
    for (const auto& port : *ports) std::cout << describe_port(port) << '\n';
    return 0;
  }
  DaemonOptions chosen = options;
  chosen.port_guid = ask_for_port(*ports, std::cin, std::cout);
  return chosen.port_guid ? go_on(chosen) : 0;
}

}  // namespace sm::daemon
