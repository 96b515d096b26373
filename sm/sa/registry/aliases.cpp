// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/aliases.h"

namespace sm::sa {

using ib::Guid;

void Aliases::apply(const store::Batch& batch) {
  const auto take_out = [this](const Key& place) {
    given_back_.erase(place);
    const auto before = by_place_.find(place);
    if (before == by_place_.end()) return;
    port_by_alias_.erase(before->second);
    by_place_.erase(before);
  };
  for (const auto& place : batch.aliases_forgotten) take_out(place);
  // Old ones first: a batch may move a GUID from one place to another.
  for (const auto& alias : batch.aliases) take_out({alias.port_guid, alias.index});
  for (const auto& alias : batch.aliases) {
    const Key place{alias.port_guid, alias.index};
    if (alias.guid.value == 0) {
      given_back_.insert(place);
    } else {
      by_place_[place] = alias.guid;
      port_by_alias_[alias.guid] = alias.port_guid;
    }
  }
}

Guid Aliases::port_of(Guid alias) const {
  const auto at = port_by_alias_.find(alias);
  return at == port_by_alias_.end() ? Guid{} : at->second;
}

Guid Aliases::at(const Key& place) const {
  const auto found = by_place_.find(place);
  return found == by_place_.end() ? Guid{} : found->second;
}

void Aliases::add_to(store::Contents& contents) const {
  for (const auto& [place, guid] : by_place_)
    contents.aliases.push_back({place.first, place.second, guid});
}

void Aliases::BatchKeys::add(const store::Batch& batch) {
  aliases_.insert(batch.aliases_forgotten.begin(), batch.aliases_forgotten.end());
  for (const auto& alias : batch.aliases) aliases_.emplace(alias.port_guid, alias.index);
}

void Aliases::BatchKeys::bring(const Aliases& present, store::Batch& batch) const {
  // First what goes, so that an alias may have moved from one place to another.
  const auto& aliases = present.all();
  for (const auto& key : aliases_) {
    if (aliases.contains(key)) continue;
    if (present.given_back().contains(key)) {
      batch.aliases.push_back({key.first, key.second, ib::Guid{}});
    } else {
      batch.aliases_forgotten.push_back(key);
    }
  }
  for (const auto& key : aliases_)
    if (const auto at = aliases.find(key); at != aliases.end())
      batch.aliases.push_back({key.first, key.second, at->second});
}

}  // namespace sm::sa
