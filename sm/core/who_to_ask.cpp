// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Whose clients are still to be asked to register again: who was away, who is there and not
// managed, and who did not answer when it was told.
#include <algorithm>
#include <iterator>
#include <set>

#include "sm/core/impl.h"
#include "sm/plan/routes.h"

namespace sm::core {
namespace {

/// Ports of CAs and routers, and port 0 of switches, with what is known of them.
template <class Function>
void for_each_end_port(const Observed& seen, Function f) {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    const auto& node = seen.fabric.node(n);
    const unsigned first = node.is_switch() ? 0 : 1, last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = first; p <= last; ++p) {
      const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      if (const auto* port = seen.known_port(at)) f(at, *port);
    }
  }
}

}  // namespace

void SubnetManager::Impl::note_who_was_told() {
  for (const ib::route::LidAssignment& a : desired->lids) {
    const bool was_untold = inputs.untold.erase(a.guid) != 0;
    inputs.reregister_pending.erase(a.guid);
    if (desired->ports[seen->port_index(a.port)].reregister && !applying->has_answered(a.port))
      (was_untold ? inputs.untold : inputs.reregister_pending).insert(a.guid);
  }
}

void SubnetManager::Impl::note_who_is_unmanaged() {
  std::set<ib::Guid> unmanaged;
  const ib::fabric::Fabric& fabric = seen->fabric;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      const ib::Guid guid = fabric.port(at).guid;
      if (guid != ib::Guid{} && !desired->ports[seen->port_index(at)].managed)
        unmanaged.insert(guid);
    }
  }
  // Planes of an HCA have one GUID, and one of them stands for all.
  if (!unmanaged.empty())
    for (const ib::route::LidAssignment& a : desired->lids) unmanaged.erase(a.guid);
  inputs.reregister_pending.merge(unmanaged);
}

void SubnetManager::Impl::note_who_heard() {
  std::set<ib::Guid> heard;
  for (const ib::route::LidAssignment& a : desired->lids)
    if (desired->ports[seen->port_index(a.port)].reregister && applying->has_answered(a.port))
      heard.insert(a.guid);
  for (const ib::Guid guid : heard) {
    inputs.reregister_pending.erase(guid);
    inputs.untold.erase(guid);
  }
  if (tells_first) told_first = std::move(heard);
}

std::set<ib::Lid> SubnetManager::Impl::lids_of_other_masters(const Observed& swept) const {
  std::set<ib::Lid> lids;
  if (options.shares_store && !inputs.knows_writers()) return lids;
  for_each_end_port(swept, [&](ib::fabric::PortRef at, const ib::discover::ObservedPort& port) {
    if (at.node == swept.local_port.node) return;
    const ib::Lid lid = port.get<&ib::wire::PortInfo::lid>();
    if (!lid.is_unicast() || port.get<&ib::wire::PortInfo::master_sm_lid>() != lid) return;
    if (!options.shares_store || !inputs.is_writer(swept.fabric.port(at).guid)) lids.insert(lid);
  });
  return lids;
}

bool SubnetManager::Impl::was_our_lid(const Observed& swept, ib::Lid lid) const {
  const NodeIndex own = swept.local_port.node;
  for (unsigned p = 0; p <= swept.fabric.node(own).num_ports; ++p) {
    const auto at = inputs.stored_lids().find(swept.fabric.port(own, p).guid);
    if (at != inputs.stored_lids().end() && at->second.lid == lid) return true;
  }
  return false;
}

bool SubnetManager::Impl::another_was_master(const Observed& swept) const {
  bool was_master = false;
  for_each_end_port(swept, [&](ib::fabric::PortRef, const ib::discover::ObservedPort& port) {
    const ib::Lid sm_lid = port.get<&ib::wire::PortInfo::master_sm_lid>();
    was_master = was_master || (sm_lid.is_unicast() && !was_our_lid(swept, sm_lid) &&
                                !(options.shares_store && inputs.has_written(sm_lid)));
  });
  return was_master;
}

void SubnetManager::Impl::doubt_clients_of_others() {
  if (options.rehearse) return;
  // Two that did not see each other may have had one LID.
  const auto others = lids_of_other_masters(*seen);
  store::Batch sure;
  for (const ib::route::LidAssignment& a : desired->lids) {
    const auto* port = seen->known_port(a.port);
    if (port == nullptr) continue;
    // Who cannot be asked keeps what it has.
    const bool may_be_asked =
        !seen->fabric.node(a.port.node).is_switch() && plan::may_reregister(options.plan, *port);
    if (!may_be_asked && !tells_first && inputs.in_doubt.erase(a.guid) != 0)
      sure.clients_sure.push_back(a.guid);
    if (!desired->ports[seen->port_index(a.port)].reregister) continue;
    const ib::Lid sm_lid = port->get<&ib::wire::PortInfo::master_sm_lid>();
    const bool is_ours = sm_lid == desired->sm_lid || was_our_lid(*seen, sm_lid) ||
                         (options.shares_store && inputs.has_written(sm_lid));
    const bool names_another = sm_lid.is_unicast() && (!is_ours || others.contains(sm_lid));
    const bool was_away = !options.shares_store && inputs.reregister_pending.contains(a.guid);
    const bool in_doubt = names_another || was_away || inputs.in_doubt.contains(a.guid);
    if (!in_doubt && !astray_lids.doubts(a.guid)) continue;
    clients_doubted.insert(a.guid);
    if (!in_doubt) {
      effects.subscriptions_doubted.push_back(a.guid);
      continue;
    }
    effects.doubted.push_back(a.guid);
    doubts_to_store.push_back(a.guid);
  }
  if (!sure.empty()) effects.commit.push_back(std::move(sure));
  // Who is away and comes back may name it still, when its port does not any more.
  const auto has_written = [this](ib::Lid lid) { return inputs.has_written(lid); };
  if (options.shares_store && options.plan.reregister && std::ranges::any_of(others, has_written))
    std::ranges::set_difference(ports_away(), inputs.in_doubt, std::back_inserter(doubts_to_store));
  if (!tells_first) store_doubts();
}

