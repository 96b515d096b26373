// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/flapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"

namespace sm::core {
namespace {

using ib::Instant;
using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;

// A host that reboots takes its link down two to four times in some minutes.
constexpr HoldDownLimits kLimits{4, std::chrono::seconds(30), std::chrono::seconds(2),
                                 std::chrono::seconds(64)};

/// Of a port that is there and was read.
std::optional<PortState> state_at(const Observed& observed, PortRef at) {
  if (at.port > observed.fabric.node(at.node).num_ports) return std::nullopt;
  const auto* port = observed.known_port(at);
  if (port == nullptr) return std::nullopt;
  return port->state();
}

std::string seconds(ib::Duration d) {
  return fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(d).count());
}

}  // namespace

std::optional<PortState> Flapping::state_of(const Observed& observed, const End& end) {
  const auto node = observed.fabric.find_node(end.node);
  if (!node) return std::nullopt;
  return state_at(observed, {*node, end.port});
}

void Flapping::on_sweep(Instant now, const Observed& before, Observed& found) {
  std::erase_if(links_, [&](const auto& entry) {
    return !entry.second.held && entry.second.hold.is_over(now);
  });
  // What happened to those that are held shows at their ports only.
  for (auto& [link, record] : links_) {
    if (!record.held) continue;
    for (const End& end : {link.first, link.second})
      if (state_of(before, end) != state_of(found, end)) record.hold.extend(now);
  }

  std::set<Link> down;
  const auto& fabric = before.fabric;
  std::vector<std::optional<NodeIndex>> now_at;  // by node of before
  for (const auto& node : fabric.nodes()) now_at.push_back(found.fabric.find_node(node.guid));
  const auto went = [&](PortRef was) {
    const auto node = now_at[was.node];
    if (!node || state_at(before, was) != PortState::Active) return false;
    const auto state = state_at(found, {*node, was.port});
    return state && *state != PortState::Active;
  };
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef near{n, static_cast<std::uint8_t>(p)};
      const PortRef far = fabric.port(near).peer;
      if (!far || near == before.local_port || far == before.local_port) continue;
      if (went(near) || went(far))
        down.insert(std::minmax(End{fabric.node(n).guid, near.port},
                                End{fabric.node(far.node).guid, far.port}));
    }
  }
  for (const Link& link : down) count(now, link, before);

  for (const End& end : held_)
    if (const auto node = found.fabric.find_node(end.node))
      found.fabric.disconnect({*node, end.port});
}

void Flapping::count(Instant now, const Link& link, const Observed& before) {
  const auto [it, is_new] = links_.emplace(link, Record{HoldDown(kLimits), {}, {}, false});
  Record& record = it->second;
  const auto name = [&](const End& end) {
    const NodeIndex n = *before.fabric.find_node(end.node);
    if (before.fabric.node(n).is_switch() && record.lid == ib::kNoLid)
      record.lid = before.fabric.port(n, 0).lid;
    return ib::fabric::port_label(before.fabric, {n, end.port});
  };
  if (is_new) {
    record.name = name(link.first);
    record.name += " - " + name(link.second);
  }
  if (!record.hold.strike(now)) return;
  set_held(link, record, true);
  logs_.push_back({ib::LogLevel::Warning, "flapping",
                   fmt::format("the link {} goes down again and again: it is left out until it was "
                               "quiet for {}",
                               record.name, seconds(record.hold.pause())),
                   ib::LogCause{"flapping", record.lid}});
}

void Flapping::set_held(const Link& link, Record& record, bool held) {
  record.held = held;
  for (const End& end : {link.first, link.second}) {
    if (held) {
      held_.insert(end);
    } else {
      held_.erase(end);
    }
  }
}

void Flapping::on_change(Instant now, ib::Guid node) {
  for (auto& [link, record] : links_)
    if (record.held && (link.first.node == node || link.second.node == node))
      record.hold.extend(now);
}

bool Flapping::holds_any_of(ib::Guid node) const {
  const auto it = held_.lower_bound({node, 0});
  return it != held_.end() && it->node == node;
}

Instant Flapping::due() const {
  Instant due = ib::kNever;
  for (const auto& [link, record] : links_)
    if (record.held) due = std::min(due, record.hold.until());
  return due;
}

std::vector<ib::Guid> Flapping::release(Instant now) {
  std::vector<ib::Guid> ends;
  for (auto& [link, record] : links_) {
    if (!record.held || record.hold.is_held(now)) continue;
    set_held(link, record, false);
    for (const End& end : {link.first, link.second}) ends.push_back(end.node);
    logs_.push_back({ib::LogLevel::Info, "flapping",
                     fmt::format("the link {} was quiet for {}: it is used again", record.name,
                                 seconds(record.hold.pause())),
                     ib::LogCause{"flapping", record.lid}});
  }
  return ends;
}

std::vector<std::string> Flapping::held_links() const {
  std::vector<std::string> out;
  for (const auto& [link, record] : links_)
    if (record.held)
      out.push_back(
          fmt::format("held down: {}: it went down again and again, and is left out "
                      "until it was quiet for {}",
                      record.name, seconds(record.hold.pause())));
  return out;
}

std::optional<ib::LogEvent> Flapping::next_log() {
  if (logs_.empty()) return std::nullopt;
  auto event = std::move(logs_.front());
  logs_.pop_front();
  return event;
}

}  // namespace sm::core
