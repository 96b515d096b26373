// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/unsolicited.h"

#include <algorithm>

namespace sm::core {
namespace {

using ib::fabric::PortRef;
using ib::wire::MadHeader;
using ib::wire::Method;
using ib::wire::SmpHeader;

/// The request turned round. A directed-route answer goes back the way it came with the D bit set;
/// the hop pointer stays as the request arrived (IBA 14.2.2.4).
ib::mad::Packet turned_round(const ib::mad::Packet& request, Method method, std::uint16_t status) {
  ib::mad::Packet reply;
  reply.address = request.address;
  reply.mad = request.mad;
  reply.mad.set<&MadHeader::method>(method);
  const bool directed = request.mad.is_directed();
  reply.mad.set<&MadHeader::status>(directed ? static_cast<std::uint16_t>(status | 0x8000)
                                             : status);
  return reply;
}

void put(ib::wire::Notice& notice, std::size_t at, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < bytes; ++i)
    notice.details[at + i] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
}

}  // namespace

ib::mad::Packet trap_repress(const ib::mad::Packet& trap, std::uint64_t m_key) {
  ib::mad::Packet reply = turned_round(trap, Method::TrapRepress, 0);
  reply.mad.set<&MadHeader::status>(trap.mad.is_directed() ? std::uint16_t{0x8000}
                                                           : std::uint16_t{0});
  reply.mad.set<&SmpHeader::m_key>(m_key);
  return reply;
}

std::optional<ib::mad::Packet> answer_request(const ib::mad::Packet& request,
                                              const ib::wire::SmInfo& own, bool granted) {
  namespace status = ib::wire::status;
  const Method method = request.mad.method();
  if (method != Method::Get && method != Method::Set) return std::nullopt;
  if (request.mad.attribute_id() != ib::wire::attr::kSmInfo)
    return turned_round(request, Method::GetResp, status::kBadAttribute);
  const bool refused = method == Method::Set && !granted;
  auto reply = turned_round(request, Method::GetResp, refused ? status::kBadValue : status::kOk);
  ib::wire::set_body(reply.mad, own);
  return reply;
}

std::optional<ib::mad::DirectedRoute> way_back(const ib::mad::Packet& request) {
  if (!request.mad.is_directed()) return std::nullopt;
  if (request.mad.get<&SmpHeader::dr_slid>() != ib::kPermissiveLid) return std::nullopt;
  const auto came_in_by = request.mad.get<&SmpHeader::return_path>();
  const std::size_t hops = std::min<std::size_t>(request.mad.get<&SmpHeader::hop_count>(), 63);
  ib::mad::DirectedRoute back;
  for (std::size_t i = hops; i > 0; --i) back.hops.push_back(came_in_by[i]);
  return back;
}

std::optional<PortRef> sender_of(const ib::mad::Packet& request,
                                 const ib::discover::Observed& seen) {
  if (seen.nodes.empty()) return std::nullopt;
  const auto back = way_back(request);
  if (!back) {
    return request.mad.is_directed() ? std::nullopt : seen.fabric.find_lid(request.address.lid);
  }
  PortRef at = seen.local_port;
  for (const std::uint8_t hop : back->hops) {
    const auto& node = seen.fabric.node(at.node);
    if (hop > node.num_ports) return std::nullopt;
    const PortRef next = seen.fabric.port({at.node, hop}).peer;
    if (!next) return std::nullopt;
    at = next;
  }
  if (seen.fabric.node(at.node).is_switch()) at.port = 0;
  return at;
}

std::optional<ib::mad::Packet> priority_trap(const ib::wire::PortInfo& own, bool at_switch) {
  if (!own.lid.is_unicast() || !own.master_sm_lid.is_unicast() || own.master_sm_lid == own.lid)
    return std::nullopt;
  constexpr std::size_t kLid = 2, kOtherLocalChanges = 5, kCapabilityMask = 6, kChangeFlags = 10;
  constexpr std::uint32_t kSmPriorityChange = 0x0008, kThereAreChangeFlags = 1;
  ib::wire::Notice notice;
  notice.type = 4;  // informational
  notice.producer_type = at_switch ? 2 : 1;
  notice.trap_number = ib::wire::trap::kCapabilityChange;
  notice.issuer_lid = own.lid;
  put(notice, kLid, 2, own.lid.value);
  put(notice, kOtherLocalChanges, 1, kThereAreChangeFlags);
  put(notice, kCapabilityMask, 4, own.capability_mask);
  put(notice, kChangeFlags, 2, kSmPriorityChange);
  ib::mad::Packet packet;
  packet.address = ib::mad::smi_address(own.master_sm_lid);
  packet.address.sl = own.master_sm_sl;
  packet.mad =
      ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::Trap, ib::wire::attr::kNotice);
  ib::wire::set_body(packet.mad, notice);
  return packet;
}

}  // namespace sm::core
