// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/event_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/report/shapes.h"

namespace sm::daemon {
namespace {

using events::Events;
using events::Record;
using events::Troubles;

/// Lines of one kind that the log gets of one sweep; all are in the file of events.
constexpr std::size_t kLinesMost = 20;

/// Another at each start, on one machine in ascending order.
std::uint64_t epoch_of_now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

Troubles troubles_of(const core::Report& report, const ib::fabric::Fabric& fabric) {
  Troubles troubles;
  troubles.alarms.insert(report.alarms->begin(), report.alarms->end());
  for (const auto& [lid, keeper, other] : report.lid_conflicts)
    troubles.conflicts.push_back(
        {lid, ib::report::port_shape(fabric, keeper), ib::report::port_shape(fabric, other)});
  for (const auto& [port, room, keys] : report.left_out_keys) {
    std::vector<std::string> texts;
    for (const ib::PKey key : keys) texts.push_back(fmt::format("0x{:04x}", key.value));
    troubles.no_room.push_back({ib::report::port_shape(fabric, port), std::uint64_t{room},
                                fmt::format("{}", fmt::join(texts, ", "))});
  }
  return troubles;
}

}  // namespace

EventLog::EventLog(const EventOptions& options, LogFile& log)
    : options_(options), log_(log), journal_(epoch_of_now()) {
  journal_.add_sink([this](const Record& record) {
    const auto& row = events::row_of(record.event.kind);
    if (++told_[record.event.kind] <= kLinesMost)
      log_.write({row.level, "event", events::text_of(record.event)});
    if (file_.is_open()) write(file_, options_.file, events::json_of(record));
    if (activity_.is_open() && (row.subjects & options_.activity_subjects) != 0)
      write(activity_, options_.activity_file, events::activity_line(record));
  });
}
EventLog::~EventLog() = default;

ib::Result<std::unique_ptr<EventLog>> EventLog::open(const EventOptions& options, LogFile& log) {
  std::unique_ptr<EventLog> made(new EventLog(options, log));
  if (auto opened = made->reopen(); !opened)
    return tl::unexpected<ib::Error>(std::move(opened.error()));
  return made;
}

ib::Result<void> EventLog::reopen() {
  const std::lock_guard lock(mutex_);
  if (!options_.file.empty())
    if (auto opened = file_.open("events", options_.file); !opened) return opened;
  if (options_.activity_subjects != 0) {
    // In the folder of the dump files, which is made where it is missing.
    std::error_code unmade;  // opening says why
    std::filesystem::create_directories(std::filesystem::path(options_.activity_file).parent_path(),
                                        unmade);
    return activity_.open("the activity report", options_.activity_file);
  }
  return {};
}

void EventLog::write(LineFile& file, const std::string& path, std::string line) {
  const bool written = file.write(std::move(line));
  if (written || std::exchange(failed_, !written)) return;
  log_.write({ib::LogLevel::Error, "event",
              "cannot write events to " + path + ": " +
                  (errno == EAGAIN ? "its reader does not read" : std::strerror(errno)) +
                  "; those that follow are lost there, not in the log"});
}

void EventLog::take(const Events& events) {
  if (events.empty()) return;
  const std::lock_guard lock(mutex_);
  told_.clear();
  journal_.take(events, std::chrono::system_clock::now());
  for (const auto& [kind, count] : told_)
    if (count > kLinesMost)
      log_.write({events::row_of(kind).level, "event",
                  fmt::format("{} more of {} (ibsm ctl events)", count - kLinesMost,
                              events::row_of(kind).name)});
}

void EventLog::know(const store::Contents& contents) {
  registry_.know(contents.groups, contents.members);
}
void EventLog::on_registry(const store::Batch& batch) {
  if (batch.groups_removed.empty() && batch.groups.empty() && batch.members.empty()) return;
  const events::Events news = registry_.take(batch);
  {
    const std::lock_guard lock(mutex_);
    if (part_ == Part::Unknown) withheld_.insert(withheld_.end(), news.begin(), news.end());
    if (part_ != Part::Master) return;
  }
  take(news);
}
void EventLog::on_partitions(const std::shared_ptr<const policy::PartitionPolicy>& partitions) {
  take(events::partition_changes(partitions_.get(), *partitions));
  partitions_ = partitions;
}
void EventLog::tell_topology(const SnapshotPtr& subnet) {
  take(events::topology_changes(reported_.get(), *subnet));
  reported_ = subnet;
}
void EventLog::on_report(const SnapshotPtr& subnet, const core::Report& report) {
  if (!subnet) return;
  tell_topology(subnet);
  if (report.restarts) take(events::restart_events(*report.restarts, *subnet));
  if (!report.alarms) return;
  Troubles now = troubles_of(report, subnet->fabric());
  take(events::trouble_changes(troubles_, now));
  troubles_ = std::move(now);
}
void EventLog::on_watched(const SnapshotPtr& subnet) { reported_ = subnet; }
void EventLog::on_snapshot(const SnapshotPtr& subnet, std::uint64_t load) {
  if (!subnet->routing) return;
  if (!reported_ || reported_->observed != subnet->observed) tell_topology(subnet);
  if (subnet->routing == routing_) return;
  take(events::routing_changes(routing_.get(), *subnet->routing, subnet->changed_at_start,
                               {load_, load}));
  routing_ = subnet->routing;
  load_ = load;
}
/// Null says that they are not known, and not that they are gone.
void EventLog::on_virtual_ports(const VirtualPortsPtr& virtual_ports) {
  if (!virtual_ports) return;
  take(events::virtual_port_changes(virtual_ports_.get(), virtual_ports.get()));
  virtual_ports_ = virtual_ports;
}
void EventLog::on_device_state(const DeviceStatePtr& device_state, const SnapshotPtr& subnet) {
  if (!subnet) return;
  take(events::device_changes(device_state_.get(), *device_state, *subnet, tables_.get()));
  if (!device_state->tables_to_come) tables_ = device_state->tables;
  device_state_ = device_state;
}
void EventLog::on_other_managers(std::vector<ib::wire::SmInfo> others) {
  if (others.empty() && others_.empty()) return;
  take(events::manager_changes(others_, others));
  others_ = std::move(others);
}
void EventLog::on_sm_status(ib::wire::SmState state, const std::string& why) {
  events::Events withheld;
  if (state != ib::wire::SmState::Discovering) {
    const std::lock_guard lock(mutex_);
    part_ = state == ib::wire::SmState::Master ? Part::Master : Part::Other;
    withheld_.swap(withheld);
    if (part_ != Part::Master) withheld.clear();
  }
  take({events::make(events::Kind::SmState, {std::string(events::state_name(state)), why})});
  take(withheld);
}
void EventLog::on_configuration(const std::string& why) {
  take({why.empty() ? events::make(events::Kind::ConfigurationTaken, {})
                    : events::make(events::Kind::ConfigurationRefused, {why})});
}
void EventLog::on_differences(std::span<const Consistency::News> news) {
  Events all;
  for (const auto& [who, difference] : news)
    all.push_back(difference.names.empty()
                      ? events::make(events::Kind::ConfigurationAgrees, {who, difference.host})
                      : events::make(events::Kind::ConfigurationDiffers,
                                     {who, difference.host,
                                      fmt::format("{}", fmt::join(difference.names, ", "))}));
  take(all);
}
void EventLog::on_dropped_levels(std::vector<policy::DroppedLevel> levels) {
  Events news;
  for (const policy::DroppedLevel& level : levels)
    if (std::ranges::find(dropped_levels_, level) == dropped_levels_.end())
      news.push_back(events::make(events::Kind::LevelDropped,
                                  {level.rule, std::uint64_t{level.sl.value}, level.where}));
  dropped_levels_ = std::move(levels);
  take(news);
}
void EventLog::on_errors(const std::vector<managers::performance::ErrorChange>& changes) {
  Events news;
  for (const auto& change : changes)
    news.push_back(
        events::make(change.is_above ? events::Kind::ErrorsAbove : events::Kind::ErrorsBelow,
                     {change.here, change.there ? events::Value(*change.there) : events::Value(),
                      std::string(change.counter), std::string(change.category), change.count,
                      change.seconds, change.threshold}));
  take(news);
}
void EventLog::on_congestion(const managers::CongestionChange& change) {
  take({change.has_ended
            ? events::make(events::Kind::CongestionEnded,
                           {change.errors, change.seconds, change.errors_max, change.last})
            : events::make(events::Kind::CongestionResumed, {})});
}
void EventLog::on_end() {
  if (partitions_) take(events::partitions_at_the_end(*partitions_));
}

std::string EventLog::departure_of(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return journal_.departure_of(name);
}

control::Answer EventLog::answer(const control::Request& request) const {
  std::uint64_t since = 0, epoch = journal_.epoch();
  if (request.words.size() > 1 ||
      (!request.words.empty() && !ib::parse_number(request.words[0], UINT64_MAX, since)))
    return {ib::cli::kExitUsage, "expected `events [--since NUMBER]`: those after that number\n"};
  const bool follows = request.has("follow");
  if (follows && !request.option("follow").empty() &&
      !ib::parse_number(request.option("follow"), UINT64_MAX, epoch))
    return {ib::cli::kExitUsage, "expected the epoch of an answer to follow\n"};
  const std::lock_guard lock(mutex_);
  std::string text;
  if (follows) text = fmt::format("{}\n", journal_.epoch());
  for (const Record& record : journal_.after(since, epoch))
    text += request.has("json")
                ? events::json_of(record) + '\n'
                : fmt::format("{} {} {}\n", record.number, events::time_text(record.time),
                              events::text_of(record.event));
  return {0, std::move(text)};
}

}  // namespace sm::daemon
