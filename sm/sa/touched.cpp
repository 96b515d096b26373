// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/touched.h"

namespace sm::sa {

void Touched::add(const store::Batch& batch) {
  groups_removed_.insert(batch.groups_removed.begin(), batch.groups_removed.end());
  for (const auto& group : batch.groups) groups_.insert(group.mgid);
  for (const auto& member : batch.members) members_.emplace(member.mgid, member.port_gid);
  services_.insert(batch.services_removed.begin(), batch.services_removed.end());
  for (const auto& service : batch.services) services_.insert(service.key());
  subscriptions_.insert(batch.subscriptions_removed.begin(), batch.subscriptions_removed.end());
  subscriptions_.insert(batch.subscriptions.begin(), batch.subscriptions.end());
  aliases_.insert(batch.aliases_forgotten.begin(), batch.aliases_forgotten.end());
  for (const auto& alias : batch.aliases) aliases_.emplace(alias.port_guid, alias.index);
}

store::Batch Touched::as_in(const State& state) const {
  store::Batch batch;
  // A group that was removed, and made again or not: as a whole.
  for (const auto& mgid : groups_removed_) {
    batch.groups_removed.push_back(mgid);
    const auto* group = state.multicast.find(mgid);
    if (group == nullptr) continue;
    batch.groups.push_back(*group);
    const auto& members = state.multicast.members(mgid);
    batch.members.insert(batch.members.end(), members.begin(), members.end());
  }
  for (const auto& mgid : groups_) {
    if (groups_removed_.contains(mgid)) continue;
    if (const auto* group = state.multicast.find(mgid)) {
      batch.groups.push_back(*group);
    } else {
      batch.groups_removed.push_back(mgid);
    }
  }
  for (const auto& [mgid, port] : members_) {
    if (groups_removed_.contains(mgid) || state.multicast.find(mgid) == nullptr) continue;
    const auto* member = state.multicast.find_member(mgid, port);
    batch.members.push_back(member != nullptr ? *member : store::McMember{mgid, port, 0, false});
  }
  for (const auto& key : services_) {
    const auto at = state.services.all().find(key);
    if (at != state.services.all().end()) {
      batch.services.push_back(at->second);
    } else {
      batch.services_removed.push_back(key);
    }
  }
  for (const auto& key : subscriptions_) {
    const auto at = state.subscriptions.all().find(key);
    if (at != state.subscriptions.all().end()) {
      batch.subscriptions.push_back(*at);
    } else {
      batch.subscriptions_removed.push_back(key);
    }
  }
  // First what goes, so that an alias may have moved from one place to another.
  const auto& aliases = state.aliases.all();
  for (const auto& key : aliases_) {
    if (aliases.contains(key)) continue;
    if (state.aliases.given_back().contains(key)) {
      batch.aliases.push_back({key.first, key.second, ib::Guid{}});
    } else {
      batch.aliases_forgotten.push_back(key);
    }
  }
  for (const auto& key : aliases_)
    if (const auto at = aliases.find(key); at != aliases.end())
      batch.aliases.push_back({key.first, key.second, at->second});
  return batch;
}

}  // namespace sm::sa
