// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/node_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "tools/ibpath/paths.h"
#include "tools/ibpath/record_text.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::Guid;
using ib::Lid;
using ib::Result;
using ib::wire::McMemberRecord;
using ib::wire::NodeRecord;
using ib::wire::PortInfoRecord;

ib::Error usage(std::string text) { return {ib::ErrorKind::Usage, std::move(text), 0}; }

std::string name_of(const NodeRecord& record) {
  const auto& text = record.node_description.text;
  return ib::printable({text.data(), text.size()});
}

Result<std::vector<NodeRecord>> all_nodes(CommandContext& context) {
  return context.table(NodeRecord{}, 0);
}

/// The command has exactly so many operands.
Result<void> expect(std::string_view command, std::string_view operands, Words words,
                    std::size_t least, std::size_t most) {
  if (words.size() >= least && words.size() <= most) return {};
  return tl::unexpected(usage(most == 0 ? fmt::format("{} takes no operand", command)
                                        : fmt::format("{}: expected {}", command, operands)));
}

template <class Wanted>
Result<std::vector<NodeRecord>> nodes_where(CommandContext& context, Wanted wanted) {
  auto nodes = all_nodes(context);
  if (nodes) std::erase_if(*nodes, [&](const NodeRecord& node) { return !wanted(node); });
  return nodes;
}

/// One line of each node under a heading, or the records as JSON.
template <class Line>
void print_nodes(CommandContext& context, const std::string& heading,
                 const std::vector<NodeRecord>& nodes, Line line) {
  if (context.options().common.json) return print_records("NodeRecord", nodes, context);
  print(heading);
  for (const NodeRecord& node : nodes) print(line(node) + "\n");
}

/// Prints the nodes that have what was named; `none` says that there is none.
template <class Line>
Result<int> print_owners(CommandContext& context, const std::string& none,
                         const Result<std::vector<NodeRecord>>& owners, Line line) {
  if (!owners) return tl::unexpected(owners.error());
  if (owners->empty()) return ib::fail(ib::ErrorKind::NotFound, none);
  print_nodes(context, "", *owners, line);
  return ib::cli::kExitGood;
}

void warn_of_hidden_members(const Options& options) {
  const bool has_key = options.sm_key != 0 || !options.sm_key_file.empty();
  ib::cli::complain(
      kProgram,
      fmt::format("the SA shows members of groups only to requests with its key{}",
                  has_key ? "; the key given is not it" : "; give it by --sa-key or --sa-key-file"),
      ib::cli::kExitGood);
}

template <class Line>
Job by_name(const std::string& name, Line line) {
  return [name, line](CommandContext& context) {
    return print_owners(context, "", nodes_by_name(context, name), line);
  };
}

}  // namespace

Result<Job> plan_list(const Options&, Words words) {
  if (auto ok = expect("list", "", words, 0, 0); !ok) return tl::unexpected(ok.error());
  return Job([](CommandContext& context) -> Result<int> {
    const auto nodes = nodes_where(context, [](const NodeRecord& node) {
      return node.node_info.node_type == ib::wire::NodeType::ChannelAdapter;
    });
    if (!nodes) return tl::unexpected(nodes.error());
    print_nodes(context, "   LID \"name\"\n================\n", *nodes, [](const NodeRecord& node) {
      return fmt::format("{:6}  \"{}\"", node.lid.value, name_of(node));
    });
    if (!nodes->empty()) return ib::cli::kExitGood;
    return context.found_nothing("the SA knows no channel adapter");
  });
}

Result<Job> plan_lid_of(const Options&, Words words) {
  if (auto ok = expect("lid-of", "NAME", words, 1, 1); !ok) return tl::unexpected(ok.error());
  return by_name(words[0], [](const NodeRecord& node) { return to_string(node.lid); });
}

Result<Job> plan_guid_of(const Options&, Words words) {
  if (auto ok = expect("guid-of", "NAME", words, 1, 1); !ok) return tl::unexpected(ok.error());
  return by_name(words[0],
                 [](const NodeRecord& node) { return to_string(node.node_info.port_guid); });
}

