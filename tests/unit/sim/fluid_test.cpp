// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rates of flows that can be worked out by hand.
#include "libdiag/sim/fluid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace ib::sim {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

VlShares equal_shares() {
  VlShares shares;
  shares.low.fill(1);
  return shares;
}

/// Links of one vl each.
struct Net {
  explicit Net(const std::vector<double>& capacities) {
    for (const double capacity : capacities) {
      vls.push_back({static_cast<std::uint32_t>(links.size()), 0, kUnmarked});
      links.push_back({capacity, equal_shares()});
    }
  }
  std::uint32_t flow(std::vector<std::uint32_t> way, double demand = kUnlimited) {
    flows.push_back({std::move(way), demand, kUnlimited, 4096});
    return static_cast<std::uint32_t>(flows.size() - 1);
  }
  FluidRates solve() const { return fluid_rates(links, vls, flows); }
  std::vector<double> rates() const {
    std::vector<double> all;
    for (const FluidRate& flow : solve().flows) all.push_back(flow.rate);
    return all;
  }

  std::vector<FluidLink> links;
  std::vector<FluidVl> vls;
  std::vector<FluidFlow> flows;
};

MATCHER(IsNear, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-6; }
testing::Matcher<std::vector<double>> rates_are(std::vector<double> wanted) {
  return Pointwise(IsNear(), wanted);
}

TEST(Fluid, OneFlowTakesTheSlowestLink) {
  Net net({10, 4, 8});
  net.flow({0, 1, 2});
  EXPECT_THAT(net.rates(), rates_are({4}));
}

TEST(Fluid, WhoWantsLessLeavesItToOthers) {
  Net net({10});
  net.flow({0}, 1);
  net.flow({0});
  net.flow({0});
  EXPECT_THAT(net.rates(), rates_are({1, 4.5, 4.5}));
  EXPECT_EQ(net.solve().flows[0].by, Stopped::Demand);
  EXPECT_EQ(net.solve().flows[1].by, Stopped::Full);
}

TEST(Fluid, NoRouteMeansNoLinkAndNoLimit) {
  Net net({10});
  net.flow({}, 3);
  EXPECT_THAT(net.rates(), rates_are({3}));
}

// Two links in a row; one flow passes both, and one each of them: the classic of max-min fairness.
TEST(Fluid, FlowsOfTheFirstLinkWaitBehindWhatTheSecondKeepsBack) {
  Net net({10, 4});
  net.flow({0, 1});
  net.flow({0});
  net.flow({1});
  // Link 1 is full at 2 each; flow 0's packets wait on link 0, and those of flow 1 behind them.
  EXPECT_THAT(net.rates(), rates_are({2, 2, 2}));
  const FluidRates rates = net.solve();
  EXPECT_EQ(rates.flows[1].by, Stopped::Behind);
  EXPECT_EQ(rates.flows[1].vl, 0U);
  EXPECT_TRUE(rates.waits[0]);
  EXPECT_FALSE(rates.waits[1]);
}

TEST(Fluid, CongestionControlSparesWhoDoesNotUseTheFullLink) {
  Net net({10, 4});
  net.flow({0, 1});
  net.flow({0});
  net.flow({1});
  net.vls[1].marks_from = 0;
  net.flows[0].slowest = net.flows[2].slowest = 0.1;
  EXPECT_THAT(net.rates(), rates_are({2, 8, 2}));
  EXPECT_EQ(net.solve().flows[0].by, Stopped::Slowed);
}

TEST(Fluid, CongestionControlHelpsOnlyAsFarAsItsTableGoes) {
  Net net({10, 4});
  net.flow({0, 1});
  net.flow({0});
  net.flow({1});
  net.vls[1].marks_from = 0;
  net.flows[0].slowest = net.flows[2].slowest = 3;
  EXPECT_THAT(net.rates(), rates_are({2, 2, 2}));
}

