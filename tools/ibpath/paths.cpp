// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/query/smp_client.h"
#include "tools/common/sa_names.h"
#include "tools/ibpath/report.h"

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

std::vector<Port> ports(const std::vector<NodeRecord>& records) {
  std::vector<Port> all;
  all.reserve(records.size());
  for (const auto& record : records) all.push_back({record.lid, record.node_info.port_guid});
  return all;
}

Result<std::vector<Port>> by_lid(CommandContext& context, Lid lid) {
  NodeRecord wanted;
  wanted.lid = lid;
  const auto found = context.table(wanted, component::kNodeLid);
  if (!found) return tl::unexpected(found.error());
  if (found->empty())
    return ib::fail(ErrorKind::NotFound, fmt::format("the SA knows no port of LID {}", lid.value));
  return ports(*found);
}

/// Where a path to an alias GID ends. (GUIDInfoRecords have aliases, too, but opensm does not
/// search them by GUID.)
Result<std::vector<NodeRecord>> nodes_of_alias(CommandContext& context, const Gid& gid) {
  const bool is_ours =
      gid.prefix() == context.facts().gid_prefix || gid.prefix() == ib::kDefaultSubnetPrefix;
  if (!is_ours) return std::vector<NodeRecord>{};
  PathRecord path;
  path.slid = context.facts().lid;
  path.dgid = gid;
  path.numb_path = 1;
  const auto paths =
      context.table(path, component::kPathSlid | component::kPathDgid | component::kPathNumbPath);
  if (!paths) return tl::unexpected(paths.error());
  if (paths->empty()) return std::vector<NodeRecord>{};
  NodeRecord wanted;
  wanted.lid = paths->front().dlid;
  return context.table(wanted, component::kNodeLid);
}

Result<std::vector<Port>> by_gid(CommandContext& context, const Gid& gid) {
  const auto found = nodes_of_gid(context, gid);
  if (!found) return tl::unexpected(found.error());
  if (found->empty()) return ib::fail(ErrorKind::NotFound, "no port has the GID " + to_string(gid));
  return ports(*found);
}

Result<std::vector<Port>> by_guid(CommandContext& context, Guid guid) {
  NodeRecord wanted;
  wanted.node_info.port_guid = wanted.node_info.node_guid = guid;
  auto found = context.table(wanted, component::kNodePortGuid);
  if (found && found->empty()) found = context.table(wanted, component::kNodeGuid);
  if (found && found->empty())
    found = nodes_of_alias(context, Gid::from(context.facts().gid_prefix, guid));
  if (!found) return tl::unexpected(found.error());
  if (found->empty())
    return ib::fail(ErrorKind::NotFound, "no port or node has the GUID " + to_string(guid));
  return ports(*found);
}

Result<std::vector<Port>> by_name(CommandContext& context, const std::string& name) {
  const auto found = nodes_by_name(context, name);
  if (!found) return tl::unexpected(found.error());
  return ports(*found);
}

Result<std::vector<Port>> by_route(CommandContext& context, const ib::mad::DirectedRoute& route) {
  ib::query::SmpClient smp(context.session(), context.options().m_key);
  const auto node = smp.node_info(route);
  if (!node) {
    auto error = node.error();
    const auto own = context.facts().port_num;
    if (!route.hops.empty() && route.hops.front() != own) {
      // The kernel refuses a packet whose route leaves by another port: no node is there.
      if (error.kind == ErrorKind::Io) error.kind = ErrorKind::NotFound;
      error.message += fmt::format("; from this port of a host routes begin with 0,{}", own);
    }
    return tl::unexpected(std::move(error));
  }
  const bool is_switch = node->node_type == ib::wire::NodeType::Switch;
  const auto port = smp.port_info(route, is_switch ? std::uint8_t{0} : node->local_port_num.value);
  if (!port) return tl::unexpected(port.error());
  if (!port->lid.is_unicast())
    return ib::fail(ErrorKind::NotFound,
                    fmt::format("the port at directed route {} has no LID", to_string(route)));
  return std::vector<Port>{{port->lid, node->port_guid}};
}

