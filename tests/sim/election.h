// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Three ibsm on one fabric, one of which is to become master.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/managers.h"
#include "tests/sim/small_tree.h"

namespace sm::test {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::SmInfo;
using ib::wire::SmState;
namespace attr = ib::wire::attr;

inline core::Options with_priority(unsigned priority) {
  core::Options options;
  options.mastership.priority = static_cast<std::uint8_t>(priority);
  return options;
}

inline std::vector<ib::fabric::PortRef> hosts_of(const ib::fabric::Fabric& f) {
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).type == ib::wire::NodeType::ChannelAdapter && f.port(n, 1).peer)
      hosts.push_back({n, 1});
  return hosts;
}

class Election : public testing::Test {
 protected:
  explicit Election() : Election(small_tree()) {}
  explicit Election(ib::fabric::Fabric fabric) : world_(std::move(fabric)) {
    const auto hosts = hosts_of(world_.model().topology());
    for (const std::size_t i : {std::size_t{0}, hosts.size() / 2, hosts.size() - 1})
      hosts_.push_back(std::make_unique<ManagerHost>(world_, hosts[i]));
    world_.model().set_tap(
        [](void* self, ib::Instant, ib::Lid, ib::Lid, bool, const ib::mad::Packet& packet) {
          static_cast<Election*>(self)->count(packet);
        },
        this);
  }
  void count(const ib::mad::Packet& packet) {
    const auto attribute = packet.mad.attribute_id();
    lft_gets_ += packet.mad.method() == Method::Get && attribute == attr::kLinearForwarding;
    if (packet.mad.method() != Method::Set) return;
    lft_sets_ += attribute == attr::kLinearForwarding;
    mft_sets_ += attribute == attr::kMulticastForwarding;
  }
  ManagerHost& host(std::size_t i) { return *hosts_.at(i); }
  void lose(double percent) {
    auto faults = world_.model().faults();
    faults.loss_percent = percent;
    world_.model().set_faults(faults);
  }
  std::size_t masters() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(hosts_, [](const auto& h) { return h->is_master(); }));
  }
  /// Exactly one master, which has said that all is up.
  bool settles(ib::Duration limit = 120s) {
    const ib::Instant end = world_.now() + limit;
    return world_.run_until(
        [&] {
          const auto at =
              std::ranges::find_if(hosts_, [](const auto& h) { return h->is_master(); });
          return masters() == 1 && (*at)->reports() > 0 && (*at)->sm().idle() && (*at)->last().up();
        },
        end - world_.now());
  }
  std::map<ib::Guid, ib::Lid> lids() {
    std::map<ib::Guid, ib::Lid> out;
    const auto& f = world_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
      const PortRef p{n, static_cast<std::uint8_t>(f.node(n).is_switch() ? 0 : 1)};
      if (p.port == 0 || f.port(p).peer) out[f.port(p).guid] = world_.model().port_info(p).lid;
    }
    return out;
  }
  bool all_active() {
    const auto& f = world_.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
        if (f.port(n, p).peer &&
            world_.model().port_info({n, static_cast<std::uint8_t>(p)}).port_state !=
                ib::wire::PortState::Active)
          return false;
    return true;
  }
  /// Of a control packet from the port of `from`, as a subnet manager there sends it.
  std::uint16_t status_of_set(ManagerHost& to, std::uint32_t modifier, const SmInfo& sender,
                              std::size_t from = 0) {
    ib::mad::Packet packet;
    packet.address = ib::mad::smi_address(world_.model().port_info(host(from).at()).lid);
    packet.mad =
        ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Set, attr::kSmInfo, modifier);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{77});
    ib::wire::set_body(packet.mad, sender);
    std::optional<std::uint16_t> status;
    to.sm().on_packet(world_.now(), packet);
    auto effects = to.sm().take_effects(world_.now());
    for (const auto& line : effects.log) said_of_sets_.push_back(line.message);
    for (const auto& out : effects.send)
      if (out.packet.mad.method() == Method::GetResp && out.packet.mad.tid() == ib::Tid{77})
        status = out.packet.mad.status();
    if (!status) ADD_FAILURE() << "it did not answer";
    return status.value_or(0xFFFF);
  }
  /// Cables between the first host's leaf and other switches: without them there are two subnets.
  std::vector<PortRef> cables_of_first_leaf() {
    const auto& f = world_.model().topology();
    const NodeIndex leaf = f.port(host(0).at()).peer.node;
    std::vector<PortRef> cables;
    for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p) {
      const PortRef far = f.port(leaf, p).peer;
      if (far && f.node(far.node).is_switch())
        cables.push_back({leaf, static_cast<std::uint8_t>(p)});
    }
    return cables;
  }
  std::string logs() {
    std::string text;
    for (const auto& h : hosts_)
      for (const auto& line : h->log()) text += to_string(h->guid()) + " " + line + "\n";
    return text;
  }

  ib::sim::World world_;
  std::vector<std::unique_ptr<ManagerHost>> hosts_;
  unsigned lft_gets_{0}, lft_sets_{0}, mft_sets_{0};
  std::vector<std::string> said_of_sets_;  // by whom status_of_set() asked
};

}  // namespace sm::test
