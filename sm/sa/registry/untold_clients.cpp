// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/untold_clients.h"

#include <algorithm>

namespace sm::sa {
namespace {

constexpr ib::Duration kAgainAfter = std::chrono::minutes(10);
// For all that are due a part of the fabric is swept and planned once.
constexpr ib::Duration kApart = std::chrono::seconds(1);

}  // namespace

void UntoldClients::add(ib::Instant now, const std::set<ib::Guid>& ports) {
  for (const ib::Guid port : ports) {
    const auto before = asked_.find(port);
    due_.emplace(port, before == asked_.end() ? now : std::max(now, before->second + kAgainAfter));
  }
}

std::vector<ib::Guid> UntoldClients::take(ib::Instant now) {
  std::vector<ib::Guid> ports;
  if (now < not_before_) return ports;
  std::erase_if(due_, [&](const auto& entry) {
    if (entry.second <= now) ports.push_back(entry.first);
    return entry.second <= now;
  });
  if (ports.empty()) return ports;
  not_before_ = now + kApart;
  std::erase_if(asked_, [&](const auto& entry) { return entry.second + kAgainAfter <= now; });
  for (const ib::Guid port : ports) asked_[port] = now;
  return ports;
}

ib::Instant UntoldClients::next_deadline() const {
  ib::Instant first = ib::kNever;
  for (const auto& [port, due] : due_) first = std::min(first, std::max(due, not_before_));
  return first;
}

}  // namespace sm::sa
