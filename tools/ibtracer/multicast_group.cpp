// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/multicast_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/base/text.h"

namespace ibtracer {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::query::SaClient;
namespace component = ib::query::component;
namespace wire = ib::wire;

namespace {

std::string name_of(const Group& group) {
  if (const auto* mgid = std::get_if<Gid>(&group)) return ib::to_string(*mgid);
  return fmt::format("lid 0x{:04x}", std::get<Lid>(group).value);
}

ib::Result<std::vector<wire::McMemberRecord>> records_of(SaClient& sa,
                                                         const wire::McMemberRecord& wanted,
                                                         std::uint64_t mask) {
  auto found = sa.get_table(wanted, mask);
  if (!found && found.error().mad_status == wire::status::kSaNoRecords)
    return std::vector<wire::McMemberRecord>{};
  return found;
}

/// All members of all groups that have the LID of `group`.
ib::Result<std::vector<wire::McMemberRecord>> records_of_lid(SaClient& sa, const Group& group) {
  const auto none = [&] {
    return ib::fail(ib::ErrorKind::NotFound,
                    fmt::format("find group {}: the SA has none with members", name_of(group)));
  };
  wire::McMemberRecord wanted;
  if (const auto* mgid = std::get_if<Gid>(&group)) {
    wanted.mgid = *mgid;
    const auto of_group = records_of(sa, wanted, component::kMcMgid);
    if (!of_group) return tl::unexpected(of_group.error());
    if (of_group->empty()) return none();
    wanted.mlid = of_group->front().mlid;
  } else {
    wanted.mlid = std::get<Lid>(group);
  }
  auto all = records_of(sa, wanted, component::kMcMlid);
  if (all && all->empty()) return none();
  return all;
}

using NodesByPort = std::map<Guid, wire::NodeRecord>;

ib::Result<NodesByPort> nodes_by_port(SaClient& sa) {
  const auto records = sa.get_table(wire::NodeRecord{}, 0);
  if (!records) return tl::unexpected(records.error());
  NodesByPort nodes;
  for (const wire::NodeRecord& record : *records) nodes[record.node_info.port_guid] = record;
  return nodes;
}

Member member_of(const wire::McMemberRecord& record, const NodesByPort& nodes,
                 const ib::fabric::NodeNames* names) {
  Member member;
  member.port_gid = record.port_gid;
  member.join_state = record.join_state;
  const auto node = nodes.find(record.port_gid.guid());
  if (node == nodes.end()) return member;
  const wire::NodeInfo& info = node->second.node_info;
  member.node_guid = info.node_guid;
  member.lid = node->second.lid;
  const auto& text = node->second.node_description.text;
  member.own_name.assign(text.begin(), std::find(text.begin(), text.end(), '\0'));
  member.is_switch = info.node_type == wire::NodeType::Switch;
  member.name = ib::fabric::name_in(names, info.node_guid, member.own_name);
  // A switch takes part by its port 0; LocalPortNum is that of the requester.
  if (!member.is_switch) member.port = info.local_port_num.value;
  return member;
}

}  // namespace

ib::Result<GroupMembers> read_group(SaClient& sa, const Group& group,
                                    const ib::fabric::NodeNames* names) {
  const auto records = records_of_lid(sa, group);
  if (!records) return tl::unexpected(records.error());
  GroupMembers found;
  const auto* mgid = std::get_if<Gid>(&group);
  found.mgid = mgid != nullptr ? *mgid : records->front().mgid;
  found.mlid = records->front().mlid;
  const auto nodes = nodes_by_port(sa);
  if (!nodes) return tl::unexpected(nodes.error());
  for (const wire::McMemberRecord& record : *records) {
    if (record.mgid != found.mgid) {
      found.others.push_back(record.port_gid.guid());
    } else if (record.port_gid.is_zero()) {
      // Without its key an SA shows a group in place of its members.
      return ib::fail(ib::ErrorKind::Refused,
                      fmt::format("the SA shows the members of group {} only to requests with its "
                                  "key; give it by --sa-key or --sa-key-file",
                                  name_of(group)));
    } else {
      found.members.push_back(member_of(record, *nodes, names));
    }
  }
  std::ranges::sort(found.members, {},
                    [](const Member& m) { return std::pair(m.lid, m.port_gid); });
  return found;
}

ib::Result<const Member*> find_member(const GroupMembers& group, const ib::tools::Target& target,
                                      const ib::fabric::NodeNames* names) {
  std::optional<Guid> node;
  if (const auto* name = std::get_if<ib::tools::NodeName>(&target)) {
    std::vector<ib::fabric::NamedNode> nodes;
    for (const Member& member : group.members)
      if (std::ranges::find(nodes, member.node_guid, &ib::fabric::NamedNode::guid) == nodes.end())
        nodes.push_back({member.node_guid, member.is_switch, member.own_name, {}});
    const auto found =
        ib::fabric::find_named(nodes, name->text, names, [](std::size_t) { return std::string(); });
    if (!found && found.error().kind != ib::ErrorKind::NotFound)
      return tl::unexpected(found.error());
    if (!found) return nullptr;
    node = nodes[*found].guid;
  }
  const auto is_meant = [&](const Member& member) {
    if (node) return member.node_guid == *node;
    if (const auto* lid = std::get_if<Lid>(&target)) return member.lid == *lid;
    if (const auto* gid = std::get_if<Gid>(&target)) return member.port_gid == *gid;
    const auto* guid = std::get_if<Guid>(&target);
    return guid != nullptr && (member.port_gid.guid() == *guid || member.node_guid == *guid);
  };
  const auto found = std::ranges::find_if(group.members, is_meant);
  return found == group.members.end() ? nullptr : &*found;
}

ib::Result<wire::LinkRecord> link_of(SaClient& sa, const Member& member) {
  wire::LinkRecord wanted;
  wanted.from_lid = member.lid;
  wanted.from_port = ib::PortNum{member.port};
  auto links = sa.get_table(wanted, component::kLinkFromLid | component::kLinkFromPort);
  if (!links && links.error().mad_status != wire::status::kSaNoRecords)
    return tl::unexpected(std::move(links.error()));
  if (!links || links->empty())
    return ib::fail(ib::ErrorKind::NotFound,
                    fmt::format("the SA has no link of \"{}\" port {} (lid {})",
                                ib::printable(member.name), member.port, member.lid.value));
  return links->front();
}

}  // namespace ibtracer
