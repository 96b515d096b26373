// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/discover/sweep_impl.h"
#include "libdiag/fabric/makers.h"

namespace ib::discover {

using fabric::NodeIndex;
using fabric::PortRef;

void Sweep::Impl::describe_duplicates() {
  for (const Duplicate& d : duplicates) {
    const bool by_port = d.shared == Shared::PortGuid;
    Trouble& t = seen.troubles[d.trouble];
    t.what = fmt::format(
        "duplicate GUID {}: {} is that of {} at route {}; left out, a {}",
        to_string(by_port ? d.info.port_guid : d.info.node_guid),
        by_port ? fmt::format("PortGUID of NodeGUID {}", to_string(d.info.node_guid)) : "NodeGUID",
        node_label(d.holder), mad::to_string(seen.nodes[d.holder].route),
        fabric::device_label(d.info.vendor_id, d.info.device_id));
    if (d.to && (can_be_12x(d.from) || can_be_12x(d.to)))
      t.what += fmt::format(
          ". If no two devices have this GUID, the lane reversal of the 12x link of {} is badly "
          "configured: check its cable, and how both of its ends are set up",
          place(d.to));
    t.message += t.what;
  }
  duplicates.clear();
}

/// A 12x port whose lanes are reversed on one side only is a port that cables of two others seem to
/// end at, as that of a device with the GUID of another is.
bool Sweep::Impl::can_be_12x(PortRef p) const {
  const ObservedPort* known = seen.known_port(p);
  constexpr auto k12x = static_cast<unsigned>(wire::LinkWidth::W12x);
  return known != nullptr && (known->info().link_width_supported & k12x) != 0;
}

void Sweep::Impl::settle() {
  if (part) return settle_partial();
  for (const auto& [key, info] : std::exchange(newcomers, {})) on_node_info(key, info, true);
  if (!idle()) return;
  if (suspects.empty() && rechecked.empty() && recheck_down.empty() && find_suspects()) return;
  judge();
  connect();
  describe_duplicates();
  sort_troubles();
  claim = {};
  progress = {};
  port_guids = {};
  sort_nodes(seen);
  seen.complete = true;
  finished = true;
}

void Sweep::Impl::sort_troubles() {
  std::ranges::stable_sort(seen.troubles, [](const Trouble& a, const Trouble& b) {
    return std::pair(a.route, a.port) < std::pair(b.route, b.port);
  });
}

bool Sweep::Impl::find_suspects() {
  std::map<PortRef, bool> again;
  for_each_claim([&](PortRef a, PortRef b) {
    const PortRef back = claim[seen.port_index(b)];
    const ObservedPort& far = seen.port(b);
    const bool down = far.known && far.state() == wire::PortState::Down;
    if (back == a || (!back && !down)) return;
    suspects.push_back({a, b, down});
    if (seen.nodes[a.node].info.node_type == wire::NodeType::Switch || a == seen.local_port)
      again[a] = true;
    if (back) {
      again[back] = true;
      if (seen.nodes[b.node].info.node_type == wire::NodeType::Switch) again[b] = true;
    }
  });
  for (const Suspect& s : suspects)
    if (s.to_is_down) ask(Ask::RecheckPort, s.to, s.to.port);
  for (const auto& [port, _] : again) probe(Ask::Recheck, port);
  return !idle();
}

void Sweep::Impl::judge() {
  for (const Suspect& s : suspects) {
    const PortRef back = claim[seen.port_index(s.to)];
    auto is_confirmed = [&](PortRef p) {
      const auto it = rechecked.find(p);
      return it != rechecked.end() && it->second == claim[seen.port_index(p)];
    };
    const bool to_is_switch = seen.nodes[s.to.node].info.node_type == wire::NodeType::Switch;
    const bool same = is_confirmed(s.from) &&
                      (s.to_is_down ? recheck_down.contains(s.to) && recheck_down[s.to]
                                    : (!to_is_switch || is_confirmed(s.to)) && is_confirmed(back));
    const Key key{Ask::Probe, s.from};
    if (same) {
      const std::size_t before = duplicates.size();
      duplicate(key, seen.nodes[s.to.node].info, s.to.node, Shared::NodeGuid);
      if (duplicates.size() > before) duplicates.back().from = s.from, duplicates.back().to = s.to;
    } else {
      note(Trouble::Kind::Moved, s.from, key,
           fmt::format("the cable to {} moved while it was looked at", place(s.to)));
    }
    claim[seen.port_index(s.from)] = {};
  }
}

void Sweep::Impl::connect() {
  for_each_claim([&](PortRef a, PortRef b) {
    const PortRef back = claim[seen.port_index(b)];
    if (back && (back != a || b < a)) return;  // once for each cable
    if (a == b) {
      note(Trouble::Kind::Garbage, a, {Ask::Probe, a}, "the cable leads back to its own port");
      return;
    }
    if (!seen.nodes[a.node].usable || !seen.nodes[b.node].usable) return;
    const fabric::Port& near = seen.fabric.port(a);
    const fabric::Port& far = seen.fabric.port(b);
    // A switch port that nobody could read takes what its other end says.
    const fabric::Port& told = near.width != wire::LinkWidth::Unknown ? near : far;
    auto speed = told.speed;
    if (seen.port(a).fdr10 || seen.port(b).fdr10) speed = wire::LinkSpeed::Fdr10;
    seen.fabric.connect(a, b, told.width, speed);
  });
}

}  // namespace ib::discover
