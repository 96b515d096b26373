// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <span>

#include "libdiag/base/text.h"
#include "libdiag/discover/sweep.h"
#include "sm/apply/table_work.h"
#include "sm/apply/work.h"

namespace sm::apply {
namespace {

using ib::discover::Observed;
using ib::discover::ObservedPort;
using ib::fabric::kNoSwitch;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::Desired;
using plan::PortWant;

constexpr std::uint8_t kStepTables = 1;  // of next_settle: LFT blocks
constexpr std::size_t kAtOnce = 64;      // requests that are made before they are taken

bool arms(Phase phase) { return phase == Phase::ArmLinks || phase == Phase::Arm; }
bool activates(Phase phase) { return phase == Phase::ActivateLinks || phase == Phase::Activate; }

}  // namespace

struct Apply::Impl {
  /// How far a node is in the present phase.
  struct Cursor {
    enum class Look { Nothing, Switch, Ports };  // Ports: and the switch
    std::uint8_t step{0};
    Look look{Look::Nothing};
    std::uint32_t at{0};
    std::uint32_t in_flight{0};
    bool queued{false};
    bool failed{false};
    bool probing{false};  // `lanes` is the one table that says whether a switch lost its own
    std::vector<LaneTable> lanes;
    std::span<const plan::WantedBlock> blocks;
    std::uint32_t blocks_at{0};
  };

  std::shared_ptr<const Desired> desired;
  Observed& seen;
  Known& known;
  ApplyOptions options;
  Phase phase{Phase::Switches};
  std::vector<Cursor> cursors;
  std::deque<NodeIndex> ready;
  std::size_t in_flight{0};
  std::uint64_t sets{0};
  bool restarted{false};
  std::vector<Failure> failures;
  TableWork tables;
  std::set<PortRef> read_again;    // ports to be read before their node's next step
  std::vector<bool> acknowledged;  // by port index: a Set of its wanted fields was answered

  Impl(std::shared_ptr<const Desired> d, Observed& o, Known& k, ApplyOptions opt)
      : desired(std::move(d)),
        seen(o),
        known(k),
        options(std::move(opt)),
        tables(*desired, seen, known, {options.after_sweep, options.read_back}) {
    if (options.read_back) known.doubt_ports();
    cursors.resize(seen.nodes.size());
    acknowledged.resize(seen.ports.size(), false);
    prepare_blocks();
    begin(Phase::Switches);
  }

  void prepare_blocks() {
    known.refused.forget_restarted(seen);
    for (NodeIndex n = 0; n < seen.nodes.size(); ++n)
      if (desired->node_managed[n]) cursors[n].blocks = blocks_of(*desired, n);
  }

  // ---- phases

  void begin(Phase next) {
    phase = next;
    if (phase == Phase::Lanes) believe_tables();
    if (phase == Phase::Lanes && !lanes_needed()) phase = Phase::SettleNew;
    if (phase == Phase::SettleNew && !new_ones_first()) phase = Phase::ArmLinks;
    if (phase == Phase::ArmLinks && !links_came_back()) phase = Phase::Settle;
    // Links that were taken down will be swept again anyway.
    if (phase == Phase::Look && (!options.after_sweep || restarted)) phase = Phase::Done;
    if (phase == Phase::Done) return;
    if (phase == Phase::Settle) tables.stage();
    begin_step(0);
  }
  void begin_step(std::uint8_t step) {
    for (NodeIndex n = 0; n < cursors.size(); ++n) {
      cursors[n].step = step;
      cursors[n].at = 0;
      cursors[n].blocks_at = 0;
      if (desired->node_managed[n] && !cursors[n].failed) enqueue(n);
    }
  }
  /// What was to be read of them was read.
  void believe_tables() {
    if (!options.after_sweep) return;
    for (NodeIndex n = 0; n < cursors.size(); ++n)
      if (!cursors[n].failed) known.doubtful.erase(seen.fabric.node(n).guid);
  }
  /// Once mapped for several VLs, ports are mapped back for one.
  bool lanes_needed() const {
    return options.after_sweep && desired->program_lfts &&
           (desired->program_vls || !known.lanes.empty());
  }
  /// Both its switches forward already: it is to carry packets before their tables send any.
  bool joins_routed(PortRef p) const {
    const PortRef q = seen.fabric.port(p).peer;
    return q && tables.was_warm(p.node) && tables.was_warm(q.node);
  }
  bool links_came_back() const {
    if (!options.after_sweep) return false;
    for (NodeIndex n = 0; n < cursors.size(); ++n) {
      if (!tables.was_warm(n)) continue;
      for (unsigned port = 1; port <= seen.fabric.node(n).num_ports; ++port) {
        const PortRef p{n, static_cast<std::uint8_t>(port)};
        const PortState state = seen.port(p).state();
        if ((state == PortState::Initialize || state == PortState::Armed) && joins_routed(p))
          return true;
      }
    }
    return false;
  }
  bool new_ones_first() const {
    return options.after_sweep && desired->program_lfts && tables.new_ones_can_be_first();
  }
  void enqueue(NodeIndex n) {
    if (cursors[n].queued) return;
    cursors[n].queued = true;
    ready.push_back(n);
  }
  /// Phases without work pass at once.
  void move_on() {
    while (phase != Phase::Done && in_flight == 0 && ready.empty()) {
      if (phase == Phase::Settle && tables.next_round()) {
        begin_step(kStepTables);
      } else {
        begin(static_cast<Phase>(static_cast<int>(phase) + 1));
      }
    }
  }

