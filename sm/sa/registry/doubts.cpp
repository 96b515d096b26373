// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/doubts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::sa {
namespace {

namespace attr = ib::wire::attr;

/// Linux joins again at once, and repeats what is not answered for some 20 s; 10,000 hosts at a
/// time are answered within a second or two.
constexpr ib::Duration kRepeatWithin = std::chrono::seconds(60);
constexpr ib::Duration kTryAgainAfter = std::chrono::seconds(5);
/// A LID that is astray is found by the next sweep.
constexpr ib::Duration kRecent = std::chrono::minutes(10);
constexpr std::size_t kRecentMost = 4096;  // others end by Reports that nobody answers
constexpr std::size_t kNamedMost = 10;     // ports, in the log

/// The port that asks for this membership; zero: not known.
ib::Guid asker_of(const State& state, const store::McMember& member) {
  if (member.proxy_join) return member.joined_by;
  const ib::Guid owner = state.aliases.port_of(member.port_gid.guid());
  return owner == ib::Guid{} ? member.port_gid.guid() : owner;
}

}  // namespace

std::set<ib::Guid> ports_that_lost(const State& had, const State& has) {
  std::set<ib::Guid> ports;
  for (const auto& [mgid, group] : had.multicast.groups())
    for (const store::McMember& member : group.members)
      if (has.multicast.find_member(mgid, member.port_gid) == nullptr)
        ports.insert(asker_of(had, member));
  for (const auto& [key, service] : had.services.all())
    if (has.services.find(key) == nullptr) ports.insert(service.owner);
  for (const store::Subscription& s : had.subscriptions.all())
    if (!has.subscriptions.has(s)) ports.insert(s.subscriber);
  return ports;
}

void Doubts::begin(const State& state, const std::vector<ib::Guid>& ports) {
  for (const ib::Guid port : ports) {
    doubts_[port] = {};
    ending_.erase(port);
    over_.erase(port);
  }
  const std::set<ib::Guid> asked(ports.begin(), ports.end());
  for (const auto& [mgid, group] : state.multicast.groups())
    for (const store::McMember& member : group.members)
      if (const ib::Guid port = asker_of(state, member); asked.contains(port))
        doubts_[port].members.emplace(mgid, member.port_gid);
  for (const auto& [key, service] : state.services.all())
    if (asked.contains(service.owner)) doubts_[service.owner].services.insert(key);
  for (const store::Subscription& s : state.subscriptions.all())
    if (asked.contains(s.subscriber)) doubts_[s.subscriber].subscriptions.insert(s);
  std::erase_if(doubts_, [this](const auto& entry) {
    if (entry.second.empty()) over_.insert(entry.first);
    return entry.second.empty();
  });
}

void Doubts::begin_subscriptions(ib::Instant now, const State& state,
                                 const std::vector<ib::Guid>& ports) {
  const std::set<ib::Guid> asked(ports.begin(), ports.end());
  for (const auto& [s, since] : recent_) {
    if (since + kRecent < now || !asked.contains(s.subscriber) || !state.subscriptions.has(s))
      continue;
    Doubt& doubt = doubts_[s.subscriber];
    doubt.subscriptions.insert(s);
    doubt.until = ib::kNever;
    ending_.erase(s.subscriber);
    over_.erase(s.subscriber);
  }
}

void Doubts::on_subscribed(ib::Instant now, const std::vector<store::Subscription>& subscriptions) {
  if (recent_.size() + subscriptions.size() > kRecentMost)
    std::erase_if(recent_, [&](const auto& entry) { return entry.second + kRecent < now; });
  for (const store::Subscription& s : subscriptions) {
    recent_.erase(s);  // with its key it may have been another port's
    if (recent_.size() < kRecentMost) recent_.emplace(s, now);
  }
}

void Doubts::on_asked(ib::Instant now, const std::vector<ib::Guid>& ports) {
  for (const ib::Guid port : ports)
    if (const auto at = doubts_.find(port); at != doubts_.end())
      at->second.until = now + kRepeatWithin;
}