TEST(Fluid, SmallPacketsAreNotMarked) {
  Net net({10, 4});
  net.flow({0, 1});
  net.flow({0});
  net.vls[1].marks_from = 512;
  net.flows[0].slowest = 0.1;
  net.flows[0].packet = 256;
  net.links[1].capacity = 2;
  EXPECT_THAT(net.rates(), rates_are({2, 2}));
  net.flows[0].packet = 512;
  EXPECT_THAT(net.rates(), rates_are({2, 8}));
}

// 40 senders to one host, through one link that a victim shares with ten of them.
TEST(Fluid, CongestionSpreadsToAVictim) {
  std::vector<double> capacities(41, 12);  // 0..39: senders, 40: the host's link
  capacities.push_back(48);                // 41: an uplink that ten senders and the victim share
  capacities.push_back(12);                // 42: the victim's own way in
  Net net(capacities);
  for (std::uint32_t i = 0; i < 40; ++i)
    net.flow(i < 10 ? std::vector<std::uint32_t>{i, 41, 40} : std::vector<std::uint32_t>{i, 40});
  const auto victim = net.flow({42, 41});
  EXPECT_NEAR(net.rates()[victim], 0.3, 1e-9);
  net.vls[40].marks_from = 0;
  for (auto& flow : net.flows) flow.slowest = 0.2;
  EXPECT_NEAR(net.rates()[0], 0.3, 1e-9);
  EXPECT_NEAR(net.rates()[victim], 12, 1e-9);
}

TEST(Fluid, AVictimKeepsOthersBackInItsTurn) {
  Net net({10, 4, 10});
  net.flow({0, 1}, kUnlimited);
  net.flow({1});
  net.flow({2, 0});  // waits behind the first on link 0, and so its own packets do on link 2
  net.flow({2});
  EXPECT_THAT(net.rates(), rates_are({2, 2, 2, 2}));
}

// ---- VLs

struct VlNet : Net {
  VlNet() : Net({}) {}
  std::uint32_t link(double capacity, VlShares shares) {
    links.push_back({capacity, shares});
    return static_cast<std::uint32_t>(links.size() - 1);
  }
  std::uint32_t vl(std::uint32_t link, std::uint8_t vl) {
    vls.push_back({link, vl, kUnmarked});
    return static_cast<std::uint32_t>(vls.size() - 1);
  }
};

TEST(Fluid, VlsShareByWeight) {
  VlNet net;
  VlShares shares;
  shares.low[0] = 1;
  shares.low[1] = 3;
  const auto link = net.link(8, shares);
  const auto slow = net.vl(link, 0), fast = net.vl(link, 1);
  net.flow({slow});
  net.flow({slow});
  net.flow({fast});
  EXPECT_THAT(net.rates(), rates_are({1, 1, 6}));
}

TEST(Fluid, WhatAVlDoesNotUseOthersGet) {
  VlNet net;
  const auto link = net.link(10, equal_shares());
  const auto elsewhere = net.vl(net.link(1, equal_shares()), 0);
  const auto vl0 = net.vl(link, 0), vl1 = net.vl(link, 1);
  for (int i = 0; i < 3; ++i) net.flow({vl0});
  net.flow({vl1, elsewhere});
  EXPECT_THAT(net.rates(), rates_are({3, 3, 3, 1}));
}

TEST(Fluid, CongestionStaysOnItsVl) {
  VlNet net;
  const auto link = net.link(10, equal_shares());
  const auto full = net.vl(net.link(1, equal_shares()), 0);
  const auto vl0 = net.vl(link, 0), vl1 = net.vl(link, 1);
  net.flow({vl0, full});
  net.flow({vl0});
  net.flow({vl1});
  EXPECT_THAT(net.rates(), rates_are({1, 1, 8}));
}

TEST(Fluid, AVlThatNoTableNamesCarriesNothing) {
  VlNet net;
  VlShares shares;
  shares.low[0] = 1;
  const auto link = net.link(10, shares);
  net.flow({net.vl(link, 1)});
  net.flow({net.vl(link, 0)});
  EXPECT_THAT(net.rates(), rates_are({0, 10}));
}

