// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// What devices do not take, and what they say they have and do not operate: named once each, until
// it is over.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/fabric/labels.h"
#include "sm/core/impl.h"
#include "sm/device/tables/kinds.h"

namespace sm::core {

bool SubnetManager::Impl::somebody_follows_another() const {
  return std::ranges::any_of(desired->lids, [&](const ib::route::LidAssignment& a) {
    const auto* port = seen->known_port(a.port);
    return port != nullptr && port->state() == ib::wire::PortState::Active &&
           desired->ports[seen->port_index(a.port)].managed &&
           port->get<&ib::wire::PortInfo::master_sm_lid>() != desired->sm_lid;
  });
}

std::vector<apply::Refusal> SubnetManager::Impl::keepers_of_another() const {
  std::vector<apply::Refusal> out;
  for (const ib::route::LidAssignment& a : desired->lids) {
    const auto* port = seen->known_port(a.port);
    if (port == nullptr || !desired->ports[seen->port_index(a.port)].managed) continue;
    const auto& node = seen->fabric.node(a.port.node);
    const ib::Lid keeps = port->get<&ib::wire::PortInfo::master_sm_lid>();
    if (!known.stubborn.keeps_manager(node.guid, a.port.port, desired->sm_lid, keeps)) continue;
    out.push_back({a.port.node, nullptr,
                   fmt::format("Set(PortInfo) to {} port {}: MasterSMLID stays {}, and is to be {}",
                               ib::fabric::node_label(node), a.port.port, keeps.value,
                               desired->sm_lid.value)});
  }
  return out;
}

bool SubnetManager::Impl::somebody_follows_us_now() const {
  return snapshot && std::ranges::any_of(snapshot->refused_tables, [&](const auto& table) {
           return table.second == ib::wire::attr::kPortInfo && !known.named.contains(table);
         });
}

bool SubnetManager::Impl::is_as_wanted(NodeIndex n, std::uint16_t attribute) const {
  const auto is_of_it = [&](const plan::WantedBlock& want) {
    return want.node == n && want.kind->attribute == attribute;
  };
  if (std::ranges::any_of(desired->unread_p_keys, is_of_it)) return false;
  bool any = false;
  for (const plan::WantedBlock& want : apply::blocks_of(*desired, n)) {
    if (!is_of_it(want)) continue;
    const device::Block* held =
        known.inventory.held(*want.kind, seen->fabric.node(n).guid, want.slot);
    if (held == nullptr || !means_the_same(*want.kind, *seen, n, want.slot, want.block, *held))
      return false;
    any = true;
  }
  return any;
}

bool SubnetManager::Impl::tell_refusals(Instant now, const std::vector<apply::Refusal>& refusals) {
  std::set<std::pair<ib::Guid, std::uint16_t>> still_refused;
  for (const apply::Refusal& refusal : refusals) {
    const std::uint16_t attribute =
        refusal.kind != nullptr ? refusal.kind->attribute : ib::wire::attr::kPortInfo;
    const auto table = std::pair(seen->fabric.node(refusal.node).guid, attribute);
    still_refused.insert(table);
    if (known.named.insert(table).second) log(LogLevel::Warning, "apply", refusal.message);
  }
  bool routes = false;
  std::erase_if(known.named, [&](const auto& table) {
    if (still_refused.contains(table)) return false;
    const auto& [guid, attribute] = table;
    const auto n = seen->fabric.find_node(guid);
    const bool is_port = attribute == ib::wire::attr::kPortInfo;
    const bool took_some = is_port || known.refused.took_some(guid, attribute);
    if (!n) return took_some;
    if (!took_some && !is_as_wanted(*n, attribute)) return false;
    const std::string name = ib::fabric::node_label(seen->fabric.node(*n));
    log(LogLevel::Info, "apply",
        took_some
            ? fmt::format("{} takes its {} now", name, device::table_name(attribute))
            : fmt::format("{} of {} is as it is to be now", device::table_name(attribute), name));
    routes = routes ||
             (attribute == device::kSlToVl.attribute && desired->keep_sl_to_vl.contains(guid) &&
              !desired->deadlock_by_kept_rows.empty());
    return true;
  });
  const bool nothing_is_due = desired->deadlock_by_kept_rows.empty() && !somebody_follows_another();
  if (nothing_is_due && std::ranges::all_of(refusals, &apply::Refusal::holds_it)) {
    refused_at = kNever;
    refused_pause = kAskAgainFirst;
  } else if (refused_at == kNever) {
    refused_at = now + refused_pause;
    refused_pause = std::min(2 * refused_pause, kAskAgainMost);
  }
  return routes;
}

bool SubnetManager::Impl::tell_fewer_vls() {
  std::erase_if(known.fewer_vls,
                [&](const auto& port) { return !seen->fabric.find_node(port.first.first); });
  std::erase_if(fewer_vls_told, [&](const auto& port) { return !known.fewer_vls.contains(port); });
  bool news = false;
  for (const auto& [port, vls] : known.fewer_vls) {
    if (!fewer_vls_told.insert(port).second) continue;
    news = true;
    const auto n = *seen->fabric.find_node(port.first);
    log(LogLevel::Warning, "apply",
        fmt::format(
            "{} port {} says that it has {} VLs and operates {}: so does its link",
            ib::fabric::node_label(seen->fabric.node(n)), port.second,
            ib::wire::data_vls(seen->port({n, port.second}).get<&ib::wire::PortInfo::vl_cap>()),
            ib::wire::data_vls(vls)));
  }
  return news;
}

}  // namespace sm::core
