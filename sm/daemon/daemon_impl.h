// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The class behind run_daemon(), in parts: daemon.cpp has its loop and its end, daemon_open.cpp how
// everything is opened, daemon_configuration.cpp what a SIGHUP or another master's store changes,
// daemon_operators.cpp the control socket and the console, daemon_effects.cpp what the subnet
// manager wants done. For these files only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sm/control/server.h"
#include "sm/core/subnet_manager.h"
#include "sm/daemon/announcer.h"
#include "sm/daemon/channel.h"
#include "sm/daemon/clients_kept.h"
#include "sm/daemon/comparison.h"
#include "sm/daemon/console.h"
#include "sm/daemon/console_orders.h"
#include "sm/daemon/daemon.h"
#include "sm/daemon/dump_files.h"
#include "sm/daemon/event_log.h"
#include "sm/daemon/explain_verb.h"
#include "sm/daemon/lid_backup.h"
#include "sm/daemon/m_key_file.h"
#include "sm/daemon/managers.h"
#include "sm/daemon/partition_verbs.h"
#include "sm/daemon/plan_worker.h"
#include "sm/daemon/port_watch.h"
#include "sm/daemon/sa_thread.h"
#include "sm/daemon/signals.h"
#include "sm/daemon/store_retry.h"
#include "sm/daemon/store_thread.h"
#include "sm/sa/server.h"
#include "sm/store/store.h"

namespace sm::daemon {

class Daemon : private core::Carrier {
 public:
  Daemon(const DaemonOptions& options, LogFile& log, Background& background)
      : options_(options), log_(log), background_(background) {}
  /// Until it is told to end, or with --once until the first result. The exit status.
  int run();

  /// Set where it ended since its port did: the options in force, and the port by which to go on.
  std::optional<DaemonOptions> take_successor() { return std::exchange(successor_, std::nullopt); }

 private:
  int serve();
  void end();
  void finish_lid_backup();
  ib::Result<void> open();
  void make_manager(const store::Contents& contents);
  ib::Result<void> make_sa(const store::Contents& contents, bool kernel_rmpp);

  /// What is kept: by the store, by its backups where it lost something, by the dump that -S names
  /// (`dump`).
  ib::Result<store::Contents> open_store(const std::string& dump);

  /// Where several subnet managers share a store.
  ib::Result<void> compare_with_others();
  void compare(ib::Instant now);

  /// A daemon's stderr leads nowhere once it is in the background: the log has the reason too.
  int give_up(const std::string& message);
  void say(ib::LogLevel level, std::string topic, std::string message);

  /// Where there are several to work by. False: this is the end.
  bool watch_port(ib::Instant now);
  /// To another port, if there is one.
  bool moves_on(const std::string& why);
  bool listen(ib::Instant now);

  /// The options file and all that it names: all of it is taken, or nothing. `AsAtAStart`: copies
  /// of policy files stand in for those that are broken.
  enum class Rereads : std::uint8_t { AllOrNothing, AsAtAStart };
  void reload(Rereads how);
  /// Of policy files in whose place a copy is in force.
  void tell_stand_ins(const std::vector<FileTrouble>& files);
  const DaemonOptions& in_force() const { return latest_ ? *latest_ : options_; }
  /// What another one wrote while this one stood by is ours from here on.
  void on_taken(ib::Instant now, ib::Result<store::Contents> taken);
  void ask_after_doubt(ib::Instant now);

  /// Those of the file, with what was added since.
  void take_partitions(std::shared_ptr<const policy::PartitionPolicy> of_file);

  // ---- the control socket
  /// Without one ibsm works as well; the log says why there is none.
  void listen_for_operators();
  control::Answer answer(const control::Request& request);
  control::Answer answer_as_asked(const control::Request& request);
  ConsoleWorld console_world();
  const std::string& dump_folder() const;
  control::Answer counters(const control::Request& request);
  ib::Lid own_lid();
  control::Answer change_sa(const control::Request& request);
  /// Durable first, then in force.
  control::Answer change_partitions(const control::Request& request);
  void keep_clients(store::Batch batch);
  void keep_keys(const ReadPartitions& partitions);
  void keep_files(std::span<const GoodFile> files);
  /// What the start read, once the state directory is known to be this fabric's.
  void keep_what_was_read();

