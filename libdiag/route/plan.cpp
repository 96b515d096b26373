// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/plan.h"

#include <algorithm>
#include <map>

#include "libdiag/fabric/node_order.h"
#include "libdiag/tables/names.h"

namespace ib::route {

namespace {

struct EndPort {
  Guid guid{}, node_guid{};
  fabric::PortRef ref;
  friend auto operator<=>(const EndPort&, const EndPort&) = default;
};

/// Ports that have, or should have, a LID: switches, and hosts with a cable.
std::vector<EndPort> end_ports(const fabric::Fabric& fabric) {
  std::vector<EndPort> found;
  const auto nodes = fabric.nodes();
  for (fabric::NodeIndex n = 0; n < nodes.size(); ++n) {
    const auto ports = fabric.ports(n);
    const bool is_switch = nodes[n].is_switch();
    for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : ports.size()); ++p) {
      const auto& port = ports[p];
      if (!port.lid.is_unicast() && !is_switch && !port.peer) continue;
      found.push_back({port.guid.value != 0 ? port.guid : nodes[n].guid,
                       nodes[n].guid,
                       {n, static_cast<std::uint8_t>(p)}});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Unicast LIDs, in blocks that begin at a multiple of their size.
class LidSpace {
 public:
  LidSpace() : taken_(std::size_t{kLidUnicastMax.value} + 1, false) { taken_[0] = true; }
  void take(std::size_t base, std::size_t size) {
    for (std::size_t i = base; i < std::min(base + size, taken_.size()); ++i) taken_[i] = true;
  }
  bool taken(std::size_t base, std::size_t size) const {
    for (std::size_t i = base; i < std::min(base + size, taken_.size()); ++i)
      if (taken_[i]) return true;
    return false;
  }
  /// How many are taken.
  std::size_t count() const {
    return static_cast<std::size_t>(std::count(taken_.begin() + 1, taken_.end(), true));
  }
  /// The first free block; 0 when there is none.
  std::size_t find(std::size_t size) {
    std::size_t& from = next_[size];
    for (; from + size <= taken_.size(); from += size)
      if (std::none_of(taken_.begin() + static_cast<std::ptrdiff_t>(from),
                       taken_.begin() + static_cast<std::ptrdiff_t>(from + size),
                       [](bool taken) { return taken; }))
        return from;
    return 0;
  }

 private:
  std::vector<bool> taken_;
  std::map<std::size_t, std::size_t> next_;  // by size: no block below is free
};

/// End ports of which a LID is also that of one with a smaller GUID, a line each.
std::vector<std::string> repeated_lids(const fabric::Fabric& fabric) {
  std::vector<std::string> notes;
  std::map<std::size_t, EndPort> owners;
  for (const EndPort& p : end_ports(fabric)) {
    const auto& port = fabric.port(p.ref);
    if (!port.lid.is_unicast()) continue;
    for (std::size_t lid = port.lid.value; lid < port.lid.value + (std::size_t{1} << port.lmc);
         ++lid) {
      const auto [at, fresh] = owners.emplace(lid, p);
      if (fresh) continue;
      notes.push_back("LID " + std::to_string(lid) + " of " +
                      tables::node_name(fabric, p.ref.node) + " is that of " +
                      tables::node_name(fabric, at->second.ref.node) +
                      " as well, which keeps it; the former gets another");
      break;
    }
  }
  return notes;
}

/// LIDs that lead to a switch or over a cable.
std::size_t count_lids(const fabric::Fabric& fabric) {
  LidSpace lids;
  for (const EndPort& p : end_ports(fabric))
    if (const auto& port = fabric.port(p.ref);
        port.lid.is_unicast() && (port.peer || fabric.node(p.ref.node).is_switch()))
      lids.take(port.lid.value, std::size_t{1} << port.lmc);
  return lids.count();
}

}  // namespace

Result<std::size_t> give_lids(fabric::Fabric& fabric, std::optional<std::uint8_t> lmc) {
  const auto ports = end_ports(fabric);
  const auto is_host = [&](const EndPort& p) { return !fabric.node(p.ref.node).is_switch(); };
  const bool anew = lmc && std::any_of(ports.begin(), ports.end(), [&](const EndPort& p) {
                      const auto& port = fabric.port(p.ref);
                      return is_host(p) && port.lid.is_unicast() && port.lmc != *lmc;
                    });
  LidSpace lids;
  for (const EndPort& p : ports) {
    auto& port = fabric.port(p.ref);
    if (anew) port.lid = kNoLid;
    if (!port.lid.is_unicast()) continue;
    const std::size_t size = std::size_t{1} << port.lmc;
    // Two ports of one LID: the smaller GUID keeps it.
    if (lids.taken(port.lid.value, size)) {
      port.lid = kNoLid;
    } else {
      lids.take(port.lid.value, size);
    }
  }
  std::size_t given = 0;
  for (const EndPort& p : ports) {
    auto& port = fabric.port(p.ref);
    if (port.lid.is_unicast()) continue;
    port.lmc = is_host(p) ? lmc.value_or(0) : std::uint8_t{0};
    const std::size_t size = std::size_t{1} << port.lmc;
    const std::size_t base = lids.find(size);
    if (base == 0)
      return fail(ErrorKind::Usage,
                  "cannot give " + std::to_string(ports.size()) + " ports LIDs with LMC " +
                      std::to_string(lmc.value_or(0)) + ": after " + std::to_string(given) +
                      " ports the " + std::to_string(kLidUnicastMax.value) + " there are are used");
    lids.take(base, size);
    port.lid = Lid{static_cast<std::uint16_t>(base)};
    ++given;
  }
  fabric.reindex();
  return given;
}

Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options) {
  if (auto known = check_engine_names(options.choice.engines); !known)
    return tl::unexpected<Error>(std::move(known.error()));
  fabric = fabric::sorted_by_guid(fabric);
  std::vector<std::string> notes = repeated_lids(fabric);
  auto given = give_lids(fabric, options.lmc);
  if (!given) return tl::unexpected<Error>(std::move(given.error()));
  auto taken = take_away(fabric, options.what_if);
  if (!taken) return tl::unexpected<Error>(std::move(taken.error()));
  const auto without_vls = take_links_without_vls(fabric);
  fabric::CompactGraph graph(fabric);
  Choice choice = choose_routes(fabric, graph, options.choice, options.verify);
  std::vector<tables::Piece> pieces = tables::find_pieces(fabric, graph);
  for (const auto& lines : {taken->notes, without_vls, tables::piece_lines(fabric, pieces),
                            choice.alarms(), choice.notes()})
    notes.insert(notes.end(), lines.begin(), lines.end());
  const std::size_t lids = count_lids(fabric);
  return Plan{std::move(fabric),
              std::move(graph),
              std::move(choice.routes),
              std::move(choice.verdict),
              choice.passed,
              std::move(choice.tried),
              lids,
              *given,
              *std::move(taken),
              std::move(pieces),
              std::move(notes)};
}

}  // namespace ib::route
