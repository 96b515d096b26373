// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/client_channel.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "libdiag/base/invariant.h"

namespace sm::managers {
namespace {

using ib::Instant;
using ib::mad::Cookie;

/// Whose a request is stands in the upper bits of its cookie.
constexpr unsigned kOwnerShift = 56;
constexpr std::size_t kManagersMost = 256;
static_assert(kCookiesEnd == Cookie{1} << kOwnerShift);

}  // namespace

ClientChannel::ClientChannel(const ib::mad::TransactorOptions& options) : transactor_(options) {}

void ClientChannel::add(std::unique_ptr<Manager> manager) {
  ib::invariant(members_.size() < kManagersMost, "more managers than a cookie can name");
  members_.push_back({std::move(manager)});
}

std::vector<ib::mad::AgentSpec> ClientChannel::agents() const {
  std::vector<ib::mad::AgentSpec> all;
  for (const Member& member : members_)
    for (ib::mad::AgentSpec& spec : member.manager->agents())
      if (std::ranges::find(all, spec.mgmt_class, &ib::mad::AgentSpec::mgmt_class) == all.end())
        all.push_back(std::move(spec));
  return all;
}

void ClientChannel::on_subnet_up(Instant now, const SnapshotPtr& subnet) {
  if (!subnet) return;
  for (Member& member : members_) member.manager->on_subnet_up(now, subnet);
}

void ClientChannel::on_watched(Instant now, const SnapshotPtr& subnet, const std::string& master) {
  for (Member& member : members_) member.manager->on_watched(now, subnet, master);
}

bool ClientChannel::on_packet(Instant now, const ib::mad::Packet& packet) {
  return transactor_.on_packet(now, packet);
}

void ClientChannel::on_send_failed(const ib::mad::SendOrder& order, ib::Error error) {
  transactor_.on_send_failed(order, std::move(error));
}

void ClientChannel::on_time(Instant now) {
  transactor_.on_time(now);
  for (Member& member : members_)
    if (member.manager->next_deadline() <= now) member.manager->on_time(now);
}

Instant ClientChannel::next_deadline() const {
  Instant next = transactor_.next_deadline();
  for (const Member& member : members_) next = std::min(next, member.manager->next_deadline());
  return next;
}

std::optional<ib::mad::SendOrder> ClientChannel::next_send(Instant now) {
  deliver(now);
  collect(now);
  return transactor_.next_send(now);
}

void ClientChannel::deliver(Instant now) {
  while (auto completion = transactor_.next_completion()) {
    Member& member = members_[completion->cookie >> kOwnerShift];
    completion->cookie &= kCookiesEnd - 1;
    --member.pending;
    member.manager->on_completion(now, *completion);
  }
}

void ClientChannel::collect(Instant now) {
  for (std::size_t owner = 0; owner < members_.size(); ++owner) {
    Member& member = members_[owner];
    const std::size_t most = std::max<std::size_t>(member.manager->requests_most(), 1);
    if (member.pending >= most) continue;
    for (ib::mad::Request& request : member.manager->take_requests(now, most - member.pending)) {
      ib::invariant(request.cookie < kCookiesEnd, "a manager's cookie is too large");
      request.cookie |= Cookie{owner} << kOwnerShift;
      ++member.pending;
      transactor_.submit(now, std::move(request));
    }
  }
}

std::optional<ib::LogEvent> ClientChannel::next_log() {
  if (log_.empty())
    for (Member& member : members_)
      std::ranges::move(member.manager->take_log(), std::back_inserter(log_));
  if (log_.empty()) return std::nullopt;
  ib::LogEvent first = std::move(log_.front());
  log_.pop_front();
  return first;
}

bool ClientChannel::idle() const {
  return std::ranges::all_of(members_, [](const Member& m) { return m.manager->idle(); });
}

}  // namespace sm::managers
