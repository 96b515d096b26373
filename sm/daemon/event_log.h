// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// EventLog: what changed in the subnet, for the log, for the file of events, for the activity
// report and for `ibsm ctl events`. on_registry() is for the thread of the SA, the others are for
// that of the subnet manager: each compares what it alone has, and only writing down is one at a
// time, so that no answer of the SA waits for a comparison of the subnet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "libdiag/base/result.h"
#include "sm/control/protocol.h"
#include "sm/core/report.h"
#include "sm/daemon/consistency.h"
#include "sm/daemon/event_options.h"
#include "sm/daemon/line_file.h"
#include "sm/daemon/log_file.h"
#include "sm/events/changes.h"
#include "sm/events/journal.h"
#include "sm/managers/congestion/change.h"
#include "sm/managers/performance/port_record.h"

namespace sm::daemon {

class EventLog {
 public:
  /// Opens the files, to append. An error of kind Io names the one that cannot be.
  static ib::Result<std::unique_ptr<EventLog>> open(const EventOptions& options, LogFile& log);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// Groups and members of before, which are no events.
  void know(const store::Contents& contents);
  /// Told once this subnet manager is master; what one writes down that is none is no event.
  void on_registry(const store::Batch& batch);
  void on_partitions(const std::shared_ptr<const policy::PartitionPolicy>& partitions);
  /// A full sweep has ended. Null: nothing was found, not even the local port's neighbour.
  void on_report(const SnapshotPtr& subnet, const core::Report& report);
  /// What is published: first what changed in the subnet, then the routes, which follow it. `load`:
  /// of the most loaded link; 0: not counted.
  void on_snapshot(const SnapshotPtr& subnet, std::uint64_t load);
  /// The subnet of another master, as it was seen from there. What changes before this subnet
  /// manager is master is that one's to tell; what did when it is, is told.
  void on_watched(const SnapshotPtr& subnet);
  /// Other subnet managers, as they answered.
  void on_other_managers(std::vector<ib::wire::SmInfo> others);
  void on_virtual_ports(const VirtualPortsPtr& virtual_ports);
  void on_device_state(const DeviceStatePtr& device_state, const SnapshotPtr& subnet);
  void on_sm_status(ib::wire::SmState state, const std::string& why);
  /// `why` empty: it was taken.
  void on_configuration(const std::string& why);
  void on_differences(std::span<const Consistency::News> news);
  /// Rules that were not told of before.
  void on_dropped_levels(std::vector<policy::DroppedLevel> levels);
  /// Thresholds of error counters that were passed.
  void on_errors(const std::vector<managers::performance::ErrorChange>& changes);
  void on_congestion(const managers::CongestionChange& change);
  void on_end();

  /// Opens the files again, after logrotate moved them.
  ib::Result<void> reopen();

  /// As Journal::departure_of().
  std::string departure_of(std::string_view name) const;

  /// `events [SINCE]`, with the option json: a line for each after that number. With the option
  /// follow, whose value is the epoch of that number or empty, a first line has the epoch of now,
  /// and where it is another one, all are told.
  control::Answer answer(const control::Request& request) const;

 private:
  EventLog(const EventOptions& options, LogFile& log);
  void take(const events::Events& events);
  void tell_topology(const SnapshotPtr& subnet);
  void write(LineFile& file, const std::string& path, std::string line);

  /// What is known of the part that this subnet manager plays.
  enum class Part : std::uint8_t { Unknown, Master, Other };

  const EventOptions options_;
  LogFile& log_;
  mutable std::mutex mutex_;  // of the journal, told_, part_, withheld_ and the files
  events::Journal journal_;
  events::RegistryChanges registry_;
  Part part_{Part::Unknown};
  events::Events withheld_;  // of the registry, until it is known
  SnapshotPtr reported_;
  events::Troubles troubles_;
  std::shared_ptr<const Routing> routing_;
  std::uint64_t load_{0};
  DeviceStatePtr device_state_;
  VirtualPortsPtr virtual_ports_;
  std::vector<ib::wire::SmInfo> others_;
  std::shared_ptr<const device::Inventory> tables_;  // the last that were read to the end
  std::shared_ptr<const policy::PartitionPolicy> partitions_;
  std::vector<policy::DroppedLevel> dropped_levels_;
  std::map<events::Kind, std::size_t> told_;  // lines of the log, of what is being taken
  LineFile file_, activity_;
  bool failed_{false};  // writing did, and that was said
};

}  // namespace sm::daemon
