// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute.h"

#include <algorithm>

#include "libdiag/route/choose.h"
#include "libdiag/route/reroute_state.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// How much more than after a fresh computation the most loaded link may carry.
constexpr double kDriftMax = 1.05;
constexpr double kRebalanceAbove = 1.1;

}  // namespace

Difference difference(const routes::LinearTables& before, const routes::LinearTables& after) {
  Difference result;
  for (SwitchIndex s = 0; s < after.switch_count(); ++s)
    for (std::size_t lid = 0; lid < std::max(before.lid_count(), after.lid_count()); ++lid) {
      const Lid of{static_cast<std::uint16_t>(lid)};
      const std::uint8_t was = s < before.switch_count() ? before.at(s, of) : routes::kNoPort;
      if (was == after.at(s, of)) continue;
      result.entries.push_back({s, of, was, after.at(s, of)});
      const Difference::Block block{s, static_cast<std::uint16_t>(lid / 64)};
      if (result.blocks.empty() || result.blocks.back() != block) result.blocks.push_back(block);
    }
  return result;
}

Rerouter::Rerouter(const EngineEntry& engine, Options options, unsigned vls)
    : engine_(&engine), options_(std::move(options)), vls_(vls) {}
Rerouter::~Rerouter() = default;
Rerouter::Rerouter(Rerouter&&) noexcept = default;
Rerouter& Rerouter::operator=(Rerouter&&) noexcept = default;

void Rerouter::adopt(const fabric::Fabric& fabric, fabric::CompactGraph graph, Routes routes) {
  Request request{&fabric, nullptr, options_, nullptr, vls_};
  state_ = std::make_unique<State>(request, std::move(graph), std::move(routes));
  if (engine_->candidates == nullptr) return;
  request.graph = &state_->links.graph;
  // Entries that are no candidates (an operator's, an older rule's) cannot be followed one by one.
  if (auto rule = engine_->candidates(request)) state_->take_stock(std::move(*rule));
}

Result<Difference> Rerouter::update(const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
  Difference result;
  if (state_->follow(now, result)) return result;

  const routes::LinearTables before = carried_over(state_->routes.lfts, state_->links.graph, now);
  Request request{&fabric, &now, options_, &before, vls_};
  request.options.honour_previous = true;
  auto kept = engine_->compute(request);
  if (!kept) return tl::unexpected(kept.error());
  const std::string why = engine_->candidates == nullptr
                              ? std::string(engine_->name) + " routes as a whole"
                              : "switches, LIDs or cables are not the ones they were";
  auto old = std::move(state_);
  adopt(fabric, now, std::move(*kept));
  if (state_->follows()) {
    // What was kept may be out of balance: a switch that came back has nothing on its links.
    request.options.honour_previous = false;
    request.previous = nullptr;
    if (auto fresh = engine_->compute(request)) {
      auto balanced = std::move(state_);
      adopt(fabric, now, std::move(*fresh));
      if (static_cast<double>(balanced->load_max()) <=
          kDriftMax * static_cast<double>(state_->load_max()))
        state_ = std::move(balanced);
    }
  }
  result = difference(before, state_->routes.lfts);
  result.recomputed = why;
  return result;
}

Result<Difference> Rerouter::rebalance(const fabric::Fabric& fabric,
                                       const fabric::CompactGraph& now) {
  if (!state_->follows()) return Difference{};
  auto fresh = engine_->compute({&fabric, &now, options_, nullptr, vls_});
  if (!fresh) return tl::unexpected(fresh.error());
  auto old = std::move(state_);
  adopt(fabric, now, std::move(*fresh));
  if (static_cast<double>(old->load_max()) <=
      kRebalanceAbove * static_cast<double>(state_->load_max())) {
    state_ = std::move(old);
    return Difference{};
  }
  Difference result = difference(old->routes.lfts, state_->routes.lfts);
  result.recomputed = "the most loaded link carried more than a tenth too much";
  return result;
}

const Routes& Rerouter::routes() const { return state_->routes; }
std::uint64_t Rerouter::load_max() const { return state_->load_max(); }

}  // namespace ib::route
