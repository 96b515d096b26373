// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"
#include "sm/device/tables/kinds.h"

namespace sm::apply {
namespace {

/// "Set(PortInfo) to 0x... \"S1\" port 4": for complaints.
std::string where(const ib::discover::Observed& seen, const Work& work) {
  const auto& node = seen.fabric.node(work.node);
  std::string text(describe(work.kind));
  if (work.is_block()) text += fmt::format("({})", work.ask.kind->name);
  text += " to " + ib::fabric::node_label(node);
  if (work.is_port()) text += fmt::format(" port {}", work.arg);
  if (work.kind == Kind::SetLft || work.kind == Kind::GetLft)
    text += fmt::format(" block {}", work.arg);
  if (work.is_block()) text += " " + place_of(work.ask);
  return text;
}

}  // namespace

Job::Job(std::shared_ptr<const plan::Desired> d, ib::discover::Observed& o, Known& k,
         ApplyOptions opt)
    : desired(std::move(d)),
      seen(o),
      known(k),
      options(std::move(opt)),
      tables(*desired, seen, known, {options.after_sweep, options.read_back}),
      adaptive(*desired, seen, known, tables, options) {
  failed.resize(seen.nodes.size(), false);
  in_flight.resize(seen.nodes.size(), 0);
  probing.resize(seen.nodes.size(), false);
  acknowledged.resize(seen.ports.size(), false);
}

bool Job::joins_routed(ib::fabric::PortRef p) const {
  const ib::fabric::PortRef q = seen.fabric.port(p).peer;
  return q && tables.was_warm(p.node) && tables.was_warm(q.node);
}

bool Job::holds_speeds(ib::fabric::PortRef p) const {
  const std::size_t i = seen.port_index(p);
  if (!satisfied(plan::training(desired->ports[i]), seen.ports[i].info())) return false;
  const auto blocks = blocks_of(*desired, p.node);
  return std::ranges::all_of(blocks, [&](const plan::WantedBlock& want) {
    if (want.kind != &device::kExtendedPortInfo || want.slot.port != p.port) return true;
    const device::Block* held = known.inventory.held(*want.kind, guid(p.node), want.slot);
    return held != nullptr &&
           means_the_same(*want.kind, seen, p.node, want.slot, want.block, *held);
  });
}

bool Job::restarts(ib::fabric::PortRef p) const {
  const plan::PortWant& want = desired->ports[seen.port_index(p)];
  if (!want.retrain) return want.restart;
  const ib::fabric::PortRef q = seen.fabric.port(p).peer;
  return want.restart || (q && holds_speeds(p) && holds_speeds(q));
}

void Job::note(const Work& work, bool timed_out, std::string_view what) {
  failures.push_back({work.node, work.is_port() ? work.port() : std::uint8_t{0}, timed_out,
                      fmt::format("{}: {}", where(seen, work), what)});
}

}  // namespace sm::apply
