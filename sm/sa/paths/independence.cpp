// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/independence.h"

#include <algorithm>

namespace sm::sa {

using ib::wire::PathRecord;

std::vector<std::uint32_t> Cables::of(const Paths& paths, const PathRecord& path) {
  const auto& fabric = paths.snapshot().fabric();
  std::vector<std::uint32_t> cables;
  for (const auto& step : paths.trace(*paths.find(path.slid), *paths.find(path.dlid), path.dlid)) {
    if (step.exit == 0) continue;
    const ib::fabric::PortRef out{step.node, step.exit};
    const auto cable = std::min(out, fabric.port(out).peer);
    cables.push_back(
        numbers_.try_emplace(cable, static_cast<std::uint32_t>(numbers_.size())).first->second);
  }
  return cables;
}

const CabledPath* LeastShared::next(const std::vector<CabledPath>& all) {
  taken_.resize(all.size());
  std::size_t best = all.size();
  std::pair<std::uint64_t, std::size_t> best_cost;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (taken_[i]) continue;
    std::uint64_t shared = 0;
    for (const auto cable : all[i].cables)
      if (cable < uses_.size()) shared += uses_[cable];
    const std::pair<std::uint64_t, std::size_t> cost{shared, all[i].cables.size()};
    if (best != all.size() && cost >= best_cost) continue;
    best = i;
    best_cost = cost;
  }
  if (best == all.size()) return nullptr;
  taken_[best] = true;
  for (const auto cable : all[best].cables) {
    if (cable >= uses_.size()) uses_.resize(cable + std::size_t{1});
    ++uses_[cable];
  }
  return &all[best];
}

bool ForMigration::step(const std::vector<CabledPath>& all) {
  while (at_ < all.size() && all[at_].source != 0) ++at_;
  if (at_ == all.size()) return false;
  const CabledPath& a = all[at_];
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CabledPath& b = all[i];
    if (b.source != 1 || a.destination == b.destination) continue;
    std::size_t shared = 0;
    for (const auto cable : a.cables)
      shared += static_cast<std::size_t>(std::count(b.cables.begin(), b.cables.end(), cable));
    const std::array<std::size_t, 3> cost{shared, std::min(a.cables.size(), b.cables.size()),
                                          a.cables.size() + b.cables.size()};
    if (best_ && cost >= cost_) continue;
    best_ = {at_, i};
    cost_ = cost;
  }
  ++at_;
  return true;
}

std::optional<std::pair<PathRecord, PathRecord>> ForMigration::best(
    const std::vector<CabledPath>& all) const {
  if (!best_) return std::nullopt;
  return std::pair(all[best_->first].path, all[best_->second].path);
}

}  // namespace sm::sa
