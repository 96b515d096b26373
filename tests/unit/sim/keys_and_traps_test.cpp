// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// M_Key (IBA 14.2.4), traps and their repression (IBA 13.4.9, 14.2.5.1), routes with LID-routed
// parts (IBA 14.2.2).
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

constexpr std::uint64_t kKey = 0x1122334455667788;

class Keys : public ::testing::Test {
 protected:
  Keys() { bring_up(hand); }
  /// Gives H2 a key; from then on every Set needs it.
  void lock(std::uint8_t protect, std::uint16_t lease_seconds = 0) {
    EXPECT_EQ(hand.set_port(h2, 1,
                            [&](wire::PortInfo& i) {
                              i.m_key = kKey;
                              i.m_key_protect_bits = protect;
                              i.m_key_lease_period = lease_seconds;
                            }),
              0);
  }
  std::uint16_t harmless_set(std::uint64_t key) {
    return hand.set_port(
        h2, 1, [](wire::PortInfo&) {}, key);
  }
  std::optional<mad::Packet> read(std::uint64_t key) {
    return hand.directed(h2, Method::Get, attr::kPortInfo, 1,
                         static_cast<const wire::NodeInfo*>(nullptr), key);
  }
  std::vector<Delivery> traps(std::uint16_t number) {
    std::vector<Delivery> out;
    for (const Delivery& d : hand.unasked)
      if (d.packet.mad.method() == Method::Trap &&
          wire::body<wire::Notice>(d.packet.mad).trap_number == number)
        out.push_back(d);
    return out;
  }
  void repress(const Delivery& trap) {
    wire::Mad mad = trap.packet.mad;
    mad.set<&wire::MadHeader::method>(Method::TrapRepress);
    model.send(hand.now(), trap.port, true, {mad::smi_address(trap.packet.address.lid), mad, {}});
    hand.run_for(std::chrono::microseconds(100));
  }

  const Hops h2{1, 3, 1};
  Model model{small_fabric()};
  Hand hand{model};
};

TEST_F(Keys, ProtectZeroShowsTheKeyAndRefusesWrites) {
  lock(0);
  const auto seen = read(0);
  ASSERT_TRUE(seen);
  EXPECT_EQ(wire::body<wire::PortInfo>(seen->mad).m_key, kKey);
  EXPECT_EQ(harmless_set(0), 0xFFFF);
  EXPECT_EQ(harmless_set(kKey), 0);
  EXPECT_EQ(model.port_info({kH2, 1}).m_key_violations, 1);
}

TEST_F(Keys, ProtectOneHidesTheKey) {
  lock(1);
  const auto seen = read(0);
  ASSERT_TRUE(seen);
  EXPECT_EQ(wire::body<wire::PortInfo>(seen->mad).m_key, 0U);
  EXPECT_EQ(wire::body<wire::PortInfo>(read(kKey)->mad).m_key, kKey);
}

TEST_F(Keys, ProtectTwoAnswersNobodyElse) {
  lock(2);
  EXPECT_FALSE(read(0));
  EXPECT_FALSE(read(1));
  EXPECT_TRUE(read(kKey));
}

TEST_F(Keys, TheLeaseRunsOutAfterAViolationUnlessTheOwnerComesBack) {
  lock(2, 3);
  EXPECT_FALSE(read(0));
  hand.run_for(std::chrono::seconds(1));
  EXPECT_TRUE(read(kKey));  // the owner lives
  hand.run_for(std::chrono::seconds(5));
  EXPECT_FALSE(read(0));
  hand.run_for(std::chrono::seconds(4));
  const auto seen = read(0);
  ASSERT_TRUE(seen);
  EXPECT_EQ(wire::body<wire::PortInfo>(seen->mad).m_key, kKey);
  EXPECT_EQ(model.port_info({kH2, 1}).m_key_protect_bits, 0);
}

TEST_F(Keys, AViolationIsReportedByTrap256) {
  lock(2);
  EXPECT_FALSE(read(0x99));
  const auto seen = traps(wire::trap::kBadMKey);
  ASSERT_FALSE(seen.empty());
  const auto notice = wire::body<wire::Notice>(seen[0].packet.mad);
  EXPECT_EQ(notice.issuer_lid, Lid{7});
  EXPECT_EQ(notice.type, 2);
  EXPECT_EQ(notice.details[6], static_cast<std::uint8_t>(Method::Get));
  EXPECT_EQ(notice.details[9], attr::kPortInfo);
  EXPECT_EQ(notice.details[21], 0x99);
}

TEST_F(Keys, LinkChangesAreToldByTrap128UntilRepressed) {
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 4}));
  hand.run_for(std::chrono::microseconds(100));
  auto seen = traps(wire::trap::kLinkStateChange);
  ASSERT_EQ(seen.size(), 2U);  // S1 and S2 both saw it
  EXPECT_EQ(seen[0].port, (PortRef{kH1, 1}));
  EXPECT_TRUE(seen[0].smi);
  for (const Delivery& d : seen) repress(d);
  hand.unasked.clear();
  hand.run_for(std::chrono::seconds(20));
  EXPECT_TRUE(traps(wire::trap::kLinkStateChange).empty());
  // Nobody represses: repeated every 4.096 us x 2^SubnetTimeOut, and not for ever.
  ASSERT_TRUE(model.link_up(hand.now(), {kS1, 4}));
  hand.run_for(std::chrono::milliseconds(500));
  EXPECT_EQ(traps(wire::trap::kLinkStateChange).size(), 2U);
  hand.run_for(std::chrono::seconds(1));
  EXPECT_EQ(traps(wire::trap::kLinkStateChange).size(), 4U);
  hand.run_for(std::chrono::seconds(100));
  EXPECT_LT(traps(wire::trap::kLinkStateChange).size(), 40U);
  EXPECT_EQ(model.next_event(), kNever);
}

