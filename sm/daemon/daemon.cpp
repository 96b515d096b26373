// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/mad/tap/taps.h"
#include "libdiag/mad/umad/umad_port.h"
#include "sm/control/server.h"
#include "sm/core/subnet_manager.h"
#include "sm/daemon/announcer.h"
#include "sm/daemon/channel.h"
#include "sm/daemon/comparison.h"
#include "sm/daemon/console.h"
#include "sm/daemon/console_orders.h"
#include "sm/daemon/counters_verb.h"
#include "sm/daemon/dump_files.h"
#include "sm/daemon/event_log.h"
#include "sm/daemon/explain_verb.h"
#include "sm/daemon/lid_backup.h"
#include "sm/daemon/local_ports.h"
#include "sm/daemon/m_key_file.h"
#include "sm/daemon/managers.h"
#include "sm/daemon/partition_verbs.h"
#include "sm/daemon/plan_worker.h"
#include "sm/daemon/port_watch.h"
#include "sm/daemon/recovery.h"
#include "sm/daemon/sa_dump.h"
#include "sm/daemon/sa_thread.h"
#include "sm/daemon/sa_verbs.h"
#include "sm/daemon/signals.h"
#include "sm/daemon/sm_verb.h"
#include "sm/daemon/store_retry.h"
#include "sm/daemon/store_thread.h"
#include "sm/sa/registry/partitions.h"
#include "sm/sa/server.h"
#include "sm/store/store.h"

namespace sm::daemon {
namespace {

using ib::Duration;
using ib::Instant;

constexpr const char* kEnding = "ending";
constexpr int kAnotherIsMaster = 5;  // exit status of --once

int cannot_run(const std::string& message) {
  std::cerr << "ibsm: " << message << std::endl;
  return 4;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Leases outlive restarts, so they are kept in wall-clock time.
sa::WallClock read_wall_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<Duration>(since_1970).count(), ib::monotonic_now()};
}

class Daemon : private core::Carrier {
 public:
  Daemon(const DaemonOptions& options, LogFile& log, Background& background)
      : options_(options), log_(log), background_(background) {}

  int run() {
    const int status = serve();
    end();
    return status;
  }

  /// Set where it ended since its port did: the options in force, and the port by which to go on.
  std::optional<DaemonOptions> take_successor() { return std::exchange(successor_, std::nullopt); }