  /// P_Keys to which members were added: a partition of another name is not to come by one.
  std::set<std::uint16_t> added_keys() const;

  /// Everything the machines want done. False: this is the end.
  bool speak(ib::Instant now);

  // ---- effects of the subnet manager
  void recall(core::Recall how) override;
  bool is_master_elsewhere() const;
  void refuse_store(const store::Kinship& kin) override;
  void commit(store::Batch batch) override;
  void publish(const DeviceStatePtr& device_state) override;
  void publish(const SnapshotPtr& snapshot) override;
  void publish_stopgap(const SnapshotPtr& snapshot, bool registers) override;
  void doubt_clients(const std::vector<ib::Guid>& ports) override;
  void doubt_subscriptions(const std::vector<ib::Guid>& ports) override;
  void on_asked_again(const std::vector<ib::Guid>& ports) override;
  /// Of the configuration in force and of a subnet, which may be null.
  void tell_dropped_levels(const SnapshotPtr& subnet);
  void log(const ib::LogEvent& event) override { log_.write(event); }
  void watch(const core::Watched& watched) override;
  void on_notice(const core::ReceivedNotice& notice) override;
  ib::Result<void> send(const core::Outgoing& out) override;
  std::optional<core::PlanResult> plan(core::PlanJob job) override;
  void report(core::Report report) override;

  void on_relieved() override;
  /// Who is not master answers for no subnet; that, too, is a result.
  void on_sm_status(const core::SmStatus& status) override;

  /// False: this is the end.
  bool announce(const std::string& headline, const std::vector<std::string>& lines);
  bool wait();

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
  std::optional<ClientsKept> clients_;
  StoreRetry lids_{[this](store::Batch batch) { return store_->commit(std::move(batch)); }};
  Channel smi_, gsi_;  // gsi_ until the SA has it
  PortWatch port_watch_;
  std::optional<DaemonOptions> latest_;  // as read again last; none: those of the start
  std::vector<policy::DroppedLevel> dropped_by_hosts_;  // as told
  std::optional<DaemonOptions> successor_;  // of the one that goes on when this one ends
  std::optional<ib::mad::IsSmFlag> is_sm_;
  std::shared_ptr<const policy::PartitionPolicy> file_partitions_, partitions_;
  policy::GeneratedKeys kept_keys_;                 // in the store
  std::vector<policy::AddedMember> added_members_;  // by P_Key and port GUID
  std::optional<control::Server> control_;
  std::unique_ptr<Console> console_;  // null: there is none
  config::Configuration configuration_{options_.configuration};
  std::function<ib::Result<DaemonOptions>()> read_again_{options_.read_again};
  std::function<ib::Result<DaemonOptions>()> begin_again_{options_.begin_again};
  PathRules path_rules_{path_rules_of(options_)};  // in force
  std::vector<FileTrouble> stand_ins_;             // that were told
  std::string trouble_;  // why the configuration in force is not that of the files; empty: it is
  std::unique_ptr<core::SubnetManager> manager_;
  sa::Options sa_options_;  // as at the start
  std::optional<SaThread> sa_;
  std::optional<PlanWorker> planner_;
  std::optional<Comparison> comparison_;   // where several share a store
  std::optional<ReadPartitions> to_keep_;  // as at the start, until what was read then is kept
  bool deposed_{false};                    // while it is master: another one has taken the store
  bool apart_{false};                      // and manages another part of the fabric
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<Managers> managers_;  // null: options call for none
  std::optional<DumpFiles> dumps_;      // what the operator wants of them
  std::shared_ptr<const ib::tables::MulticastTables> dumped_trees_;
  ib::Instant now_{};               // of the effects that are being carried out
  std::optional<int> end_status_;   // set by one of them: this is the end
  std::optional<int> once_status_;  // --once: it is, when managers have done their part
  bool trim_due_{false};            // a sweep or a reading of tables needed memory that is free now
  Announcer announcer_{log_, options_.once};
  int status_{0};
};

/// The text of an error without what follows below it.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace sm::daemon
