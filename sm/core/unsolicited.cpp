// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/unsolicited.h"

namespace sm::core {
namespace {

using ib::wire::MadHeader;
using ib::wire::Method;

constexpr std::uint64_t kSmKeyEverybodyKnows = 1;  // opensm's default, in every manual

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

}  // namespace

ib::mad::Packet trap_repress(const ib::mad::Packet& trap) {
  ib::mad::Packet reply = turned_round(trap, Method::TrapRepress, 0);
  reply.mad.set<&MadHeader::status>(trap.mad.is_directed() ? std::uint16_t{0x8000}
                                                           : std::uint16_t{0});
  return reply;
}

std::optional<ib::mad::Packet> answer_request(const ib::mad::Packet& request,
                                              const SmIdentity& identity) {
  namespace status = ib::wire::status;
  const Method method = request.mad.method();
  if (method != Method::Get && method != Method::Set) return std::nullopt;
  if (request.mad.attribute_id() != ib::wire::attr::kSmInfo)
    return turned_round(request, Method::GetResp, status::kBadAttribute);
  const bool set = method == Method::Set;
  auto reply = turned_round(request, Method::GetResp, set ? status::kBadValue : status::kOk);
  ib::wire::SmInfo info;
  info.guid = identity.guid;
  // A reader has no way to prove that it may know a key, so one that is secret is shown to nobody.
  // opensm ignores a master that does not show its own key, and becomes a second master.
  info.sm_key = identity.sm_key == kSmKeyEverybodyKnows ? kSmKeyEverybodyKnows : 0;
  info.act_count = identity.act_count;
  info.priority = identity.priority;
  info.sm_state = identity.master ? ib::wire::SmState::Master : ib::wire::SmState::Discovering;
  ib::wire::set_body(reply.mad, info);
  return reply;
}

}  // namespace sm::core
