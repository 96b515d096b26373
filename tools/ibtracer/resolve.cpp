// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/query/smp_client.h"
#include "tools/common/sa_names.h"

namespace ibtracer {

namespace query = ib::query;
namespace wire = ib::wire;

namespace {

std::string text_of(const wire::NodeDescription& name) {
  return {name.text.begin(), std::find(name.text.begin(), name.text.end(), '\0')};
}

class Resolver {
 public:
  Resolver(ib::mad::Session& session, const ib::mad::PortFacts& facts, const query::SaAddress& sa,
           const ib::fabric::NodeNames& names)
      : facts_(facts), sa_(session, sa), names_(names) {}

  ib::Result<Destination> by_gid(const ib::Gid& gid) {
    wire::PathRecord wanted;
    wanted.dgid = gid;
    auto found = path(wanted, query::component::kPathDgid);
    if (!found && (found.error().mad_status == wire::status::kSaNoRecords ||
                   found.error().mad_status == wire::status::kSaInvalidGid))
      return ib::fail(ib::ErrorKind::NotFound, "the SA knows no path to GID " + ib::to_string(gid) +
                                                   ": " + found.error().message);
    if (!found) return found;
    found->grh->gid = gid;
    // An alias GID is no port's GUID: then there is nothing to compare.
    wire::NodeRecord owner;
    owner.node_info.port_guid = gid.guid();
    if (const auto records = nodes(owner, query::component::kNodePortGuid);
        records && !records->empty())
      found->wanted = wanted_of(records->front());
    return found;
  }

  ib::Result<Destination> by_guid(ib::Guid guid) {
    wire::NodeRecord wanted;
    wanted.node_info.port_guid = guid;
    wanted.node_info.node_guid = guid;
    auto found = nodes(wanted, query::component::kNodePortGuid);
    if (found && found->empty()) found = nodes(wanted, query::component::kNodeGuid);
    if (!found) return tl::unexpected(found.error());
    if (found->empty())
      return ib::fail(ib::ErrorKind::NotFound,
                      "no port or node has the GUID " + ib::to_string(guid));
    return by_record(lowest(*found));
  }

  ib::Result<Destination> by_name(const std::string& name) {
    const auto found = ib::tools::find_node_records(
        [this](const wire::NodeRecord& wanted, std::uint64_t mask) { return nodes(wanted, mask); },
        name, names_);
    if (!found) return tl::unexpected(found.error());
    return by_record(lowest(*found));
  }

 private:
  Wanted wanted_of(const wire::NodeRecord& record) const {
    const ib::Guid node = record.node_info.node_guid;
    return {node, record.node_info.port_guid,
            ib::fabric::name_in(&names_, node, text_of(record.node_description)),
            "to which the SA gives this lid"};
  }

  ib::Result<Destination> by_record(const wire::NodeRecord& record) {
    // The path to ourselves needs no path record.
    if (record.lid == facts_.lid) return Destination{record.lid, ib::Sl{0}, wanted_of(record)};
    wire::PathRecord wanted;
    wanted.dlid = record.lid;
    auto found = path(wanted, query::component::kPathDlid);
    if (found) {
      found->wanted = wanted_of(record);
      found->grh.reset();
    }
    return found;
  }

  /// One reversible path from our own port: the answers have to come back by it.
  ib::Result<Destination> path(wire::PathRecord wanted, std::uint64_t mask) {
    wanted.sgid = ib::Gid::from(facts_.gid_prefix, facts_.port_guid);
    wanted.slid = facts_.lid;
    wanted.reversible = true;
    wanted.numb_path = 1;
    mask |= (mask & query::component::kPathDgid) != 0 ? query::component::kPathSgid
                                                      : query::component::kPathSlid;
    mask |= query::component::kPathReversible | query::component::kPathNumbPath;
    const auto record = sa_.get(wanted, mask);
    if (!record) return tl::unexpected(record.error());
    Destination found{record->dlid, record->sl};
    ib::mad::Grh& grh = found.grh.emplace();
    grh.gid = record->dgid;
    grh.hop_limit = record->hop_limit;
    grh.traffic_class = record->traffic_class;
    grh.flow_label = record->flow_label;
    return found;
  }

  ib::Result<std::vector<wire::NodeRecord>> nodes(const wire::NodeRecord& wanted,
                                                  std::uint64_t mask) {
    auto found = sa_.get_table(wanted, mask);
    if (!found && found.error().mad_status == wire::status::kSaNoRecords)
      return std::vector<wire::NodeRecord>{};
    return found;
  }

  static const wire::NodeRecord& lowest(const std::vector<wire::NodeRecord>& records) {
    return *std::min_element(records.begin(), records.end(),
                             [](const auto& a, const auto& b) { return a.lid < b.lid; });
  }

  const ib::mad::PortFacts& facts_;
  query::SaClient sa_;
  const ib::fabric::NodeNames& names_;
};

ib::Result<Destination> by_route(ib::mad::Session& session, const ib::mad::DirectedRoute& route,
                                 const ib::fabric::NodeNames& names, std::uint64_t m_key) {
  query::SmpClient smp(session, m_key);
  const auto node = smp.node_info(route);
  if (!node) return tl::unexpected(node.error());
  const bool is_switch = node->node_type == wire::NodeType::Switch;
  const auto port = smp.port_info(route, is_switch ? std::uint8_t{0} : node->local_port_num.value);
  if (!port) return tl::unexpected(port.error());
  if (!port->lid.is_unicast())
    return ib::fail(
        ib::ErrorKind::Unavailable,
        fmt::format("trace to DR path {}: {} there has no LID yet; is a subnet manager running?",
                    ib::mad::to_string(route), ib::to_string(node->node_guid)));
  Wanted wanted{node->node_guid, node->port_guid, {}, "which has this lid too"};
  // Its name is a comfort here.
  if (const auto name = smp.node_description(route)) wanted.description = text_of(*name);
  wanted.description = ib::fabric::name_in(&names, node->node_guid, std::move(wanted.description));
  return Destination{port->lid, ib::Sl{0}, std::move(wanted)};
}

}  // namespace

ib::Result<Destination> resolve(ib::mad::Session& session, const ib::tools::Target& target,
                                const ib::fabric::NodeNames& names, std::uint64_t m_key) {
  if (const auto* lid = std::get_if<ib::Lid>(&target)) return Destination{*lid, ib::Sl{0}};
  if (const auto* route = std::get_if<ib::mad::DirectedRoute>(&target))
    return by_route(session, *route, names, m_key);
  const auto facts = session.port().facts();
  if (!facts) return tl::unexpected(facts.error());
  const auto sa = query::sa_address(*facts);
  if (!sa) return tl::unexpected(sa.error());
  Resolver resolver(session, *facts, *sa, names);
  if (const auto* gid = std::get_if<ib::Gid>(&target)) return resolver.by_gid(*gid);
  if (const auto* guid = std::get_if<ib::Guid>(&target)) return resolver.by_guid(*guid);
  return resolver.by_name(std::get<ib::tools::NodeName>(target).text);
}

}  // namespace ibtracer