TEST(VlShares, HighPriorityFirst) {
  VlShares shares;
  shares.high[1] = 1;
  shares.low[0] = 1;
  shares.high_part = high_part_of(255, 4096);
  std::array<double, kDataVls> demand{};
  demand[0] = demand[1] = kUnlimited;
  EXPECT_THAT(share_link(10, shares, demand)[0], 0);
  EXPECT_THAT(share_link(10, shares, demand)[1], 10);
  demand[1] = 4;
  EXPECT_THAT(share_link(10, shares, demand)[0], 6);
  EXPECT_THAT(share_link(10, shares, demand)[1], 4);
}

TEST(VlShares, TheHighLimitLetsLowPriorityThrough) {
  EXPECT_EQ(high_part_of(0, 2048), 0.5);  // packet by packet
  EXPECT_EQ(high_part_of(3, 4096), 0.75);
  EXPECT_EQ(high_part_of(1, 2048), 4096.0 / 6144);
  VlShares shares;
  shares.high[1] = 1;
  shares.low[0] = 1;
  shares.high_part = high_part_of(3, 4096);
  std::array<double, kDataVls> demand{};
  demand[0] = demand[1] = kUnlimited;
  EXPECT_THAT(share_link(8, shares, demand)[0], 2);
  EXPECT_THAT(share_link(8, shares, demand)[1], 6);
}

TEST(VlShares, AVlInBothTablesUsesWhatIsLeft) {
  VlShares shares;
  shares.high[0] = 1;
  shares.low[0] = 1;
  shares.high_part = 0.5;
  std::array<double, kDataVls> demand{};
  demand[0] = kUnlimited;
  EXPECT_THAT(share_link(8, shares, demand)[0], DoubleNear(8, 1e-9));
}

// ---- any network

TEST(Fluid, NoLinkCarriesMoreThanItCanAndNobodyCouldSendMore) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution<std::size_t>(0, n - 1)(random));
  };
  for (int repeat = 0; repeat < 300; ++repeat) {
    VlNet net;
    const auto links = 2 + below(6);
    std::vector<std::array<std::uint32_t, 2>> of_link;
    for (std::uint32_t i = 0; i < links; ++i) {
      VlShares shares;
      shares.low[0] = 1 + below(3);
      shares.low[1] = 1 + below(3);
      if (below(2) == 0) shares.high[1] = 1, shares.high_part = 0.5;
      const auto link = net.link(1 + below(10), shares);
      of_link.push_back({net.vl(link, 0), net.vl(link, 1)});
    }
    for (std::uint32_t f = 0; f < 1 + below(10); ++f) {
      std::vector<std::uint32_t> order(links);
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::shuffle(order, random);
      order.resize(1 + below(std::min<std::size_t>(links, 3)));
      std::vector<std::uint32_t> way;
      const auto vl = below(2);
      for (const auto link : order) way.push_back(of_link[link][vl]);
      net.flow(way, below(3) == 0 ? 1.0 + below(4) : kUnlimited);
    }
    const FluidRates rates = net.solve();
    std::vector<double> used(links), capacity(links);
    for (std::size_t f = 0; f < net.flows.size(); ++f) {
      EXPECT_LE(rates.flows[f].rate, net.flows[f].demand);
      for (const auto vl : net.flows[f].vls) used[net.vls[vl].link] += rates.flows[f].rate;
    }
    for (std::uint32_t i = 0; i < links; ++i)
      EXPECT_LE(used[i], net.links[i].capacity * (1 + 1e-6)) << "repeat " << repeat;
    for (std::size_t f = 0; f < net.flows.size(); ++f) {
      const FluidRate& flow = rates.flows[f];
      if (flow.by == Stopped::Demand) {
        EXPECT_DOUBLE_EQ(flow.rate, net.flows[f].demand);
      } else {
        EXPECT_NE(flow.vl, kNoVl);
        // Behind somebody: there is somebody on that vl who is stopped further on.
        EXPECT_TRUE(flow.by != Stopped::Behind || rates.waits[flow.vl]);
      }
    }
  }
}

}  // namespace
}  // namespace ib::sim
