// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/other_managers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"
#include "sm/core/election.h"

namespace sm::core {

using ib::Guid;
using ib::LogEvent;
using ib::LogLevel;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::SmState;

namespace {

/// A master does something more often: it answers who asks what it is.
constexpr ib::Duration kIdleLong = std::chrono::minutes(5);

/// The way to this port of a node, which need not be the one that the node was found by.
ib::mad::DirectedRoute route_to(const ib::discover::Observed& seen, PortRef port) {
  const PortRef far = seen.fabric.port(port).peer;
  if (port.port == 0 || !far || !seen.fabric.node(far.node).is_switch())
    return seen.nodes[port.node].route;
  return seen.nodes[far.node].route.extended(far.port);
}

}  // namespace

void OtherManagers::on_swept(const ib::discover::Observed& seen) {
  take(seen, std::exchange(all_, {}));
}

void OtherManagers::add_seen(const ib::discover::Observed& seen) { take(seen, all_); }

void OtherManagers::take(const ib::discover::Observed& seen, std::map<Guid, OtherManager> before) {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    for (unsigned i = 0; i <= seen.fabric.node(n).num_ports; ++i) {
      const PortRef p{n, static_cast<std::uint8_t>(i)};
      const auto* port = seen.known_port(p);
      if (port == nullptr || p == seen.local_port) continue;
      if (seen.fabric.node(n).is_switch() && i != 0) break;
      if ((port->get<&ib::wire::PortInfo::capability_mask>() & ib::wire::port_cap::kIsSm) == 0)
        continue;
      const Guid guid = seen.fabric.port(p).guid;
      const auto at = before.find(guid);
      OtherManager manager = at == before.end() ? OtherManager{} : std::move(at->second);
      manager.route = route_to(seen, p);
      manager.lid = port->get<&ib::wire::PortInfo::lid>();
      manager.name = ib::fabric::port_name(seen.fabric, p);
      manager.allowed = allowed_.empty() || allowed_.contains(guid);
      all_.insert_or_assign(guid, std::move(manager));
    }
  }
  take_twin(seen, before);
}

/// Of a device that has our GUIDs a sweep reads nothing, so whether there is a subnet manager is
/// asked for.
void OtherManagers::take_twin(const ib::discover::Observed& seen,
                              std::map<Guid, OtherManager>& before) {
  if (!seen.local_port) return;
  const Guid node = seen.fabric.node(seen.local_port.node).guid;
  const auto twin = std::ranges::find_if(seen.troubles, [&](const ib::discover::Trouble& t) {
    return t.kind == ib::discover::Trouble::Kind::DuplicateGuid && t.node_guid == node;
  });
  if (twin == seen.troubles.end()) return;
  const Guid guid = seen.fabric.port(seen.local_port).guid;
  const auto at = before.find(guid);
  OtherManager manager = at == before.end() ? OtherManager{} : std::move(at->second);
  manager.route = twin->route;
  manager.name = fmt::format("a port behind {}", ib::fabric::port_name(seen.fabric, twin->behind));
  manager.is_twin = true;
  all_.insert_or_assign(guid, std::move(manager));
}

