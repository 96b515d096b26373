// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// GMPs that come all the way at once arrive when, where and as often as those that go hop by hop,
// and are counted alike, whatever happens while they are under way. A cable with a fault of nothing
// makes a model send everything hop by hop.
#include <algorithm>
#include <random>

#include "libdiag/wire/gmp_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

using std::chrono::nanoseconds;

struct Arrived {
  PortRef port;
  std::uint64_t tid;
  friend bool operator==(const Arrived&, const Arrived&) = default;
};

class Lab {
 public:
  explicit Lab(bool hop_by_hop) : model(small_fabric()), hand_(model) {
    bring_up(hand_);
    now = hand_.now();
    if (!hop_by_hop) return;
    for (const PortRef end : {PortRef{kH1, 1}, PortRef{kH1, 2}, PortRef{kS1, 3}, PortRef{kS1, 4},
                              PortRef{kH2, 1}, PortRef{kH3, 1}})
      model.set_link_faults(end, {});
  }
  void send(Lid to, std::uint64_t tid, MgmtClass mgmt_class = MgmtClass::SubnAdm, Sl sl = {}) {
    mad::Packet packet;
    packet.address = mad::gsi_address(to);
    packet.address.sl = sl;
    packet.mad = wire::make_mad(mgmt_class, Method::Get, wire::attr::kPortCounters);
    packet.mad.set<&wire::MadHeader::tid>(Tid{tid});
    if (mgmt_class == MgmtClass::Perf) {
      wire::PortCounters select;
      select.port_select = PortNum{to.value <= 2 ? std::uint8_t{3} : std::uint8_t{1}};
      wire::set_body(packet.mad, select);
    }
    model.send(now, {kH1, 1}, false, packet);
  }
  /// Down, whatever is on it, and up again some time later.
  void cut_and_mend(PortRef cable) {
    ASSERT_TRUE(model.link_down(now, cable));
    pass(nanoseconds(500));
    ASSERT_TRUE(model.link_up(now, cable));
    pass(std::chrono::milliseconds(20));
    hand_.run_for(now - hand_.now());
    if (cable.node == kS1) {
      hand_.activate({1}, 3);
      hand_.activate({1, 3}, 3);
    } else {
      hand_.activate({1, 3}, 1);
      hand_.activate({1, 3, 1}, 1);
    }
    now = hand_.now();
  }
  /// What arrives in the next `time`, port by port: what comes to two ports in one instant has no
  /// order.
  std::vector<Arrived> pass(Duration time) {
    now = now + time;
    model.advance(now);
    std::vector<Arrived> all;
    while (const auto* d = model.next_delivery()) {
      all.push_back({d->port, d->packet.mad.tid().value});
      last = d->packet.mad;
    }
    std::ranges::stable_sort(all, {},
                             [](const Arrived& a) { return std::pair(a.port.node, a.port.port); });
    return all;
  }
  /// Packets that a port sent and received, as its PMA says.
  std::pair<std::uint64_t, std::uint64_t> counted(Lid whose) {
    send(whose, 0xC0, MgmtClass::Perf);
    pass(std::chrono::milliseconds(1));
    const auto counters = wire::body<wire::PortCounters>(last);
    EXPECT_EQ(last.method(), Method::GetResp);
    return {counters.port_xmit_pkts, counters.port_rcv_pkts};
  }

  Model model;
  Instant now;
  wire::Mad last;

 private:
  Hand hand_;
};

TEST(Express, OneEventBringsAGmpAllTheWay) {
  const std::vector<Arrived> there{{{kH2, 1}, 1}};
  Lab express(false), slow(true);
  for (Lab* lab : {&express, &slow}) lab->send(kLidH2, 1);
  const Duration takes = express.model.next_event() - express.now;
  EXPECT_EQ(express.pass(takes), there);

  const Duration first = slow.model.next_event() - slow.now;
  EXPECT_LT(first, takes);
  EXPECT_TRUE(slow.pass(first).empty()) << "it is at the first switch";
  EXPECT_EQ(slow.pass(takes - first), there);
}

TEST(Express, ACableThatGoesWhileAGmpIsUnderWayLosesIt) {
  for (const bool hop_by_hop : {false, true}) {
    SCOPED_TRACE(hop_by_hop);
    Lab lab(hop_by_hop);
    const auto before = lab.model.counters().dropped_link_down;
    lab.send(kLidH2, 1);
    EXPECT_TRUE(lab.pass(nanoseconds(300)).empty()) << "between the switches";
    ASSERT_TRUE(lab.model.link_down(lab.now, {kH2, 1}));
    for (const Arrived& other : lab.pass(std::chrono::microseconds(50))) EXPECT_NE(other.tid, 1U);
    EXPECT_EQ(lab.model.counters().dropped_link_down - before, 1U);
  }
}