 private:
  int serve() {
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

  void end() {
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

  void finish_lid_backup() {
    if (!lid_backup_) return;
    if (const auto failure = lid_backup_->finish()) say(ib::LogLevel::Error, "store", *failure);
    if (!m_key_file_ || !manager_) return;
    if (const auto failure = m_key_file_->finish(manager_->m_keys()))
      say(ib::LogLevel::Error, "store", *failure);
  }

  ib::Result<void> open() {
    std::string dump;
    if (const auto& file = options_.registry.sa_db_file; !file.empty()) {
      auto read = read_dump_file(file);
      if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
      dump = *std::move(read);
    }
    auto contents = open_store(dump);
    if (!contents) return tl::unexpected<ib::Error>(std::move(contents.error()));
    auto events = EventLog::open(options_.events, log_);
    if (!events) return tl::unexpected<ib::Error>(std::move(events.error()));
    events_ = *std::move(events);

    ib::mad::PortChoice choice;
    choice.port_guid = options_.port_guid;
    choice.receive_threshold = options_.rx_threshold;
    auto smi = open_smi(choice);
    if (!smi) return tl::unexpected<ib::Error>(std::move(smi.error()));
    smi_ = *std::move(smi);
    if (const std::string& why = smi_.port->no_kernel_threshold_because(); !why.empty())
      say(ib::LogLevel::Verbose, "port", "the kernel keeps all MADs that are not read: " + why);
    // GMPs go by a port of their own, so that they never wait behind SMP answers.
    choice.port_guid.reset();
    choice.device = smi_.port->device();
    choice.number = smi_.port->number();
    auto gsi = open_gsi(choice);
    if (!gsi) return tl::unexpected<ib::Error>(std::move(gsi.error()));
    gsi_ = std::move(gsi->channel);
    auto managers = Managers::open(options_, choice, log_);
    if (!managers) return tl::unexpected<ib::Error>(std::move(managers.error()));
    managers_ = *std::move(managers);

    // Its flag may come while ibsm runs.
    smi_.watch = gsi_.watch = [this](char direction, const ib::mad::Packet& packet) {
      if (log_.writes_frames())
        for (const std::string& line : ib::mad::trace_lines(direction, packet, true))
          log_.write_frame(line);
    };

    // Marking the port as SM comes last: from then on others may ask.
    auto flag = ib::mad::IsSmFlag::take(smi_.port->device(), smi_.port->number());
    if (!flag) return tl::unexpected<ib::Error>(std::move(flag.error()));
    is_sm_.emplace(*std::move(flag));

    added_members_ = added_members(contents->partition_members);
    for (const auto& [name, p_key] : contents->generated_p_keys) kept_keys_.emplace(name, p_key);
    auto partitions =
        with_kept_keys(options_.partitions, options_.partition_files, kept_keys_, added_keys());
    if (!partitions) return tl::unexpected<ib::Error>(std::move(partitions.error()));
    take_partitions(partitions->policy);
    // What was generated for the copy of a broken file is not what the file will say.
    const auto is_partitions = [](const FileTrouble& file) { return file.kind == &kPartitionFile; };
    if (std::ranges::none_of(options_.file_troubles, is_partitions)) keep_keys(*partitions);
    keep_files(options_.good_files);
    for (const FileTrouble& file : options_.file_troubles) {
      say(ib::LogLevel::Error, file.kind->topic, file.message);
      trouble_ += (trouble_.empty() ? "" : "; ") + first_line(file.message);
    }
    if (!trouble_.empty()) {
      trouble_ += ": the last copy that could be used is in force";
      events_->on_configuration(trouble_);
    }

    make_manager(*contents);
    if (auto made = make_sa(*contents, gsi->kernel_rmpp); !made) return made;
    planner_.emplace();
    if (auto opened = compare_with_others(); !opened) return opened;
    listen_for_operators();
    if (!options_.dumps.directory.empty())
      dumps_.emplace(options_.dumps, [this](const ib::LogEvent& event) { log_.write(event); });
    return {};
  }

  void make_manager(const store::Contents& contents) {
    core::Options core = options_.core;
    if (const auto facts = smi_.port->facts()) core.mastership.port_guid = facts->port_guid;
    core.plan.partitions = partitions_;
    core.m_keys.of_ports = std::move(m_keys_of_ports_);
    core.registrations_lost = registrations_lost_;
    if (const std::uint32_t most = smi_.port->window_max(); most != 0)
      core.transactor.window = std::min(core.transactor.window, most);
    manager_ = std::make_unique<core::SubnetManager>(std::move(core), contents);
  }

  ib::Result<void> make_sa(const store::Contents& contents, bool kernel_rmpp) {
    SaOptions sa = options_.sa;
    const auto settled = settle_sa_key(options_.state_dir, sa);
    if (!settled) return tl::unexpected<ib::Error>(settled.error());
    if (!settled->empty()) say(ib::LogLevel::Info, "sa", *settled);
    if (const std::string warning = sa_key_warning(sa); !warning.empty())
      say(ib::LogLevel::Warning, "sa", warning);
    sa.server.kernel_rmpp = kernel_rmpp;
    sa.server.multicast.configured = sa::groups_of(*partitions_, sa.server.qos.get());
    sa.server.wall_clock = read_wall_clock();
    events_->know(contents);
    events_->on_dropped_levels(options_.dropped_levels);
    sa_options_ = sa.server;
    auto server = std::make_unique<sa::Server>(sa_options_, contents);
    // The store's groups before the first plan, or it would close the switches to multicast.
    manager_->set_groups(ib::monotonic_now(), SaThread::groups_of(*server));
    manager_->set_aliases(ib::monotonic_now(), SaThread::aliases_of(*server));
    sa_.emplace(
        std::move(server), std::move(gsi_), *store_, log_,
        SaDump(options_.registry.dump_every.count() == 0 ? std::string()
                                                         : options_.state_dir + "/" + kDumpName,
               options_.registry.dump_every),
        [this](const store::Batch& batch) { events_->on_registry(batch); });
    return {};
  }

  /// What is kept: by the store, by its backups where it lost something, by the dump that -S names
  /// (`dump`).
  ib::Result<store::Contents> open_store(const std::string& dump) {
    const auto& etcd = options_.registry.etcd;
    auto opened = etcd ? store::open_etcd(*etcd, options_.state_dir)
                       : store::open_or_stand_in(options_.state_dir, options_.registry.sync);
    if (!opened) return tl::unexpected<ib::Error>(std::move(opened.error()));
    for (const ib::LogEvent& line : opened->lines) log_.write(line);
    // The directory is ours from here on, and so is the file that says whose it is.
    auto pid_file = PidFile::write(options_.pid_file);
    if (!pid_file) return tl::unexpected<ib::Error>(std::move(pid_file.error()));
    pid_file_ = *std::move(pid_file);
    store::Contents& contents = opened->contents;
    const std::int64_t now = std::time(nullptr);
    std::vector<ib::LogEvent> lines;
    if (const auto& file = options_.registry.sa_db_file; !file.empty()) {
      auto taken = take_dump(file, dump, now, *opened->store, contents);
      if (!taken) return tl::unexpected<ib::Error>(std::move(taken.error()));
      lines = *std::move(taken);
    }
    // What lies in the state directory may be older than what others wrote to etcd.
    if (!etcd || opened->found == store::Found::Part)
      std::ranges::move(recover(options_.state_dir, now, opened->found, *opened->store, contents),
                        std::back_inserter(lines));
    for (const ib::LogEvent& line : lines) log_.write(line);
    registrations_lost_ = opened->found == store::Found::Part;
    store_.emplace(std::move(opened->store),
                   [this](const ib::LogEvent& line) { log_.write(line); });
    lid_backup_.emplace(options_.state_dir + "/" + kLidsName, contents.lids);
    m_key_file_.emplace(options_.state_dir);
    if (options_.m_key_lookup) {
      auto read = m_key_file_->read();
      m_keys_of_ports_ = std::move(read.keys);
      for (const ib::LogEvent& line : read.lines) log_.write(line);
    }
    return std::move(contents);
  }

  /// Where several subnet managers share a store.
  ib::Result<void> compare_with_others() {
    if (!options_.registry.etcd) return {};
    const auto facts = smi_.port->facts();
    if (!facts) return {};
    auto board = store::open_etcd_board(*options_.registry.etcd, to_string(facts->port_guid));
    if (!board) return tl::unexpected<ib::Error>(std::move(board.error()));
    comparison_.emplace(*std::move(board), fingerprint_of(configuration_, options_.good_files));
    return {};
  }
  void compare(Instant now) {
    const auto state = manager_->mastership().state();
    std::vector<ib::LogEvent> lines;
    const auto news = comparison_->serve(now, state, lines);
    for (const ib::LogEvent& line : lines) log_.write(line);
    events_->on_differences(news);
    if (!configuration_.settings.standby_needs_same_config) return;
    const bool fits = !comparison_->consistency().differs_from_master();
    manager_->set_fit(now, fits,
                      fits ? "its configuration is the master's"
                           : "its configuration is not the master's (standby_needs_same_config)");
  }

  /// A daemon's stderr leads nowhere once it is in the background: the log has the reason too.
  int give_up(const std::string& message) {
    sa_.reset();  // which may have something to say, too; the reason comes last
    say(ib::LogLevel::Error, "ibsm", message);
    return cannot_run(message);
  }

  void say(ib::LogLevel level, std::string topic, std::string message) {
    log_.write({level, std::move(topic), std::move(message)});
  }

  /// Where there are several to work by. False: this is the end.
  bool watch_port(Instant now) {
    if (options_.port_guids.size() < 2 || !port_watch_.is_due(now)) return true;
    const auto facts = smi_.port->facts();
    return !port_watch_.look(now, facts && facts->state >= ib::wire::PortState::Initialize) ||
           !moves_on("its link is down");
  }
  /// To another port, if there is one.
  bool moves_on(const std::string& why) {
    const auto ports = ib::mad::list_umad_ports();
    if (!ports || !options_.port_guid) return false;
    const auto next = next_port(options_.port_guids, *options_.port_guid, *ports);
    if (!next || *next == *options_.port_guid) return false;
    say(ib::LogLevel::Error, "port",
        fmt::format("the port with GUID {} is of no use any more ({}): ibsm goes on from {}",
                    to_string(*options_.port_guid), why, to_string(*next)));
    successor_ = latest_ ? *latest_ : options_;
    successor_->port_guid = next;
    return true;
  }

  bool listen(Instant now) {
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
    if (store_->take_deposed()) manager_->on_deposed(now);
    if (auto taken = store_->next_taken()) on_taken(now, *std::move(taken));
    if (auto groups = sa_->take_groups()) manager_->set_groups(now, *std::move(groups));
    if (auto news = sa_->take_aliases())
      manager_->set_aliases(now, std::move(news->aliases), news->revision);
    while (const int signal = signals_.next()) {
      if (signal == SIGHUP) {
        reload();
        manager_->sweep_now(now, core::Reason::Operator);
      } else if (signal == SIGUSR1) {
        if (auto reopened = log_.reopen(); !reopened)
          say(ib::LogLevel::Error, "ibsm",
              "the log goes on as it was: " + reopened.error().message);
        if (auto reopened = events_->reopen(); !reopened)
          say(ib::LogLevel::Error, "event", reopened.error().message);
      } else {
        say(ib::LogLevel::Info, "ibsm", kEnding);
        return false;
      }
    }
    return true;
  }

  /// The options file and all that it names: all of it is taken, or nothing.
  void reload() {
    auto fresh = read_again_();
    if (fresh) {
      auto kept =
          with_kept_keys(fresh->partitions, fresh->partition_files, kept_keys_, added_keys());
      if (kept)
        fresh->partitions = *std::move(kept);
      else
        fresh = tl::unexpected<ib::Error>(std::move(kept.error()));
    }
    if (!fresh) {
      trouble_ = first_line(fresh.error().message);
      events_->on_configuration(trouble_);
      trouble_ += ": what was in force before stays";
      return say(ib::LogLevel::Error, "config",
                 fresh.error().message + "\nwhat was in force stays in force, all of it");
    }
    latest_ = *fresh;
    events_->on_configuration({});
    if (!std::exchange(trouble_, {}).empty())
      say(ib::LogLevel::Info, "config", "the configuration is in order again");
    for (const std::string& line : fresh->warnings) say(ib::LogLevel::Warning, "config", line);
    configuration_ = fresh->configuration;
    if (comparison_)
      comparison_->set_fingerprint(ib::monotonic_now(),
                                   fingerprint_of(configuration_, fresh->good_files));
    manager_->set_options(fresh->core);
    if (fresh->routing_files)
      manager_->set_routing_files({fresh->core.plan.choice.engine, fresh->core.plan.mentions});
    take_partitions(fresh->partitions.policy);
    manager_->set_partitions(partitions_);
    keep_keys(fresh->partitions);
    keep_files(fresh->good_files);
    manager_->set_rates(fresh->core.plan.rates);
    events_->on_dropped_levels(fresh->dropped_levels);
    path_rules_ = path_rules_of(*fresh);
    if (managers_) managers_->set_options(*fresh);
    sa_->post([routes = fresh->sa.server.policy.prefix_routes, rules = fresh->sa.server.qos](
                  Instant, sa::Server& server) {
      server.set_prefix_routes(routes);
      server.set_qos(rules);
    });
  }
  /// What another one wrote while this one stood by is ours from here on.
  void on_taken(Instant now, ib::Result<store::Contents> taken) {
    if (!manager_->mastership().is_master()) return;
    if (!taken) {
      say(ib::LogLevel::Error, "store",
          taken.error().message +
              ": what another subnet manager stored is not known here, and all "
              "clients are asked to register again");
      return manager_->on_recalled(now, std::nullopt);
    }
    const auto contents = std::make_shared<const store::Contents>(*std::move(taken));
    auto members = added_members(contents->partition_members);
    policy::GeneratedKeys keys;
    for (const auto& [name, p_key] : contents->generated_p_keys) keys.emplace(name, p_key);
    const bool partitions_change = members != added_members_ || keys != kept_keys_;
    added_members_ = std::move(members);
    kept_keys_ = std::move(keys);
    if (partitions_change) reload();
    lids_ = StoreRetry([this](store::Batch batch) { return store_->commit(std::move(batch)); });
    store::Batch lids;
    lids.forget_lids = true;
    lids.lids = contents->lids;
    lid_backup_->take(lids);
    // The groups before the plan, or it would close the switches to multicast.
    const sa::Server server(sa_options_, *contents);
    manager_->set_groups(now, SaThread::groups_of(server));
    manager_->set_aliases(now, SaThread::aliases_of(server));
    sa_->post([this, contents](Instant, sa::Server& ours) {
      ours.restore(*contents);
      events_->know(*contents);
    });
    manager_->on_recalled(now, *contents);
  }

  /// Those of the file, with what was added since.
  void take_partitions(std::shared_ptr<const policy::PartitionPolicy> of_file) {
    file_partitions_ = std::move(of_file);
    partitions_ = policy::with_members(file_partitions_, added_members_);
    events_->on_partitions(partitions_);
  }

  // ---- the control socket
  /// Without one ibsm works as well; the log says why there is none.
  void listen_for_operators() {
    console_ = Console::open(options_.console, log_, [this](console::Words words, bool trusted) {
      return run_console(console_world(), words, trusted);
    });
    if (options_.control_socket.empty()) return;
    auto listening = control::Server::listen(options_.control_socket);
    if (listening)
      control_.emplace(*std::move(listening));
    else
      say(ib::LogLevel::Error, "control",
          listening.error().message + ": `ibsm ctl` reaches nobody");
  }
  control::Answer answer(const control::Request& request) {
    if (request.verb == "partition") return change_partitions(request);
    if (request.verb == "counters") return counters(request);
    if (request.verb == "events") return events_->answer(request);
    if (request.verb == "sm")
      return sm_verb(request, manager_->mastership(), own_lid(), ib::monotonic_now(),
                     comparison_ ? &comparison_->consistency() : nullptr);
    if (request.verb == "sa") return change_sa(request);
    if (request.verb == "explain")
      return explain_verb(request, manager_->snapshot(), manager_->holdings(), path_rules_);
    if (request.verb == "console") return console_verb(console_world(), request);
    return {2, "unknown verb '" + ib::printable(request.verb) +
                   "': expected partition, counters, events, explain, sa, sm or console\n"};
  }
  ConsoleWorld console_world() {
    const auto sa_counters = [this]() -> std::optional<sa::Counters> {
      if (const auto state = sa_->change({})) return state->counters;
      return std::nullopt;
    };
    return {*manager_,
            managers_ ? managers_->performance() : nullptr,
            log_,
            configuration_,
            options_.version,
            dump_folder(),
            sa_counters,
            [this](const control::Request& verb) { return answer(verb); }};
  }
  const std::string& dump_folder() const {
    return options_.dumps.directory.empty() ? options_.state_dir : options_.dumps.directory;
  }
  control::Answer counters(const control::Request& request) {
    return counters_verb(request, managers_ ? managers_->performance() : nullptr,
                         options_.counters_file.empty()
                             ? dump_folder() + "/opensm_port_counters.log"
                             : options_.counters_file,
                         {std::chrono::system_clock::now(), ib::monotonic_now()});
  }
  ib::Lid own_lid() {
    const auto facts = smi_.port->facts();
    return facts ? facts->lid : ib::kNoLid;
  }
  control::Answer change_sa(const control::Request& request) {
    constexpr const char* kSilent = "subnet administration does not answer: see the log\n";
    const auto present = sa_->change({});
    if (!present) return {4, kSilent};
    const auto change = sa_change(request, *present);
    if (!change) return {2, change.error().message + '\n'};
    if (!change->changes()) return sa_answer(request, *present);
    const auto after = sa_->change(*change);
    if (!after) return {4, kSilent};
    if (change->rx_threshold) smi_.port->set_receive_threshold(*change->rx_threshold);
    std::string words;
    for (const std::string& word : request.words) words += ' ' + word;
    say(ib::LogLevel::Info, "sa", "ibsm ctl sa" + words);
    return sa_answer(request, *after);
  }
  /// Durable first, then in force.
  control::Answer change_partitions(const control::Request& request) {
    MembersChange change =
        partition_verb(request, added_members_,
                       {manager_->snapshot(), manager_->holdings(), partitions_->allow_both});
    if (change.batch.empty()) return std::move(change.answer);
    if (auto kept = store_->commit(change.batch); !kept)
      return {4, "nothing was changed, since it cannot be stored: " + kept.error().message + '\n'};
    added_members_ = std::move(change.members);
    take_partitions(file_partitions_);
    manager_->set_partitions(partitions_);
    manager_->sweep_now(ib::monotonic_now(), core::Reason::Partitions);
    say(ib::LogLevel::Info, "partitions", change.note + " (ibsm ctl)");
    return std::move(change.answer);
  }

  void keep_keys(const ReadPartitions& partitions) {
    policy::GeneratedKeys kept_keys = kept_keys_;
    if (store::Batch batch = keys_to_keep(partitions, kept_keys); !batch.empty()) {
      if (const auto stored = store_->commit(std::move(batch)))
        kept_keys_ = std::move(kept_keys);
      else
        say(ib::LogLevel::Error, "partitions",
            stored.error().message + ": after a restart generated P_Keys may be others");
    }
    if (const auto kept = keep_generated_keys(partitions.keys, options_.state_dir); !kept)
      say(ib::LogLevel::Error, "partitions",
          kept.error().message + ": after a restart generated P_Keys may be others");
  }

  void keep_files(std::span<const GoodFile> files) {
    for (const GoodFile& file : files)
      if (const auto kept = keep_good(file, options_.state_dir); !kept)
        say(ib::LogLevel::Error, file.kind->topic,
            kept.error().message + ": a start with a broken " + file.path + " would end at once");
  }

  /// P_Keys to which members were added: a partition of another name is not to come by one.
  std::set<std::uint16_t> added_keys() const {
    std::set<std::uint16_t> keys;
    for (const policy::AddedMember& member : added_members_) keys.insert(member.p_key);
    return keys;
  }

  /// Everything the machines want done. False: this is the end.
  bool speak(Instant now) {
    now_ = now;
    carry_out(*manager_, now, *this);
    if (managers_) {
      managers_->set_master(manager_->mastership().is_master());
      managers_->speak(now);
      if (const auto changes = managers_->take_error_changes(); !changes.empty())
        events_->on_errors(changes);
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
    const bool freed = sa_->let_go();
    // A sweep of a large fabric needed half as much again as what is kept.
    if (manager_->settle() || freed) malloc_trim(0);
    return true;
  }

  // ---- effects of the subnet manager
  void recall() override { store_->post_take(); }
  void commit(store::Batch batch) override {
    lid_backup_->take(batch);
    if (const auto event = lids_.commit(now_, std::move(batch))) log_.write(*event);
  }
  void publish(const HoldingsPtr& holdings) override {
    // A full sweep has its dumps written when it is reported.
    if (dumps_ && manager_->idle() && holdings->multicast != dumped_trees_)
      dumps_->write(manager_->snapshot(), holdings);
    dumped_trees_ = holdings->multicast;
    events_->on_holdings(holdings, manager_->snapshot());
    sa_->post([held = holdings](Instant, sa::Server& server) mutable {
      server.publish(std::move(held));
    });
  }
  void publish(const SnapshotPtr& snapshot) override {
    if (snapshot->routing) announcer_.say_engine(*snapshot->routing);
    events_->on_routing(snapshot);
    sa_->publish(snapshot);
  }
  void log(const ib::LogEvent& event) override { log_.write(event); }
  void watch(const core::Watched& watched) override {
    if (managers_) managers_->on_watched(now_, watched);
  }
  void hear(const core::ReceivedNotice& notice) override {
    sa_->post([notice](Instant when, sa::Server& server) {
      server.on_notice(when, notice.notice, notice.from);
    });
  }
  ib::Result<void> send(const core::Outgoing& out) override {
    auto sent = smi_.send(out.packet, out.reply_within);
    if (!sent && sent.error().kind == ib::ErrorKind::Unavailable && !end_status_)
      end_status_ = moves_on(sent.error().message) ? 0 : give_up(sent.error().message);
    return sent;
  }
  std::optional<core::PlanResult> plan(core::PlanJob job) override {
    planner_->post(std::move(job));
    return std::nullopt;
  }
  void report(core::Report report) override {
    if (end_status_) return;
    events_->on_report(manager_->snapshot());
    if (dumps_) dumps_->write(manager_->snapshot(), manager_->holdings());
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

  /// Who is not master answers for no subnet; that, too, is a result.
  void stand(const core::Standing& standing) override {
    events_->on_standing(standing.state, standing.why);
    using ib::wire::SmState;
    if (standing.state == SmState::Master || end_status_) return;
    sa_->post([](Instant, sa::Server& server) { server.withdraw(); });
    store_->post_stand_by();
    if (standing.state == SmState::Discovering) return;
    if (!announce(manager_->mastership().headline(), {})) return;
    background_.tell(0);
    if (options_.once && !once_status_) end_status_ = kAnotherIsMaster;
  }

  /// False: this is the end.
  bool announce(const std::string& headline, const std::vector<std::string>& lines) {
    const std::string failure = announcer_.announce(headline, lines);
    if (!failure.empty()) end_status_ = give_up(failure);
    return failure.empty();
  }

  bool wait() {
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
      ms = static_cast<int>(
          std::clamp<std::int64_t>((left.count() + 999'999) / 1'000'000, 0, 60'000));
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

  const DaemonOptions& options_;
  LogFile& log_;
  Background& background_;
  Signals signals_;  // before any thread
  PidFile pid_file_;
  std::optional<StoreThread> store_;
  std::optional<LidBackup> lid_backup_;
  std::optional<MKeyFile> m_key_file_;
  std::map<ib::Guid, std::uint64_t> m_keys_of_ports_;  // as they were last time
  bool registrations_lost_{false};
  StoreRetry lids_{[this](store::Batch batch) { return store_->commit(std::move(batch)); }};
  Channel smi_, gsi_;  // gsi_ until the SA has it
  PortWatch port_watch_;
  std::optional<DaemonOptions> latest_;     // as read again last; none: those of the start
  std::optional<DaemonOptions> successor_;  // of the one that goes on when this one ends
  std::optional<ib::mad::IsSmFlag> is_sm_;
  std::shared_ptr<const policy::PartitionPolicy> file_partitions_, partitions_;
  policy::GeneratedKeys kept_keys_;                 // in the store
  std::vector<policy::AddedMember> added_members_;  // by P_Key and port GUID
  std::optional<control::Server> control_;
  std::unique_ptr<Console> console_;  // null: there is none
  config::Configuration configuration_{options_.configuration};
  std::function<ib::Result<DaemonOptions>()> read_again_{options_.read_again};
  PathRules path_rules_{path_rules_of(options_)};  // in force
  std::string trouble_;  // why the configuration in force is not that of the files; empty: it is
  std::unique_ptr<core::SubnetManager> manager_;
  sa::Options sa_options_;  // as at the start
  std::optional<SaThread> sa_;
  std::optional<PlanWorker> planner_;
  std::optional<Comparison> comparison_;  // where several share a store
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<Managers> managers_;  // null: options call for none
  std::optional<DumpFiles> dumps_;      // what the operator wants of them
  std::shared_ptr<const ib::tables::MulticastTables> dumped_trees_;
  Instant now_{};                   // of the effects that are being carried out
  std::optional<int> end_status_;   // set by one of them: this is the end
  std::optional<int> once_status_;  // --once: it is, when managers have done their part
  Announcer announcer_{log_, options_.once};
  int status_{0};
};

}  // namespace

int run_daemon(const DaemonOptions& options, LogFile& log, Background& background) {
  // While signals still end the process: under ibsim without a server this waits for ever. What is
  // wrong with the ports the daemon says itself.
  const auto ports = ib::mad::list_umad_ports();
  DaemonOptions current = options;
  if (ports && !options.port_guids.empty())
    current.port_guid = first_port(options.port_guids, *ports);
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