std::vector<std::string> pieces(const std::string& word) {
  std::vector<std::string> out;
  for (const auto piece : ib::split(word, ',')) out.emplace_back(ib::trim(piece));
  return out;
}

/// GIDs of the ports a target means. One that is named by GID may be an alias, and is left alone.
Result<std::vector<Gid>> gids_of(CommandContext& context, const ib::tools::Target& target) {
  if (const auto* gid = std::get_if<Gid>(&target)) return std::vector<Gid>{*gid};
  const auto named = ports_of(context, target);
  if (!named) return tl::unexpected(named.error());
  std::vector<Gid> gids;
  for (const Port& port : *named) gids.push_back(Gid::from(context.facts().gid_prefix, port.guid));
  return gids;
}

Result<std::vector<Gid>> gids_of(CommandContext& context,
                                 std::span<const ib::tools::Target> targets) {
  constexpr std::size_t kMost = 255;  // what the record can count
  std::vector<Gid> all;
  for (const auto& target : targets) {
    auto gids = gids_of(context, target);
    if (!gids) return gids;
    all.insert(all.end(), gids->begin(), gids->end());
  }
  if (all.size() > kMost)
    return ib::fail(
        ErrorKind::Usage,
        fmt::format("{} ports on one side; a MultiPathRecord takes {}", all.size(), kMost));
  return all;
}

Result<std::vector<ib::tools::Target>> read_targets(const std::string& word) {
  std::vector<ib::tools::Target> targets;
  for (const auto& piece : pieces(word)) {
    auto target = ib::tools::parse_target(piece);
    if (!target) return tl::unexpected(target.error());
    targets.push_back(std::move(*target));
  }
  return targets;
}

ib::Error usage(std::string text) { return {ErrorKind::Usage, std::move(text), 0}; }

}  // namespace

PathQuery path_query(const End& source, const End& destination, const Query& wanted) {
  PathQuery query{ib::wire::decode<PathRecord>(wanted.body().data()), wanted.mask()};
  auto& r = query.record;
  const auto name = [&](std::uint64_t mask) { query.mask |= mask; };
  if (source.lid) name(component::kPathSlid), r.slid = *source.lid;
  if (source.gid) name(component::kPathSgid), r.sgid = *source.gid;
  if (destination.lid) name(component::kPathDlid), r.dlid = *destination.lid;
  if (destination.gid) name(component::kPathDgid), r.dgid = *destination.gid;
  return query;
}

Result<std::vector<NodeRecord>> nodes_of_gid(CommandContext& context, const Gid& gid) {
  NodeRecord wanted;
  wanted.node_info.port_guid = gid.guid();
  auto found = context.table(wanted, component::kNodePortGuid);
  if (found && found->empty()) return nodes_of_alias(context, gid);
  return found;
}

Result<std::vector<NodeRecord>> nodes_by_name(CommandContext& context, const std::string& name) {
  return ib::tools::find_node_records(
      [&context](const NodeRecord& wanted, std::uint64_t mask) {
        return context.table(wanted, mask);
      },
      name, context.names());
}

Result<std::vector<Port>> ports_of(CommandContext& context, const ib::tools::Target& target) {
  if (const auto* lid = std::get_if<Lid>(&target)) return by_lid(context, *lid);
  if (const auto* gid = std::get_if<Gid>(&target)) return by_gid(context, *gid);
  if (const auto* guid = std::get_if<Guid>(&target)) return by_guid(context, *guid);
  if (const auto* route = std::get_if<ib::mad::DirectedRoute>(&target))
    return by_route(context, *route);
  return by_name(context, std::get<ib::tools::NodeName>(target).text);
}

