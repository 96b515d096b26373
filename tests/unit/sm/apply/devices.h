// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices of a small subnet that take what they are told, and answer an Apply as the test wants.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "sm/apply/apply.h"
#include "tests/unit/sm/plan/small_subnet.h"

namespace sm::test {

using ib::wire::Mad;
using ib::wire::Method;

/// A request as a device got it.
struct Asked {
  Guid node{};
  Method method{};
  std::uint16_t attribute{};
  std::uint32_t modifier{};
  Mad mad;

  bool is_set(std::uint16_t what) const { return method == Method::Set && attribute == what; }
  std::uint8_t port() const { return static_cast<std::uint8_t>(modifier); }
  PortInfo port_info() const { return ib::wire::body<PortInfo>(mad); }
};

struct Silence {};
struct Status {
  std::uint16_t value{};
};
/// It takes the Set, and says that it holds this.
struct Says {
  std::function<void(Mad& answer)> instead;
};
/// nullopt: the device does as it is told.
using Fault = std::optional<std::variant<Silence, Status, Says>>;
using Faults = std::function<Fault(const Asked&)>;

class Devices {
 public:
  explicit Devices(const Observed& seen) {
    for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
      const Guid guid = seen.fabric.node(n).guid;
      if (const auto& info = seen.nodes[n].switch_info) {
        Mad mad;
        ib::wire::set_body(mad, *info);
        held_[{guid, ib::wire::attr::kSwitchInfo, 0}] = mad;
      }
      for (unsigned p = 0; p <= seen.fabric.node(n).num_ports; ++p) {
        Mad mad;
        const auto& port = seen.port({n, static_cast<std::uint8_t>(p)});
        std::ranges::copy(port.bytes, mad.data());
        held_[{guid, ib::wire::attr::kPortInfo, p}] = mad;
      }
    }
  }

  /// Answers all that `apply` asks, one request after the other.
  std::vector<Asked> run(apply::Apply& apply, const Faults& faults = {}) {
    std::vector<Asked> asked;
    std::deque<ib::mad::Request> waiting;
    while (!apply.done()) {
      for (auto some = apply.take_requests(); !some.empty(); some = apply.take_requests())
        std::ranges::move(some, std::back_inserter(waiting));
      if (waiting.empty()) break;
      const auto request = std::move(waiting.front());
      waiting.pop_front();
      const Mad& mad = request.mad;
      asked.push_back({Guid{request.target_key}, mad.method(), mad.attribute_id(),
                       mad.attribute_modifier(), mad});
      apply.on_completion(now, {request.cookie, answer(asked.back(), faults), {}, 1});
    }
    EXPECT_TRUE(apply.done());
    return asked;
  }

  ib::Instant now{0};  // when they answer

 private:
  using Place = std::tuple<Guid, std::uint16_t, std::uint32_t>;

  ib::Result<ib::mad::Packet> answer(const Asked& asked, const Faults& faults) {
    const Fault fault = faults ? faults(asked) : std::nullopt;
    if (fault && std::holds_alternative<Silence>(*fault))
      return ib::fail(ib::ErrorKind::TimedOut, "no answer");
    ib::mad::Packet packet;
    packet.mad = asked.mad;
    packet.mad.set<&ib::wire::MadHeader::method>(Method::GetResp);
    if (fault && std::holds_alternative<Status>(*fault)) {
      packet.mad.set<&ib::wire::MadHeader::status>(std::get<Status>(*fault).value);
      return packet;
    }
    const std::uint32_t modifier =
        asked.attribute == ib::wire::attr::kPortInfo ? asked.port() : asked.modifier;
    Mad& held = held_[{asked.node, asked.attribute, modifier}];
    if (asked.method == Method::Set) take(asked, held);
    std::copy_n(held.data(), ib::wire::kSmpDataBytes, packet.mad.data());
    if (fault) std::get<Says>(*fault).instead(packet.mad);
    return packet;
  }

  static void take(const Asked& asked, Mad& held) {
    const auto before = ib::wire::body<PortInfo>(held);
    std::copy_n(asked.mad.data(), ib::wire::kSmpDataBytes, held.data());
    if (asked.attribute == ib::wire::attr::kSwitchInfo) {
      ib::wire::View<ib::wire::SwitchInfo>(held.data())
          .set<&ib::wire::SwitchInfo::port_state_change>(false);
    }
    if (asked.attribute != ib::wire::attr::kPortInfo) return;
    // 0 in these means "leave it as it is" (IBA 14.2.5.6).
    ib::wire::View<PortInfo> view(held.data());
    if (asked.port_info().port_state == PortState::NoChange)
      view.set<&PortInfo::port_state>(before.port_state);
    view.set<&PortInfo::port_physical_state>(before.port_physical_state);
    view.set<&PortInfo::link_down_default_state>(before.link_down_default_state);
    view.set<&PortInfo::link_width_enabled>(before.link_width_enabled);
    view.set<&PortInfo::link_speed_enabled>(before.link_speed_enabled);
    view.set<&PortInfo::link_speed_ext_enabled>(before.link_speed_ext_enabled);
  }

  std::map<Place, Mad> held_;
};

}  // namespace sm::test
