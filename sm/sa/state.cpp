// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/state.h"

namespace sm::sa {

State::State(const store::Contents& contents) : multicast(contents) {
  store::Batch rest;
  rest.services = contents.services;
  rest.subscriptions = contents.subscriptions;
  rest.aliases = contents.aliases;
  services.apply(rest);
  subscriptions.apply(rest);
  aliases.apply(rest);
}

void State::apply(const store::Batch& batch) {
  multicast.apply(batch);
  services.apply(batch);
  subscriptions.apply(batch);
  aliases.apply(batch);
}

store::Contents State::contents() const {
  store::Contents all;
  for (const auto& [mgid, group] : multicast.groups()) {
    all.groups.push_back(group.values);
    all.members.insert(all.members.end(), group.members.begin(), group.members.end());
  }
  for (const auto& [key, service] : services.all()) all.services.push_back(service);
  all.subscriptions.assign(subscriptions.all().begin(), subscriptions.all().end());
  for (const auto& [place, guid] : aliases.all())
    all.aliases.push_back({place.first, place.second, guid});
  return all;
}

std::vector<MlidMembers> State::by_mlid() const {
  return multicast.by_mlid([&](ib::Guid guid) {
    const auto port = aliases.port_of(guid);
    return port.value != 0 ? port : guid;
  });
}

}  // namespace sm::sa
