// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/report.h"

#include <fmt/format.h>

#include <set>

#include "libdiag/base/text.h"
#include "libdiag/discover/degraded.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/wire/words.h"
#include "sm/device/tables/kinds.h"

namespace sm::core {

using ib::discover::Trouble;

bool concerns_managed(const plan::Desired& desired, const ib::discover::Observed& observed,
                      const Trouble& t) {
  if (t.node_guid.value == 0 || t.kind == Trouble::Kind::DuplicateGuid) return false;
  const auto node = observed.fabric.find_node(t.node_guid);
  if (!node || !desired.node_managed[*node]) return false;
  // A port of which nothing is known is in nobody's plan, and neither is the link there.
  return t.attribute != ib::wire::attr::kPortInfo || observed.port({*node, t.port}).known;
}

std::string Report::headline() const {
  if (!up()) return fmt::format("SUBNET INCOMPLETE missing={}", missing);
  std::string line = fmt::format(
      "SUBNET UP switches={} cas={} routers={} links={} lids={} mads={} seconds={:.2f}", switches,
      cas, routers, links, lids, mads, std::chrono::duration<double>(took).count());
  if (unmanaged > 0) line += fmt::format(" unmanaged={}", unmanaged);
  if (silent > 0) line += fmt::format(" silent={}", silent);
  if (changed > 0) line += fmt::format(" changed={}", changed);
  if (degraded > 0) line += fmt::format(" degraded={}", degraded);
  if (held_down > 0) line += fmt::format(" held_down={}", held_down);
  if (refused > 0) line += fmt::format(" refused={}", refused);
  return line;
}

Report make_report(const plan::Desired& desired, const ib::discover::Observed& observed,
                   const std::vector<apply::Failure>& failures,
                   const std::vector<apply::Refusal>& refusals) {
  using Type = ib::wire::NodeType;
  Report r;
  r.alarms = desired.alarms;
  r.lid_conflicts = desired.lid_conflicts;
  r.left_out_keys = desired.left_out_keys;
  const auto& fabric = observed.fabric;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!desired.node_managed[n]) continue;
    const Type type = fabric.node(n).type;
    ++(type == Type::Switch ? r.switches : type == Type::Router ? r.routers : r.cas);
  }
  r.links = fabric.link_count();
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
      const ib::fabric::PortRef self{n, static_cast<std::uint8_t>(p)},
          peer = fabric.port(self).peer;
      const bool counts = peer && std::pair(self.node, self.port) < std::pair(peer.node, peer.port);
      r.degraded += counts && ib::discover::is_degraded(observed, self) ? 1 : 0;
    }
  for (const ib::route::LidAssignment& a : desired.lids)
    if (a.lid != ib::kNoLid) r.lids += std::size_t{1} << a.lmc;

  const auto name = [&](ib::fabric::NodeIndex n) { return ib::fabric::node_label(fabric.node(n)); };
  const auto missing = apply::missing_ports(desired, observed, failures);
  r.missing = missing.size();
  for (const apply::Missing& m : missing)
    r.lines.push_back(fmt::format("missing: {} port {} is {}: {}", name(m.port.node), m.port.port,
                                  ib::wire::state_word(m.state), m.reason));

  if (!desired.routed) {
    ++r.missing;
    r.lines.emplace_back(
        "missing: routes: no routing engine asked for can be used, the log says why of each; -R "
        "without no_fallback admits others, --allow-credit-loops those that can deadlock");
  }

  // Rows of switches decide on which VLs packets wait for each other; all else is done without.
  for (const apply::Refusal& refusal : refusals) {
    const bool is_row = refusal.kind == &device::kSlToVl && !refusal.holds_it &&
                        fabric.node(refusal.node).is_switch();
    ++(is_row ? r.lasting : r.refused);
    r.lasting_lines.push_back((is_row ? "missing: " : "refused: ") + refusal.message);
  }
  if (!desired.deadlock_by_kept_rows.empty()) {
    ++r.lasting;
    r.lasting_lines.push_back("missing: " + desired.deadlock_by_kept_rows);
  }
  r.missing += r.lasting;

  // What discovery complained of says more than that a node is not managed. Of a node that was
  // never heard nothing tells which cables end at it: each of them has a line. So has each port of
  // a node that is managed without it.
  std::set<ib::Guid> named;
  for (const Trouble& t : observed.troubles) {
    if (concerns_managed(desired, observed, t)) continue;
    const bool duplicate = t.kind == Trouble::Kind::DuplicateGuid;
    const auto node = fabric.find_node(t.node_guid);
    const bool is_port = node && desired.node_managed[*node];
    if (t.node_guid.value != 0 && !duplicate && !is_port && !named.insert(t.node_guid).second)
      continue;
    ++r.unmanaged;
    r.duplicate_guids += duplicate ? 1 : 0;
    r.lines.push_back(fmt::format("unmanaged: {}: {}", trouble_name(t.kind), t.message));
  }
  for (const plan::Unmanaged& u : desired.unmanaged) {
    if (named.contains(fabric.node(u.node).guid)) continue;
    ++r.unmanaged;
    r.lines.push_back(fmt::format("unmanaged: {}: {}", name(u.node), u.reason));
  }
  return r;
}

}  // namespace sm::core
