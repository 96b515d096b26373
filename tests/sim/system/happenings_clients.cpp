// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "libdiag/mad/request.h"
#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/system/happenings.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
using ib::wire::MgmtClass;
namespace attr = ib::wire::attr;
namespace trap = ib::wire::trap;

ib::Lid sm_lid(System& system, PortRef at) { return system.model().port_info(at).master_sm_lid; }

/// A host that nobody needs; none: all are needed.
PortRef stranger(System& system, std::uint64_t pick) {
  const auto& hosts = system.idle_hosts();
  return hosts.empty() ? PortRef{} : hosts[pick % hosts.size()];
}

ib::mad::Packet forged_trap(System& system, PortRef from, Dice& dice) {
  constexpr std::uint16_t kTraps[] = {trap::kLinkStateChange,       trap::kLocalLinkIntegrity,
                                      trap::kFlowControlWatchdog,   trap::kCapabilityChange,
                                      trap::kSystemImageGuidChange, trap::kBadPKey};
  ib::wire::Notice notice;
  notice.type = 1;
  notice.producer_type = dice.from(1, 2);
  notice.trap_number = kTraps[dice.below(std::size(kTraps))];
  notice.issuer_lid = ib::Lid{static_cast<std::uint16_t>(dice.below(70))};
  for (std::uint8_t& byte : notice.details) byte = static_cast<std::uint8_t>(dice.below(64));
  ib::mad::Packet packet;
  packet.address = ib::mad::smi_address(sm_lid(system, from));
  packet.mad = ib::wire::make_mad(MgmtClass::SubnLid, Method::Trap, attr::kNotice);
  ib::wire::set_body(packet.mad, notice);
  return packet;
}

/// Of a subnet manager that is not there, or in the name of one that is.
ib::mad::Packet forged_sm_info(System& system, PortRef from, Dice& dice) {
  ib::wire::SmInfo info;
  const auto& seats = system.seats();
  info.guid = dice.chance(50) ? seats[dice.below(seats.size())]->options.mastership.port_guid
                              : system.model().topology().port(from).guid;
  info.sm_key = dice.below(2);
  info.priority = static_cast<std::uint8_t>(dice.below(16));
  info.sm_state = static_cast<ib::wire::SmState>(dice.below(4));
  info.act_count = dice.below(1000);
  ib::mad::Packet packet;
  const auto& seat = *seats[dice.below(seats.size())];
  packet.address = ib::mad::smi_address(system.model().port_info(seat.at).lid);
  packet.mad = ib::wire::make_mad(MgmtClass::SubnLid, dice.chance(70) ? Method::Set : Method::Get,
                                  attr::kSmInfo, dice.from(0, 6));
  ib::wire::set_body(packet.mad, info);
  return packet;
}

ib::mad::Packet query(System& system, PortRef from, Dice& dice) {
  constexpr std::uint16_t kAttributes[] = {attr::kNodeRecord,
                                           attr::kPathRecord,
                                           attr::kPortInfoRecord,
                                           attr::kServiceRecord,
                                           attr::kMcMemberRecord,
                                           attr::kClassPortInfo,
                                           0x7777};
  ib::mad::Packet packet;
  packet.address = ib::mad::gsi_address(sm_lid(system, from));
  packet.mad =
      ib::wire::make_mad(MgmtClass::SubnAdm, dice.chance(80) ? Method::Get : Method::Delete,
                         kAttributes[dice.below(std::size(kAttributes))]);
  packet.mad.set<&ib::wire::SaHeader::component_mask>(dice.next() & dice.next());
  for (std::size_t i = 56; i < 120; ++i)
    packet.mad.bytes[i] = static_cast<std::byte>(dice.below(256));
  return packet;
}

using Make = ib::mad::Packet (*)(System&, PortRef, Dice&);

/// So many of them, in bursts.
void send_many(System& system, const Item& item, bool smi, unsigned most, Make make) {
  const PortRef from = stranger(system, item.picks[0]);
  if (!from) return;
  system.trace(fmt::format("  from {}", system.name(from)));
  const unsigned bursts = 1 + static_cast<unsigned>(item.picks[1] % 5);
  for (unsigned burst = 0; burst < bursts; ++burst) {
    system.later(300ms * burst, [&system, from, smi, make, seed = item.picks[2] + burst, most] {
      if (!sm_lid(system, from).is_unicast()) return;
      Dice dice(seed);
      for (unsigned left = dice.from(1, most); left > 0; --left)
        system.send_from(from, smi, make(system, from, dice));
    });
  }
}

}  // namespace

void register_things(System& system, const Item& item) {
  const std::size_t clients = system.clients().all().size();
  if (clients == 0) return;
  Dice dice(item.picks[0]);
  for (unsigned left = dice.from(1, 10); left > 0; --left) {
    const std::size_t client = dice.below(clients);
    const auto what = static_cast<Wanted>(dice.below(3));
    system.clients().want(client, what, dice.below(what == Wanted::Membership ? 6 : 4),
                          dice.chance(70));
  }
}

void forge_traps(System& system, const Item& item) {
  send_many(system, item, true, 30, forged_trap);
}

void forge_sm_info(System& system, const Item& item) {
  send_many(system, item, true, 10, forged_sm_info);
}

void flood_sa(System& system, const Item& item) { send_many(system, item, false, 100, query); }

}  // namespace soak
