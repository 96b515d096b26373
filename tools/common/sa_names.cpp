// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/sa_names.h"

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "libdiag/query/sa_client.h"

namespace ib::tools {
namespace {

using wire::NodeRecord;
namespace component = query::component;

std::string_view description_of(const NodeRecord& record) {
  const auto& text = record.node_description.text;
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

/// The records of the node that `text` means, of these.
Result<std::vector<NodeRecord>> find_among(const std::vector<NodeRecord>& records,
                                           const std::string& text,
                                           const fabric::NodeNames& names) {
  std::vector<fabric::NamedNode> nodes;
  std::vector<const NodeRecord*> firsts;
  std::set<Guid> seen;
  for (const NodeRecord& record : records) {
    if (!seen.insert(record.node_info.node_guid).second) continue;
    nodes.push_back({record.node_info.node_guid,
                     record.node_info.node_type == wire::NodeType::Switch,
                     description_of(record),
                     {}});
    firsts.push_back(&record);
  }
  const auto found = fabric::find_named(
      nodes, text, &names, [&](std::size_t n) { return "LID " + to_string(firsts[n]->lid); });
  if (!found) return tl::unexpected<Error>(found.error());
  std::vector<NodeRecord> out;
  std::ranges::copy_if(records, std::back_inserter(out), [&](const NodeRecord& record) {
    return record.node_info.node_guid == nodes[*found].guid;
  });
  return out;
}

}  // namespace

Result<std::vector<NodeRecord>> find_among_node_records(const std::vector<NodeRecord>& records,
                                                        const std::string& text,
                                                        const fabric::NodeNames& names) {
  auto whole = find_among(records, text, names);
  const std::size_t colon = text.rfind(':');
  std::uint64_t port = 0;
  if (whole || whole.error().kind != ErrorKind::NotFound || colon == std::string::npos ||
      !parse_number(std::string_view(text).substr(colon + 1), 254, port))
    return whole;
  auto node = find_among(records, text.substr(0, colon), names);
  if (!node) return node;
  std::erase_if(*node, [&](const NodeRecord& record) {
    return record.node_info.node_type != wire::NodeType::Switch &&
           record.node_info.local_port_num.value != port;
  });
  if (node->empty())
    return fail(ErrorKind::NotFound, "'" + printable(text.substr(0, colon)) + "' has no port " +
                                         std::to_string(port) + " that the SA knows");
  return node;
}

Result<std::vector<NodeRecord>> find_node_records(const NodeTable& table, const std::string& text,
                                                  const fabric::NodeNames& names) {
  NodeRecord wanted;
  if (const auto guid = names.find_guid(text)) {
    wanted.node_info.node_guid = *guid;
    auto found = table(wanted, component::kNodeGuid);
    if (!found || !found->empty()) return found;
  }
  auto& description = wanted.node_description.text;
  if (text.size() <= description.size()) {
    std::ranges::copy(text, description.begin());
    const auto found = table(wanted, component::kNodeDescription);
    if (!found) return tl::unexpected<Error>(found.error());
    if (!found->empty()) return find_among(*found, text, names);
  }
  const auto all = table(NodeRecord{}, 0);
  if (!all) return tl::unexpected<Error>(all.error());
  return find_among_node_records(*all, text, names);
}

}  // namespace ib::tools
