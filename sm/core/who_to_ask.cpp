// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Whose clients are still to be asked to register again: who was away, who is there and not
// managed, and who did not answer when it was told.
#include <set>

#include "sm/core/impl.h"

namespace sm::core {

void SubnetManager::Impl::note_who_was_told() {
  for (const ib::route::LidAssignment& a : desired->lids) {
    inputs.reregister_pending.erase(a.guid);
    if (desired->ports[seen->port_index(a.port)].reregister && !applying->has_answered(a.port))
      inputs.reregister_pending.insert(a.guid);
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
  for (const ib::Guid guid : heard) inputs.reregister_pending.erase(guid);
  if (tells_first) told_first = std::move(heard);
}

void SubnetManager::Impl::doubt_clients_of_others() {
  if (options.rehearse) return;
  const NodeIndex own = seen->local_port.node;
  // We may have worked by another port of ours, or had another LID.
  const auto was_ours = [&](ib::Lid lid) {
    for (unsigned p = 0; p <= seen->fabric.node(own).num_ports; ++p) {
      const auto at = inputs.stored_lids().find(seen->fabric.port(own, p).guid);
      if (at != inputs.stored_lids().end() && at->second.lid == lid) return true;
    }
    return false;
  };
  for (const ib::route::LidAssignment& a : desired->lids) {
    if (!desired->ports[seen->port_index(a.port)].reregister) continue;
    const auto* port = seen->known_port(a.port);
    if (port == nullptr) continue;
    const ib::Lid sm_lid = port->get<&ib::wire::PortInfo::master_sm_lid>();
    const bool names_another = sm_lid.is_unicast() && sm_lid != desired->sm_lid &&
                               !was_ours(sm_lid) &&
                               !(options.shares_store && inputs.has_written(sm_lid));
    const auto& suspects = options.shares_store ? inputs.in_doubt : inputs.reregister_pending;
    if (!names_another && !suspects.contains(a.guid)) continue;
    clients_doubted.insert(a.guid);
    effects.doubted.push_back(a.guid);
    doubts_to_store.push_back(a.guid);
  }
  if (!tells_first) store_doubts();
}

void SubnetManager::Impl::store_doubts() {
  if (doubts_to_store.empty()) return;
  store::Batch batch;
  batch.clients_in_doubt = std::exchange(doubts_to_store, {});
  effects.commit.push_back(std::move(batch));
}

void SubnetManager::Impl::note_who_repeats() {
  if (clients_doubted.empty()) return;
  for (const ib::route::LidAssignment& a : desired->lids)
    if (applying->has_answered(a.port) && clients_doubted.erase(a.guid) != 0) {
      inputs.in_doubt.erase(a.guid);
      effects.asked_again.push_back(a.guid);
    }
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
