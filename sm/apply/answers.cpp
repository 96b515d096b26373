// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "libdiag/discover/quirks.h"
#include "libdiag/discover/sweep.h"
#include "libdiag/tables/tables.h"
#include "sm/apply/row_sets.h"
#include "sm/apply/vl_work.h"
#include "sm/device/tables/kinds.h"

namespace sm::apply {
namespace {

using ib::discover::ObservedPort;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;
using plan::PortWant;

/// What the probed table should say was known; if it is another one now, or is not said, all is
/// to be read, and what it refused may be taken now.
void on_probe(Job& job, const Work& work, const ib::wire::Mad* answer) {
  job.probing[work.node] = false;
  const ib::Guid guid = job.guid(work.node);
  const device::Block* held = job.known.inventory.held(*work.ask.kind, guid, work.ask.slot);
  if (answer != nullptr && held != nullptr &&
      device::block_of(*work.ask.kind, answer->data()) == *held)
    return;
  for (const device::TableKind* kind : {&device::kSlToVl, &device::kVlArbitration}) {
    job.known.inventory.forget(*kind, guid);
    job.known.refused.forget(*kind, guid);
  }
}

void forget_block(Job& job, const Work& work) {
  if (work.ask.wide()) {
    job.known.inventory.forget(*work.ask.kind, job.guid(work.node));
  } else {
    job.known.inventory.forget(*work.ask.kind, job.guid(work.node), work.ask.slot);
  }
}

/// A Set of the LFT turns it off.
void forget_adaptive(Job& job, const Work& work) {
  const ib::Guid guid = job.guid(work.node);
  if (job.known.inventory.held(device::kArInfo, guid, {}) != nullptr)
    job.known.inventory.forget(device::kArInfo, guid, {});
}

/// What a device holds after a Set without an answer is not known.
void forget(Job& job, const Work& work) {
  if (work.is_block()) forget_block(job, work);
  if (work.kind == Kind::SetLft) {
    job.tables.lft_failed(work.node, work.arg);
    forget_adaptive(job, work);
  }
  if (work.kind == Kind::SetMft)
    job.tables.own(work.node).mft.erase(
        {static_cast<std::uint16_t>(work.arg >> 4), static_cast<std::uint8_t>(work.arg & 0xF)});
}

/// `status` 0: the device answered with another block.
void on_block_refused(Job& job, const Work& work, std::uint16_t status) {
  const Ask& ask = work.ask;
  job.known.refused.note(job.guid(work.node), ask, describe(work.kind), status);
  if (work.kind != Kind::SetBlock || ask.kind != &device::kSlToVl) return;
  // Rows decide whether routes are free of deadlock: what stays in their place is read, and each
  // that is not as it is to be is asked for by itself.
  if (ask.wide()) {
    job.vls_again.insert(work.node);
    job.blocks_to_read.erase(work.node);
    for (const Ask& row : unknown_rows(job.holder(work.node), *job.desired->vl_tables))
      job.blocks_to_read.emplace(work.node, row);
  } else if (job.known.inventory.held(*ask.kind, job.guid(work.node), ask.slot) == nullptr) {
    job.blocks_to_read.emplace(work.node, ask);
  }
}

void on_block(Job& job, const Work& work, const ib::wire::Mad& mad) {
  const Ask& ask = work.ask;
  const device::Block held = device::block_of(*ask.kind, mad.data());
  const unsigned num_ports = job.seen.fabric.node(work.node).num_ports;
  const bool taken = means_the_same(*ask.kind, job.seen, work.node, ask.slot, *ask.block, held);
  if (!ask.wide()) {
    job.known.inventory.put(*ask.kind, job.guid(work.node), num_ports, ask.slot, held);
  } else if (taken) {
    put_row(job.known.inventory, job.guid(work.node), num_ports, ask, held);
  } else {
    forget_block(job, work);
  }
  if (work.kind != Kind::SetBlock) return;
  if (taken)
    job.known.refused.took(job.guid(work.node), ask);
  else
    on_block_refused(job, work, 0);
}

void on_switch(Job& job, const Work& work, const ib::wire::SwitchInfo& said) {
  auto& held = *job.seen.nodes[work.node].switch_info;
  const auto info = ib::discover::corrected(said, job.seen.nodes[work.node].info.vendor_id);
  // One that does not clear it when it is told to says nothing by it.
  if (job.options.after_sweep && info.port_state_change && !held.port_state_change) {
    job.note(work, false, "a port changed its state meanwhile");
    job.outdated = job.outdated || job.phase == Phase::Check;
  }
  // Nothing was set since it was swept, or somebody else has done that.
  job.outdated = job.outdated || (job.phase == Phase::Compare && info != held);
  held = info;
  if (work.kind != Kind::SetSwitch || work.arg == 0 || !job.desired->program_lfts) return;
  // It forwards nothing to LIDs above; more than was asked for does no harm.
  const auto top = job.desired->switches[job.tables.switch_of(work.node)].linear_fdb_top;
  if (held.linear_fdb_top < top)
    job.note(work, false, fmt::format("LinearFDBTop is {}, {} was set", held.linear_fdb_top, top));
}

/// A switch that was rebooted has no LID at its port 0.
bool differs(const ObservedPort& before, const PortInfo& now, std::uint8_t port) {
  return now.port_state != before.state() || (port == 0 && now.lid != before.get<&PortInfo::lid>());
}

/// A switch may have been rebooted since the sweep: a link of it that was up comes up again, or its
/// LID is gone. Where PortStateChange is cleared since, nothing tells of it any more.
bool fell_back(const Job& job, const Work& work, const PortInfo& now) {
  const PortRef p{work.node, work.port()};
  const ObservedPort& before = job.seen.port(p);
  if (!job.seen.fabric.node(p.node).is_switch()) return false;
  if (p.port == 0) return work.kind == Kind::GetPort && now.lid != before.get<&PortInfo::lid>();
  const PortRef peer = job.seen.fabric.port(p).peer;
  if (job.restarts(p) || (peer && job.restarts(peer))) return false;
  return before.state() >= PortState::Armed && now.port_state <= PortState::Initialize;
}

/// Our own port fell back, or somebody else took it into use: for a while the rest of the subnet
/// was cut off, and another master, to which no way led, may have programmed it and cleared what
/// switches said.
bool was_cut_off(const ObservedPort& before, const PortInfo& now) {
  return now.port_state != before.state() ||
         now.master_sm_lid != before.get<&PortInfo::master_sm_lid>();
}

void on_port(Job& job, const Work& work, const ib::wire::Mad& mad) {
  const PortRef p{work.node, work.port()};
  const auto info = ib::wire::body<PortInfo>(mad);
  if (auto wrong = ib::discover::implausible(info, job.seen.nodes[work.node].info, p.port);
      !wrong.empty()) {
    job.note(work, false, "answered with a PortInfo whose " + wrong);
    return;
  }
  // How it is now the next sweep finds, and compares with what was seen before.
  if (job.phase == Phase::Check && was_cut_off(job.seen.port(p), info)) {
    job.outdated = true;
    return job.note(work, false, "it changed meanwhile");
  }
  const bool fell = fell_back(job, work, info);
  if (fell) job.fell_back.insert(p.node);
  if (fell || (job.phase == Phase::Look && differs(job.seen.port(p), info, p.port)))
    job.note(work, false, "it changed meanwhile");
  // Its link went down since the sweep. It may have been rebooted, as for the sweep that finds a
  // port so (device::may_have_lost).
  if (!job.seen.fabric.node(p.node).is_switch() &&
      info.port_state == ib::wire::PortState::Initialize &&
      job.seen.port(p).state() > ib::wire::PortState::Initialize)
    job.known.inventory.forget(job.guid(p.node));
  // An event that the device sends back, not something that it holds (IBA o14-12.2.1).
  ib::wire::Mad held_now = mad;
  ib::wire::View<PortInfo>(held_now.data()).set<&PortInfo::client_reregister>(false);
  job.seen.update_port(p, held_now.data(), info);
  if (work.kind == Kind::GetPort || job.phase == Phase::Speeds) return;
  const std::size_t i = job.seen.port_index(p);
  job.acknowledged[i] = true;
  PortWant want = job.desired->ports[i];
  want.reregister = false;
  // A link in use keeps its VLs, whatever it is told.
  if (want.operational_vls > info.operational_vls && info.operational_vls != 0 && !want.restart &&
      info.port_state <= ib::wire::PortState::Armed)
    job.known.fewer_vls[{job.guid(p.node), p.port}] = info.operational_vls;
  job.known.stubborn.note(job.seen.fabric.node(p.node).guid, p.port, want, held(want, info));
}

}  // namespace

void leave_alone(Job& job, const Work& work) {
  job.note(work, true, "left as it is: the node does not answer");
  job.failed[work.node] = true;
  if (work.kind == Kind::SetLft) job.tables.lft_stays(work.node);
}

void on_silence(Job& job, const Work& work, const ib::mad::Completion& completion) {
  if (!job.failed[work.node]) job.note(work, true, completion.reply.error().message);
  job.failed[work.node] = true;
  if (work.kind == Kind::Probe) {
    on_probe(job, work, nullptr);
  } else {
    forget(job, work);
  }
  // Whatever of its LFT was still to be written stays.
  if (job.tables.switch_of(work.node) != ib::fabric::kNoSwitch) job.tables.lft_stays(work.node);
}

void on_refusal(Job& job, const Work& work, std::uint16_t status) {
  // A port that went ACTIVE by itself (its peer's first packet moves it) refuses the step; what
  // it says now decides.
  if (work.kind == Kind::SetPort && activates(job.phase)) {
    job.read_again.insert({work.node, work.port()});
    return;
  }
  if (work.kind == Kind::Probe) {
    on_probe(job, work, nullptr);
  } else if (work.is_block()) {
    if (work.kind == Kind::GetBlock && status == ib::wire::status::kBadValue)
      job.known.inventory.note_absent(*work.ask.kind, job.guid(work.node),
                                      job.seen.fabric.node(work.node).num_ports, work.ask.slot);
    on_block_refused(job, work, status);
    // What a device does not take is named by table; so is what it does not tell of those.
    if (work.kind == Kind::SetBlock || work.ask.kind == &device::kSlToVl ||
        work.ask.kind == &device::kVlArbitration)
      return;
  } else {
    forget(job, work);
  }
  job.note(work, false, fmt::format("status 0x{:04x}", status));
}

constexpr std::string_view kHoldsAnother = "the device holds other entries than were set";

void on_lft(Job& job, const Work& work, const ib::wire::Mad& mad) {
  device::Forwarding& t = job.tables.own(work.node);
  const auto held = t.lft.begin() + static_cast<std::ptrdiff_t>(work.arg * kLftBlock);
  std::transform(mad.data(), mad.data() + kLftBlock, held,
                 [](std::byte b) { return static_cast<std::uint8_t>(b); });
  t.lft_known[work.arg] = true;
  if (work.kind != Kind::SetLft) return;
  forget_adaptive(job, work);
  const auto sent = job.tables.due_lft(job.tables.switch_of(work.node), work.arg);
  // What it says of a LID without a route is its own affair.
  const auto is_wrong = [](std::uint8_t wanted, std::uint8_t is) {
    return wanted != ib::tables::kNoPort && wanted != is;
  };
  for (std::size_t i = 0; sent && i < kLftBlock; ++i) {
    if (!is_wrong((*sent)[i], held[static_cast<std::ptrdiff_t>(i)])) continue;
    job.note(work, false, kHoldsAnother);
    return job.tables.lft_stays(work.node);
  }
}

void on_mft(Job& job, const Work& work, const ib::wire::Mad& mad) {
  const auto block = static_cast<std::uint16_t>(work.arg >> 4);
  const auto position = static_cast<std::uint8_t>(work.arg & 0xF);
  job.tables.own(work.node).mft[{block, position}] =
      ib::wire::body<ib::wire::MulticastForwardingTable>(mad).port_mask;
  if (work.kind == Kind::SetMft && job.tables.mft_differs(work.node, block, position))
    job.note(work, false, kHoldsAnother);
}

void on_answer(Job& job, const Work& work, const ib::wire::Mad& mad) {
  switch (work.kind) {
    case Kind::SetPort:
    case Kind::GetPort:
      on_port(job, work, mad);
      break;
    case Kind::SetSwitch:
    case Kind::GetSwitch:
      on_switch(job, work, ib::wire::body<ib::wire::SwitchInfo>(mad));
      break;
    case Kind::SetLft:
    case Kind::GetLft:
      on_lft(job, work, mad);
      break;
    case Kind::SetMft:
    case Kind::GetMft:
      on_mft(job, work, mad);
      break;
    case Kind::Probe:
      on_probe(job, work, &mad);
      break;
    case Kind::SetBlock:
    case Kind::GetBlock:
      on_block(job, work, mad);
      break;
  }
}

}  // namespace sm::apply
