// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/silent_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::Trouble;
using ib::fabric::PortRef;

constexpr std::size_t kCablesShown = 3;

/// Met while a NodeInfo was asked through a port: the node at the far end said nothing of use.
bool is_at_a_cable(const Trouble& t) {
  return t.behind && t.attribute == ib::wire::attr::kNodeInfo &&
         (t.kind == Trouble::Kind::Silent || t.kind == Trouble::Kind::Refused ||
          t.kind == Trouble::Kind::Garbage);
}

std::string cable_names(const Observed& found, const std::vector<PortRef>& cables) {
  std::string out;
  for (std::size_t i = 0; i < cables.size() && i < kCablesShown; ++i) {
    out += (i == 0 ? "" : ", ") + ib::fabric::port_label(found.fabric, cables[i]);
  }
  if (cables.size() > kCablesShown)
    out += fmt::format(" and {} more ports", cables.size() - kCablesShown);
  return out;
}

}  // namespace

void SilentNodes::identify(Observed& found, const Observed& before) {
  const auto who_was_at = [&](const Cable& cable) -> std::optional<Who> {
    if (const auto n = before.fabric.find_node(cable.first);
        n && cable.second <= before.fabric.node(*n).num_ports) {
      if (const PortRef peer = before.fabric.port(*n, cable.second).peer) {
        const auto& node = before.fabric.node(peer.node);
        return Who{node.guid, node.name()};
      }
    }
    if (const auto it = remembered_.find(cable); it != remembered_.end()) return it->second;
    return std::nullopt;
  };

  std::map<Cable, Who> still;
  std::map<ib::Guid, std::size_t> merged;  // node -> its place in `kept`
  std::vector<std::vector<PortRef>> cables;
  std::vector<Trouble> kept;
  for (Trouble& t : found.troubles) {
    std::optional<Who> who;
    if (is_at_a_cable(t)) {
      const Cable cable{found.fabric.node(t.behind.node).guid, t.behind.port};
      who = who_was_at(cable);
      if (who) {
        const auto now = found.fabric.find_node(who->guid);
        if (now && found.nodes[*now].usable) who.reset();
      }
      if (who) still.emplace(cable, *who);
    }
    if (who) {
      const auto [it, first] = merged.emplace(who->guid, kept.size());
      if (!first) {
        cables[it->second].push_back(t.behind);
        continue;
      }
      t.node_guid = who->guid;
      t.description = who->description;
    }
    cables.push_back(who ? std::vector{t.behind} : std::vector<PortRef>{});
    kept.push_back(std::move(t));
  }
  for (const auto& [guid, i] : merged) {
    Trouble& t = kept[i];
    t.message = fmt::format("{} \"{}\", last heard behind {} (route {}): {}", to_string(guid),
                            ib::printable(t.description), cable_names(found, cables[i]),
                            ib::mad::to_string(t.route), t.what);
  }
  found.troubles = std::move(kept);
  remembered_ = std::move(still);
}

bool somebody_fell_silent(const ib::discover::Observed& found, const ib::discover::Observed& before,
                          const std::vector<bool>& managed) {
  return std::ranges::any_of(found.troubles, [&](const ib::discover::Trouble& t) {
    const auto node = before.fabric.find_node(t.node_guid);
    return t.kind == ib::discover::Trouble::Kind::Silent && node && managed[*node];
  });
}

bool stood_elsewhere(const ib::fabric::Fabric& before, ib::Guid node, ib::Guid at,
                     std::uint8_t port) {
  const auto n = before.find_node(node);
  if (!n) return false;
  bool stood = false;
  for (const auto& p : before.ports(*n)) {
    if (!p.peer) continue;
    if (before.node(p.peer.node).guid == at && p.peer.port == port) return false;
    stood = true;
  }
  return stood;
}

}  // namespace sm::core
