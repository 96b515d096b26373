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
    const ib::Instant due =
        before == asked_.end() ? now : std::max(now, before->second + kAgainAfter);
    if (due_.emplace(port, due).second) first_ = std::min(first_, due);
  }
}

std::vector<ib::Guid> UntoldClients::take(ib::Instant now) {
  std::vector<ib::Guid> ports;
  if (now < next_deadline()) return ports;
  first_ = ib::kNever;
  std::erase_if(due_, [&](const auto& entry) {
    if (entry.second <= now)
      ports.push_back(entry.first);
    else
      first_ = std::min(first_, entry.second);
    return entry.second <= now;
  });
  not_before_ = now + kApart;
  std::erase_if(asked_, [&](const auto& entry) { return entry.second + kAgainAfter <= now; });
  for (const ib::Guid port : ports) asked_[port] = now;
  return ports;
}

ib::Instant UntoldClients::next_deadline() const { return std::max(first_, not_before_); }

}  // namespace sm::sa
