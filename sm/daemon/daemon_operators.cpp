// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "sm/daemon/counters_verb.h"
#include "sm/daemon/daemon_impl.h"
#include "sm/daemon/sa_verbs.h"
#include "sm/daemon/sm_verb.h"
#include "sm/daemon/sweep_verbs.h"

namespace sm::daemon {

void Daemon::listen_for_operators() {
  console_ = Console::open(options_.console, log_, [this](console::Words words, bool trusted) {
    return run_console(console_world(), words, trusted);
  });
  if (options_.control_socket.empty()) return;
  auto listening = control::Server::listen(options_.control_socket);
  if (listening)
    control_.emplace(*std::move(listening));
  else
    say(ib::LogLevel::Error, "control", listening.error().message + ": `ibsm ctl` cannot be used");
}

control::Answer Daemon::answer(const control::Request& request) {
  control::Answer answer = answer_as_asked(request);
  if (!answer.unknown_node) return answer;
  // Who asks for a node that is not there wants to know since when.
  const auto& [word, behind] = *answer.unknown_node;
  std::string departure = events_->departure_of(word);
  if (departure.empty()) departure = events_->departure_of(word.substr(0, word.rfind(':')));
  if (!departure.empty()) answer.text = departure + behind + '\n';
  return answer;
}

control::Answer Daemon::answer_as_asked(const control::Request& request) {
  if (request.verb == "partition") return change_partitions(request);
  if (request.verb == "counters") return counters(request);
  if (request.verb == "events") return events_->answer(request);
  if (request.verb == "sm")
    return sm_verb(request, manager_->mastership(),
                   {path_rules_.version, manager_->snapshot(), own_lid()}, ib::monotonic_now(),
                   comparison_ ? &comparison_->consistency() : nullptr);
  if (request.verb == "sa") return change_sa(request);
  if (request.verb == "explain")
    return explain_verb(request, manager_->snapshot(), manager_->device_state(), path_rules_);
  if (request.verb == "console") return console_verb(console_world(), request);
  if (auto done = sweep_verb(request, *manager_, ib::monotonic_now())) return *std::move(done);
  return {2, "unknown verb '" + ib::printable(request.verb) +
                 "': expected partition, counters, enable, events, explain, pause, resume, "
                 "rewrite, sa, sm or "
                 "console\n"};
}

ConsoleWorld Daemon::console_world() {
  const auto sa_counters = [this]() -> std::optional<sa::Counters> {
    if (const auto state = sa_->change({})) return state->counters;
    return std::nullopt;
  };
  return {*manager_,
          managers_ ? managers_->performance() : nullptr,
          log_,
          configuration_,
          options_.version,
          options_.state_dir,
          dump_folder(),
          sa_counters,
          [this](const control::Request& verb) { return answer(verb); }};
}

const std::string& Daemon::dump_folder() const {
  return options_.dumps.directory.empty() ? options_.state_dir : options_.dumps.directory;
}

control::Answer Daemon::counters(const control::Request& request) {
  const SnapshotPtr subnet = manager_->snapshot();
  return counters_verb(request, managers_ ? managers_->performance() : nullptr,
                       options_.counters_file.empty() ? dump_folder() + "/opensm_port_counters.log"
                                                      : options_.counters_file,
                       {std::chrono::system_clock::now(), ib::monotonic_now()},
                       {path_rules_.version, subnet ? &subnet->fabric() : nullptr});
}

ib::Lid Daemon::own_lid() {
  const auto facts = smi_.port->facts();
  return facts ? facts->lid : ib::kNoLid;
}

control::Answer Daemon::change_sa(const control::Request& request) {
  constexpr const char* kSilent = "subnet administration does not answer: see the log\n";
  const auto present = sa_->change({});
  if (!present) return {4, kSilent};
  const auto change = sa_change(request, *present);
  if (!change) return {2, change.error().message + '\n'};
  if (!change->changes()) return sa_answer(request, *present, path_rules_.version);
  const auto after = sa_->change(*change);
  if (!after) return {4, kSilent};
  if (change->rx_threshold) {
    smi_.port->set_receive_threshold(*change->rx_threshold);
    if (managers_) managers_->set_receive_threshold(*change->rx_threshold);
  }
  std::string words;
  for (const std::string& word : request.words) words += ' ' + word;
  say(ib::LogLevel::Info, "sa", "ibsm ctl sa" + words);
  return sa_answer(request, *after, path_rules_.version);
}

control::Answer Daemon::change_partitions(const control::Request& request) {
  MembersChange change = partition_verb(request, added_members_,
                                        {manager_->snapshot(), manager_->device_state(),
                                         partitions_->allow_both, path_rules_.version});
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

}  // namespace sm::daemon
