// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::apply {
namespace {

using ib::wire::PortInfo;
using ib::wire::PortState;

}  // namespace

void Rehearsal::note_once(const Work& work, std::string_view table, std::string slot) {
  // A switch has one SwitchInfo, whichever Set of it this is.
  const std::uint32_t number = work.kind == Kind::SetSwitch ? 0 : work.arg;
  if (noted_.emplace(work.node, work.kind, number).second)
    differences_.push_back({work.node, table, std::move(slot)});
}

void Rehearsal::port(const Work& work, const ib::discover::ObservedPort& held, ib::wire::Mad& mad) {
  const PortInfo before = held.info();
  ib::wire::View<PortInfo> answer(mad.data());
  // What a Set leaves as it is the device says in its answer.
  const auto state = answer.get<&PortInfo::port_state>();
  if (state == PortState::NoChange || state == PortState::Down)
    answer.set<&PortInfo::port_state>(before.port_state);
  answer.set<&PortInfo::port_physical_state>(before.port_physical_state);
  answer.set<&PortInfo::link_down_default_state>(before.link_down_default_state);
  if (answer.get<&PortInfo::link_width_enabled>() == 0)
    answer.set<&PortInfo::link_width_enabled>(before.link_width_enabled);
  if (answer.get<&PortInfo::link_speed_enabled>() == 0)
    answer.set<&PortInfo::link_speed_enabled>(before.link_speed_enabled);
  const auto extended = answer.get<&PortInfo::link_speed_ext_enabled>();
  if (extended == 0 || extended == plan::kNoExtendedSpeed)
    answer.set<&PortInfo::link_speed_ext_enabled>(extended == 0 ? before.link_speed_ext_enabled
                                                                : std::uint8_t{0});
  answer.set<&PortInfo::client_reregister>(before.client_reregister);
  if (state == PortState::Down || !std::equal(held.bytes.begin(), held.bytes.end(), mad.data()))
    note_once(work, "PortInfo", fmt::format("port {}", work.arg));
}

void Rehearsal::switch_info(const Work& work, const ib::wire::SwitchInfo& held,
                            ib::wire::Mad& mad) {
  auto answer = ib::wire::body<ib::wire::SwitchInfo>(mad);
  answer.port_state_change = held.port_state_change;
  ib::wire::Mad before = mad;
  ib::wire::set_body(before, held);
  ib::wire::set_body(mad, answer);
  if (before.bytes != mad.bytes) note_once(work, "SwitchInfo", {});
  answer.port_state_change = false;
  ib::wire::set_body(mad, answer);
}

void Rehearsal::table(const Work& work) {
  switch (work.kind) {
    case Kind::SetLft:
      note_once(work, "LinearForwardingTable", fmt::format("block {}", work.arg));
      break;
    case Kind::SetMft:
      note_once(work, "MulticastForwardingTable",
                fmt::format("block {} position {}", work.arg >> 4, work.arg & 0xF));
      break;
    case Kind::SetBlock:
      differences_.push_back({work.node, work.ask.kind->name, place_of(work.ask)});
      break;
    default:
      break;
  }
}

}  // namespace sm::apply