Result<Job> plan_name_of(const Options&, Words words) {
  constexpr const char* kOperand = "LID, GUID or GID";
  if (auto ok = expect("name-of", kOperand, words, 1, 1); !ok) return tl::unexpected(ok.error());
  const auto target = ib::tools::parse_target(words[0]);
  if (!target) return tl::unexpected(target.error());
  const std::string none = "no port has " + to_string(*target);
  if (const auto* lid = std::get_if<Lid>(&*target)) {
    // The SA finds a port by any of its LIDs.
    NodeRecord wanted;
    wanted.lid = *lid;
    return Job([wanted, none](CommandContext& context) {
      return print_owners(context, none, context.table(wanted, ib::query::component::kNodeLid),
                          name_of);
    });
  }
  if (const auto* guid = std::get_if<Guid>(&*target))
    return Job([guid = *guid, none](CommandContext& context) {
      const auto gid = ib::Gid::from(context.facts().gid_prefix, guid);
      return print_owners(context, none, nodes_of_gid(context, gid), name_of);
    });
  if (const auto* gid = std::get_if<ib::Gid>(&*target))
    return Job([gid = *gid, none](CommandContext& context) {
      return print_owners(context, none, nodes_of_gid(context, gid), name_of);
    });
  return tl::unexpected(
      usage(fmt::format("name-of: expected {}, got '{}'", kOperand, ib::printable(words[0]))));
}

Result<Job> plan_sms(const Options&, Words words) {
  if (auto ok = expect("sms", "", words, 0, 0); !ok) return tl::unexpected(ok.error());
  return Job([](CommandContext& context) -> Result<int> {
    // With this modifier the mask selects ports that have the bit, whatever else they have.
    constexpr std::uint32_t kAnyBit = 1U << 31;
    std::vector<PortInfoRecord> all;
    for (const std::uint32_t bit : {ib::wire::port_cap::kIsSm, ib::wire::port_cap::kSmDisabled}) {
      PortInfoRecord wanted;
      wanted.port_info.capability_mask = bit;
      const auto ports = context.table(
          wanted, ib::wire::component<&ib::wire::PortInfo::capability_mask>(), kAnyBit);
      if (!ports) return tl::unexpected(ports.error());
      all.insert(all.end(), ports->begin(), ports->end());
      if (context.options().common.json) continue;
      print(bit == ib::wire::port_cap::kIsSm ? "IsSM ports\n" : "\nIsSMdisabled ports\n");
      for (const PortInfoRecord& port : *ports) print(sm_port_text(port));
    }
    if (context.options().common.json) print_records("PortInfoRecord", all, context);
    return ib::cli::kExitGood;
  });
}

Result<Job> plan_groups(const Options&, Words words) {
  if (auto ok = expect("groups", "", words, 0, 0); !ok) return tl::unexpected(ok.error());
  return Job([](CommandContext& context) -> Result<int> {
    const auto groups = context.table(McMemberRecord{}, 0);
    if (!groups) return tl::unexpected(groups.error());
    if (context.options().common.json) {
      print_records("MCMemberRecord", *groups, context);
    } else {
      for (const McMemberRecord& group : *groups) print(group_text(group));
    }
    if (!groups->empty()) return ib::cli::kExitGood;
    return context.found_nothing("the SA has no multicast group");
  });
}

Result<Job> plan_members(const Options&, Words words) {
  if (auto ok = expect("members", "nothing or a multicast LID", words, 0, 1); !ok)
    return tl::unexpected(ok.error());
  Lid mlid{};
  if (!words.empty() && (!ib::parse_lid(words[0], mlid) || !mlid.is_multicast()))
    return tl::unexpected(
        usage(fmt::format("members: expected a multicast LID (0xc000 to 0xfffe), got '{}'",
                          ib::printable(words[0]))));
  return Job([mlid](CommandContext& context) -> Result<int> {
    auto members = context.table(McMemberRecord{}, 0);
    if (!members) return tl::unexpected(members.error());
    const bool all = mlid == Lid{};
    std::erase_if(*members, [&](const McMemberRecord& m) { return !all && m.mlid != mlid; });
    if (context.options().common.json) print(json_members(*members, IBKIT_VERSION));
    if (members->empty())
      return context.found_nothing(
          all ? "the SA has no member of a multicast group"
              : fmt::format("the SA has no member of a group of LID 0x{:04x}", mlid.value));
    if (!std::ranges::all_of(*members, is_member_shown)) warn_of_hidden_members(context.options());
    if (context.options().common.json) return ib::cli::kExitGood;
    const auto nodes = all_nodes(context);
    if (!nodes) return tl::unexpected(nodes.error());
    for (const McMemberRecord& member : *members) {
      const auto node = std::ranges::find_if(*nodes, [&](const NodeRecord& n) {
        return n.node_info.port_guid == member.port_gid.guid();
      });
      const std::string name = node == nodes->end() ? "<unknown>" : name_of(*node);
      print(all ? member_text(member, name) : member_of_group_text(member, name));
    }
    return ib::cli::kExitGood;
  });
}

}  // namespace ibpath
