// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/sa_route.h"

#include <fmt/format.h>

#include <algorithm>

namespace ibtracer {

using ib::Guid;
using ib::Lid;
using ib::query::Hop;
using ib::query::Walk;
using ib::query::WalkEnd;
namespace component = ib::query::component;
namespace wire = ib::wire;

ib::Result<std::vector<wire::NodeRecord>> SaRoutes::node(Guid guid) {
  if (const auto known = nodes_.find(guid); known != nodes_.end()) return known->second;
  wire::NodeRecord wanted;
  wanted.node_info.node_guid = guid;
  auto found = sa_.get_table(wanted, component::kNodeGuid);
  if (found) nodes_[guid] = *found;
  return found;
}

ib::Result<Hop> SaRoutes::hop_of(const wire::TraceRecord& record) {
  Hop hop;
  hop.type = static_cast<wire::NodeType>(record.node_type);
  hop.node_guid = Guid{record.node_id};
  hop.ingress_port = record.entry_port.value;
  hop.egress_port = record.exit_port.value;
  const auto records = node(hop.node_guid);
  if (!records) return tl::unexpected(records.error());
  // A switch has one record, a host one for each port.
  const std::uint8_t port = hop.ingress_port != 0 ? hop.ingress_port : hop.egress_port;
  for (const auto& r : *records) {
    if (hop.type != wire::NodeType::Switch && port != 0 && r.node_info.local_port_num.value != port)
      continue;
    hop.lid = r.lid;
    hop.port_guid = r.node_info.port_guid;
    hop.num_ports = r.node_info.num_ports;
    const auto& text = r.node_description.text;
    hop.description = ib::fabric::name_in(
        names_, hop.node_guid, {text.begin(), std::find(text.begin(), text.end(), '\0')});
  }
  return hop;
}

ib::Result<Walk> SaRoutes::walk(Lid dlid) {
  if (has_trace_records_) {
    wire::PathRecord path;
    path.slid = own_lid_;
    path.dlid = dlid;
    const auto records = sa_.trace(path, component::kPathSlid | component::kPathDlid);
    if (records) return walk_of(*records, dlid);
    if (!ib::query::has_no_trace_records(records.error())) return tl::unexpected(records.error());
    has_trace_records_ = false;
  }
  return by_records_.walk(dlid);
}

ib::Result<Walk> SaRoutes::walk_of(const std::vector<wire::TraceRecord>& records, Lid dlid) {
  Walk walk;
  for (const auto& record : records) {
    auto hop = hop_of(record);
    if (!hop) return tl::unexpected(hop.error());
    if (!walk.hops.empty()) {
      hop->route = walk.hops.back().route;
      hop->route.hops.push_back(walk.hops.back().egress_port);
    }
    walk.hops.push_back(*std::move(hop));
  }
  if (walk.hops.empty()) {
    Hop& source = walk.hops.emplace_back();
    source.node_guid = own_node_;
    source.lid = own_lid_;
    walk.end = WalkEnd::NoEntry;
    walk.failure =
        fmt::format("the SA has no path from lid {} to lid {}", own_lid_.value, dlid.value);
    return walk;
  }
  walk.hops.back().lid = dlid;
  walk.end = WalkEnd::Arrived;
  return walk;
}

ib::Result<std::uint8_t> SaRoutes::lmc_of(Lid lid) {
  wire::PortInfoRecord wanted;
  wanted.end_port_lid = lid;
  const auto ports = sa_.get_table(wanted, component::kPortInfoLid);
  if (!ports) return tl::unexpected(ports.error());
  // Of a switch port 0 has the LID, its other ports have none.
  for (const auto& port : *ports)
    if (port.port_info.lid.is_unicast()) return port.port_info.lmc;
  return ib::fail(ib::ErrorKind::NotFound,
                  fmt::format("the SA knows no port of lid {}", lid.value));
}

}  // namespace ibtracer