std::optional<LogEvent> OtherManagers::on_answer(ib::Instant now, Guid asked,
                                                 const ib::wire::SmInfo& info, Guid own) {
  const auto at = all_.find(asked);
  if (at == all_.end()) return std::nullopt;
  OtherManager& manager = at->second;
  if (info.guid != asked) {
    manager.answered = false;
    manager.claims = info.guid;
    if (!liars_.insert(asked).second) return std::nullopt;
    return LogEvent{LogLevel::Error, "sm",
                    fmt::format("the subnet manager at {} says that its port GUID is {}{}: it is "
                                "left out of the election",
                                describe(asked), to_string(info.guid),
                                info.guid == own ? ", which is ours" : "")};
  }
  liars_.erase(asked);
  manager.claims = {};
  const bool news = !manager.known || manager.info.sm_state != info.sm_state ||
                    manager.info.priority != info.priority;
  started_ = started_ || !manager.known || info.act_count < manager.info.act_count;
  if (!manager.known || manager.info.sm_state != info.sm_state) {
    manager.since = now;
    // What it refused while it followed another one it takes as a master.
    if (info.sm_state == SmState::Master) manager.refused_until = ib::Instant{0};
  }
  if (news || manager.info.act_count != info.act_count) {
    manager.active = now;
    manager.idle_told = false;
  }
  manager.known = manager.answered = true;
  manager.info = info;
  manager.key_matches = sm_key_ == 0 || info.sm_key == sm_key_;
  if (!news) return idle_master(now, manager);
  std::string text = fmt::format("another subnet manager is at {}", describe(asked));
  if (!manager.allowed) text += ", which is not among allowed_sm_guids: it counts for nothing here";
  if (!manager.key_matches)
    text += "; its SM_Key is not ours (sm_key): mastership is not handed over to it";
  if (manager.is_twin)
    text +=
        "; its port has the GUID of ours, so neither ranks above the other: a master does not hand "
        "over to it, and who is none leaves the subnet to it. GUIDs are to be unique";
  const bool harmless = manager.allowed && manager.key_matches && !manager.is_twin;
  return LogEvent{harmless ? LogLevel::Info : LogLevel::Error, "sm", std::move(text)};
}

std::optional<LogEvent> OtherManagers::idle_master(ib::Instant now, OtherManager& manager) const {
  if (manager.info.sm_state != SmState::Master || manager.idle_told ||
      now - manager.active < kIdleLong)
    return std::nullopt;
  manager.idle_told = true;
  return LogEvent{
      LogLevel::Warning, "sm",
      fmt::format(
          "the master at {} answers and does nothing: its ActCount has been {} for {} s. If "
          "it hangs, end it, and a standby takes over",
          describe(manager.info.guid), manager.info.act_count,
          std::chrono::duration_cast<std::chrono::seconds>(now - manager.active).count())};
}

void OtherManagers::on_silence(Guid guid) {
  if (OtherManager* manager = find(guid)) manager->answered = false;
}

/// It may come back before the next sweep, and is asked as long as none has missed it.
void OtherManagers::on_gone(Guid guid) {
  if (OtherManager* manager = find(guid)) manager->known = manager->answered = false;
}

OtherManager* OtherManagers::find(Guid guid) {
  const auto at = all_.find(guid);
  return at == all_.end() ? nullptr : &at->second;
}
const OtherManager* OtherManagers::find(Guid guid) const {
  const auto at = all_.find(guid);
  return at == all_.end() ? nullptr : &at->second;
}

std::vector<ib::wire::SmInfo> OtherManagers::candidates(ib::Instant now, bool for_master) const {
  std::vector<ib::wire::SmInfo> out;
  for (const auto& [guid, manager] : all_) {
    if (!manager.answered || !manager.allowed) continue;
    // Who has another key, or our GUID, neither takes over from us nor hands over; but two masters
    // undo each other's work whatever their keys.
    const bool is_none_of_ours = !manager.key_matches || manager.is_twin;
    if (is_none_of_ours && (for_master || manager.info.sm_state != SmState::Master)) continue;
    if (for_master && now < manager.refused_until) continue;
    if (for_master && now < manager.deaf_until && manager.info.sm_state != SmState::Master)
      continue;
    out.push_back(manager.info);
  }
  return out;
}

std::string OtherManagers::describe(Guid guid) const {
  const OtherManager* manager = find(guid);
  if (manager == nullptr) return to_string(guid);
  std::string text =
      fmt::format("{}, GUID {}, LID {}", manager->name, to_string(guid), manager->lid.value);
  if (manager->known)
    text += fmt::format(", {}, priority {}", election::state_name(manager->info.sm_state),
                        manager->info.priority);
  return text;
}

std::vector<ib::wire::SmInfo> OtherManagers::known() const {
  std::vector<ib::wire::SmInfo> out;
  for (const auto& [guid, manager] : all_) {
    if (!manager.known || manager.is_twin) continue;
    out.push_back(manager.info);
    out.back().sm_key = 0;
  }
  return out;
}

}  // namespace sm::core
