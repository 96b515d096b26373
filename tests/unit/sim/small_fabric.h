// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A small fabric and a hand that sends raw MADs into it, for the Model's tests.
//
//   H1:1 --- 1:S1:3 --- 3:S2:1 --- 1:H2        S1 has an enhanced port 0, S2 a base one.
//   H1:2 --- 2:S1:4 --- 4:S2:2 --- 1:H3
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libdiag/mad/request.h"
#include "libdiag/sim/model.h"

namespace ib::sim::test {

using wire::LinkSpeed;
using wire::LinkWidth;
using wire::Method;
using wire::MgmtClass;

inline constexpr NodeIndex kS1 = 0, kS2 = 1, kH1 = 2, kH2 = 3, kH3 = 4;
/// What bring_up gives them.
inline constexpr Lid kLidS1{1}, kLidS2{2}, kLidH1{5}, kLidH2{7}, kLidH3{8};
/// In place of the status of an answer that does not come.
inline constexpr std::uint16_t kNoAnswer = 0xFFFF;

inline fabric::Fabric small_fabric(LinkSpeed speed = LinkSpeed::Edr) {
  fabric::Fabric f;
  const auto add = [&](wire::NodeType type, std::uint64_t guid, std::uint8_t ports,
                       const char* name) {
    fabric::Node node;
    node.type = type;
    node.guid = Guid{guid};
    node.system_image_guid = Guid{guid + 0x100};
    node.vendor_id = 0x2C9;
    node.device_id = type == wire::NodeType::Switch ? 0xCB20 : 0x1017;
    node.num_ports = ports;
    node.description = name;
    return f.add_node(node);
  };
  add(wire::NodeType::Switch, 0x10, 36, "S1");
  add(wire::NodeType::Switch, 0x20, 36, "S2");
  add(wire::NodeType::ChannelAdapter, 0x30, 2, "H1");
  add(wire::NodeType::ChannelAdapter, 0x40, 1, "H2");
  add(wire::NodeType::ChannelAdapter, 0x50, 1, "H3");
  f.node(kS1).enhanced_port0 = true;
  f.port(kS1, 0).guid = Guid{0x10};
  f.port(kS2, 0).guid = Guid{0x20};
  f.port(kH1, 1).guid = Guid{0x31};
  f.port(kH1, 2).guid = Guid{0x32};
  f.port(kH2, 1).guid = Guid{0x41};
  f.port(kH3, 1).guid = Guid{0x51};
  f.connect({kH1, 1}, {kS1, 1}, LinkWidth::W4x, speed);
  f.connect({kH1, 2}, {kS1, 2}, LinkWidth::W4x, speed);
  f.connect({kS1, 3}, {kS2, 3}, LinkWidth::W4x, speed);
  f.connect({kS1, 4}, {kS2, 4}, LinkWidth::W4x, speed);
  f.connect({kS2, 1}, {kH2, 1}, LinkWidth::W4x, speed);
  f.connect({kS2, 2}, {kH3, 1}, LinkWidth::W4x, speed);
  f.reindex();
  return f;
}

using Hops = std::vector<std::uint8_t>;

class Hand {
 public:
  explicit Hand(Model& model, PortRef at = {kH1, 1}) : model_(model), at_(at) {}

  /// Directed-route SMP; `body`, if any, goes into a Set.
  template <class Body = wire::NodeInfo>
  std::optional<mad::Packet> directed(const Hops& hops, Method method, std::uint16_t attribute,
                                      std::uint32_t modifier = 0, const Body* body = nullptr,
                                      std::uint64_t m_key = 0) {
    mad::Request r =
        mad::smp_request(0, 0, mad::DirectedRoute{hops}, method, attribute, modifier, m_key);
    if (body) wire::set_body(r.mad, *body);
    return exchange(true, r.address, r.mad);
  }
  template <class Body = wire::NodeInfo>
  std::optional<mad::Packet> by_lid(Lid lid, Method method, std::uint16_t attribute,
                                    std::uint32_t modifier = 0, const Body* body = nullptr,
                                    std::uint64_t m_key = 0) {
    mad::Request r = mad::smp_request(0, 0, lid, method, attribute, modifier, m_key);
    if (body) wire::set_body(r.mad, *body);
    return exchange(true, r.address, r.mad);
  }
  template <class T>
  T get(const Hops& hops, std::uint16_t attribute, std::uint32_t modifier = 0) {
    const auto reply = directed(hops, Method::Get, attribute, modifier);
    if (!reply) {
      ADD_FAILURE() << "no answer to attribute " << attribute;
      return T{};
    }
    EXPECT_EQ(reply->mad.status(), 0);
    return wire::body<T>(reply->mad);
  }
  /// Status of the answer, or kNoAnswer.
  template <class T>
  std::uint16_t set(const Hops& hops, std::uint16_t attribute, std::uint32_t modifier,
                    const T& body, std::uint64_t m_key = 0) {
    const auto reply = directed(hops, Method::Set, attribute, modifier, &body, m_key);
    return reply ? reply->mad.status() : kNoAnswer;
  }
  wire::PortInfo port_info(const Hops& hops, unsigned port) {
    return get<wire::PortInfo>(hops, wire::attr::kPortInfo, port);
  }
  /// PortInfo as an SM writes it: no change of state, speeds or widths unless `change` says so.
  template <class Change>
  std::uint16_t set_port(const Hops& hops, unsigned port, Change&& change,
                         std::uint64_t m_key = 0) {
    const auto before = directed(hops, Method::Get, wire::attr::kPortInfo, port,
                                 static_cast<const wire::NodeInfo*>(nullptr), m_key);
    if (!before) return kNoAnswer;
    auto info = wire::body<wire::PortInfo>(before->mad);
    info.port_state = wire::PortState::NoChange;
    info.port_physical_state = wire::PhysState::NoChange;
    info.link_width_enabled = info.link_speed_enabled = 0;
    info.link_speed_ext_enabled = info.link_speed_ext_enabled2 = 0;
    change(info);
    return set(hops, wire::attr::kPortInfo, port, info, m_key);
  }
  std::uint16_t set_state(const Hops& hops, unsigned port, wire::PortState state) {
    return set_port(hops, port, [&](wire::PortInfo& i) { i.port_state = state; });
  }
  std::uint16_t set_lid(const Hops& hops, unsigned port, std::uint16_t lid, std::uint8_t lmc = 0) {
    return set_port(hops, port, [&](wire::PortInfo& i) {
      i.lid = Lid{lid};
      i.lmc = lmc;
      i.master_sm_lid = Lid{kSmLid};
    });
  }
  void activate(const Hops& hops, unsigned port) {
    EXPECT_EQ(set_state(hops, port, wire::PortState::Armed), 0);
    EXPECT_EQ(set_state(hops, port, wire::PortState::Active), 0);
  }
  std::uint16_t set_lft(const Hops& hops, const std::vector<std::pair<int, int>>& entries) {
    wire::LinearForwardingTable t;
    t.port.fill(255);
    for (const auto& [lid, port] : entries)
      t.port[static_cast<std::size_t>(lid)] = static_cast<std::uint8_t>(port);
    return set(hops, wire::attr::kLinearForwarding, 0, t);
  }