void Doubts::on_granted(const World& world, const WriteRequest& request) {
  if (request.requester.port == nullptr || request.method != ib::wire::Method::Set) return;
  const auto at = doubts_.find(request.requester.port->guid);
  if (at == doubts_.end()) return;
  Doubt& doubt = at->second;
  if (request.attribute == attr::kMcMemberRecord) {
    const auto record = ib::wire::decode<ib::wire::McMemberRecord>(request.data.data());
    doubt.members.erase(
        {record.mgid, ib::Gid::from(world.snapshot().subnet_prefix, record.port_gid.guid())});
  } else if (request.attribute == attr::kServiceRecord) {
    const auto record = ib::wire::decode<ib::wire::ServiceRecord>(request.data.data());
    doubt.services.erase({record.service_id, record.service_gid, record.service_p_key});
  } else if (request.attribute == attr::kInformInfo) {
    store::Subscription repeated;
    repeated.subscriber = at->first;
    repeated.to = reports_to(request.from);
    repeated.inform_info = ib::wire::decode<ib::wire::InformInfo>(request.data.data());
    if (repeated.inform_info.subscribe == 0) return;
    repeated.inform_info.qpn = request.from.qpn;
    doubt.subscriptions.erase(repeated);
  } else {
    return;
  }
  if (!doubt.empty()) return;
  over_.insert(at->first);
  doubts_.erase(at);
}

bool Doubts::awaits() const {
  return std::ranges::any_of(doubts_,
                             [](const auto& entry) { return entry.second.until != ib::kNever; });
}

ib::Instant Doubts::next_deadline() const {
  if (!over_.empty()) return ib::Instant{0};
  ib::Instant next = ib::kNever;
  for (const auto& [port, doubt] : doubts_) next = std::min(next, doubt.until);
  return next;
}

std::size_t Doubts::end(const World& world, ib::Guid port, const Doubt& doubt, Change& change,
                        std::vector<MemberOf>& members) {
  std::size_t count = 0;
  for (const auto& [mgid, port_gid] : doubt.members) {
    if (world.state.multicast.find_member(mgid, port_gid) == nullptr) continue;
    members.push_back({mgid, port_gid});
    ++count;
  }
  for (const store::ServiceKey& key : doubt.services) {
    const auto* service = world.state.services.find(key);
    if (service == nullptr || service->owner != port) continue;
    change.batch.services_removed.push_back(key);
    ++count;
  }
  for (const store::Subscription& s : doubt.subscriptions) {
    if (!world.state.subscriptions.has(s)) continue;
    change.batch.subscriptions_removed.push_back(s);
    ++count;
  }
  return count;
}

Change Doubts::next(ib::Instant now, const World& world) {
  Change change;
  std::vector<MemberOf> memberships;
  std::size_t ports = 0;
  for (const auto& [port, doubt] : doubts_) {
    if (doubt.until > now) continue;
    ending_.insert(port);
    const std::size_t count = end(world, port, doubt, change, memberships);
    if (count == 0 || ++ports > kNamedMost) continue;
    change.log.push_back(
        fmt::format("port {} was asked to register again, since another subnet manager may have "
                    "answered it, or another port had its LID for a while, and "
                    "did not repeat {} of the registrations that it had here before: they end",
                    to_string(port), count));
  }
  if (ports > kNamedMost)
    change.log.push_back(fmt::format("likewise of {} more ports", ports - kNamedMost));
  Change members = drop_memberships(world, memberships);
  change.routes_change = members.routes_change;
  change.events = std::move(members.events);
  change.batch.members = std::move(members.batch.members);
  change.batch.groups_removed = std::move(members.batch.groups_removed);
  change.batch.clients_sure.assign(over_.begin(), over_.end());
  change.batch.clients_sure.insert(change.batch.clients_sure.end(), ending_.begin(), ending_.end());
  ending_.merge(std::exchange(over_, {}));
  return change;
}

void Doubts::on_done(ib::Instant now, bool durable) {
  for (const ib::Guid port : std::exchange(ending_, {})) {
    if (durable)
      doubts_.erase(port);
    else
      doubts_[port].until = now + kTryAgainAfter;
  }
}

}  // namespace sm::sa