TEST_F(Keys, WithoutAManagersLidThereIsNobodyToTell) {
  Model fresh(small_fabric());
  Hand other(fresh);
  ASSERT_TRUE(fresh.link_down(other.now(), {kS1, 4}));
  other.run_for(std::chrono::seconds(5));
  EXPECT_TRUE(other.unasked.empty());
}

TEST_F(Keys, BecomingAManagerIsTrap144) {
  model.set_is_sm(hand.now(), {kH3, 1}, true);
  hand.run_for(std::chrono::microseconds(100));
  const auto seen = traps(wire::trap::kCapabilityChange);
  ASSERT_EQ(seen.size(), 1U);
  const auto notice = wire::body<wire::Notice>(seen[0].packet.mad);
  EXPECT_EQ(notice.details[9] & 2, 2);  // IsSM in the capability mask
  EXPECT_TRUE(model.port_info({kH3, 1}).capability_mask & wire::port_cap::kIsSm);
}

TEST_F(Keys, OtherNoticesHaveTheirNumbers) {
  model.report_link_errors(hand.now(), {kS2, 2}, wire::trap::kExcessiveBufferOverrun);
  model.set_system_image_guid(hand.now(), kH3, Guid{0xABC});
  mad::Address to = mad::gsi_address(Lid{7});
  to.q_key = 1;
  model.send(hand.now(), {kH1, 1}, false,
             {to, wire::make_mad(MgmtClass::Perf, Method::Get, attr::kPortCounters), {}});
  hand.run_for(std::chrono::microseconds(100));
  ASSERT_EQ(traps(wire::trap::kExcessiveBufferOverrun).size(), 1U);
  EXPECT_EQ(
      wire::body<wire::Notice>(traps(wire::trap::kExcessiveBufferOverrun)[0].packet.mad).details[4],
      2);
  EXPECT_EQ(traps(wire::trap::kSystemImageGuidChange).size(), 1U);
  EXPECT_EQ(traps(wire::trap::kBadQKey).size(), 1U);
}

TEST_F(Keys, ASwitchReportsForeignPartitions) {
  EXPECT_EQ(
      hand.set_port({1}, 1, [](wire::PortInfo& i) { i.partition_enforcement_inbound = true; }), 0);
  model.send(hand.now(), {kH1, 1}, false,
             {mad::gsi_address(Lid{7}),
              wire::make_mad(MgmtClass::VendorPing, Method::Send, attr::kPing),
              {}});
  hand.run_for(std::chrono::microseconds(100));
  const auto seen = traps(wire::trap::kSwitchBadPKey);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(wire::body<wire::Notice>(seen[0].packet.mad).details[50], 1);
}

// ---- routes with LID-routed parts

// By LID to S2, from there by a directed route to H3, and back the same way.
TEST_F(Keys, ADirectedPartCanBeginWhereALidLeads) {
  mad::Request r = mad::smp_request(0, 0, mad::DirectedRoute{{2}}, Method::Get, attr::kNodeInfo, 0);
  r.address = mad::smi_address(Lid{2});
  r.mad.set<&wire::SmpHeader::dr_slid>(Lid{5});
  const auto reply = hand.exchange(true, r.address, r.mad);
  ASSERT_TRUE(reply);
  EXPECT_EQ(wire::body<wire::NodeInfo>(reply->mad).port_guid, Guid{0x51});
  EXPECT_EQ(reply->mad.get<&wire::SmpHeader::hop_pointer>(), 0);
}

// By a directed route to S1, from there by LID to H2, and back the same way.
TEST_F(Keys, ADirectedPartCanEndWhereALidGoesOn) {
  mad::Request r = mad::smp_request(0, 0, mad::DirectedRoute{{1}}, Method::Get, attr::kNodeInfo, 0);
  r.mad.set<&wire::SmpHeader::dr_dlid>(Lid{7});
  const auto reply = hand.exchange(true, r.address, r.mad);
  ASSERT_TRUE(reply);
  EXPECT_EQ(wire::body<wire::NodeInfo>(reply->mad).port_guid, Guid{0x41});
}

// SMInfo is the host software's: the SMA does not answer it, software does, by the way it came.
TEST_F(Keys, SmInfoGoesToSoftwareAndItsAnswerComesBack) {
  mad::Request r =
      mad::smp_request(0, 0, mad::DirectedRoute{{1, 3, 2}}, Method::Get, attr::kSmInfo, 0);
  r.mad.set<&wire::MadHeader::tid>(Tid{0x777});
  model.send(hand.now(), {kH1, 1}, true, {r.address, r.mad, {}});
  hand.run_for(std::chrono::microseconds(100));
  ASSERT_EQ(hand.unasked.size(), 1U);
  const Delivery asked = hand.unasked[0];
  EXPECT_EQ(asked.port, (PortRef{kH3, 1}));
  mad::Packet answer = asked.packet;
  answer.mad.set<&wire::MadHeader::method>(Method::GetResp);
  answer.mad.set<&wire::SmpHeader::direction>(true);
  model.send(hand.now(), asked.port, true, answer);
  EXPECT_TRUE(hand.wait_for(Tid{0x777}));
}

}  // namespace
}  // namespace ib::sim::test
