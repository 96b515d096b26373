// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any answers to the walks of ibtracer: an SA's records on the way to a LID, switches' tables on
// the tree of a multicast LID. Each walk comes to its end and says in a line how.
#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/query/multicast_walk.h"
#include "libdiag/query/sa_path_walk.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/query/echo_port.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using ib::mad::Packet;
using ib::query::test::answer_to;
namespace query = ib::query;
namespace wire = ib::wire;

// Numbers of a byte, so that nodes and LIDs are met again.
wire::NodeInfo node_info(Input& input) {
  wire::NodeInfo info;
  info.node_type = static_cast<wire::NodeType>(input.byte() % 4);
  info.node_guid = info.port_guid = ib::Guid{input.byte()};
  info.num_ports = input.byte();
  info.local_port_num = ib::PortNum{input.byte()};
  return info;
}
wire::NodeDescription description(Input& input) {
  wire::NodeDescription name;
  for (std::size_t i = 0; i < 3; ++i) name.text[i] = static_cast<char>(input.byte());
  return name;
}
wire::PortInfo port_info(Input& input) {
  wire::PortInfo info;
  info.port_state = static_cast<wire::PortState>(input.byte() % 8);
  info.lid = ib::Lid{input.byte()};
  info.lmc = input.byte() % 8;
  return info;
}

void fill(wire::NodeRecord& record, Input& input) {
  record.node_info = node_info(input);
  record.node_description = description(input);
}
void fill(wire::PortInfoRecord& record, Input& input) { record.port_info = port_info(input); }
void fill(wire::LinkRecord& record, Input& input) {
  record.to_lid = ib::Lid{input.byte()};
  record.to_port = ib::PortNum{input.byte()};
}
void fill(wire::LinearFdtRecord& record, Input& input) { record.table.port.fill(input.byte()); }

/// Bytes of the answer behind its headers are others.
Packet spoiled(Packet answer, std::size_t changed, Input& input) {
  for (std::size_t i = 0; i < changed; ++i)
    answer.mad.bytes[24 + input.byte() % 232U] = static_cast<std::byte>(input.byte());
  return answer;
}

template <class Record>
Packet table_of(const Packet& request, std::size_t count, Input& input) {
  std::vector<Record> records(count, wire::body<Record>(request.mad));
  for (Record& record : records) fill(record, input);
  return query::test::table_answer(request, records, (wire::LayoutOf<Record>::kBytes + 7) / 8 * 8);
}

std::optional<Packet> sa_answer(const Packet& request, Input& input) {
  const std::uint8_t how = input.byte();
  if (how % 16 == 15) return std::nullopt;
  if (how % 16 == 14) return answer_to(request, wire::Method::GetTableResp, input.byte());
  const std::size_t count = how % 16 == 13 ? 0 : how % 16 == 12 ? 2 : 1;
  const std::size_t changed = how / 64 * std::size_t{4};
  switch (request.mad.attribute_id()) {
    case wire::attr::kNodeRecord:
      return spoiled(table_of<wire::NodeRecord>(request, count, input), changed, input);
    case wire::attr::kPortInfoRecord:
      return spoiled(table_of<wire::PortInfoRecord>(request, count, input), changed, input);
    case wire::attr::kLinkRecord:
      return spoiled(table_of<wire::LinkRecord>(request, count, input), changed, input);
    case wire::attr::kLinearFdtRecord:
      return spoiled(table_of<wire::LinearFdtRecord>(request, count, input), changed, input);
    default:
      require(false, "other records are not asked for");
      return std::nullopt;
  }
}

std::optional<Packet> switch_answer(const Packet& request, Input& input) {
  const std::uint8_t how = input.byte();
  if (how % 16 == 15) return std::nullopt;
  Packet answer = answer_to(request, wire::Method::GetResp, how % 16 == 14 ? input.byte() : 0);
  switch (request.mad.attribute_id()) {
    case wire::attr::kNodeInfo:
      wire::set_body(answer.mad, node_info(input));
      break;
    case wire::attr::kNodeDescription:
      wire::set_body(answer.mad, description(input));
      break;
    case wire::attr::kPortInfo:
      wire::set_body(answer.mad, port_info(input));
      break;
    case wire::attr::kSwitchInfo: {
      wire::SwitchInfo info;
      info.multicast_fdb_cap = static_cast<std::uint16_t>(input.byte() * 64U);
      info.default_multicast_primary_port = input.byte();
      info.default_multicast_not_primary_port = input.byte();
      wire::set_body(answer.mad, info);
      break;
    }
    case wire::attr::kMulticastForwarding: {
      wire::MulticastForwardingTable table;
      table.port_mask.fill(static_cast<std::uint16_t>(input.byte() << 8U | input.byte()));
      wire::set_body(answer.mad, table);
      break;
    }
    default:
      require(false, "nothing else is asked for");
  }
  return spoiled(std::move(answer), how / 64 * std::size_t{4}, input);
}

void walk_records(Input& input) {
  query::test::Echo echo([&](const Packet& request) { return sa_answer(request, input); });
  ib::mad::Session session(echo, {}, [&] { return echo.now; });
  query::SaClient sa(session, {ib::Lid{1}, ib::Sl{0}, 0});
  ib::mad::PortFacts own;
  own.lid = ib::Lid{2};
  own.port_num = 1;
  own.node_guid = ib::Guid{2};
  query::SaPathWalk walker(sa, own);
  for (int again = 0; again < 2; ++again) {
    const auto walk = walker.walk(ib::Lid{input.byte()});
    if (!walk) continue;
    require(walk->end != query::WalkEnd::Running, "a walk comes to its end");
    require(walk->hops.size() <= query::kHopsMax + 1, "it is not longer than a route can be");
    require(walk->arrived() == walk->failure.empty(), "what failed is said");
    require(ib::printable(walk->failure) == walk->failure, "a line that can be printed");
  }
}

void walk_tree(Input& input) {
  query::test::Echo echo([&](const Packet& request) { return switch_answer(request, input); });
  ib::mad::Session session(echo, {}, [&] { return echo.now; });
  query::TreeStart start;
  start.ingress_port = input.byte();
  const ib::Lid mlid{static_cast<std::uint16_t>(0xC000 + input.byte())};
  const auto tree = query::walk_multicast_tree(session, mlid, start);
  if (!tree) return;
  for (std::size_t i = 0; i < tree->nodes.size(); ++i) {
    const query::TreeNode& node = tree->nodes[i];
    require(i == 0 ? node.parent == query::TreeNode::kNone : node.parent < i,
            "parents stand before their children");
    require(node.depth <= query::kHopsMax, "it is not deeper than a route can be");
  }
  for (const auto& fault : tree->faults)
    require(!fault.message.empty() && ib::printable(fault.message) == fault.message,
            "a line that can be printed");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;  // more makes walks no longer
  Input input(data, size);
  if ((input.byte() & 1) == 0)
    walk_records(input);
  else
    walk_tree(input);
  return 0;
}
