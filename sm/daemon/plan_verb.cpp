// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/report/dump_files.h"
#include "libdiag/tables/pieces.h"
#include "sm/daemon/against.h"
#include "sm/daemon/offline_subnet.h"
#include "sm/device/tables/kinds.h"

namespace sm::daemon {
namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using plan::Desired;

constexpr const char* kTablesFile = "device-tables.dump";

/// Calls run(kind, node, slot, block) for every block that a table is to hold, kind by kind.
template <class Run>
void for_each_block(const OfflineSubnet& subnet, Run&& run) {
  const auto& observed = *subnet.snapshot->observed;
  const Desired& desired = *subnet.desired;
  std::vector<device::Slot> slots;
  for (const device::TableKind* kind : device::table_kinds()) {
    for (const plan::WantedBlock& want : desired.blocks)
      if (want.kind == kind) run(*kind, want.node, want.slot, want.block);
    if (desired.vl_tables == nullptr) continue;
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
      slots.clear();
      kind->slots(observed, n, slots);
      for (const device::Slot slot : slots)
        if (const auto* block = desired.vl_tables->find(*kind, n, slot))
          run(*kind, n, slot, *block);
    }
  }
}

std::vector<ib::report::TableSum> sums_of(const OfflineSubnet& subnet) {
  std::vector<ib::report::TableSum> sums;
  NodeIndex last = ib::fabric::kNoNode;
  for_each_block(
      subnet, [&](const device::TableKind& kind, NodeIndex n, device::Slot, const device::Block&) {
        if (sums.empty() || sums.back().table != kind.name) {
          sums.push_back({std::string(kind.name), 0, 0});
          last = ib::fabric::kNoNode;
        }
        ++sums.back().blocks;
        if (n != last) ++sums.back().nodes;
        last = n;
      });
  return sums;
}

/// `TABLE GUID port P block B BYTES`, of SL2VL `TABLE GUID output P input I BYTES`, in hexadecimal.
std::string line_of(const Fabric& fabric, const device::TableKind& kind, NodeIndex n,
                    device::Slot slot, const device::Block& block) {
  std::string line = fmt::format("{} {} ", kind.name, to_string(fabric.node(n).guid));
  line += kind.scope == device::Scope::PortPair
              ? fmt::format("output {} input {} ", slot.port, slot.input)
              : fmt::format("port {} block {} ", slot.port, slot.block);
  for (unsigned i = 0; i < kind.bytes; ++i)
    line += fmt::format("{:02x}", std::to_integer<unsigned>(block[i]));
  return line + '\n';
}

ib::Result<void> dump_tables(const OfflineSubnet& subnet, const std::string& directory) {
  return ib::report::write_dump_file(
      directory + '/' + kTablesFile, [&](const ib::tables::TextSink& write) {
        for_each_block(subnet, [&](const device::TableKind& kind, NodeIndex n, device::Slot slot,
                                   const device::Block& block) {
          write(line_of(subnet.snapshot->fabric(), kind, n, slot, block));
        });
      });
}

/// Routing as the report has it.
ib::route::Routes routes_of(const Desired& desired) {
  const Routing& routing = *desired.routing;
  ib::route::Routes routes;
  routes.engine = routing.engine;
  routes.lfts = routing.lfts;
  routes.virtual_lanes = routing.virtual_lanes;
  routes.multicast = routing.multicast;
  for (const ib::route::Tried& row : desired.tried)
    if (row.engine == routing.engine) routes.vls_used = static_cast<std::uint8_t>(row.vls_used);
  return routes;
}

/// Nodes that the subnet manager does not reach or use.
std::vector<std::string> unmanaged_lines(const Desired& desired, const Fabric& fabric) {
  if (desired.unmanaged.empty()) return {};
  const plan::Unmanaged& first = desired.unmanaged.front();
  const auto count = desired.unmanaged.size();
  return {fmt::format(
      "{} of the subnet manager at {} port {}: {} ({})",
      count == 1 ? "1 node is out of reach" : fmt::format("{} nodes are out of reach", count),
      ib::fabric::node_label(fabric.node(desired.sm_port.node)), desired.sm_port.port,
      ib::fabric::node_label(fabric.node(first.node)), first.reason)};
}

/// What was left out, then what the planner says, findings aside: these have lines of their own.
std::vector<std::string> notes_of(const OfflineSubnet& subnet, const DaemonOptions& options,
                                  const std::vector<std::string>& left_out,
                                  const std::vector<ib::tables::Piece>& pieces) {
  const Desired& desired = *subnet.desired;
  const Fabric& fabric = subnet.snapshot->fabric();
  std::vector<std::string> notes = left_out;
  const auto add = [&](const std::vector<std::string>& lines) {
    std::ranges::copy_if(lines, std::back_inserter(notes), [&](const std::string& line) {
      return std::ranges::find(desired.verdict.findings, line, &ib::tables::Finding::message) ==
             desired.verdict.findings.end();
    });
  };
  add(ib::tables::piece_lines(fabric, pieces));
  add(unmanaged_lines(desired, fabric));
  add(desired.alarms);
  add(desired.notes);
  if (options.core.plan.rates != nullptr)
    notes.emplace_back(
        "rate limits of SLs are not planned: a topology does not say which devices have them");
  return notes;
}