TEST(Express, OnesOwnRequestIsCountedWhenItIsAnswered) {
  Lab express(false), slow(true);
  for (int i = 0; i < 3; ++i) {
    for (const Lid lid : {kLidH2, kLidH3, kLidS2})
      EXPECT_EQ(express.counted(lid), slow.counted(lid)) << "LID " << lid.value;
    for (Lab* lab : {&express, &slow}) {
      for (std::uint64_t tid = 0; tid < 20; ++tid) lab->send(tid % 2 == 0 ? kLidH2 : kLidH3, tid);
      EXPECT_EQ(lab->pass(std::chrono::milliseconds(1)).size(), 20U);
    }
  }
}

/// Random GMPs of one host, which meet nobody else's, with all that can come between.
TEST(Express, NothingTellsItFromHopByHop) {
  std::uint64_t dropped_vl = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Lab express(false), slow(true);
    for (std::uint64_t step = 1; step < 400; ++step) {
      const auto what = random() % 68;
      const auto to = Lid{static_cast<std::uint16_t>(random() % 10)};  // some are nobody's
      const PortRef cable = random() % 2 == 0 ? PortRef{kS1, 3} : PortRef{kH2, 1};
      const std::uint8_t way = random() % 2 == 0 ? 3 : 4;
      const Sl sl{static_cast<std::uint8_t>(random() % 16)};
      const auto vls = static_cast<std::uint8_t>(random() % 9 + 1);
      const auto time = nanoseconds(random() % 4 == 0 ? 0 : random() % 700);
      std::array<std::vector<Arrived>, 2> arrived;
      for (Lab* lab : {&express, &slow}) {
        if (what < 50) {
          lab->send(to, step, MgmtClass::SubnAdm, sl);
        } else if (what < 54) {
          lab->send(to, step, MgmtClass::Perf, sl);
        } else if (what < 58) {
          lab->cut_and_mend(cable);
        } else if (what < 61) {  // an SMP crosses them
          auto smp = mad::smp_request(0, 0, mad::DirectedRoute{{1, 3, 1}}, Method::Get,
                                      wire::attr::kNodeInfo, 0);
          lab->model.send(lab->now, {kH1, 1}, true, {smp.address, smp.mad, {}});
        } else if (what < 65) {  // other VLs from S1 to S2
          wire::SlToVlTable table;
          for (std::size_t i = 0; i < 16; ++i)
            table.vl[i] = static_cast<std::uint8_t>(i == vls ? 15 : i % vls);
          auto smp = mad::smp_request(0, 0, mad::DirectedRoute{{1}}, Method::Set,
                                      wire::attr::kSlToVl, 1U << 8 | way);
          wire::set_body(smp.mad, table);
          lab->model.send(lab->now, {kH1, 1}, true, {smp.address, smp.mad, {}});
        } else {  // another way to H3
          wire::LinearForwardingTable table;
          table.port.fill(255);
          for (const auto& [lid, port] :
               std::vector<std::pair<std::size_t, std::uint8_t>>{{1, std::uint8_t{0}},
                                                                 {2, std::uint8_t{3}},
                                                                 {5, std::uint8_t{1}},
                                                                 {6, std::uint8_t{2}},
                                                                 {7, std::uint8_t{3}},
                                                                 {8, way}})
            table.port[lid] = port;
          auto smp = mad::smp_request(0, 0, mad::DirectedRoute{{1}}, Method::Set,
                                      wire::attr::kLinearForwarding, 0);
          wire::set_body(smp.mad, table);
          lab->model.send(lab->now, {kH1, 1}, true, {smp.address, smp.mad, {}});
        }
        arrived[lab == &slow] = lab->pass(time);
      }
      ASSERT_EQ(arrived[0], arrived[1]) << "step " << step;
    }
    EXPECT_EQ(express.pass(std::chrono::milliseconds(100)),
              slow.pass(std::chrono::milliseconds(100)));
    const auto &a = express.model.counters(), &b = slow.model.counters();
    EXPECT_EQ(a.sent, b.sent);
    EXPECT_EQ(a.delivered, b.delivered);
    EXPECT_EQ(a.dropped_no_route, b.dropped_no_route);
    EXPECT_EQ(a.dropped_link_down, b.dropped_link_down);
    EXPECT_EQ(a.dropped_vl, b.dropped_vl);
    dropped_vl += a.dropped_vl;
    for (const PortRef port : {PortRef{kH1, 1}, PortRef{kS1, 1}, PortRef{kS1, 3}, PortRef{kS1, 4},
                               PortRef{kS2, 3}, PortRef{kS2, 1}, PortRef{kH2, 1}, PortRef{kH3, 1}})
      EXPECT_EQ(express.model.vl_counters(port), slow.model.vl_counters(port));
    EXPECT_GT(a.delivered, 100U);
  }
  EXPECT_GT(dropped_vl, 100U);
}

}  // namespace
}  // namespace ib::sim::test