Result<std::vector<End>> resolve(CommandContext& context, const ib::tools::Target& target) {
  if (const auto* lid = std::get_if<Lid>(&target)) return std::vector<End>{{*lid, std::nullopt}};
  const auto gids = gids_of(context, target);
  if (!gids) return tl::unexpected(gids.error());
  std::vector<End> ends;
  for (const Gid& gid : *gids) ends.push_back({std::nullopt, gid});
  return ends;
}

std::vector<std::string> conditions_of(const Options& options) {
  std::vector<std::string> all;
  if (options.numb_path != 0) all.push_back(fmt::format("NumbPath={}", options.numb_path));
  if (options.sl < 16) all.push_back(fmt::format("SL={}", options.sl));
  if (options.p_key <= 0xFFFF) all.push_back(fmt::format("P_Key={}", options.p_key));
  if (options.service_id) all.push_back(fmt::format("ServiceID=0x{:x}", *options.service_id));
  if (options.qos_class <= 0xFFF) all.push_back(fmt::format("QoSClass={}", options.qos_class));
  if (options.reversible) all.emplace_back("Reversible=1");
  return all;
}

std::vector<std::string> with_options(const Options& options,
                                      const ib::wire::StructureInfo& structure, Words conditions) {
  Query own(structure);
  // What cannot be read is refused where it is read.
  for (const auto& condition : conditions) (void)own.add(condition);
  std::vector<std::string> all;
  const bool splits_service_id =
      std::ranges::find(structure.fields, "ServiceID", &ib::wire::FieldInfo::name) ==
      structure.fields.end();
  for (auto& condition : conditions_of(options)) {
    if (own.says(condition.substr(0, condition.find('=')))) continue;
    if (splits_service_id && condition.starts_with("ServiceID=")) {
      all.push_back(fmt::format("ServiceID8MSB=0x{:x}", *options.service_id >> 56));
      all.push_back(fmt::format("ServiceID56LSB=0x{:x}", *options.service_id & 0xFFFFFFFFFFFFFF));
    } else {
      all.push_back(std::move(condition));
    }
  }
  all.insert(all.end(), conditions.begin(), conditions.end());
  return all;
}

Result<Pair> read_pair(const std::string& source, const std::string& destination, Words conditions,
                       const Options& options) {
  Pair pair{source, destination, {}, {}, Query(ib::wire::describe<PathRecord>()), {}};
  auto from = ib::tools::parse_target(source);
  if (!from) return tl::unexpected(from.error());
  auto to = ib::tools::parse_target(destination);
  if (!to) return tl::unexpected(to.error());
  pair.source = std::move(*from);
  pair.destination = std::move(*to);
  const auto is_lid = [](const ib::tools::Target& t) { return std::holds_alternative<Lid>(t); };
  const std::uint64_t named =
      (is_lid(pair.source) ? component::kPathSlid : component::kPathSgid) |
      (is_lid(pair.destination) ? component::kPathDlid : component::kPathDgid);
  auto all = with_options(options, ib::wire::describe<PathRecord>(), conditions);
  for (const auto& condition : all) {
    if (auto ok = pair.query.add(condition); !ok) return tl::unexpected(ok.error());
    if ((pair.query.mask() & named) != 0)
      return tl::unexpected(
          usage(fmt::format("'{}': SRC and DST say that already; ibpath "
                            "PathRecord takes fields alone",
                            ib::printable(condition))));
  }
  pair.conditions = std::move(all);
  return pair;
}

Result<std::vector<PathRecord>> fetch_paths(CommandContext& context, const Pair& pair) {
  const auto sources = resolve(context, pair.source);
  if (!sources) return tl::unexpected(sources.error());
  const auto destinations = resolve(context, pair.destination);
  if (!destinations) return tl::unexpected(destinations.error());
  std::vector<PathRecord> paths;
  for (const auto& source : *sources) {
    for (const auto& destination : *destinations) {
      const auto query = path_query(source, destination, pair.query);
      auto found = context.table(query.record, query.mask);
      if (!found) return found;
      paths.insert(paths.end(), found->begin(), found->end());
    }
  }
  return paths;
}

