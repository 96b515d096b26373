// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Managers: those that options call for, with a umad port of their own, so that their GMPs never
// wait behind SMPs or the SA's. On the thread of the subnet manager, a batch of packets at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sm/core/effects.h"
#include "sm/daemon/channel.h"
#include "sm/daemon/log_file.h"
#include "sm/daemon/options.h"
#include "sm/managers/client_channel.h"
#include "sm/managers/congestion/congestion_manager.h"

namespace sm::daemon {

class Managers {
 public:
  /// On the port that `choice` names. Null: options call for no manager, and no port is opened.
  static ib::Result<std::unique_ptr<Managers>> open(const DaemonOptions& options,
                                                    const ib::mad::PortChoice& choice,
                                                    LogFile& log);

  /// Options as read again, for managers that there are; others wait for a restart.
  void set_options(const DaemonOptions& options);
  void on_subnet_up(ib::Instant now, const SnapshotPtr& subnet);
  /// Another one is master: for those who only read.
  void on_watched(ib::Instant now, const core::Watched& watched);
  /// As long as it is not, those that set anything rest, with all that they have under way.
  void set_master(bool is_master) { is_master_ = is_master; }
  /// Reads what has arrived. An error: the port is gone.
  ib::Result<void> listen(ib::Instant now);
  /// Sends and logs all that managers want now.
  void speak(ib::Instant now);
  ib::Instant next_deadline() const;
  int readable_fd() const { return channel_.port->readable_fd(); }
  /// As UmadPort::set_receive_threshold().
  void set_receive_threshold(std::uint32_t mads) { channel_.port->set_receive_threshold(mads); }
  /// Thresholds of error counters that were passed since the last call.
  std::vector<managers::performance::ErrorChange> take_error_changes();
  /// That congestion control ended, or goes on, since the last call.
  std::optional<managers::CongestionChange> take_congestion_change();
  /// Goes on with what was counted before a restart.
  void resume(ib::Instant now, const store::Contents& contents);
  /// What of it is to be stored since the last call, not all at once; empty: nothing.
  store::Batch take_counted();
  /// Null: no counters are read.
  managers::performance::PerformanceManager* performance() { return performance_; }
  /// Nothing is under way that `ibsm --once` should wait for.
  bool idle() const { return setters_.idle() && readers_.idle(); }

 private:
  void add_managers(const DaemonOptions& options);
  Managers(const ib::mad::TransactorOptions& options, LogFile& log)
      : setters_(options), readers_(options), log_(log) {}
  void speak(ib::Instant now, managers::ClientChannel& machines);

  managers::ClientChannel setters_, readers_;
  bool is_master_{false};
  // each one of them, where it is there
  managers::CongestionManager* congestion_{nullptr};
  managers::performance::PerformanceManager* performance_{nullptr};
  Channel channel_;
  LogFile& log_;
};

}  // namespace sm::daemon
