// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/astray_lids.h"

#include <utility>

namespace sm::core {
namespace {

constexpr ib::Duration kNotAgainFor = std::chrono::minutes(10);

}  // namespace

void AstrayLids::on_planned(ib::Instant now, const std::vector<ib::route::AstrayLid>& astray) {
  std::erase_if(not_before_, [&](const auto& entry) { return entry.second <= now; });
  auto before = std::exchange(holders_, {});
  for (const ib::route::AstrayLid& a : astray) {
    Holder holder{a.owner};
    if (const auto known = before.find(a.guid);
        known != before.end() && known->second.owner == a.owner) {
      holder = known->second;
      before.erase(known);
    }
    holders_.emplace(a.guid, holder);
  }
  // It took its own, though its answer was lost, or is away.
  for (const auto& [guid, holder] : before)
    if (!holder.told) tell(now, guid, holder.owner);
}

void AstrayLids::on_taken(ib::Instant now, const ib::route::AstrayLid& astray) {
  const auto at = holders_.find(astray.guid);
  if (at == holders_.end() || std::exchange(at->second.told, true)) return;
  tell(now, astray.guid, at->second.owner);
}

void AstrayLids::tell(ib::Instant now, ib::Guid holder, ib::Guid owner) {
  if (!not_before_.emplace(holder, now + kNotAgainFor).second) return;
  owners_.insert(owner);
  doubted_.insert(owner);
}

std::vector<ib::Guid> AstrayLids::take_owners() {
  const auto owners = std::exchange(owners_, {});
  return {owners.begin(), owners.end()};
}

}  // namespace sm::core
