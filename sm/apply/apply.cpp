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
#include "sm/apply/rehearsal.h"
#include "sm/apply/row_sets.h"
#include "sm/apply/table_work.h"
#include "sm/apply/vl_work.h"
#include "sm/apply/work.h"
#include "sm/device/tables/kinds.h"

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
    bool probing{false};   // one table says whether a switch lost its SL2VL and VL arbitration
    std::vector<Ask> vls;  // of these that are left to be read, or set
    std::span<const plan::WantedBlock> blocks;
    std::uint32_t blocks_at{0};
    bool blocks_sent{false};  // Sets of some are under way
  };

  std::shared_ptr<const Desired> desired;
  Observed& seen;
  Known& known;
  ApplyOptions options;
  Phase phase{Phase::Switches};
  std::vector<Cursor> cursors;
  std::deque<NodeIndex> ready;
  InFlight in_flight;
  std::uint64_t sets{0};
  bool restarted{false};
  std::vector<Failure> failures;
  Rehearsal rehearsal;
  TableWork tables;
  std::set<PortRef> read_again;    // ports to be read before their node's next step
  std::vector<bool> acknowledged;  // by port index: a Set of its wanted fields was answered

  Impl(std::shared_ptr<const Desired> d, Observed& o, Known& k, ApplyOptions opt)
      : desired(std::move(d)),
        seen(o),
        known(k),
        options(std::move(opt)),
        tables(*desired, seen, known, {options.after_sweep, options.read_back}) {
    cursors.resize(seen.nodes.size());
    acknowledged.resize(seen.ports.size(), false);
    prepare_blocks();
    begin(options.only_read ? Phase::Read : Phase::Switches);
  }

  void prepare_blocks() {
    known.refused.forget_restarted(seen);
    for (NodeIndex n = 0; n < seen.nodes.size(); ++n)
      if (desired->node_managed[n]) cursors[n].blocks = blocks_of(*desired, n);
  }

  // ---- phases

  void begin(Phase next) {
    phase = options.only_read && next > Phase::Read ? Phase::Done : next;
    if (phase == Phase::Vls) believe_tables();
    if (phase == Phase::Vls && !vls_are_ours()) phase = Phase::SettleNew;
    if (phase == Phase::SettleNew && !new_ones_first()) phase = Phase::ArmLinks;
    if (phase == Phase::ArmLinks && !links_came_back()) phase = Phase::Settle;
    // Links that were taken down will be swept again anyway.
    if (phase == Phase::Look && (!options.after_sweep || restarted || options.rehearse))
      phase = Phase::Done;
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
  bool vls_are_ours() const { return options.after_sweep && desired->vl_tables != nullptr; }
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
    while (phase != Phase::Done && in_flight.size() == 0 && ready.empty()) {
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
      while (!ready.empty() && in_flight.size() < options.in_all && out.size() < kAtOnce) {
        const NodeIndex n = ready.front();
        ready.pop_front();
        Cursor& c = cursors[n];
        c.queued = false;
        if (c.failed || c.in_flight >= options.per_node) continue;
        bool wait = false;
        auto work = next_work(n, wait);
        if (!work) continue;  // finished, or woken by its last answer when `wait`
        work->node = n;
        if (!options.silent.empty() && options.silent[n]) {
          leave_alone(*work);
          continue;
        }
        auto request = request_for(*work);
        if (options.rehearse && is_set(work->kind)) {
          rehearse(in_flight.take(tag_of(request.cookie)), request.mad);
          enqueue(n);
          continue;
        }
        sets += is_set(work->kind) ? 1 : 0;
        out.push_back(std::move(request));
        ++c.in_flight;
        if (c.in_flight < options.per_node) enqueue(n);
      }
    } while (out.empty() && in_flight.size() == 0 && phase != Phase::Done);
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
      case Phase::Vls:
        return next_vl_set(n);
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

  Holder holder(NodeIndex n) const { return {seen, known.inventory, known.refused, n}; }

  /// The next wanted block that `must` be read, or written, and that a way leads to.
  std::optional<Work> next_block(NodeIndex n, Kind kind, decltype(must_read) must) {
    Cursor& c = cursors[n];
    while (c.blocks_at < c.blocks.size()) {
      const Ask ask = ask_for(c.blocks[c.blocks_at++]);
      if (must(holder(n), ask) && device::route_to(seen, n, *ask.kind, ask.slot))
        return Work{kind, 0, ask};
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
    if (options.only_read) return std::nullopt;
    const SwitchIndex s = tables.switch_of(n);
    Cursor& c = cursors[n];
    if (s == kNoSwitch) return next_vl_read(n, 0);
    if (!tables.was_warm(n)) return std::nullopt;
    SwitchTables& t = tables.held(n);
    if (tables.take_doubt(n)) {
      if (const auto probe = probe_for(n)) {
        c.probing = true;
        return Work{Kind::Probe, 0, *probe};
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
    return next_vl_read(n, 2);
  }

  /// SL2VL and VL arbitration that are ours and that nothing is known of: after a start they may
  /// well be what they should.
  std::optional<Work> next_vl_read(NodeIndex n, std::uint8_t step) {
    Cursor& c = cursors[n];
    if (!vls_are_ours()) return std::nullopt;
    if (c.step == step) {
      c.step = static_cast<std::uint8_t>(step + 1);
      forget_new_ports(seen, *desired->vl_tables, known.inventory, n);
      begin_vls(c, vl_reads(holder(n), *desired->vl_tables));
    }
    return next_vl(c, Kind::GetBlock);
  }
  std::optional<Work> next_vl_set(NodeIndex n) {
    Cursor& c = cursors[n];
    if (c.step == 0) {
      c.step = 1;
      forget_new_ports(seen, *desired->vl_tables, known.inventory, n);
      begin_vls(c, vl_sets(holder(n), *desired->vl_tables));
    }
    return next_vl(c, Kind::SetBlock);
  }
  static void begin_vls(Cursor& c, std::vector<Ask> asks) {
    c.at = 0;
    c.vls = std::move(asks);
  }
  static std::optional<Work> next_vl(Cursor& c, Kind kind) {
    if (c.at == c.vls.size()) {
      c.vls = {};
      c.at = 0;
      return std::nullopt;
    }
    return Work{kind, 0, c.vls[c.at++]};
  }

  std::optional<Ask> probe_for(NodeIndex n) const {
    return vls_are_ours() ? vl_probe(holder(n), *desired->vl_tables) : std::nullopt;
  }
  /// What the probed table should say was known; if it is another one now, or is not said, all is
  /// to be read.
  void on_probe(const Work& work, const ib::wire::Mad* answer) {
    cursors[work.node].probing = false;
    const ib::Guid guid = guid_of(work);
    const device::Block* held = known.inventory.held(*work.ask.kind, guid, work.ask.slot);
    if (answer != nullptr && held != nullptr &&
        device::block_of(*work.ask.kind, answer->data()) == *held)
      return;
    known.inventory.forget(device::kSlToVl, guid);
    known.inventory.forget(device::kVlArbitration, guid);
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
    // A port that checks P_Keys is to hold them before.
    if (const auto block = next_block(n, Kind::SetBlock, must_write)) {
      c.blocks_sent = true;
      return block;
    }
    if (c.blocks_sent && c.in_flight > 0) {
      wait = true;
      return std::nullopt;
    }
    c.blocks_sent = false;
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
                                 info.multicast_fdb_top != tables.wanted_multicast_top(n);
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

  ib::mad::Request request_for(const Work& work) {
    const NodeIndex n = work.node;
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
        if (seen.port({n, work.port()}).extended)
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
        modifier = modifier_of(n, work.ask);
        break;
    }
    const std::uint64_t m_key = options.m_key ? options.m_key(guid) : 0;
    auto request = ib::mad::smp_request(options.cookie_base + in_flight.add(work), guid.value,
                                        route_for(work), method, attribute, modifier, m_key);
    if (method == ib::wire::Method::Set) fill(work, request.mad);
    return request;
  }
  InFlight::Tag tag_of(ib::mad::Cookie cookie) const {
    return static_cast<InFlight::Tag>(cookie - options.cookie_base);
  }

  /// A Set that is not sent: as if the device had taken it.
  void rehearse(const Work& work, ib::wire::Mad& mad) {
    const NodeIndex n = work.node;
    if (work.kind == Kind::SetPort) {
      rehearsal.port(work, seen.port({n, work.port()}), mad);
    } else if (work.kind == Kind::SetSwitch) {
      rehearsal.switch_info(work, *seen.nodes[n].switch_info, mad);
    } else {
      rehearsal.table(work);
    }
    on_answer(work, mad);
  }
  std::uint32_t modifier_of(NodeIndex n, const Ask& ask) const {
    return ask.kind->modifier(seen, n, ask.slot) | (ask.all_outputs ? device::kAllOutputs : 0U) |
           (ask.all_inputs ? device::kAllInputs : 0U);
  }

  ib::mad::DirectedRoute route_for(const Work& work) const {
    if (work.is_block()) return *device::route_to(seen, work.node, *work.ask.kind, work.ask.slot);
    return seen.nodes[work.node].route;
  }

  void fill(const Work& work, ib::wire::Mad& mad) {
    const NodeIndex n = work.node;
    const SwitchIndex s = tables.switch_of(n);
    switch (work.kind) {
      case Kind::SetPort: {
        const PortRef p{n, work.port()};
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
          info.multicast_fdb_top = tables.wanted_multicast_top(n);
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
      case Kind::SetBlock:
        std::copy_n(work.ask.block->begin(), work.ask.kind->bytes, mad.data());
        break;
      default:
        break;
    }
  }

  // ---- answers

  void on_completion(const ib::mad::Completion& completion) {
    const Work work = in_flight.take(tag_of(completion.cookie));
    Cursor& c = cursors[work.node];
    --c.in_flight;
    if (!completion.reply) {
      on_silence(work, completion);
    } else if (const ib::wire::Mad& mad = completion.reply->mad; mad.status() != 0) {
      on_refusal(work, mad.status());
    } else {
      on_answer(work, mad);
    }
    if (!c.failed) enqueue(work.node);
  }

  std::string where(const Work& work) const {
    const auto& node = seen.fabric.node(work.node);
    std::string text(describe(work.kind));
    if (work.is_block()) text += fmt::format("({})", work.ask.kind->name);
    text += fmt::format(" to {} \"{}\"", to_string(node.guid), ib::printable(node.description));
    if (work.is_port()) text += fmt::format(" port {}", work.arg);
    if (work.kind == Kind::SetLft || work.kind == Kind::GetLft)
      text += fmt::format(" block {}", work.arg);
    if (work.is_block()) text += " " + place_of(work.ask);
    return text;
  }
  void note(const Work& work, bool timed_out, std::string_view what) {
    failures.push_back({work.node, work.is_port() ? work.port() : std::uint8_t{0}, timed_out,
                        fmt::format("{}: {}", where(work), what)});
  }

  void leave_alone(const Work& work) {
    note(work, true, "left as it is: the node does not answer");
    cursors[work.node].failed = true;
    if (work.kind == Kind::SetLft) tables.lft_stays(work.node);
  }
  void on_silence(const Work& work, const ib::mad::Completion& completion) {
    Cursor& c = cursors[work.node];
    if (!c.failed) note(work, true, completion.reply.error().message);
    c.failed = true;
    if (work.kind == Kind::Probe) {
      on_probe(work, nullptr);
    } else {
      forget(work);
    }
  }
  /// What a device holds after a Set without an answer is not known.
  void forget(const Work& work) {
    if (work.is_block()) forget_block(work);
    if (work.kind == Kind::SetLft) tables.lft_failed(work.node, work.arg);
    if (work.kind == Kind::SetMft)
      tables.held(work.node).mft.erase(
          {static_cast<std::uint16_t>(work.arg >> 4), static_cast<std::uint8_t>(work.arg & 0xF)});
  }

  void on_refusal(const Work& work, std::uint16_t status) {
    // A port that went ACTIVE by itself (its peer's first packet moves it) refuses the step; what
    // it says now decides.
    if (work.kind == Kind::SetPort && activates(phase)) {
      read_again.insert({work.node, work.port()});
      return;
    }
    note(work, false, fmt::format("status 0x{:04x}", status));
    if (work.kind == Kind::Probe) {
      on_probe(work, nullptr);
    } else if (work.is_block()) {
      known.refused.note(guid_of(work), work.ask, true);
    } else {
      forget(work);
    }
  }

  void on_answer(const Work& work, const ib::wire::Mad& mad) {
    switch (work.kind) {
      case Kind::SetPort:
      case Kind::GetPort:
        on_port(work, mad);
        break;
      case Kind::SetSwitch:
      case Kind::GetSwitch:
        on_switch(work, ib::wire::body<ib::wire::SwitchInfo>(mad));
        break;
      case Kind::SetLft:
      case Kind::GetLft: {
        SwitchTables& t = tables.held(work.node);
        std::transform(mad.data(), mad.data() + kLftBlock,
                       t.lft.begin() + static_cast<std::ptrdiff_t>(work.arg * kLftBlock),
                       [](std::byte b) { return static_cast<std::uint8_t>(b); });
        t.lft_known[work.arg] = true;
        break;
      }
      case Kind::SetMft:
      case Kind::GetMft:
        tables.held(work.node).mft[{static_cast<std::uint16_t>(work.arg >> 4),
                                    static_cast<std::uint8_t>(work.arg & 0xF)}] =
            ib::wire::body<ib::wire::MulticastForwardingTable>(mad).port_mask;
        break;
      case Kind::Probe:
        on_probe(work, &mad);
        break;
      case Kind::SetBlock:
      case Kind::GetBlock:
        on_block(work, mad);
        break;
    }
  }

  ib::Guid guid_of(const Work& work) const { return seen.nodes[work.node].info.node_guid; }

  void on_block(const Work& work, const ib::wire::Mad& mad) {
    const Ask& ask = work.ask;
    const device::Block held = device::block_of(*ask.kind, mad.data());
    const unsigned num_ports = seen.fabric.node(work.node).num_ports;
    const bool taken = means_the_same(*ask.kind, seen, work.node, ask.slot, *ask.block, held);
    if (!ask.wide()) {
      known.inventory.put(*ask.kind, guid_of(work), num_ports, ask.slot, held);
    } else if (taken) {
      put_row(known.inventory, guid_of(work), num_ports, ask, held);
    } else {
      forget_block(work);
    }
    if (work.kind != Kind::SetBlock) return;
    known.refused.note(guid_of(work), ask, !taken);
    if (!taken) note(work, false, "the device holds something else than it was told");
  }
  void forget_block(const Work& work) {
    if (work.ask.wide()) {
      known.inventory.forget(*work.ask.kind, guid_of(work));
    } else {
      known.inventory.forget(*work.ask.kind, guid_of(work), work.ask.slot);
    }
  }

  void on_switch(const Work& work, const ib::wire::SwitchInfo& info) {
    auto& held = *seen.nodes[work.node].switch_info;
    // One that does not clear it when it is told to says nothing by it.
    if (options.after_sweep && info.port_state_change && !held.port_state_change)
      note(work, false, "a port changed its state meanwhile");
    held = info;
  }

  /// A switch that was rebooted has no LID at its port 0.
  static bool differs(const ObservedPort& before, const PortInfo& now, std::uint8_t port) {
    return now.port_state != before.state() ||
           (port == 0 && now.lid != before.get<&PortInfo::lid>());
  }

  void on_port(const Work& work, const ib::wire::Mad& mad) {
    const PortRef p{work.node, work.port()};
    const auto info = ib::wire::body<PortInfo>(mad);
    if (auto wrong = ib::discover::implausible(info, seen.nodes[work.node].info, p.port);
        !wrong.empty()) {
      note(work, false, "answered with a PortInfo whose " + wrong);
      return;
    }
    if (phase == Phase::Look && differs(seen.port(p), info, p.port))
      note(work, false, "it changed meanwhile");
    // An event that the device sends back, not something that it holds (IBA o14-12.2.1).
    ib::wire::Mad held_now = mad;
    ib::wire::View<PortInfo>(held_now.data()).set<&PortInfo::client_reregister>(false);
    seen.update_port(p, held_now.data(), info);
    if (work.kind == Kind::GetPort) return;
    const std::size_t i = seen.port_index(p);
    acknowledged[i] = true;
    PortWant want = desired->ports[i];
    want.reregister = false;
    known.stubborn.note(seen.fabric.node(p.node).guid, p.port, want, held(want, info));
  }
};

void Known::doubt_ports() {
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
bool Apply::has_answered(PortRef p) const { return impl_->acknowledged[impl_->seen.port_index(p)]; }
bool Apply::restarted_links() const { return impl_->restarted; }
const std::vector<Failure>& Apply::failures() const { return impl_->failures; }
const std::vector<Difference>& Apply::differences() const { return impl_->rehearsal.differences(); }

}  // namespace sm::apply
