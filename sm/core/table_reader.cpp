// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/table_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::core {
namespace {

using device::NodeTables;
using device::Scope;
using device::Slot;
using device::TableKind;
using ib::fabric::NodeIndex;

/// A cookie is node and ask.
constexpr unsigned kAskBits = 20;  // more than a switch of 255 ports has asks

}  // namespace

TableReader::TableReader(SnapshotPtr snapshot, const std::vector<bool>& managed,
                         device::Inventory& tables, TableReaderOptions options)
    : snapshot_(std::move(snapshot)), tables_(tables), options_(options) {
  const auto& fabric = snapshot_->fabric();
  std::size_t pairs = 0, switches = 0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const bool is_read = tables_.is_read(node.guid);
    if (!managed[n] || !snapshot_->observed->nodes[n].usable || (is_read && !options_.compare))
      continue;
    waiting_.push_back(n);
    if (is_read) continue;
    std::size_t more = 0;
    for (const TableKind* kind : device::table_kinds())
      if (kind->scope == Scope::PortPair && node.is_switch())
        more += asks_of(n, *kind, false).size();
    pairs += more;
    switches += more > 0 ? 1 : 0;
  }
  with_pairs_ = pairs <= options_.pairs_max;
  if (!with_pairs_)
    note_ = fmt::format(
        "SL to VL tables of {} switches are not read: {} of them are more than {}; "
        "SLtoVLMappingTableRecords of them have no answer",
        switches, pairs, options_.pairs_max);
}

bool TableReader::is_left_out(NodeIndex n, const TableKind& kind) const {
  return kind.scope == Scope::PortPair && !with_pairs_ && snapshot_->fabric().node(n).is_switch();
}

std::vector<TableReader::Ask> TableReader::asks_of(NodeIndex n, const TableKind& kind,
                                                   bool known) const {
  std::vector<Slot> slots;
  kind.slots(*snapshot_->observed, n, slots);
  const NodeTables* tables = tables_.find(snapshot_->fabric().node(n).guid);
  std::vector<Ask> out;
  for (const Slot slot : slots)
    if ((tables != nullptr && tables->held(kind, slot) != nullptr) == known &&
        device::route_to(*snapshot_->observed, n, kind, slot))
      out.push_back({&kind, slot});
  return out;
}

void TableReader::Node::skip_unknown() {
  while (next < asks.size() && std::ranges::count(unknown, asks[next].kind) > 0) ++next;
}

TableReader::Node TableReader::plan(NodeIndex n) const {
  Node node;
  node.compared = tables_.is_read(snapshot_->fabric().node(n).guid);
  for (const TableKind* kind : device::table_kinds()) {
    if (node.compared ? !kind->guarded : is_left_out(n, *kind)) continue;
    const auto asks = asks_of(n, *kind, node.compared);
    node.asks.insert(node.asks.end(), asks.begin(), asks.end());
  }
  return node;
}

std::vector<ib::mad::Request> TableReader::take_requests() {
  while (active_.size() < options_.nodes && !waiting_.empty()) {
    const NodeIndex n = waiting_.front();
    waiting_.pop_front();
    Node node = plan(n);
    if (node.asks.empty()) {
      end_node(n);
    } else {
      active_.emplace(n, std::move(node));
    }
  }
  const auto& observed = *snapshot_->observed;
  std::vector<ib::mad::Request> out;
  for (auto& [n, node] : active_) {
    const ib::Guid guid = observed.fabric.node(n).guid;
    while (!node.failed && node.next < node.asks.size() && node.in_flight < options_.per_node) {
      const auto [kind, slot] = node.asks[node.next];
      const ib::mad::Cookie cookie =
          options_.cookie_base + (static_cast<ib::mad::Cookie>(n) << kAskBits | node.next);
      out.push_back(ib::mad::smp_request(
          cookie, guid.value, *device::route_to(observed, n, *kind, slot), ib::wire::Method::Get,
          kind->attribute, kind->modifier(observed, n, slot)));
      in_flight_.insert(cookie);
      ++node.next;
      ++node.in_flight;
      node.skip_unknown();
    }
  }
  return out;
}

void TableReader::on_completion(ib::Instant, const ib::mad::Completion& completion) {
  in_flight_.erase(completion.cookie);
  const ib::mad::Cookie cookie = completion.cookie - options_.cookie_base;
  const auto at = active_.find(static_cast<NodeIndex>(cookie >> kAskBits));
  const auto index = static_cast<std::size_t>(cookie & ((1U << kAskBits) - 1));
  if (at == active_.end() || index >= at->second.asks.size()) return;
  Node& node = at->second;
  const auto [kind, slot] = node.asks[index];
  --node.in_flight;
  if (!completion.reply) {
    node.failed = true;  // asked again after the next sweep
  } else if (const auto& mad = completion.reply->mad; mad.status() == 0) {
    keep(at->first, node.compared, {kind, slot}, device::block_of(*kind, mad.data()));
  } else if (mad.status() == ib::wire::status::kBadAttribute) {
    node.unknown.push_back(kind);
  } else if (mad.status() == ib::wire::status::kBadValue && !node.compared) {
    const auto& of = snapshot_->fabric().node(at->first);
    tables_.note_absent(*kind, of.guid, of.num_ports, slot);
  }
  node.skip_unknown();
  if (!node.finished()) return;
  if (!node.failed && !node.compared) {
    end_node(at->first);
    ++nodes_read_;
  }
  active_.erase(at);
}

void TableReader::keep(NodeIndex n, bool compared, const Ask& ask, const device::Block& block) {
  const auto& node = snapshot_->fabric().node(n);
  const device::Block* held = compared ? tables_.held(*ask.kind, node.guid, ask.slot) : nullptr;
  const auto& observed = *snapshot_->observed;
  if (held != nullptr && device::means_the_same(*ask.kind, observed, n, ask.slot, *held, block))
    return;
  if (held != nullptr) rewritten_.push_back({ask.kind, n, ask.slot});
  tables_.put(*ask.kind, node.guid, node.num_ports, ask.slot, block);
}

void TableReader::end_node(NodeIndex n) {
  const auto& node = snapshot_->fabric().node(n);
  tables_.mark_read(node.guid, node.num_ports);
}

}  // namespace sm::core
