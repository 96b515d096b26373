// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/requests.h"

#include <algorithm>

#include "sm/device/tables/kinds.h"

namespace sm::apply {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::PortWant;

std::uint32_t modifier_of(const Observed& seen, NodeIndex n, const Ask& ask) {
  return ask.kind->modifier(seen, n, ask.slot) | (ask.all_outputs ? device::kAllOutputs : 0U) |
         (ask.all_inputs ? device::kAllInputs : 0U);
}

ib::mad::DirectedRoute route_for(const Observed& seen, const Work& work) {
  if (work.is_block()) return *device::route_to(seen, work.node, *work.ask.kind, work.ask.slot);
  return seen.nodes[work.node].route;
}

void fill(Job& job, const Work& work, ib::wire::Mad& mad) {
  const NodeIndex n = work.node;
  const SwitchIndex s = job.tables.switch_of(n);
  switch (work.kind) {
    case Kind::SetPort: {
      const PortRef p{n, work.port()};
      const std::size_t i = job.seen.port_index(p);
      std::copy(job.seen.ports[i].bytes.begin(), job.seen.ports[i].bytes.end(), mad.data());
      PortWant want = job.desired->ports[i];
      if (job.phase == Phase::Speeds) want = plan::training(want);
      if (job.acknowledged[i]) want.reregister = false;
      write_wanted(want, mad.data());
      ib::wire::View<PortInfo> view(mad.data());
      if (job.phase == Phase::Settle && job.restarts(p)) {
        view.set<&PortInfo::port_state>(PortState::Down);
        job.restarted = true;
        if (want.retrain)
          job.known.note_training(job.guid(n), p.port, training_of(want, job.seen.ports[i].info()));
      }
      if (arms(job.phase) && !work.state_stays) view.set<&PortInfo::port_state>(PortState::Armed);
      if (activates(job.phase)) view.set<&PortInfo::port_state>(PortState::Active);
      break;
    }
    case Kind::SetSwitch: {
      ib::wire::SwitchInfo info = *job.seen.nodes[n].switch_info;
      const auto& want = job.desired->switches[s];
      info.life_time_value = want.life_time_value;
      // Written as 1 it clears (IBA 14.2.5.4); later changes set it again.
      info.port_state_change = job.options.after_sweep && info.port_state_change && work.arg == 0;
      // Before the blocks are written the top only goes down, except on a switch without any.
      if (job.desired->program_lfts && (work.arg == 1 || !job.tables.was_warm(n)))
        info.linear_fdb_top = want.linear_fdb_top;
      if (job.desired->program_mfts && want.has_multicast_top && work.arg == 1)
        info.multicast_fdb_top = job.tables.wanted_multicast_top(n);
      ib::wire::set_body(mad, info);
      break;
    }
    case Kind::SetLft: {
      const auto block = *job.tables.due_lft(s, work.arg);
      std::transform(block.begin(), block.end(), mad.data(),
                     [](std::uint8_t v) { return std::byte{v}; });
      break;
    }
    case Kind::SetMft: {
      ib::wire::MulticastForwardingTable table;
      table.port_mask =
          job.tables.wanted_mft(s, static_cast<std::uint16_t>(work.arg >> 4), work.arg & 0xF);
      ib::wire::set_body(mad, table);
      break;
    }
    case Kind::SetBlock:
      std::copy_n(work.ask.block->begin(), work.ask.kind->bytes, mad.data());
      break;
    default:
      break;
  }
}

}  // namespace

ib::mad::Request request_for(Job& job, const Work& work, ib::mad::Cookie cookie) {
  const NodeIndex n = work.node;
  const auto& node = job.seen.nodes[n];
  const ib::Guid guid = node.info.node_guid;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  ib::wire::Method method = ib::wire::Method::Set;
  switch (work.kind) {
    case Kind::GetPort:
      method = ib::wire::Method::Get;
      [[fallthrough]];
    case Kind::SetPort:
      attribute = ib::wire::attr::kPortInfo;
      modifier = work.arg;
      if (job.seen.port({n, work.port()}).extended)
        modifier |= ib::wire::kPortInfoSmSupportsExtendedSpeeds;
      break;
    case Kind::GetSwitch:
      method = ib::wire::Method::Get;
      [[fallthrough]];
    case Kind::SetSwitch:
      attribute = ib::wire::attr::kSwitchInfo;
      break;
    case Kind::GetLft:
      method = ib::wire::Method::Get;
      [[fallthrough]];
    case Kind::SetLft:
      attribute = ib::wire::attr::kLinearForwarding;
      modifier = work.arg;
      break;
    case Kind::GetMft:
      method = ib::wire::Method::Get;
      [[fallthrough]];
    case Kind::SetMft:
      attribute = ib::wire::attr::kMulticastForwarding;
      modifier = (work.arg & 0xF) << 28 | work.arg >> 4;
      break;
    case Kind::GetBlock:
    case Kind::Probe:
      method = ib::wire::Method::Get;
      [[fallthrough]];
    case Kind::SetBlock:
      attribute = work.ask.kind->attribute;
      modifier = modifier_of(job.seen, n, work.ask);
      break;
  }
  auto request = ib::mad::smp_request(cookie, guid.value, route_for(job.seen, work), method,
                                      attribute, modifier);
  if (method == ib::wire::Method::Set) fill(job, work, request.mad);
  return request;
}
}  // namespace sm::apply