void SubnetManager::Impl::doubt_who_names_nobody(const Observed& swept, bool is_known) {
  if (options.rehearse) return;
  if ((options.shares_store || !is_known) && !another_was_master(swept)) return;
  inputs.for_each_stored([&](ib::Guid guid) {
    const auto at = swept.fabric.find_port_guid(guid);
    if (at && swept.fabric.node(at->node).is_switch()) return;
    const auto* port = at ? swept.known_port(*at) : nullptr;
    if (port != nullptr && port->get<&ib::wire::PortInfo::master_sm_lid>().is_unicast()) return;
    // Who is away may have been rebooted when it is back.
    if (inputs.in_doubt.insert(guid).second && port == nullptr) doubts_to_store.push_back(guid);
  });
}

void SubnetManager::Impl::store_doubts() {
  if (doubts_to_store.empty()) return;
  for (const ib::Guid guid : doubts_to_store)
    if (!told_first || !told_first->contains(guid)) inputs.in_doubt.insert(guid);
  store::Batch batch;
  batch.clients_in_doubt = std::exchange(doubts_to_store, {});
  effects.commit.push_back(std::move(batch));
}

void SubnetManager::Impl::note_who_repeats() {
  if (clients_doubted.empty()) return;
  for (const ib::route::LidAssignment& a : desired->lids)
    if (applying->has_answered(a.port) && clients_doubted.erase(a.guid) != 0) {
      inputs.in_doubt.erase(a.guid);
      astray_lids.on_asked(a.guid);
      effects.asked_again.push_back(a.guid);
    }
}

void SubnetManager::Impl::ask_whose_lids_were_astray(Instant now) {
  if (options.rehearse) return;
  for (const ib::route::AstrayLid& a : desired->astray_lids)
    if (applying->has_answered(a.port)) astray_lids.on_taken(now, a);
  if (const auto owners = astray_lids.take_owners(); !owners.empty()) ask_clients(now, owners);
}

void SubnetManager::Impl::note_who_was_away(const Observed& swept) {
  for (NodeIndex n = 0; n < swept.nodes.size(); ++n) {
    const auto& node = swept.fabric.node(n);
    for (unsigned p = 1; !node.is_switch() && p <= node.num_ports; ++p) {
      const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      if (swept.known_port(at) == nullptr) continue;
      const ib::Guid guid = swept.fabric.port(at).guid;
      if (!seen->fabric.find_port_guid(guid)) inputs.reregister_pending.insert(guid);
    }
  }
}

void SubnetManager::Impl::note_who_is_gone(const Observed& swept) {
  for_each_end_port(*seen, [&](ib::fabric::PortRef at, const ib::discover::ObservedPort& port) {
    const ib::Guid guid = seen->fabric.port(at).guid;
    if (port.get<&ib::wire::PortInfo::master_sm_lid>() == desired->sm_lid &&
        !swept.fabric.find_port_guid(guid))
      told_gone[guid] = desired->sm_lid;
  });
  std::erase_if(told_gone, [&](const auto& port) {
    return swept.fabric.find_port_guid(port.first).has_value();
  });
}

void SubnetManager::Impl::ask_clients(Instant now, const std::vector<ib::Guid>& ports) {
  if (!mastership.is_master()) {
    // From a store that several share it is known to who is master now.
    if (!options.shares_store) inputs.reregister_pending.insert(ports.begin(), ports.end());
    return;
  }
  // A sweep of whatever part is followed by the Sets; behind our own port is everything.
  const auto place_of = [this](NodeIndex n) {
    const ib::fabric::PortRef own = seen->local_port, near = seen->fabric.port(own).peer;
    return seen->fabric.node(n == own.node && near ? near.node : n).guid;
  };
  std::vector<ib::Guid> nodes;
  for (const ib::Guid guid : ports) {
    untold.insert(guid);
    const auto at = seen->fabric.find_port_guid(guid);
    const auto* port = at ? seen->known_port(*at) : nullptr;
    // The next sweep forgets who cannot be asked.
    if (port != nullptr && !seen->fabric.node(at->node).is_switch() &&
        plan::may_reregister(options.plan, *port))
      nodes.push_back(place_of(at->node));
  }
  if (!nodes.empty()) want_sweep_around(now, Reason::Clients, places_of(nodes));
}

std::set<ib::Guid> SubnetManager::Impl::ports_away() const {
  std::set<ib::Guid> away;
  if (!desired) return away;
  inputs.for_each_stored([&](ib::Guid guid) {
    const auto at = seen->fabric.find_port_guid(guid);
    if (!at || !desired->ports[seen->port_index(*at)].managed) away.insert(guid);
  });
  return away;
}

}  // namespace sm::core
