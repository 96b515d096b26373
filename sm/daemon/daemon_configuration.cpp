// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>

#include "sm/daemon/daemon_impl.h"

namespace sm::daemon {

using ib::Instant;

void Daemon::compare(Instant now) {
  const auto state = manager_->mastership().state();
  std::vector<ib::LogEvent> lines;
  for (const auto& [guid, other] : manager_->mastership().others().all())
    if (other.info.sm_state == ib::wire::SmState::Master && other.active != Instant{0})
      comparison_->doubt().on_master_heard(to_string(guid), other.active);
  const auto news = comparison_->serve(now, state, store_->is_behind(), lines);
  for (const ib::LogEvent& line : lines) log_.write(line);
  events_->on_differences(news);
  if (apart_ && !is_master_elsewhere()) {
    apart_ = false;
    manager_->on_store_back(now);
  }
  if (!configuration_.settings.standby_needs_same_config) return;
  const bool fits = !comparison_->consistency().differs_from_master();
  manager_->set_fit(now, fits,
                    fits ? "its configuration is the master's"
                         : "its configuration is not the master's (standby_needs_same_config)");
}

/// Who says that it is master, and is none that a sweep of ours has found, manages another part of
/// the fabric.
bool Daemon::is_master_elsewhere() const {
  if (!comparison_) return false;
  const auto& others = manager_->mastership().others().all();
  return std::ranges::any_of(
      comparison_->consistency().other_masters(), [&](const std::string& who) {
        return std::ranges::none_of(
            others, [&](const auto& other) { return to_string(other.first) == who; });
      });
}

/// Two that take the store back from each other would do so for ever.
void Daemon::recall(core::Recall how) {
  if (how == core::Recall::Read) return store_->post_look();
  apart_ = deposed_ && is_master_elsewhere();
  deposed_ = false;
  if (apart_)
    store_->post_apart();
  else
    store_->post_take(manager_->found_ports());
}

void Daemon::reload(Rereads how) {
  auto fresh = how == Rereads::AsAtAStart ? begin_again_() : read_again_();
  if (fresh) {
    auto kept = with_kept_keys(fresh->partitions, fresh->partition_files, kept_keys_, added_keys());
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
  latest_->read_again = read_again_;  // of a port that it moves to
  latest_->begin_again = begin_again_;
  const bool was_in_trouble = !trouble_.empty();
  tell_stand_ins(fresh->file_troubles);
  events_->on_configuration(trouble_);
  if (was_in_trouble && trouble_.empty())
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
  to_keep_.reset();
  if (!fresh->stands_in_for(kPartitionFile)) keep_keys(fresh->partitions);
  keep_files(fresh->good_files);
  manager_->set_rates(fresh->core.plan.rates);
  manager_->set_adaptive_routing(fresh->core.plan.adaptive);
  tell_dropped_levels(manager_->snapshot());
  path_rules_ = path_rules_of(*fresh);
  if (managers_) managers_->set_options(*fresh);
  sa_->post([routes = fresh->sa.server.policy.prefix_routes, rules = fresh->sa.server.qos](
                Instant, sa::Server& server) {
    server.set_prefix_routes(routes);
    server.set_qos(rules);
  });
}

void Daemon::on_taken(Instant now, ib::Result<store::Contents> taken) {
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
  // A copy that stands in is of what was in force when it was read; the master before us may have
  // had another one since.
  if (partitions_change || !in_force().file_troubles.empty()) reload(Rereads::AsAtAStart);
  clients_->take(*contents);
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
  ask_after_doubt(now);
  manager_->on_recalled(now, *contents);
}

/// Once for each time that it becomes master.
void Daemon::ask_after_doubt(Instant now) {
  const std::string why = comparison_ ? comparison_->doubt().take() : std::string();
  if (why.empty()) return;
  say(ib::LogLevel::Warning, "store",
      "what the master before this one answered may not all be in the store, since " + why +
          ": all clients are asked to register again, and members that were added to partitions "
          "may be missing");
  manager_->on_registrations_lost(now);
}

void Daemon::take_partitions(std::shared_ptr<const policy::PartitionPolicy> of_file) {
  file_partitions_ = std::move(of_file);
  partitions_ = policy::with_members(file_partitions_, added_members_);
  events_->on_partitions(partitions_);
}

void Daemon::keep_keys(const ReadPartitions& partitions) {
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

void Daemon::keep_files(std::span<const GoodFile> files) {
  std::vector<store::PolicyCopy> copies;
  for (const GoodFile& file : files) {
    if (const auto kept = keep_good(file, options_.state_dir); !kept)
      say(ib::LogLevel::Error, file.kind->topic,
          kept.error().message + ": a start with a broken " + file.path + " would end at once");
    copies.push_back(policy_copy(file, options_.state_dir));
  }
  store_->post_policy(std::move(copies));
}

void Daemon::keep_what_was_read() {
  if (!to_keep_) return;
  // What was generated for the copy of a broken file is not what the file will say.
  if (!options_.stands_in_for(kPartitionFile)) keep_keys(*to_keep_);
  keep_files(options_.good_files);
  to_keep_.reset();
}

void Daemon::tell_stand_ins(const std::vector<FileTrouble>& files) {
  trouble_.clear();
  for (const FileTrouble& file : files) {
    if (files != stand_ins_) say(ib::LogLevel::Error, file.kind->topic, file.message);
    trouble_ += (trouble_.empty() ? "" : "; ") + first_line(file.message) + ": " + file.stand_in;
  }
  stand_ins_ = files;
}

std::set<std::uint16_t> Daemon::added_keys() const {
  std::set<std::uint16_t> keys;
  for (const policy::AddedMember& member : added_members_) keys.insert(member.p_key);
  return keys;
}

}  // namespace sm::daemon
