// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "libdiag/mad/tap/taps.h"
#include "libdiag/mad/umad/umad_port.h"
#include "sm/daemon/daemon_impl.h"
#include "sm/daemon/recovery.h"
#include "sm/daemon/sa_dump.h"
#include "sm/sa/registry/partitions.h"
#include "sm/store/etcd/open.h"

namespace sm::daemon {

namespace {

/// Leases outlive restarts, so they are kept in wall-clock time.
sa::WallClock read_wall_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<ib::Duration>(since_1970).count(), ib::monotonic_now()};
}

}  // namespace

ib::Result<void> Daemon::open() {
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
  if (managers_) managers_->resume(ib::monotonic_now(), *contents);

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
  to_keep_ = *std::move(partitions);
  tell_stand_ins(options_.file_troubles);
  if (!trouble_.empty()) events_->on_configuration(trouble_);

  make_manager(*contents);
  if (auto made = make_sa(*contents, gsi->kernel_rmpp); !made) return made;
  planner_.emplace();
  if (auto opened = compare_with_others(); !opened) return opened;
  listen_for_operators();
  if (!options_.dumps.directory.empty())
    dumps_.emplace(options_.dumps, [this](const ib::LogEvent& event) { log_.write(event); });
  return {};
}

void Daemon::make_manager(const store::Contents& contents) {
  core::Options core = options_.core;
  if (const auto facts = smi_.port->facts()) core.mastership.port_guid = facts->port_guid;
  core.plan.partitions = partitions_;
  core.m_keys.of_ports = std::move(m_keys_of_ports_);
  core.registrations_lost = registrations_lost_;
  if (const std::uint32_t most = smi_.port->window_max(); most != 0)
    core.transactor.window = std::min(core.transactor.window, most);
  manager_ = std::make_unique<core::SubnetManager>(std::move(core), contents);
}

ib::Result<void> Daemon::make_sa(const store::Contents& contents, bool kernel_rmpp) {
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
  tell_dropped_levels(nullptr);
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

ib::Result<store::Contents> Daemon::open_store(const std::string& dump) {
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
  // What lies in the state directory may be older than what others wrote to etcd, if they did.
  if (!etcd || opened->found != store::Found::All)
    std::ranges::move(
        recover(options_.state_dir, now, opened->found, *opened->store, contents,
                etcd ? "the store on etcd is empty" : options_.state_dir + "/ibsm.db is gone"),
        std::back_inserter(lines));
  for (const ib::LogEvent& line : lines) log_.write(line);
  clients_.emplace(contents);
  registrations_lost_ = opened->found == store::Found::Part;
  // Where it cannot be stored, nothing can, and that is said.
  if (registrations_lost_) {
    const store::Batch all = clients_->add({true, {}});
    if (!all.empty() && opened->store->commit(all)) store::apply(all, contents);
  }
  store_.emplace(std::move(opened->store), [this](const ib::LogEvent& line) { log_.write(line); });
  lid_backup_.emplace(options_.state_dir + "/" + kLidsName, contents.lids);
  m_key_file_.emplace(options_.state_dir);
  if (options_.m_key_lookup) {
    auto read = m_key_file_->read();
    m_keys_of_ports_ = std::move(read.keys);
    for (const ib::LogEvent& line : read.lines) log_.write(line);
  }
  return std::move(contents);
}

ib::Result<void> Daemon::compare_with_others() {
  if (!options_.registry.etcd) return {};
  const auto facts = smi_.port->facts();
  if (!facts) return {};
  auto board = store::open_etcd_board(*options_.registry.etcd, to_string(facts->port_guid));
  if (!board) return tl::unexpected<ib::Error>(std::move(board.error()));
  comparison_.emplace(*std::move(board), fingerprint_of(configuration_, options_.good_files));
  return {};
}

}  // namespace sm::daemon
