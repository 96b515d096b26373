// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/path.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/tables/names.h"
#include "libdiag/wire/words.h"
#include "tools/ibroutes/shared_lids.h"

namespace ib::tools {
namespace {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;
constexpr std::size_t kHopsMax = 64;

std::string lids(const Fabric& fabric, PortRef at) {
  const auto& end = fabric.port(end_port_of(fabric, at));
  return fmt::format("{}-{}", end.lid.value, end.lid.value + (1U << end.lmc) - 1);
}

/// Of a port without a known peer: no link, or a link to a node that did not answer.
std::string no_link(const Fabric& fabric, PortRef at) {
  const auto state = fabric.port(at).state;
  const bool up = state != wire::PortState::NoChange && state != wire::PortState::Down;
  return fmt::format("{} port {} {}", tables::node_name(fabric, at.node), at.port,
                     up ? "has a link, but its peer did not answer" : "has no link");
}

/// What is wrong with an arrival at `at`; nothing when it is where `dlid` was to lead.
std::string wrong_end(const Fabric& fabric, PortRef at, Lid dlid, std::optional<PortRef> target) {
  if (!has_lid(fabric, at, dlid))
    return fabric.node(at.node).is_switch()
               ? fmt::format("{} takes LID {} as its own", end_port_name(fabric, at), dlid.value)
               : fmt::format("{} does not have LID {}", end_port_name(fabric, at), dlid.value);
  if (!target || *target == at) return "";
  return fmt::format("{} has LID {} too, and the path ends there, not at {}",
                     end_port_name(fabric, at), dlid.value, end_port_name(fabric, *target));
}

}  // namespace

TablePath follow(const Fabric& fabric, std::span<const tables::SwitchTables> tables, PortRef source,
                 Lid dlid, std::optional<PortRef> target) {
  TablePath path{source, dlid, {}, {}};
  path.steps.push_back({source.node, 0, 0});
  PortRef next;
  if (!fabric.node(source.node).is_switch()) {
    if (has_lid(fabric, source, dlid)) {
      path.failure = wrong_end(fabric, source, dlid, target);
      return path;
    }
    next = fabric.port(source).peer;
    path.steps[0].out_port = source.port;
    if (!next) {
      path.failure = no_link(fabric, source);
      return path;
    }
  } else {
    next = {source.node, 0};
    path.steps.clear();
  }
  while (true) {
    const bool again = std::any_of(path.steps.begin(), path.steps.end(),
                                   [&](const auto& step) { return step.node == next.node; });
    path.steps.push_back({next.node, next.port, 0});
    const std::string here = tables::node_name(fabric, next.node);
    if (!fabric.node(next.node).is_switch()) {
      path.failure = wrong_end(fabric, next, dlid, target);
      return path;
    }
    if (again || path.steps.size() > kHopsMax) {
      path.failure = again ? fmt::format("loop: {} is reached a second time", here)
                           : fmt::format("more than {} hops", kHopsMax);
      return path;
    }
    const auto table = std::find_if(
        tables.begin(), tables.end(),
        [&](const tables::SwitchTables& t) { return t.guid == fabric.node(next.node).guid; });
    if (table == tables.end()) {
      path.failure = fmt::format("the LFT of {} is unknown", here);
      return path;
    }
    const std::uint8_t port =
        dlid.value < table->lft.size() ? table->lft[dlid.value] : tables::kNoPort;
    if (port == 0) {
      path.failure = wrong_end(fabric, {next.node, 0}, dlid, target);
      return path;
    }
    if (port > fabric.node(next.node).num_ports) {
      path.failure = port == tables::kNoPort
                         ? fmt::format("{} has no entry for LID {}", here, dlid.value)
                         : fmt::format("{} has no port {}", here, port);
      return path;
    }
    path.steps.back().out_port = port;
    const auto at = next.node;
    next = fabric.port(at, port).peer;
    if (!next) {
      path.failure = no_link(fabric, {at, port});
      return path;
    }
  }
}

std::string path_text(const Fabric& fabric, const TablePath& path) {
  std::string out;
  const auto& source = fabric.node(path.source.node);
  out +=
      fmt::format("From {} {{0x{:016x}}} portnum {} lid {} \"{}\"\n", wire::type_word(source.type),
                  source.guid.value, source.is_switch() ? 0 : path.source.port,
                  lids(fabric, path.source), printable(source.name()));
  for (std::size_t i = 1; i < path.steps.size(); ++i) {
    const PathStep& step = path.steps[i];
    const auto& node = fabric.node(step.node);
    const PortRef at{step.node, step.in_port};
    const Guid guid = node.is_switch() ? node.guid : fabric.port(at).guid;
    out += fmt::format("[{}] -> {} port {{0x{:016x}}}[{}] lid {} \"{}\"\n",
                       path.steps[i - 1].out_port, wire::type_word(node.type), guid.value,
                       step.in_port, lids(fabric, at), printable(node.name()));
  }
  if (!path.arrives()) {
    out += "BROKEN: " + path.failure + '\n';
    return out;
  }
  const PathStep& last = path.steps.back();
  const auto& node = fabric.node(last.node);
  const std::uint8_t port =
      path.steps.size() == 1 && !node.is_switch() ? path.source.port : last.in_port;
  out += fmt::format("To {} {{0x{:016x}}} portnum {} lid {} \"{}\"\n", wire::type_word(node.type),
                     node.guid.value, node.is_switch() ? 0 : port, lids(fabric, {last.node, port}),
                     printable(node.name()));
  return out;
}

}  // namespace ib::tools
