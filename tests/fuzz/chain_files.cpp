// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a file of port groups, of topologies or of a routing chain (the first byte says
// which): every diagnostic has a place inside the text; what was read without an error names what
// is there, and means something of any node.
#include "sm/config/chain_files.h"

#include <string>

#include "libdiag/route/engine.h"
#include "sm/policy/port_group_file.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ib::fuzz::require;

void check(const std::vector<ib::Diagnostic>& diagnostics, std::string_view text) {
  for (const auto& d : diagnostics) {
    require(d.place.line >= 1 && d.place.line <= text.size() + 1, "a line of the text");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
}

void groups(std::string_view text) {
  const auto file = sm::policy::read_port_group_file(text, "fuzz.conf");
  check(file.diagnostics, text);
  if (ib::has_errors(file.diagnostics))
    return require(file.groups.defined().empty(), "nothing is half taken");
  ib::fabric::GroupedNode node;
  node.guid = ib::Guid{0x281};
  node.description = "node1 HCA-1";
  node.ports.set(1).set(2);
  node.end_ports = {{ib::Guid{0x282}, std::uint8_t{1}}, {ib::Guid{0x283}, std::uint8_t{2}}};
  for (const auto& group : file.groups.defined()) {
    const auto ports = file.groups.ports_of(group.name, node);
    require((ports & ~node.ports).none(), "ports that the node has");
  }
}

void topologies(std::string_view text) {
  const auto file = sm::config::read_topology_file(text, "fuzz.conf", {}, "");
  check(file.diagnostics, text);
  if (ib::has_errors(file.diagnostics))
    return require(file.topologies.empty(), "nothing is half taken");
  for (const auto& topology : file.topologies) require(topology.id != 0, "an ID");
}

void steps(std::string_view text) {
  const auto file = sm::config::read_chain_file(text, "fuzz.conf", {{1, "ALL", "ALL", 1}}, "t");
  check(file.diagnostics, text);
  if (ib::has_errors(file.diagnostics)) return require(file.steps.empty(), "nothing is half taken");
  require(!file.steps.empty() && file.steps.front().topology == 0, "the first is of all");
  for (const auto& step : file.steps) {
    require(step.engine != "chain" && ib::route::find_engine(step.engine) != nullptr, "an engine");
    require(step.topology <= 1 && step.path_bit < 128, "in range");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr void (*kKinds[])(std::string_view) = {groups, topologies, steps};
  kKinds[data[0] % std::size(kKinds)](text);
  return 0;
}