std::string no_path(const Pair& pair) {
  std::string text =
      "no path from " + to_string(pair.source) + " to " + to_string(pair.destination);
  const auto* gid = std::get_if<Gid>(&pair.destination);
  if (gid != nullptr && gid->is_multicast())
    text += ": there is no such group, or the source is not in it";
  else if (pair.query.mask() != 0)
    text += " that meets the conditions";
  return text;
}

Result<Job> plan_paths(const Options& options, Words words) {
  if (words.size() < 2)
    return tl::unexpected(usage("SRC and DST are needed, or a record (ibpath --help lists them)"));
  auto pair = read_pair(words[0], words[1], words.subspan(2), options);
  if (!pair) return tl::unexpected(pair.error());
  return Job([pair = std::move(*pair)](CommandContext& context) -> Result<int> {
    const auto paths = fetch_paths(context, pair);
    if (!paths) return tl::unexpected(paths.error());
    print(context.options().common.json
              ? json_report(*paths, IBKIT_VERSION)
              : text_report(*paths, context.options().common.verbose > 0));
    if (!paths->empty()) return ib::cli::kExitGood;
    return context.found_nothing(no_path(pair));
  });
}

Result<Job> plan_trace(const Options& options, Words words) {
  if (words.size() < 2) return tl::unexpected(usage("trace: SRC and DST are needed"));
  auto pair = read_pair(words[0], words[1], words.subspan(2), options);
  if (!pair) return tl::unexpected(pair.error());
  return Job([pair = std::move(*pair)](CommandContext& context) -> Result<int> {
    const auto sources = resolve(context, pair.source);
    if (!sources) return tl::unexpected(sources.error());
    const auto destinations = resolve(context, pair.destination);
    if (!destinations) return tl::unexpected(destinations.error());
    const auto query = path_query(sources->front(), destinations->front(), pair.query);
    auto nodes = context.sa().trace(query.record, query.mask);
    if (!nodes && context.is_none(nodes.error())) nodes = std::vector<ib::wire::TraceRecord>{};
    if (!nodes) return tl::unexpected(nodes.error());
    print_records("TraceRecord", *nodes, context);
    if (!nodes->empty()) return ib::cli::kExitGood;
    return context.found_nothing(no_path(pair));
  });
}

Result<Job> plan_multi(const Options& options, Words words) {
  if (words.size() < 2)
    return tl::unexpected(usage("multi: SRC[,SRC...] and DST[,DST...] are needed"));
  auto from = read_targets(words[0]);
  if (!from) return tl::unexpected(from.error());
  auto to = read_targets(words[1]);
  if (!to) return tl::unexpected(to.error());
  Query query(ib::wire::describe<ib::wire::MultiPathRecord>());
  for (const auto& condition :
       with_options(options, ib::wire::describe<ib::wire::MultiPathRecord>(), words.subspan(2)))
    if (auto ok = query.add(condition); !ok) return tl::unexpected(ok.error());
  return Job([from = std::move(*from), to = std::move(*to),
              query = std::move(query)](CommandContext& context) -> Result<int> {
    const auto sources = gids_of(context, from);
    if (!sources) return tl::unexpected(sources.error());
    const auto destinations = gids_of(context, to);
    if (!destinations) return tl::unexpected(destinations.error());
    const auto record = ib::wire::decode<ib::wire::MultiPathRecord>(query.body().data());
    auto paths = context.sa().multi_path(record, query.mask(), *sources, *destinations);
    if (!paths && context.is_none(paths.error())) paths = std::vector<PathRecord>{};
    if (!paths) return tl::unexpected(paths.error());
    print(context.options().common.json
              ? json_report(*paths, IBKIT_VERSION)
              : text_report(*paths, context.options().common.verbose > 0));
    if (!paths->empty()) return ib::cli::kExitGood;
    return context.found_nothing("no path between any of them");
  });
}

}  // namespace ibpath
