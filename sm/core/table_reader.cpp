// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/table_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::core {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using Kind = NodeTables::Kind;
namespace attr = ib::wire::attr;

constexpr unsigned kKeysInBlock = 32, kGuidsInBlock = 8, kEntriesInBlock = 32;

constexpr unsigned blocks(unsigned entries, unsigned in_block) {
  return (entries + in_block - 1) / in_block;
}

/// A cookie is node and ask.
constexpr unsigned kAskBits = 20;  // more than a switch of 255 ports has asks

TableBlock block_of(const std::byte* data) {
  TableBlock block;
  std::copy_n(data, block.size(), block.begin());
  return block;
}

}  // namespace

TableReader::TableReader(SnapshotPtr snapshot, const std::vector<bool>& managed,
                         const std::unordered_map<ib::Guid, apply::KnownLanes>& lanes,
                         DeviceTables& tables, TableReaderOptions options)
    : snapshot_(std::move(snapshot)), tables_(tables), options_(options) {
  const auto& fabric = snapshot_->fabric();
  std::size_t rows = 0, switches = 0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    if (!managed[n] || !snapshot_->observed->nodes[n].usable || tables_.find(node.guid) != nullptr)
      continue;
    waiting_.push_back(n);
    auto held = std::make_shared<NodeTables>(node.num_ports);
    if (const auto known = lanes.find(node.guid); known != lanes.end()) {
      const std::size_t stride = node.num_ports + std::size_t{1};
      for (std::size_t i = 0; i < known->second.rows.size(); ++i)
        if (known->second.rows[i] != apply::kRowUnknown)
          held->set_row(static_cast<unsigned>(i / stride), static_cast<unsigned>(i % stride),
                        known->second.rows[i]);
      for (const auto& [key, table] : known->second.arbitration) {
        TableBlock block{};
        ib::wire::encode(table, block.data());
        held->set_block(Kind::Arbitration, key.second, key.first, tables_.stored(block));
      }
    }
    programmed_.emplace(n, std::move(held));
    const std::size_t more = rows_of_switch(n);
    rows += more;
    switches += more > 0 ? 1 : 0;
  }
  with_rows_ = rows <= options_.rows_max;
  if (!with_rows_)
    note_ = fmt::format(
        "SL to VL tables of {} switches are not read: {} of them are more than {}; "
        "SLtoVLMappingTableRecords of them have no answer",
        switches, rows, options_.rows_max);
}

bool TableReader::is_reached(PortRef port) const {
  const auto& fabric = snapshot_->fabric();
  if (fabric.node(port.node).is_switch()) return true;
  if (port.port == snapshot_->observed->nodes[port.node].info.local_port_num.value) return true;
  const PortRef peer = fabric.port(port).peer;
  return peer && fabric.node(peer.node).is_switch();
}

/// A CA answers for the port that the SMP comes in by (IBA 14.2.5.5, 14.2.5.7, 14.2.5.8).
ib::mad::DirectedRoute TableReader::route_to(PortRef port) const {
  const auto& fabric = snapshot_->fabric();
  const auto& node = snapshot_->observed->nodes[port.node];
  if (fabric.node(port.node).is_switch() || port.port == node.info.local_port_num.value)
    return node.route;
  const PortRef peer = fabric.port(port).peer;
  return snapshot_->observed->nodes[peer.node].route.extended(peer.port);
}

std::size_t TableReader::rows_of_switch(NodeIndex n) const {
  Node node;
  if (!snapshot_->fabric().node(n).is_switch()) return 0;
  node.tables = programmed_.at(n);
  plan_rows(n, node);
  return node.asks.size();
}

void TableReader::plan_rows(NodeIndex n, Node& node) const {
  const auto& observed = *snapshot_->observed;
  const auto maps = [&](unsigned port) {
    const auto* seen = observed.known_port({n, static_cast<std::uint8_t>(port)});
    return seen != nullptr &&
           (seen->get<&PortInfo::capability_mask>() & ib::wire::port_cap::kSlMapping) != 0;
  };
  const unsigned ports = observed.fabric.node(n).num_ports;
  const auto ask = [&](unsigned input, unsigned output, std::uint32_t modifier) {
    if (node.tables->row(input, output) != nullptr) return;
    node.asks.push_back({attr::kSlToVl, modifier, static_cast<std::uint8_t>(output),
                         static_cast<std::uint8_t>(input), 0});
  };
  if (!observed.fabric.node(n).is_switch()) {
    for (unsigned p = 1; p <= ports; ++p)
      if (maps(p) &&
          observed.port({n, static_cast<std::uint8_t>(p)}).get<&PortInfo::vl_cap>() > 1 &&
          is_reached({n, static_cast<std::uint8_t>(p)}))
        ask(0, p, 0);
    return;
  }
  if (!maps(0)) return;  // a switch says it at port 0, for all
  for (unsigned output = 0; output <= ports; ++output)
    for (unsigned input = 0; input <= ports; ++input) ask(input, output, input << 8 | output);
}

