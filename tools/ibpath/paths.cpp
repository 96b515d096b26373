// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "libdiag/query/smp_client.h"

namespace ibpath {
namespace {

using ib::ErrorKind;
using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::Result;
using ib::wire::NodeRecord;
using ib::wire::PathRecord;
namespace component = ib::query::component;

/// An SA may say "no records" by a status or by an empty table; both are an empty list.
template <class Record>
Result<std::vector<Record>> table(ib::query::SaClient& sa, const Record& wanted,
                                  std::uint64_t mask) {
  auto found = sa.get_table(wanted, mask);
  if (!found && found.error().mad_status == ib::wire::status::kSaNoRecords)
    return std::vector<Record>{};
  return found;
}

std::vector<End> by_lid(const std::vector<NodeRecord>& records) {
  std::vector<End> ends;
  ends.reserve(records.size());
  for (const auto& record : records) ends.push_back({record.lid, std::nullopt});
  return ends;
}

Result<std::vector<End>> by_guid(ib::query::SaClient& sa, std::uint64_t prefix, Guid guid) {
  NodeRecord wanted;
  wanted.node_info.port_guid = wanted.node_info.node_guid = guid;
  auto found = table(sa, wanted, component::kNodePortGuid);
  if (!found) return tl::unexpected(found.error());
  if (!found->empty()) return std::vector<End>{{std::nullopt, Gid::from(prefix, guid)}};
  found = table(sa, wanted, component::kNodeGuid);
  if (!found) return tl::unexpected(found.error());
  if (found->empty())
    return ib::fail(ErrorKind::NotFound,
                    fmt::format("the SA knows no port or node of GUID {}", to_string(guid)));
  return by_lid(*found);
}

Result<std::vector<End>> by_name(ib::query::SaClient& sa, const std::string& name) {
  NodeRecord wanted;
  auto& text = wanted.node_description.text;
  std::copy_n(name.begin(), std::min(name.size(), text.size()), text.begin());
  const auto found = table(sa, wanted, component::kNodeDescription);
  if (!found) return tl::unexpected(found.error());
  std::set<Guid> nodes;
  for (const auto& record : *found) nodes.insert(record.node_info.node_guid);
  if (nodes.empty())
    return ib::fail(ErrorKind::NotFound,
                    fmt::format("the SA knows no node named \"{}\"", ib::printable(name)));
  if (nodes.size() > 1) {
    std::string guids;
    for (const auto guid : nodes) guids += (guids.empty() ? "" : ", ") + to_string(guid);
    return ib::fail(ErrorKind::Usage,
                    fmt::format("{} nodes are named \"{}\": give one of their GUIDs, {}",
                                nodes.size(), ib::printable(name), guids));
  }
  return by_lid(*found);
}

Result<std::vector<End>> by_route(ib::mad::Session& session, const ib::mad::DirectedRoute& route) {
  ib::query::SmpClient smp(session);
  const auto node = smp.node_info(route);
  if (!node) return tl::unexpected(node.error());
  const bool is_switch = node->node_type == ib::wire::NodeType::Switch;
  const auto port = smp.port_info(route, is_switch ? std::uint8_t{0} : node->local_port_num.value);
  if (!port) return tl::unexpected(port.error());
  if (!port->lid.is_unicast())
    return ib::fail(ErrorKind::NotFound,
                    fmt::format("the port at directed route {} has no LID", to_string(route)));
  return std::vector<End>{{port->lid, std::nullopt}};
}

}  // namespace

PathQuery path_query(const End& source, const End& destination, const Wanted& wanted) {
  PathQuery query;
  auto& r = query.record;
  const auto name = [&](std::uint64_t mask) { query.mask |= mask; };
  if (source.lid) name(component::kPathSlid), r.slid = *source.lid;
  if (source.gid) name(component::kPathSgid), r.sgid = *source.gid;
  if (destination.lid) name(component::kPathDlid), r.dlid = *destination.lid;
  if (destination.gid) name(component::kPathDgid), r.dgid = *destination.gid;
  if (wanted.numb_path) name(component::kPathNumbPath), r.numb_path = *wanted.numb_path;
  if (wanted.sl) name(component::kPathSl), r.sl = ib::Sl{*wanted.sl};
  if (wanted.p_key) name(component::kPathPKey), r.p_key = ib::PKey{*wanted.p_key};
  if (wanted.reversible) name(component::kPathReversible), r.reversible = true;
  return query;
}

Result<std::vector<End>> resolve(ib::mad::Session& session, ib::query::SaClient& sa,
                                 const ib::mad::PortFacts& facts, const ib::tools::Target& target) {
  if (const auto* lid = std::get_if<Lid>(&target)) return std::vector<End>{{*lid, std::nullopt}};
  if (const auto* gid = std::get_if<Gid>(&target)) return std::vector<End>{{std::nullopt, *gid}};
  if (const auto* guid = std::get_if<Guid>(&target)) return by_guid(sa, facts.gid_prefix, *guid);
  if (const auto* route = std::get_if<ib::mad::DirectedRoute>(&target))
    return by_route(session, *route);
  return by_name(sa, std::get<ib::tools::NodeName>(target).text);
}

Result<std::vector<PathRecord>> fetch(ib::query::SaClient& sa, const std::vector<End>& sources,
                                      const std::vector<End>& destinations, const Wanted& wanted) {
  std::vector<PathRecord> paths;
  for (const auto& source : sources) {
    for (const auto& destination : destinations) {
      const auto query = path_query(source, destination, wanted);
      auto found = table(sa, query.record, query.mask);
      if (!found) return found;
      paths.insert(paths.end(), found->begin(), found->end());
    }
  }
  return paths;
}

}  // namespace ibpath