  std::vector<ib::mad::Request> take_requests() {
    std::vector<ib::mad::Request> out;
    do {
      move_on();
      while (!ready.empty() && in_flight < options.in_all && out.size() < kAtOnce) {
        const NodeIndex n = ready.front();
        ready.pop_front();
        Cursor& c = cursors[n];
        c.queued = false;
        if (c.failed || c.in_flight >= options.per_node) continue;
        bool wait = false;
        const auto work = next_work(n, wait);
        if (!work) continue;  // finished, or woken by its last answer when `wait`
        if (!options.silent.empty() && options.silent[n]) {
          leave_alone({work->kind, work->arg, n});
          continue;
        }
        out.push_back(request_for(n, *work));
        ++c.in_flight;
        ++in_flight;
        if (c.in_flight < options.per_node) enqueue(n);
      }
    } while (out.empty() && in_flight == 0 && phase != Phase::Done);
    return out;
  }

  // ---- what a node needs next in this phase

  std::optional<Work> next_work(NodeIndex n, bool& wait) {
    if (const auto it = read_again.lower_bound({n, 0}); it != read_again.end() && it->node == n) {
      const Work work{Kind::GetPort, it->port};
      read_again.erase(it);
      return work;
    }
    switch (phase) {
      case Phase::Switches:
        return next_switch(n);
      case Phase::Read:
        return next_read(n);
      case Phase::Lanes:
        return next_lanes(n);
      case Phase::SettleNew:
        return next_settle_new(n, wait);
      case Phase::Settle:
        return next_settle(n, wait);
      case Phase::ArmLinks:
      case Phase::Arm:
        return next_state(n, PortState::Initialize);
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

  std::optional<Work> next_switch(NodeIndex n) {
    Cursor& c = cursors[n];
    const SwitchIndex s = tables.switch_of(n);
    if (s == kNoSwitch || std::exchange(c.step, std::uint8_t{1}) != 0) return std::nullopt;
    const auto& info = *seen.nodes[n].switch_info;
    const bool clears = options.after_sweep && info.port_state_change;
    const bool cold = !tables.was_warm(n);
    // One without tables, and most likely without a LID, sends no traps.
    c.look = clears ? Cursor::Look::Ports : cold ? Cursor::Look::Switch : Cursor::Look::Nothing;
    if (!clears && !cold && info.life_time_value == desired->switches[s].life_time_value)
      return std::nullopt;
    return Work{Kind::SetSwitch, 0};
  }

  /// Sets that were answered since the bit was cleared said what state their ports are in.
  std::optional<Work> next_look(NodeIndex n) {
    Cursor& c = cursors[n];
    // The sweep reads the local port of a CA before the switch that would tell of a change.
    if (const PortRef local = seen.local_port;
        n == local.node && !seen.fabric.node(n).is_switch()) {
      const bool looked = std::exchange(c.step, std::uint8_t{1}) != 0;
      if (looked || !options.after_sweep || acknowledged[seen.port_index(local)])
        return std::nullopt;
      return Work{Kind::GetPort, local.port};
    }
    if (c.look == Cursor::Look::Nothing) return std::nullopt;
    while (c.look == Cursor::Look::Ports && c.at <= seen.fabric.node(n).num_ports) {
      const PortRef p{n, static_cast<std::uint8_t>(c.at++)};
      const std::size_t i = seen.port_index(p);
      if (seen.ports[i].known && !acknowledged[i]) return Work{Kind::GetPort, p.port};
    }
    c.look = Cursor::Look::Nothing;
    return Work{Kind::GetSwitch, 0};
  }

  /// The next wanted block that `must` be read, or written, and that a way leads to.
  std::optional<Work> next_block(NodeIndex n, Kind kind, decltype(must_read) must) {
    Cursor& c = cursors[n];
    for (; c.blocks_at < c.blocks.size(); ++c.blocks_at) {
      const plan::WantedBlock& want = c.blocks[c.blocks_at];
      if (must(known.inventory, known.refused, seen.nodes[n].info.node_guid, want) &&
          device::route_to(seen, n, *want.kind, want.slot))
        return Work{kind, c.blocks_at++};
    }
    return std::nullopt;
  }

  /// The next part of an MFT block that `must` be read, or written.
  template <class Must>
  std::optional<Work> next_mft(NodeIndex n, Kind kind, Must must) {
    Cursor& c = cursors[n];
    const auto positions = static_cast<std::uint32_t>(tables.mft_positions(n));
    const auto blocks = tables.mft_blocks(n);
    while (c.at < blocks.size() * positions) {
      const std::uint16_t block = blocks[c.at / positions];
      const auto position = static_cast<std::uint8_t>(c.at % positions);
      ++c.at;
      if (must(block, position))
        return Work{kind, static_cast<std::uint32_t>(block) << 4 | position};
    }
    return std::nullopt;
  }

  std::optional<Work> next_read(NodeIndex n) {
    if (const auto block = next_block(n, Kind::GetBlock, must_read)) return block;
    const SwitchIndex s = tables.switch_of(n);
    Cursor& c = cursors[n];
    if (s == kNoSwitch) return next_lanes_read(n, 0);
    if (!tables.was_warm(n)) return std::nullopt;
    SwitchTables& t = tables.held(n);
    if (tables.take_doubt(n)) {
      if (auto probe = lanes_probe(n)) {
        c.probing = true;
        c.lanes = {*probe};
        return Work{Kind::GetLanes, 0};
      }
    }
    if (c.step == 0) {
      const std::size_t held = seen.nodes[n].switch_info->linear_fdb_top / kLftBlock + 1;
      for (; c.at < std::min(held, tables.lft_blocks()); ++c.at)
        if (!t.lft_known[c.at]) return Work{Kind::GetLft, c.at++};
      c.step = 1;
      c.at = 0;
    }
    if (c.step == 1) {
      const auto unknown = [&](std::uint16_t block, std::uint8_t position) {
        return !t.mft.contains({block, position});
      };
      if (options.after_sweep)
        if (const auto read = next_mft(n, Kind::GetMft, unknown)) return read;
      c.step = 2;
    }
    // The probe's answer decides what is known, and so what is to be asked for.
    if (c.probing) return std::nullopt;
    return next_lanes_read(n, 2);
  }

  /// Lanes that are ours to program and that nothing is known of: after a start they may well be
  /// what they should.
  std::optional<Work> next_lanes_read(NodeIndex n, std::uint8_t step) {
    Cursor& c = cursors[n];
    if (!lanes_needed()) return std::nullopt;
    if (c.step == step) {
      c.step = static_cast<std::uint8_t>(step + 1);
      c.at = 0;
      c.lanes = lane_reads(*desired, seen, known.lanes[seen.fabric.node(n).guid], n);
    }
    if (c.at == c.lanes.size()) return std::nullopt;
    return Work{Kind::GetLanes, c.at++};
  }

  std::optional<Work> next_lanes(NodeIndex n) {
    Cursor& c = cursors[n];
    if (c.step == 0) {
      c.step = 1;
      c.lanes = lane_sets(*desired, seen, known.lanes[seen.fabric.node(n).guid], n);
    }
    if (c.at == c.lanes.size()) return std::nullopt;
    return Work{Kind::SetLanes, c.at++};
  }

  /// Lanes are many: one table of arbitration, unlike any that a switch begins with, says whether
  /// they are still what they were.
  std::optional<LaneTable> lanes_probe(NodeIndex n) const {
    const auto it = known.lanes.find(seen.fabric.node(n).guid);
    if (it == known.lanes.end()) return std::nullopt;
    for (const auto& [key, table] : it->second.arbitration) {
      if (key.first != kArbitrationHigh) continue;
      if (seen.port({n, key.second}).state() <= PortState::Initialize) continue;
      LaneTable probe;
      probe.attribute = ib::wire::attr::kVlArbitration;
      probe.modifier = static_cast<std::uint32_t>(kArbitrationHigh) << 16 | key.second;
      probe.port = key.second;
      return probe;
    }
    return std::nullopt;
  }
  void on_lanes_read(const Key& key, const ib::wire::Mad* answer) {
    const auto& node = seen.fabric.node(key.node);
    Cursor& c = cursors[key.node];
    const LaneTable& read = c.lanes[key.arg];
    if (!std::exchange(c.probing, false)) {
      if (answer != nullptr) note_read(known.lanes[node.guid], read, *answer, node.num_ports);
      return;
    }
    const auto it = known.lanes.find(node.guid);
    if (it == known.lanes.end()) return;
    const auto held = it->second.arbitration.find({kArbitrationHigh, read.port});
    if (answer == nullptr || held == it->second.arbitration.end() ||
        ib::wire::body<ib::wire::VlArbitrationTable>(*answer) != held->second)
      known.lanes.erase(it);
  }

  bool port_needs_set(PortRef p) const {
    const std::size_t i = seen.port_index(p);
    const PortWant& want = desired->ports[i];
    const ObservedPort& port = seen.ports[i];
    if (!want.managed || !port.known) return false;
    if (want.restart) return true;
    PortWant asked = want;
    if (acknowledged[i]) asked.reregister = false;
    const PortInfo info = port.info();
    if (satisfied(asked, info)) return false;
    if (asked.reregister) return true;
    return !known.stubborn.contains(seen.fabric.node(p.node).guid, p.port, asked,
                                    held(asked, info));
  }

  /// Of a switch its own LID and tables.
  std::optional<Work> next_settle_new(NodeIndex n, bool& wait) {
    if (tables.switch_of(n) == kNoSwitch || tables.was_warm(n)) return std::nullopt;
    auto work = next_settle(n, wait);
    if (!work && !wait && cursors[n].in_flight == 0) tables.became_warm(n);
    return work;
  }

  std::optional<Work> next_settle(NodeIndex n, bool& wait) {
    Cursor& c = cursors[n];
    const SwitchIndex s = tables.switch_of(n);
    const unsigned last_port = phase == Phase::Settle ? seen.fabric.node(n).num_ports : 0U;
    if (c.step == 0) {
      for (; c.at <= last_port; ++c.at) {
        const PortRef p{n, static_cast<std::uint8_t>(c.at)};
        const PortWant& want = desired->ports[seen.port_index(p)];
        // A switch's external port in INIT gets its fields with the step to ARMED.
        const bool later = s != kNoSwitch && c.at != 0 && want.activate &&
                           seen.port(p).state() == PortState::Initialize;
        if (!later && port_needs_set(p)) return Work{Kind::SetPort, c.at++};
      }
      c.step = kStepTables;
      c.at = 0;
    }
    if (const auto block = next_block(n, Kind::SetBlock, must_write)) return block;
    if (s == kNoSwitch) return std::nullopt;
    SwitchTables& t = tables.held(n);
    if (c.step == kStepTables) {
      if (desired->program_lfts) {
        for (; c.at < tables.lft_blocks(); ++c.at) {
          const auto due = tables.due_lft(s, c.at);
          const auto held = t.lft.begin() + static_cast<std::ptrdiff_t>(c.at * kLftBlock);
          if (due && (!t.lft_known[c.at] || !std::equal(due->begin(), due->end(), held)))
            return Work{Kind::SetLft, c.at++};
        }
      }
      c.step = 2;
      c.at = 0;
    }
    if (c.step == 2) {
      const auto differs = [&](std::uint16_t block, std::uint8_t position) {
        return tables.mft_differs(n, block, position);
      };
      if (desired->program_mfts)
        if (const auto set = next_mft(n, Kind::SetMft, differs)) return set;
      c.step = 3;
    }
    if (c.step == 3) {
      // The top goes up only when everything below it is written.
      if (!tables.last_round()) return std::nullopt;
      if (c.in_flight > 0) {
        wait = true;
        return std::nullopt;
      }
      c.step = 4;
      const auto& info = *seen.nodes[n].switch_info;
      const auto& want = desired->switches[s];
      const bool top_differs = desired->program_lfts && info.linear_fdb_top != want.linear_fdb_top;
      const bool mcast_differs = desired->program_mfts && want.has_multicast_top &&
                                 info.multicast_fdb_top != want.multicast_fdb_top;
      if (top_differs || mcast_differs) return Work{Kind::SetSwitch, 1};
    }
    return std::nullopt;
  }

  /// Ports to be moved up from `from`. To ACTIVE only where the far end is armed too.
  std::optional<Work> next_state(NodeIndex n, PortState from) {
    Cursor& c = cursors[n];
    for (; c.at <= seen.fabric.node(n).num_ports; ++c.at) {
      const PortRef p{n, static_cast<std::uint8_t>(c.at)};
      const std::size_t i = seen.port_index(p);
      const PortWant& want = desired->ports[i];
      if (!want.managed || !want.activate || want.restart || !seen.ports[i].known) continue;
      if (seen.ports[i].state() != from) continue;
      if (phase < Phase::Settle && !joins_routed(p)) continue;
      if (want.end_port && seen.ports[i].get<&PortInfo::lid>() != want.lid)
        continue;  // the LID did not take
      const PortRef q = seen.fabric.port(p).peer;
      if (q) {
        if (cursors[q.node].failed) continue;
        if (from == PortState::Armed && seen.port(q).state() < PortState::Armed) continue;
      }
      return Work{Kind::SetPort, c.at++};
    }
    return std::nullopt;
  }

  // ---- requests

  ib::mad::Request request_for(NodeIndex n, const Work& work) {
    const auto& node = seen.nodes[n];
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
        if (seen.port({n, static_cast<std::uint8_t>(work.arg)}).extended)
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
      case Kind::GetLanes:
        method = ib::wire::Method::Get;
        [[fallthrough]];
      case Kind::SetLanes:
        attribute = cursors[n].lanes[work.arg].attribute;
        modifier = cursors[n].lanes[work.arg].modifier;
        break;
      case Kind::GetBlock:
        method = ib::wire::Method::Get;
        [[fallthrough]];
      case Kind::SetBlock: {
        const plan::WantedBlock& want = cursors[n].blocks[work.arg];
        attribute = want.kind->attribute;
        modifier = want.kind->modifier(seen, n, want.slot);
        break;
      }
    }
    const std::uint64_t m_key = options.m_key ? options.m_key(guid) : 0;
    auto request =
        ib::mad::smp_request(options.cookie_base + to_cookie({work.kind, work.arg, n}), guid.value,
                             route_for(n, work), method, attribute, modifier, m_key);
    if (method == ib::wire::Method::Set) {
      ++sets;
      fill(n, work, request.mad);
    }
    return request;
  }

  /// SL to VL mapping and VL arbitration of a CA are those of the port that the SMP comes in by
  /// (IBA 14.2.5.8, 14.2.5.9).
  ib::mad::DirectedRoute route_for(NodeIndex n, const Work& work) const {
    const auto& node = seen.nodes[n];
    const bool lanes = work.kind == Kind::SetLanes || work.kind == Kind::GetLanes;
    if (is_block(work.kind)) {
      const plan::WantedBlock& want = cursors[n].blocks[work.arg];
      return *device::route_to(seen, n, *want.kind, want.slot);
    }
    if (!lanes || seen.fabric.node(n).is_switch()) return node.route;
    const PortRef p{n, cursors[n].lanes[work.arg].port};
    const PortRef q = seen.fabric.port(p).peer;
    if (p.port == node.info.local_port_num.value || !q || !seen.fabric.node(q.node).is_switch())
      return node.route;
    return seen.nodes[q.node].route.extended(q.port);
  }

  void fill(NodeIndex n, const Work& work, ib::wire::Mad& mad) {
    const SwitchIndex s = tables.switch_of(n);
    switch (work.kind) {
      case Kind::SetPort: {
        const PortRef p{n, static_cast<std::uint8_t>(work.arg)};
        const std::size_t i = seen.port_index(p);
        std::copy(seen.ports[i].bytes.begin(), seen.ports[i].bytes.end(), mad.data());
        PortWant want = desired->ports[i];
        if (acknowledged[i]) want.reregister = false;
        write_wanted(want, mad.data());
        ib::wire::View<PortInfo> view(mad.data());
        if (phase == Phase::Settle && want.restart) {
          view.set<&PortInfo::port_state>(PortState::Down);
          restarted = true;
        }
        if (arms(phase)) view.set<&PortInfo::port_state>(PortState::Armed);
        if (activates(phase)) view.set<&PortInfo::port_state>(PortState::Active);
        break;
      }
      case Kind::SetSwitch: {
        ib::wire::SwitchInfo info = *seen.nodes[n].switch_info;
        const auto& want = desired->switches[s];
        info.life_time_value = want.life_time_value;
        // Written as 1 it clears (IBA 14.2.5.4); later changes set it again.
        info.port_state_change = options.after_sweep && info.port_state_change && work.arg == 0;
        // Before the blocks are written the top only goes down, except on a switch without any.
        if (desired->program_lfts && (work.arg == 1 || !tables.was_warm(n)))
          info.linear_fdb_top = want.linear_fdb_top;
        if (desired->program_mfts && want.has_multicast_top && work.arg == 1)
          info.multicast_fdb_top = want.multicast_fdb_top;
        ib::wire::set_body(mad, info);
        break;
      }
      case Kind::SetLft: {
        const auto block = *tables.due_lft(s, work.arg);
        std::transform(block.begin(), block.end(), mad.data(),
                       [](std::uint8_t v) { return std::byte{v}; });
        break;
      }
      case Kind::SetMft: {
        ib::wire::MulticastForwardingTable table;
        table.port_mask =
            tables.wanted_mft(s, static_cast<std::uint16_t>(work.arg >> 4), work.arg & 0xF);
        ib::wire::set_body(mad, table);
        break;
      }
      case Kind::SetLanes:
        cursors[n].lanes[work.arg].write(mad);
        break;
      case Kind::SetBlock: {
        const plan::WantedBlock& want = cursors[n].blocks[work.arg];
        std::copy_n(want.block.begin(), want.kind->bytes, mad.data());
        break;
      }
      default:
        break;
    }
  }

  // ---- answers

  void on_completion(const ib::mad::Completion& completion) {
    const Key key =
        from_cookie((completion.cookie - options.cookie_base) & ((ib::mad::Cookie{1} << 48) - 1));
    --in_flight;
    Cursor& c = cursors[key.node];
    --c.in_flight;
    if (!completion.reply) {
      on_silence(key, completion);
    } else if (const ib::wire::Mad& mad = completion.reply->mad; mad.status() != 0) {
      on_refusal(key, mad.status());
    } else {
      on_answer(key, mad);
    }
    if (!c.failed) enqueue(key.node);
  }

  static bool is_block(Kind kind) { return kind == Kind::SetBlock || kind == Kind::GetBlock; }
  const plan::WantedBlock& block_of(const Key& key) const {
    return cursors[key.node].blocks[key.arg];
  }

  std::string where(const Key& key) const {
    const auto& node = seen.fabric.node(key.node);
    std::string text(describe(key.kind));
    if (is_block(key.kind)) text += fmt::format("({})", block_of(key).kind->name);
    text += fmt::format(" to {} \"{}\"", to_string(node.guid), ib::printable(node.description));
    if (key.kind == Kind::SetPort || key.kind == Kind::GetPort)
      text += fmt::format(" port {}", key.arg);
    if (key.kind == Kind::SetLft || key.kind == Kind::GetLft)
      text += fmt::format(" block {}", key.arg);
    if (key.kind == Kind::SetLanes || key.kind == Kind::GetLanes)
      text += " " + cursors[key.node].lanes[key.arg].where();
    if (is_block(key.kind))
      text += fmt::format(" port {} block {}", block_of(key).slot.port, block_of(key).slot.block);
    return text;
  }
  void note(const Key& key, bool timed_out, std::string_view what) {
    const bool port = key.kind == Kind::SetPort || key.kind == Kind::GetPort;
    failures.push_back({key.node, port ? static_cast<std::uint8_t>(key.arg) : std::uint8_t{0},
                        timed_out, fmt::format("{}: {}", where(key), what)});
  }

  void leave_alone(const Key& key) {
    note(key, true, "left as it is: the node does not answer");
    cursors[key.node].failed = true;
    if (key.kind == Kind::SetLft) tables.lft_stays(key.node);
  }
  void on_silence(const Key& key, const ib::mad::Completion& completion) {
    Cursor& c = cursors[key.node];
    if (!c.failed) note(key, true, completion.reply.error().message);
    c.failed = true;
    if (is_block(key.kind))
      known.inventory.forget(*block_of(key).kind, guid_of(key), block_of(key).slot);
    forget(key);
  }
  void note_lane_set(const Key& key, const ib::wire::Mad* answer) {
    const auto& node = seen.fabric.node(key.node);
    note_lanes(known.lanes[node.guid], cursors[key.node].lanes[key.arg], answer, node.num_ports);
  }
  /// What a device holds after a Set without an answer is not known.
  void forget(const Key& key) {
    if (key.kind == Kind::SetLanes) note_lane_set(key, nullptr);
    if (key.kind == Kind::GetLanes) on_lanes_read(key, nullptr);
    if (key.kind == Kind::SetLft) tables.lft_failed(key.node, key.arg);
    if (key.kind == Kind::SetMft)
      tables.held(key.node).mft.erase(
          {static_cast<std::uint16_t>(key.arg >> 4), static_cast<std::uint8_t>(key.arg & 0xF)});
  }

  void on_refusal(const Key& key, std::uint16_t status) {
    // A port that went ACTIVE by itself (its peer's first packet moves it) refuses the step; what
    // it says now decides.
    if (key.kind == Kind::SetPort && activates(phase)) {
      read_again.insert({key.node, static_cast<std::uint8_t>(key.arg)});
      return;
    }
    note(key, false, fmt::format("status 0x{:04x}", status));
    if (is_block(key.kind)) known.refused.note(guid_of(key), block_of(key), true);
    forget(key);
  }

  void on_answer(const Key& key, const ib::wire::Mad& mad) {
    switch (key.kind) {
      case Kind::SetPort:
      case Kind::GetPort:
        on_port(key, mad);
        break;
      case Kind::SetSwitch:
      case Kind::GetSwitch:
        on_switch(key, ib::wire::body<ib::wire::SwitchInfo>(mad));
        break;
      case Kind::SetLft:
      case Kind::GetLft: {
        SwitchTables& t = tables.held(key.node);
        std::transform(mad.data(), mad.data() + kLftBlock,
                       t.lft.begin() + static_cast<std::ptrdiff_t>(key.arg * kLftBlock),
                       [](std::byte b) { return static_cast<std::uint8_t>(b); });
        t.lft_known[key.arg] = true;
        break;
      }
      case Kind::SetMft:
      case Kind::GetMft:
        tables.held(key.node).mft[{static_cast<std::uint16_t>(key.arg >> 4),
                                   static_cast<std::uint8_t>(key.arg & 0xF)}] =
            ib::wire::body<ib::wire::MulticastForwardingTable>(mad).port_mask;
        break;
      case Kind::SetLanes:
        note_lane_set(key, &mad);
        break;
      case Kind::GetLanes:
        on_lanes_read(key, &mad);
        break;
      case Kind::SetBlock:
      case Kind::GetBlock:
        on_block(key, mad);
        break;
    }
  }

  ib::Guid guid_of(const Key& key) const { return seen.nodes[key.node].info.node_guid; }

  void on_block(const Key& key, const ib::wire::Mad& mad) {
    const plan::WantedBlock& want = block_of(key);
    const device::Block held = device::block_of(*want.kind, mad.data());
    known.inventory.put(*want.kind, guid_of(key), seen.fabric.node(key.node).num_ports, want.slot,
                        held);
    if (key.kind == Kind::SetBlock) known.refused.note(guid_of(key), want, held != want.block);
  }

  void on_switch(const Key& key, const ib::wire::SwitchInfo& info) {
    auto& held = *seen.nodes[key.node].switch_info;
    // One that does not clear it when it is told to says nothing by it.
    if (options.after_sweep && info.port_state_change && !held.port_state_change)
      note(key, false, "a port changed its state meanwhile");
    held = info;
  }

  /// A switch that was rebooted has no LID at its port 0.
  static bool differs(const ObservedPort& before, const PortInfo& now, std::uint8_t port) {
    return now.port_state != before.state() ||
           (port == 0 && now.lid != before.get<&PortInfo::lid>());
  }

  void on_port(const Key& key, const ib::wire::Mad& mad) {
    const PortRef p{key.node, static_cast<std::uint8_t>(key.arg)};
    const auto info = ib::wire::body<PortInfo>(mad);
    if (auto wrong = ib::discover::implausible(info, seen.nodes[key.node].info, p.port);
        !wrong.empty()) {
      note(key, false, "answered with a PortInfo whose " + wrong);
      return;
    }
    if (phase == Phase::Look && differs(seen.port(p), info, p.port))
      note(key, false, "it changed meanwhile");
    // An event that the device sends back, not something that it holds (IBA o14-12.2.1).
    ib::wire::Mad held_now = mad;
    ib::wire::View<PortInfo>(held_now.data()).set<&PortInfo::client_reregister>(false);
    seen.update_port(p, held_now.data(), info);
    if (key.kind == Kind::GetPort) return;
    const std::size_t i = seen.port_index(p);
    acknowledged[i] = true;
    PortWant want = desired->ports[i];
    want.reregister = false;
    known.stubborn.note(seen.fabric.node(p.node).guid, p.port, want, held(want, info));
  }
};

void Known::doubt_ports() {
  for (auto& [node, held] : lanes) held = {};
  inventory.clear();
  refused.clear();
}

Apply::Apply(std::shared_ptr<const Desired> desired, Observed& observed, Known& known,
             ApplyOptions options)
    : impl_(std::make_unique<Impl>(std::move(desired), observed, known, std::move(options))) {}
Apply::~Apply() = default;

std::vector<ib::mad::Request> Apply::take_requests() { return impl_->take_requests(); }
void Apply::on_completion(ib::Instant, const ib::mad::Completion& completion) {
  impl_->on_completion(completion);
}
bool Apply::done() const { return impl_->phase == Phase::Done; }
Phase Apply::phase() const { return impl_->phase; }
std::uint64_t Apply::sets() const { return impl_->sets; }
std::vector<NodeIndex> Apply::lanes_set() const {
  std::vector<NodeIndex> nodes;
  for (NodeIndex n = 0; n < impl_->cursors.size(); ++n)
    if (!impl_->cursors[n].lanes.empty()) nodes.push_back(n);
  return nodes;
}
bool Apply::has_answered(PortRef p) const { return impl_->acknowledged[impl_->seen.port_index(p)]; }
bool Apply::restarted_links() const { return impl_->restarted; }
const std::vector<Failure>& Apply::failures() const { return impl_->failures; }

}  // namespace sm::apply
