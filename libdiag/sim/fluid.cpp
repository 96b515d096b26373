// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/fluid.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace ib::sim {
namespace {

constexpr double kSame = 1e-9;  // relative
/// Rounds in which VLs that share links find their rates: simple cases are exact after a few;
/// others are taken half way to where they would go, and are good enough once no share of a link
/// moves by more than a thousandth.
constexpr int kExactRounds = 6, kRounds = 24;
constexpr double kGoodEnough = 1e-3;

/// Lets all flows grow from 0 until each is stopped; what VLs can take is given.
class Growth {
 public:
  Growth(const std::vector<FluidVl>& vls, const std::vector<FluidFlow>& flows)
      : vls_(vls), flows_(flows), first_(vls.size() + 1), by_demand_(flows.size()) {
    for (const FluidFlow& flow : flows)
      for (const auto vl : flow.vls) ++first_[vl + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    members_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t f = 0; f < flows.size(); ++f)
      for (const auto vl : flows[f].vls) members_[next[vl]++] = f;
    std::iota(by_demand_.begin(), by_demand_.end(), 0U);
    std::ranges::sort(by_demand_, {}, [&](std::uint32_t f) { return flows[f].demand; });
  }

  const FluidRates& run(const std::vector<double>& capacity) {
    capacity_ = &capacity;
    rates_.flows.assign(flows_.size(), {});
    rates_.waits.assign(vls_.size(), false);
    stopped_.assign(flows_.size(), false);
    used_.assign(vls_.size(), 0);
    growing_.assign(vls_.size(), 0);
    level_ = 0;
    levels_ = {};
    for (std::uint32_t vl = 0; vl < vls_.size(); ++vl) {
      growing_[vl] = first_[vl + 1] - first_[vl];
      if (growing_[vl] != 0) levels_.push({level_of(vl), vl});
    }
    std::size_t next = 0;
    while (true) {
      while (next < by_demand_.size() && stopped_[by_demand_[next]]) ++next;
      settle_top();
      const double demand = next < by_demand_.size() ? flows_[by_demand_[next]].demand : kUnlimited;
      if (!levels_.empty() && levels_.top().level < demand) {
        const auto vl = levels_.top().vl;
        level_ = std::max(level_, levels_.top().level);
        fill_up(vl);
      } else if (next < by_demand_.size() && demand < kUnlimited) {
        level_ = std::max(level_, demand);
        stop(by_demand_[next], {demand, Stopped::Demand, kNoVl});
      } else {
        break;  // the rest passes no link and wants everything: nothing stops it
      }
    }
    return rates_;
  }

  double used(std::uint32_t vl) const { return used_[vl]; }

 private:
  struct Level {
    double level;
    std::uint32_t vl;
    bool operator>(const Level& other) const {
      return level != other.level ? level > other.level : vl > other.vl;
    }
  };

  /// The rate of its flows at which a VL is full.
  double level_of(std::uint32_t vl) const {
    return std::max((*capacity_)[vl] - used_[vl], 0.0) / growing_[vl];
  }
  /// Brings the VL to the top that is full first. A flow that stops elsewhere leaves room, so
  /// levels only rise, and a VL's is worked out again when it comes to the top.
  void settle_top() {
    while (!levels_.empty()) {
      const Level top = levels_.top();
      if (growing_[top.vl] != 0 && level_of(top.vl) <= top.level * (1 + kSame)) return;
      levels_.pop();
      if (growing_[top.vl] != 0) levels_.push({level_of(top.vl), top.vl});
    }
  }

  void stop(std::uint32_t flow, const FluidRate& rate) {
    stopped_[flow] = true;
    rates_.flows[flow] = rate;
    for (const auto vl : flows_[flow].vls) {
      used_[vl] += rate.rate;
      --growing_[vl];
    }
  }

