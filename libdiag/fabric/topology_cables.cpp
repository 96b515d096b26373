// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_cables.h"

#include <algorithm>
#include <unordered_map>

namespace ib::fabric {
namespace {

using wire::LinkWidth;

class Joiner {
 public:
  Joiner(Fabric& fabric, const CableClaims& claims, NodeIndex cut, const WarnAt& warn)
      : fabric_(fabric), claims_(claims), cut_(cut), warn_(warn) {}

  std::size_t run() {
    for (const CableClaim& claim : claims_.all) {
      if (!claim.to || fabric_.port(claim.from).peer) continue;
      const CableClaim* far = claims_.at(fabric_, claim.to);
      if (far == nullptr || far->to != claim.from) continue;
      if (claim.width != far->width || claim.speed != far->speed) {
        warn_(far->line, far->column,
              "width and speed differ from those of the other end in line " +
                  std::to_string(claim.line));
      }
      join(claim);
    }
    std::size_t of_cut = 0;
    unsigned last_of_cut = 0;
    for (const CableClaim& claim : claims_.all)
      if (claim.from.node == cut_) last_of_cut = std::max<unsigned>(last_of_cut, claim.from.port);
    for (const CableClaim& claim : claims_.all) {
      if (!claim.to || fabric_.port(claim.from).peer == claim.to) continue;
      if (fabric_.port(claim.from).peer || fabric_.port(claim.to).peer) {
        warn_(claim.line, claim.column, "the two ends disagree; this cable is ignored");
        continue;
      }
      if (claim.to.node == cut_ && claim.to.port > last_of_cut) {
        ++of_cut;
      } else {
        warn_(claim.line, claim.column, "only this end names the cable");
      }
      join(claim);
    }
    return of_cut;
  }

 private:
  void join(const CableClaim& claim) {
    fabric_.connect(claim.from, claim.to, claim.width, claim.speed);
    const CableClaim* far = claims_.at(fabric_, claim.to);
    if (far != nullptr && claim.width == LinkWidth::Unknown) {
      fabric_.connect(claim.from, claim.to, far->width, far->speed);
    }
    // What a node does not say of itself its neighbour may know.
    learn(claim.to, &claim);
    learn(claim.from, far);
  }
  void learn(PortRef end, const CableClaim* from_far_end) {
    if (from_far_end == nullptr || from_far_end->to != end) return;
    Port& port = fabric_.port(end);
    if (fabric_.node(end.node).is_switch()) return;
    const auto differs = [&](const char* what, auto theirs, auto own) {
      if (theirs.value != 0 && theirs != own)
        warn_(from_far_end->line, from_far_end->column,
              std::string(what) + ' ' + to_string(theirs) + " is " + to_string(own) +
                  " at the other end of the cable, which is used");
    };
    if (port.guid.value == 0) port.guid = from_far_end->peer_port_guid;
    if (port.lid.value == 0) port.lid = from_far_end->peer_lid;
    differs("port GUID", from_far_end->peer_port_guid, port.guid);
    differs("LID", from_far_end->peer_lid, port.lid);
  }

  Fabric& fabric_;
  const CableClaims& claims_;
  NodeIndex cut_;
  const WarnAt& warn_;
};

}  // namespace

std::size_t join_cables(Fabric& fabric, const CableClaims& claims, NodeIndex cut,
                        const WarnAt& warn) {
  return Joiner(fabric, claims, cut, warn).run();
}

void fill_port_guids(Fabric& fabric) {
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      Port& port = fabric.port(n, p);
      if (port.present && port.guid.value == 0) port.guid = Guid{fabric.node(n).guid.value + p};
    }
  }
}

void warn_of_twins(const Fabric& fabric, const std::vector<std::size_t>& line_of,
                   const WarnAt& warn) {
  std::unordered_map<std::uint64_t, NodeIndex> nodes, ports;
  const auto twins = [&](auto& seen, const char* what, Guid guid, NodeIndex n) {
    if (guid.value == 0) return;
    const auto [first, fresh] = seen.emplace(guid.value, n);
    if (fresh) return;
    warn(line_of[n], 1,
         std::string(what) + " GUID " + to_string(guid) + " of '" + fabric.node(n).file_id +
             "' is that of '" + fabric.node(first->second).file_id + "', line " +
             std::to_string(line_of[first->second]) + ", too");
  };
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const Node& node = fabric.node(n);
    twins(nodes, "node", node.guid, n);
    if (node.is_switch()) {
      twins(ports, "port", fabric.port(n, 0).guid, n);
      continue;
    }
    for (unsigned p = 1; p <= node.num_ports; ++p)
      if (fabric.port(n, p).present) twins(ports, "port", fabric.port(n, p).guid, n);
  }
}

}  // namespace ib::fabric