/// LIDs of all end ports, and how many of these had another one, or none, in `topology`.
std::pair<std::size_t, std::size_t> count_lids(const Desired& desired, const Fabric& topology) {
  std::size_t lids = 0, given = 0;
  for (const ib::route::LidAssignment& a : desired.lids) {
    if (!a.lid.is_unicast()) continue;
    lids += std::size_t{1} << a.lmc;
    const auto before = topology.find_port_guid(a.guid);
    if (!before || topology.port(*before).lid != a.lid) ++given;
  }
  return {lids, given};
}

/// What host ports have; of several the largest.
std::uint8_t lmc_of(const Fabric& topology) {
  std::uint8_t lmc = 0;
  for (NodeIndex n = 0; n < topology.nodes().size(); ++n)
    if (!topology.node(n).is_switch())
      for (const ib::fabric::Port& port : topology.ports(n))
        if (port.lid.is_unicast()) lmc = std::max(lmc, port.lmc);
  return lmc;
}

/// What an event would bring: `fabric`, which was `whole`.
std::optional<ib::report::PlanReport::Event> event_of(OfflineSubnet whole, const Fabric& fabric,
                                                      const DaemonOptions& options) {
  const auto after = plan_offline_after(std::move(whole), fabric, options);
  if (!after || !after->desired->sl_moves) return std::nullopt;
  return ib::report::PlanReport::Event{after->desired->routing->engine, *after->desired->sl_moves};
}

ib::Result<ib::plan::Planned> make_plan(DaemonOptions options, const Fabric& topology,
                                        const ib::route::PlanOptions& wanted) {
  if (auto known = ib::route::check_engine_names(wanted.choice.engines); !known)
    return tl::unexpected<ib::Error>(std::move(known.error()));
  options.core.plan.choice = wanted.choice;
  options.core.plan.lmc = wanted.lmc.value_or(lmc_of(topology));
  Fabric fabric = topology;
  ib::route::Taken left_out;
  std::optional<ib::report::PlanReport::Event> event;
  if (!wanted.what_if.empty()) {
    DaemonOptions of_whole = options;
    of_whole.core.plan.mentions.clear();  // what is wrong with them is said once
    if (wanted.choice.compare) {          // LIDs do not depend on the engine
      of_whole.core.plan.choice = {};
      of_whole.core.plan.choice.engines = {"minhop"};
    }
    auto whole = plan_offline(topology, of_whole, !wanted.choice.compare);
    if (!whole) return tl::unexpected<ib::Error>(std::move(whole.error()));
    options.core.plan.reassign_lids = false;
    fabric = whole->snapshot->fabric();
    auto taken = take_away(fabric, wanted.what_if);
    if (!taken) return tl::unexpected<ib::Error>(std::move(taken.error()));
    left_out = *std::move(taken);
    if (!wanted.choice.compare) event = event_of(*std::move(whole), fabric, options);
  }
  auto subnet = plan_offline(fabric, options, true);
  if (!subnet) return tl::unexpected<ib::Error>(std::move(subnet.error()));

  const Desired& desired = *subnet->desired;
  const auto [lids, lids_given] = count_lids(desired, topology);
  Fabric planned = subnet->snapshot->fabric();
  auto pieces = ib::tables::find_pieces(planned, ib::fabric::CompactGraph(planned));
  auto notes = notes_of(*subnet, options, left_out.notes, pieces);
  const bool passed = !desired.routing->engine.empty() && desired.verdict.must_ok();
  ib::plan::Planned out{
      {std::move(planned), desired.routing->graph, routes_of(desired), desired.verdict, passed,
       desired.tried, lids, lids_given, std::move(left_out), std::move(pieces), std::move(notes)},
      sums_of(*subnet),
      std::move(event),
      {}};
  // Shared, since a function is copied and routes that are followed are not.
  out.dump_tables = [shared = std::make_shared<const OfflineSubnet>(*std::move(subnet))](
                        const std::string& directory) { return dump_tables(*shared, directory); };
  return out;
}

}  // namespace

ib::plan::Planner planner(DaemonOptions options) {
  return
      [options = std::move(options)](const Fabric& fabric, const ib::route::PlanOptions& wanted) {
        return make_plan(options, fabric, wanted);
      };
}

int run_plan_verb(const PlanVerb& verb, const std::string& version, std::ostream& out,
                  std::ostream& complaints) {
  const ib::plan::Reporter reporter{"ibsm", version, verb.json, &out, &complaints};
  if (verb.command.topology.empty())
    return reporter.refuse(
        {ib::ErrorKind::Usage, "expected a saved topology: ibsm plan TOPOLOGY", 0});
  auto subject = saved_subject(verb.command, reporter);
  if (!subject) return reporter.refuse(subject.error());
  if (verb.options.core.node_names) verb.options.core.node_names->name_all(subject->fabric);
  std::vector<std::string> warnings = verb.options.warnings;
  std::ranges::move(unknown_names(subject->fabric, verb.options), std::back_inserter(warnings));
  for (const std::string& line : warnings)
    complaints << "ibsm: warning: " << ib::printable(line) << '\n';
  return run_plan(verb.command, *subject, reporter, planner(verb.options));
}

}  // namespace sm::daemon