  /// `full` is full: its flows stop, and what waits behind them.
  void fill_up(std::uint32_t full) {
    waiting_.assign(1, full);
    while (!waiting_.empty()) {
      const auto vl = waiting_.back();
      waiting_.pop_back();
      for (std::uint32_t i = first_[vl]; i < first_[vl + 1]; ++i) {
        const auto f = members_[i];
        if (stopped_[f]) continue;
        const FluidFlow& flow = flows_[f];
        const bool slowed =
            vl == full && flow.packet >= vls_[vl].marks_from && level_ >= flow.slowest;
        stop(f, {level_,
                 vl != full ? Stopped::Behind
                 : slowed   ? Stopped::Slowed
                            : Stopped::Full,
                 vl});
        if (slowed) continue;
        for (const auto before : flow.vls) {
          if (before == vl) break;
          if (rates_.waits[before]) continue;
          rates_.waits[before] = true;
          waiting_.push_back(before);
        }
      }
    }
  }

  const std::vector<FluidVl>& vls_;
  const std::vector<FluidFlow>& flows_;
  std::vector<std::uint32_t> first_, members_;  // flows of each VL
  std::vector<std::uint32_t> by_demand_;
  const std::vector<double>* capacity_{};
  FluidRates rates_;
  std::vector<bool> stopped_;
  std::vector<double> used_;
  std::vector<std::uint32_t> growing_;
  double level_{};
  std::priority_queue<Level, std::vector<Level>, std::greater<>> levels_;
  std::vector<std::uint32_t> waiting_;
};

/// VLs of one link, where there are several.
struct Competition {
  std::uint32_t link;
  std::vector<std::uint32_t> vls;
};

}  // namespace

FluidRates fluid_rates(const std::vector<FluidLink>& links, const std::vector<FluidVl>& vls,
                       const std::vector<FluidFlow>& flows) {
  std::vector<std::vector<std::uint32_t>> of_link(links.size());
  for (std::uint32_t vl = 0; vl < vls.size(); ++vl) of_link[vls[vl].link].push_back(vl);

  // What each VL can take while all others of its link want everything.
  std::vector<double> capacity(vls.size());
  std::vector<Competition> competitions;
  for (std::uint32_t link = 0; link < links.size(); ++link) {
    std::array<double, kDataVls> demand{};
    for (const auto vl : of_link[link]) demand[vls[vl].number] = kUnlimited;
    const auto shares = share_link(links[link].capacity, links[link].shares, demand);
    for (const auto vl : of_link[link]) capacity[vl] = shares[vls[vl].number];
    if (of_link[link].size() > 1) competitions.push_back({link, of_link[link]});
  }

  Growth growth(vls, flows);
  FluidRates rates = growth.run(capacity);
  std::vector<bool> full(vls.size());
  bool last = false;
  for (int round = 0; !last && !competitions.empty(); ++round) {
    full.assign(vls.size(), false);
    for (const FluidRate& flow : rates.flows)
      if (flow.by == Stopped::Full || flow.by == Stopped::Slowed) full[flow.vl] = true;
    // A VL that is full would use more; one that is not uses what it does. Nobody's own use
    // limits it, so that it can grow when others are slowed down.
    const auto share = [&](const Competition& competition, std::uint32_t vl, bool own_use) {
      std::array<double, kDataVls> demand{};
      for (const auto other : competition.vls)
        demand[vls[other].number] =
            full[other] || (other == vl && !own_use) ? kUnlimited : growth.used(other);
      const FluidLink& link = links[competition.link];
      return share_link(link.capacity, link.shares, demand)[vls[vl].number];
    };
    double moved = 0;
    for (const Competition& competition : competitions)
      for (const auto vl : competition.vls) {
        const double now = share(competition, vl, false);
        const double capacity_of_link = links[competition.link].capacity;
        moved = std::max(moved, std::abs(now - capacity[vl]) / capacity_of_link);
        capacity[vl] = round < kExactRounds ? now : (now + capacity[vl]) / 2;
      }
    if (moved <= kSame) break;
    last = round + 1 == kRounds || (round >= kExactRounds && moved <= kGoodEnough);
    // Not exact: in the end each VL keeps to what fits beside the others.
    if (last)
      for (const Competition& competition : competitions)
        for (const auto vl : competition.vls) capacity[vl] = share(competition, vl, true);
    rates = growth.run(capacity);
  }
  return rates;
}

}  // namespace ib::sim
