// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/agenda.h"

#include <algorithm>
#include <utility>

#include "sm/apply/vl_work.h"
#include "sm/device/tables/kinds.h"

namespace sm::apply {

using ib::discover::ObservedPort;
using ib::fabric::kNoSwitch;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::PortWant;

Agenda::Agenda(Job& job) : job_(job) {
  cursors_.resize(job_.seen.nodes.size());
  for (NodeIndex n = 0; n < cursors_.size(); ++n)
    if (job_.desired->node_managed[n]) cursors_[n].blocks = blocks_of(*job_.desired, n);
}

void Agenda::begin_step(NodeIndex n, std::uint8_t step) {
  cursors_[n].step = step;
  cursors_[n].at = 0;
  cursors_[n].blocks_at = 0;
}

std::optional<Work> Agenda::next(NodeIndex n, bool& wait) {
  if (const auto it = job_.read_again.lower_bound({n, 0});
      it != job_.read_again.end() && it->node == n) {
    const Work work{Kind::GetPort, it->port};
    job_.read_again.erase(it);
    return work;
  }
  if (const auto it = job_.blocks_to_read.find(n); it != job_.blocks_to_read.end()) {
    const Work work{Kind::GetBlock, 0, it->second};
    job_.blocks_to_read.erase(it);
    return work;
  }
  switch (job_.phase) {
    case Phase::Compare:
    case Phase::Check:
      return next_check(n);
    case Phase::Switches:
      return next_switch(n);
    case Phase::Read:
      return next_read(n);
    case Phase::Vls:
      return next_vl_set(n, wait);
    case Phase::AdaptiveOff:
    case Phase::AdaptiveOn:
      return job_.adaptive.next(n, job_.in_flight[n], wait);
    case Phase::SettleNew:
      return next_settle_new(n, wait);
    case Phase::Speeds:
      return next_speeds(n);
    case Phase::Settle:
      return next_settle(n, wait);
    case Phase::ArmLinks:
    case Phase::Arm:
      return next_armed(n, wait);
    case Phase::ActivateLinks:
    case Phase::Activate:
      return next_state(n, PortState::Armed);
    case Phase::Look:
      return next_look(n);
    case Phase::Done:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Both ends of a link are told of its speeds before it is made to train again.
static bool must_be_early(const Holder& holder, const Ask& ask) {
  return ask.kind == &device::kExtendedPortInfo && must_write(holder, ask);
}

std::optional<Work> Agenda::next_switch(NodeIndex n) {
  Cursor& c = cursors_[n];
  if (const auto block = next_block(n, Kind::SetBlock, must_be_early)) return block;
  const SwitchIndex s = job_.tables.switch_of(n);
  if (s == kNoSwitch || std::exchange(c.step, std::uint8_t{1}) != 0) return std::nullopt;
  const auto& info = *job_.seen.nodes[n].switch_info;
  const bool clears = job_.options.after_sweep && info.port_state_change;
  const bool cold = !job_.tables.was_warm(n);
  // One without tables, and most likely without a LID, sends no traps.
  c.look = clears ? Cursor::Look::Ports : cold ? Cursor::Look::Switch : Cursor::Look::Nothing;
  if (!clears && !cold && info.life_time_value == job_.desired->switches[s].life_time_value)
    return std::nullopt;
  return Work{Kind::SetSwitch, 0};
}

std::optional<Work> Agenda::next_check(NodeIndex n) {
  if (std::exchange(cursors_[n].step, std::uint8_t{1}) != 0) return std::nullopt;
  const bool checks = job_.phase == Phase::Check;
  if (const PortRef local = job_.seen.local_port;
      checks && n == local.node && !job_.seen.fabric.node(n).is_switch())
    return Work{Kind::GetPort, local.port};
  const bool asks_switches = !checks || job_.held_up;
  if (!asks_switches || job_.tables.switch_of(n) == kNoSwitch) return std::nullopt;
  return Work{Kind::GetSwitch, 0};
}

/// Sets that were answered since the bit was cleared said what state their ports are in.
std::optional<Work> Agenda::next_look(NodeIndex n) {
  Cursor& c = cursors_[n];
  // The sweep reads the local port of a CA before the switch that would tell of a change.
  if (const PortRef local = job_.seen.local_port;
      n == local.node && !job_.seen.fabric.node(n).is_switch()) {
    const bool looked = std::exchange(c.step, std::uint8_t{1}) != 0;
    if (looked || !job_.options.after_sweep || job_.acknowledged[job_.seen.port_index(local)])
      return std::nullopt;
    return Work{Kind::GetPort, local.port};
  }
  if (c.look == Cursor::Look::Nothing) return std::nullopt;
  while (c.look == Cursor::Look::Ports && c.at <= job_.seen.fabric.node(n).num_ports) {
    const PortRef p{n, static_cast<std::uint8_t>(c.at++)};
    const std::size_t i = job_.seen.port_index(p);
    if (job_.seen.ports[i].known && !job_.acknowledged[i]) return Work{Kind::GetPort, p.port};
  }
  c.look = Cursor::Look::Nothing;
  return Work{Kind::GetSwitch, 0};
}

/// The next wanted block that `must` be read, or written, and that a way leads to.
std::optional<Work> Agenda::next_block(NodeIndex n, Kind kind, decltype(must_read) must) {
  Cursor& c = cursors_[n];
  while (c.blocks_at < c.blocks.size()) {
    const Ask ask = ask_for(c.blocks[c.blocks_at++]);
    if (must(job_.holder(n), ask) && device::route_to(job_.seen, n, *ask.kind, ask.slot))
      return Work{kind, 0, ask};
  }
  return std::nullopt;
}

/// The next part of an MFT block that `must` be read, or written.
template <class Must>
std::optional<Work> Agenda::next_mft(NodeIndex n, Kind kind, Must must) {
  Cursor& c = cursors_[n];
  const auto positions = static_cast<std::uint32_t>(job_.tables.mft_positions(n));
  const auto blocks = job_.tables.mft_blocks(n);
  while (c.at < blocks.size() * positions) {
    const std::uint16_t block = blocks[c.at / positions];
    const auto position = static_cast<std::uint8_t>(c.at % positions);
    ++c.at;
    if (must(block, position)) return Work{kind, static_cast<std::uint32_t>(block) << 4 | position};
  }
  return std::nullopt;
}

std::optional<Work> Agenda::next_read(NodeIndex n) {
  if (const auto block = next_block(n, Kind::GetBlock, must_read)) return block;
  const bool all = !job_.options.only_read;
  if (job_.options.tell_hosts)
    if (const auto told = next_told(n)) return told;
  if (!all && !job_.options.read_lfts) return std::nullopt;
  const SwitchIndex s = job_.tables.switch_of(n);
  Cursor& c = cursors_[n];
  if (s == kNoSwitch) return all ? next_vl_read(n, 0) : std::nullopt;
  if (!job_.tables.was_warm(n)) return std::nullopt;
  const device::Forwarding& t = job_.tables.held(n);
  if (all && job_.tables.take_doubt(n)) {
    if (const auto probe = probe_for(n)) {
      job_.probing[n] = true;
      return Work{Kind::Probe, 0, *probe};
    }
  }
  if (c.step == 0) {
    for (; c.at < job_.tables.lft_blocks_held(n); ++c.at)
      if (!t.lft_known[c.at]) return Work{Kind::GetLft, c.at++};
    c.step = 1;
    c.at = 0;
  }
  if (!all) return std::nullopt;
  if (c.step == 1) {
    const auto unknown = [&](std::uint16_t block, std::uint8_t position) {
      return !t.mft.contains({block, position});
    };
    if (job_.options.after_sweep)
      if (const auto read = next_mft(n, Kind::GetMft, unknown)) return read;
    c.step = 2;
  }
  // The probe's answer decides what is known, and so what is to be asked for.
  if (job_.probing[n]) return std::nullopt;
  return next_vl_read(n, 2);
}

/// SL2VL and VL arbitration that are ours and that nothing is known of: after a start they may
/// well be what they should.
std::optional<Work> Agenda::next_vl_read(NodeIndex n, std::uint8_t step) {
  Cursor& c = cursors_[n];
  if (!job_.vls_are_ours()) return std::nullopt;
  if (job_.options.rewrites(n)) {  // what is not known is set
    job_.known.inventory.forget(device::kSlToVl, job_.guid(n));
    job_.known.inventory.forget(device::kVlArbitration, job_.guid(n));
    return std::nullopt;
  }
  if (c.step == step) {
    c.step = static_cast<std::uint8_t>(step + 1);
    forget_new_ports(job_.holder(n), *job_.desired->vl_tables, job_.known.inventory);
    begin_vls(c, vl_reads(job_.holder(n), *job_.desired->vl_tables));
  }
  return next_vl(c, Kind::GetBlock);
}
/// A row for many pairs of ports must not arrive behind that of one of them: on its way one SMP may
/// overtake another.
static bool overrides(const Ask& ask, const Ask& before) {
  return ask.kind == before.kind && ask.breadth() < before.breadth();
}
std::optional<Work> Agenda::next_vl_set(NodeIndex n, bool& wait) {
  Cursor& c = cursors_[n];
  if (job_.vls_again.contains(n)) {
    if (job_.in_flight[n] > 0) return std::nullopt;  // its rows are being read
    job_.vls_again.erase(n);
    c.step = 0;
  }
  if (c.step == 0) {
    c.step = 1;
    forget_new_ports(job_.holder(n), *job_.desired->vl_tables, job_.known.inventory);
    begin_vls(c, vl_sets(job_.holder(n), *job_.desired->vl_tables, widened(n)));
  }
  if (c.at > 0 && c.at < c.vls.size() && overrides(c.vls[c.at], c.vls[c.at - 1]) &&
      job_.in_flight[n] > 0) {
    wait = true;
    return std::nullopt;
  }
  return next_vl(c, Kind::SetBlock);
}
/// Ports whose links operate fewer VLs than they are to, and go down for more: their rows are those
/// for fewer until they come up again.
PortSet Agenda::widened(NodeIndex n) const {
  PortSet ports;
  for (unsigned p = 1; p <= job_.seen.fabric.node(n).num_ports; ++p) {
    const PortRef at{n, static_cast<std::uint8_t>(p)};
    const ObservedPort& port = job_.seen.port(at);
    const auto wanted = job_.desired->ports[job_.seen.port_index(at)].operational_vls;
    ports[p] = port.known && job_.restarts(at) && wanted > port.get<&PortInfo::operational_vls>() &&
               port.state() > PortState::Initialize;
  }
  return ports;
}

void Agenda::begin_vls(Cursor& c, std::vector<Ask> asks) {
  c.at = 0;
  c.vls = std::move(asks);
}
std::optional<Work> Agenda::next_vl(Cursor& c, Kind kind) {
  if (c.at == c.vls.size()) {
    c.vls = {};
    c.at = 0;
    return std::nullopt;
  }
  return Work{kind, 0, c.vls[c.at++]};
}

std::optional<Ask> Agenda::probe_for(NodeIndex n) const {
  return job_.vls_are_ours() ? vl_probe(job_.holder(n), *job_.desired->vl_tables) : std::nullopt;
}
bool Agenda::port_needs_set(PortRef p) const {
  const std::size_t i = job_.seen.port_index(p);
  const PortWant& want = job_.desired->ports[i];
  const ObservedPort& port = job_.seen.ports[i];
  if (!want.managed || !port.known) return false;
  if (job_.restarts(p) || (job_.options.rewrites(p.node) && !job_.acknowledged[i])) return true;
  PortWant asked = want;
  if (job_.acknowledged[i]) asked.reregister = false;
  const PortInfo info = port.info();
  if (satisfied(asked, info)) return false;
  if (asked.reregister) return true;
  return !job_.known.stubborn.contains(job_.seen.fabric.node(p.node).guid, p.port, asked,
                                       held(asked, info));
}

std::optional<Work> Agenda::next_told(NodeIndex n) {
  if (job_.seen.fabric.node(n).is_switch()) return std::nullopt;
  Cursor& c = cursors_[n];
  for (; c.at <= job_.seen.fabric.node(n).num_ports; ++c.at) {
    const PortRef p{n, static_cast<std::uint8_t>(c.at)};
    const ObservedPort& port = job_.seen.port(p);
    if (port.known && port.state() == PortState::Active && !job_.restarts(p) && port_needs_set(p))
      return Work{Kind::SetPort, c.at++};
  }
  return std::nullopt;
}

/// Both ends of a link are told what it may train to before it is made to: one that went down with
/// nothing in common would stay down, and what is behind it could not be told any more.
std::optional<Work> Agenda::next_speeds(NodeIndex n) {
  Cursor& c = cursors_[n];
  for (; c.at <= job_.seen.fabric.node(n).num_ports; ++c.at) {
    const PortRef p{n, static_cast<std::uint8_t>(c.at)};
    const PortRef q = job_.seen.fabric.port(p).peer;
    if (!q || !job_.seen.port(p).known) continue;
    const PortWant& want = job_.desired->ports[job_.seen.port_index(p)];
    if (!want.retrain && !job_.desired->ports[job_.seen.port_index(q)].retrain) continue;
    const PortInfo info = job_.seen.port(p).info();
    if (satisfied(plan::training(want), info) || !port_needs_set(p)) continue;
    return Work{Kind::SetPort, c.at++};
  }
  return std::nullopt;
}

/// Of a switch its own LID and tables.
std::optional<Work> Agenda::next_settle_new(NodeIndex n, bool& wait) {
  if (job_.tables.switch_of(n) == kNoSwitch || job_.tables.was_warm(n)) return std::nullopt;
  auto work = next_settle(n, wait);
  if (!work && !wait && job_.in_flight[n] == 0) job_.tables.became_warm(n);
  return work;
}

std::optional<Work> Agenda::next_settle(NodeIndex n, bool& wait) {
  Cursor& c = cursors_[n];
  const SwitchIndex s = job_.tables.switch_of(n);
  const unsigned last_port = job_.phase == Phase::Settle ? job_.seen.fabric.node(n).num_ports : 0U;
  // Once, and not in every round.
  const bool rewrites = job_.options.rewrites(n) && job_.tables.last_round();
  const bool rewrites_blocks = job_.options.rewrites(n) && c.step == 0;
  // A port that checks P_Keys is to hold them before.
  if (const auto block = next_block(n, Kind::SetBlock, rewrites_blocks ? may_write : must_write)) {
    c.blocks_sent = true;
    return block;
  }
  if (c.blocks_sent && job_.in_flight[n] > 0) {
    wait = true;
    return std::nullopt;
  }
  c.blocks_sent = false;
  if (c.step == 0) {
    for (; c.at <= last_port; ++c.at) {
      const PortRef p{n, static_cast<std::uint8_t>(c.at)};
      const PortWant& want = job_.desired->ports[job_.seen.port_index(p)];
      // A switch's external port in INIT gets its fields with the step to ARMED.
      const bool later = s != kNoSwitch && c.at != 0 && want.activate && !job_.restarts(p) &&
                         job_.seen.port(p).state() == PortState::Initialize;
      if (!later && port_needs_set(p)) return Work{Kind::SetPort, c.at++};
    }
    c.step = kStepTables;
    c.at = 0;
  }
  if (s == kNoSwitch) return std::nullopt;
  const device::Forwarding& t = job_.tables.held(n);
  if (c.step == kStepTables) {
    if (job_.desired->program_lfts) {
      for (; c.at < job_.tables.lft_blocks(); ++c.at) {
        const auto due = job_.tables.due_lft(s, c.at);
        const auto held = t.lft.begin() + static_cast<std::ptrdiff_t>(c.at * kLftBlock);
        if (due && (rewrites || !t.lft_known[c.at] || !std::equal(due->begin(), due->end(), held)))
          return Work{Kind::SetLft, c.at++};
      }
    }
    c.step = 2;
    c.at = 0;
  }
  if (c.step == 2) {
    const auto differs = [&](std::uint16_t block, std::uint8_t position) {
      return rewrites || job_.tables.mft_differs(n, block, position);
    };
    if (job_.desired->program_mfts)
      if (const auto set = next_mft(n, Kind::SetMft, differs)) return set;
    c.step = 3;
  }
  if (c.step == 3) {
    // The top goes up only when everything below it is written.
    if (!job_.tables.last_round()) return std::nullopt;
    if (job_.in_flight[n] > 0) {
      wait = true;
      return std::nullopt;
    }
    c.step = 4;
    const auto& info = *job_.seen.nodes[n].switch_info;
    const auto& want = job_.desired->switches[s];
    const bool top_differs =
        job_.desired->program_lfts && info.linear_fdb_top != want.linear_fdb_top;
    const bool mcast_differs = job_.desired->program_mfts && want.has_multicast_top &&
                               info.multicast_fdb_top != job_.tables.wanted_multicast_top(n);
    if (top_differs || mcast_differs || rewrites) return Work{Kind::SetSwitch, 1};
  }
  return std::nullopt;
}

/// To ACTIVE only where the far end is armed too.
bool Agenda::goes_up(PortRef p, PortState from) const {
  const std::size_t i = job_.seen.port_index(p);
  const PortWant& want = job_.desired->ports[i];
  if (!want.managed || !want.activate || job_.restarts(p) || !job_.seen.ports[i].known)
    return false;
  if (job_.seen.ports[i].state() != from) return false;
  if (job_.phase < Phase::Settle && !job_.joins_routed(p)) return false;
  if (want.end_port && job_.seen.ports[i].get<&PortInfo::lid>() != want.lid)
    return false;  // the LID did not take
  const PortRef q = job_.seen.fabric.port(p).peer;
  if (!q) return true;
  if (job_.failed[q.node]) return false;
  return from != PortState::Armed || job_.seen.port(q).state() >= PortState::Armed;
}

/// A switch's external port in INIT is told of its MTU and VLs by a Set of their own, as opensm
/// does it (osm_link_mgr.c); everything else goes with the step to ARMED.
std::optional<Work> Agenda::next_armed(NodeIndex n, bool& wait) {
  Cursor& c = cursors_[n];
  if (c.step == 0) {
    for (; c.at <= job_.seen.fabric.node(n).num_ports; ++c.at) {
      const PortRef p{n, static_cast<std::uint8_t>(c.at)};
      const PortWant& want = job_.desired->ports[job_.seen.port_index(p)];
      const ObservedPort& port = job_.seen.port(p);
      if (want.end_port || !goes_up(p, PortState::Initialize)) continue;
      const auto differs = [](std::uint8_t wanted, std::uint8_t held) {
        return wanted != 0 && wanted != held;
      };
      if (!differs(want.neighbor_mtu, port.get<&PortInfo::neighbor_mtu>()) &&
          !differs(want.operational_vls, port.get<&PortInfo::operational_vls>()))
        continue;
      Work work{Kind::SetPort, c.at++};
      work.state_stays = true;
      return work;
    }
    c.step = 1;
    c.at = 0;
  }
  if (c.step == 1 && job_.in_flight[n] > 0) {
    wait = true;
    return std::nullopt;
  }
  c.step = 2;
  return next_state(n, PortState::Initialize);
}

/// Ports to be moved up from `from`.
std::optional<Work> Agenda::next_state(NodeIndex n, PortState from) {
  Cursor& c = cursors_[n];
  for (; c.at <= job_.seen.fabric.node(n).num_ports; ++c.at)
    if (goes_up({n, static_cast<std::uint8_t>(c.at)}, from)) return Work{Kind::SetPort, c.at++};
  return std::nullopt;
}

}  // namespace sm::apply