  std::optional<mad::Packet> exchange(bool smi, const mad::Address& to, wire::Mad mad) {
    mad.set<&wire::MadHeader::tid>(Tid{++tid_});
    model_.send(now_, at_, smi, {to, mad, {}});
    return wait_for(Tid{tid_});
  }
  std::optional<mad::Packet> gmp(Lid lid, Method method, std::uint16_t attribute,
                                 MgmtClass mgmt_class = MgmtClass::Perf) {
    return exchange(false, mad::gsi_address(lid), wire::make_mad(mgmt_class, method, attribute));
  }
  /// Lets the fabric run until the answer is there or nothing happens for a second.
  std::optional<mad::Packet> wait_for(Tid tid) {
    const Instant until = now_ + std::chrono::seconds(1);
    for (;;) {
      while (const auto* d = model_.next_delivery()) {
        if (d->port == at_ && d->packet.mad.tid() == tid &&
            wire::is_response(d->packet.mad.method()))
          return d->packet;
        unasked.push_back(*d);
      }
      const Instant next = model_.next_event();
      if (next > until) return std::nullopt;
      now_ = next;
      model_.advance(now_);
    }
  }
  void run_for(Duration d) {
    now_ = now_ + d;
    model_.advance(now_);
    while (const auto* delivery = model_.next_delivery()) unasked.push_back(*delivery);
  }
  Instant now() const { return now_; }

  static constexpr std::uint16_t kSmLid = 5;
  std::vector<Delivery> unasked;  // what arrived anywhere and was no answer to us

 private:
  Model& model_;
  PortRef at_;
  Instant now_{};
  std::uint64_t tid_{0};
};

/// LIDs S1 1, S2 2, H1:1 5, H1:2 6, H2 7, H3 8; tables by the direct cable S1:3-S2:3; all Active.
inline void bring_up(Hand& hand) {
  const Hops h1, s1{1}, s2{1, 3}, h2{1, 3, 1}, h3{1, 3, 2};
  const Hops h1_2{1, 2};
  EXPECT_EQ(hand.set_lid(s1, 0, 1), 0);
  EXPECT_EQ(hand.set_lid(s2, 0, 2), 0);
  EXPECT_EQ(hand.set_lid(h1, 1, 5), 0);
  EXPECT_EQ(hand.set_lid(h1_2, 2, 6), 0);
  EXPECT_EQ(hand.set_lid(h2, 1, 7), 0);
  EXPECT_EQ(hand.set_lid(h3, 1, 8), 0);
  EXPECT_EQ(hand.set_lft(s1, {{1, 0}, {2, 3}, {5, 1}, {6, 2}, {7, 3}, {8, 3}}), 0);
  EXPECT_EQ(hand.set_lft(s2, {{1, 3}, {2, 0}, {5, 3}, {6, 3}, {7, 1}, {8, 2}}), 0);
  for (const Hops& hops : {s1, s2}) {
    auto info = hand.get<wire::SwitchInfo>(hops, wire::attr::kSwitchInfo);
    info.linear_fdb_top = 8;
    info.port_state_change = true;
    EXPECT_EQ(hand.set(hops, wire::attr::kSwitchInfo, 0, info), 0);
  }
  hand.activate(s1, 0);
  const std::vector<std::pair<Hops, unsigned>> ports{{h1, 1}, {h1_2, 2}, {h2, 1}, {h3, 1},
                                                     {s1, 1}, {s1, 2},   {s1, 3}, {s1, 4},
                                                     {s2, 1}, {s2, 2},   {s2, 3}, {s2, 4}};
  for (const auto& [hops, port] : ports) hand.activate(hops, port);
  hand.unasked.clear();
}

}  // namespace ib::sim::test