void TableReader::plan_port(NodeIndex n, unsigned port, Node& node) const {
  const auto& observed = *snapshot_->observed;
  const auto& seen = observed.nodes[n];
  const bool is_switch = observed.fabric.node(n).is_switch();
  const bool is_end_port = !is_switch || port == 0;
  const auto* at = observed.known_port({n, static_cast<std::uint8_t>(port)});
  if (at == nullptr || !is_reached({n, static_cast<std::uint8_t>(port)})) return;
  const auto ask = [&](std::uint16_t attribute, std::uint32_t modifier, unsigned index) {
    node.asks.push_back({attribute, modifier, static_cast<std::uint8_t>(port), 0,
                         static_cast<std::uint16_t>(index)});
  };

  const unsigned keys = is_end_port        ? seen.info.partition_cap
                        : seen.switch_info ? seen.switch_info->partition_enforcement_cap
                                           : 0;
  for (unsigned b = 0; b < blocks(keys, kKeysInBlock); ++b)
    ask(attr::kPKeyTable, (is_switch ? port << 16 : 0U) | b, b);
  if (is_end_port)
    for (unsigned b = 0; b < blocks(at->get<&PortInfo::guid_cap>(), kGuidsInBlock); ++b)
      ask(attr::kGuidInfo, b, b);

  // With one data VL there is nothing to arbitrate.
  if (at->get<&PortInfo::vl_cap>() <= 1) return;
  const unsigned caps[] = {at->get<&PortInfo::vl_arbitration_low_cap>(),
                           at->get<&PortInfo::vl_arbitration_high_cap>()};
  for (unsigned priority = 0; priority < 2; ++priority) {
    for (unsigned half = 0; half < std::min(2U, blocks(caps[priority], kEntriesInBlock)); ++half) {
      const unsigned b = 1 + priority * 2 + half;
      if (node.tables->block(Kind::Arbitration, port, b) != nullptr) continue;
      ask(attr::kVlArbitration, b << 16 | (is_switch ? port : 0U), b);
    }
  }
}

void TableReader::Node::skip_unknown() {
  while (next < asks.size() && std::ranges::count(unknown, asks[next].attribute) > 0) ++next;
}

TableReader::Node TableReader::plan(NodeIndex n) const {
  Node node;
  node.tables = programmed_.at(n);
  const auto& topology = snapshot_->fabric().node(n);
  for (unsigned p = topology.is_switch() ? 0 : 1; p <= topology.num_ports; ++p)
    plan_port(n, p, node);
  node.tables->expect_blocks(node.asks.size());
  if (with_rows_ || !topology.is_switch()) plan_rows(n, node);
  return node;
}

std::vector<ib::mad::Request> TableReader::take_requests() {
  while (active_.size() < options_.nodes && !waiting_.empty()) {
    const NodeIndex n = waiting_.front();
    waiting_.pop_front();
    Node node = plan(n);
    if (node.asks.empty()) {
      tables_.put(snapshot_->fabric().node(n).guid, node.tables);
    } else {
      active_.emplace(n, std::move(node));
    }
  }
  std::vector<ib::mad::Request> out;
  for (auto& [n, node] : active_) {
    const ib::Guid guid = snapshot_->fabric().node(n).guid;
    while (!node.failed && node.next < node.asks.size() && node.in_flight < options_.per_node) {
      const Ask& ask = node.asks[node.next];
      const ib::mad::Cookie cookie =
          options_.cookie_base + (static_cast<ib::mad::Cookie>(n) << kAskBits | node.next);
      out.push_back(ib::mad::smp_request(cookie, guid.value, route_to({n, ask.port}),
                                         ib::wire::Method::Get, ask.attribute, ask.modifier));
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
  --node.in_flight;
  if (!completion.reply) {
    node.failed = true;  // asked again after the next sweep
  } else if (const auto& mad = completion.reply->mad; mad.status() == 0) {
    keep(node, node.asks[index], mad);
  } else if (mad.status() == ib::wire::status::kBadAttribute) {
    node.unknown.push_back(node.asks[index].attribute);
  }
  node.skip_unknown();
  if (!node.finished()) return;
  if (!node.failed) {
    tables_.put(snapshot_->fabric().node(at->first).guid, node.tables);
    ++nodes_read_;
  }
  active_.erase(at);
}

void TableReader::keep(Node& node, const Ask& ask, const ib::wire::Mad& answer) {
  const auto set = [&](Kind kind) {
    node.tables->set_block(kind, ask.port, ask.index, tables_.stored(block_of(answer.data())));
  };
  switch (ask.attribute) {
    case attr::kPKeyTable:
      return set(Kind::PKeys);
    case attr::kGuidInfo:
      return set(Kind::Guids);
    case attr::kVlArbitration:
      return set(Kind::Arbitration);
    default: {
      NodeTables::Row row = 0;
      for (const std::uint8_t vl : ib::wire::body<ib::wire::SlToVlTable>(answer).vl)
        row = row << 4 | vl;
      node.tables->set_row(ask.input, ask.port, row);
    }
  }
}

}  // namespace sm::core
