// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "tools/ibpath/paths.h"

namespace ibpath {
namespace {

using ib::ErrorKind;
using ib::Gid;
using ib::Lid;
using ib::PortNum;
using ib::Result;
using ib::wire::component;
using ib::wire::PathRecord;
namespace wire = ib::wire;

constexpr std::size_t kMostLinks = 64;
constexpr unsigned kLidsPerBlock = 64;
constexpr std::uint8_t kNoPort = 255;

std::string name_of(const wire::NodeRecord& node) {
  const auto& text = node.node_description.text;
  return ib::printable({text.data(), text.size()});
}

/// What was asked before is not asked again: both directions share most of it.
class Atlas {
 public:
  explicit Atlas(CommandContext& context) : context_(context) {}

  Result<wire::NodeRecord> node(Lid lid) {
    if (const auto known = nodes_.find(lid); known != nodes_.end()) return known->second;
    wire::NodeRecord wanted;
    wanted.lid = lid;
    auto found = first(wanted, component<&wire::NodeRecord::lid>(),
                       fmt::format("the SA knows no port of LID {}", lid.value));
    if (found) nodes_.emplace(lid, *found);
    return found;
  }

  Result<wire::PortInfo> port(Lid lid, std::uint8_t number) {
    const auto key = std::pair(lid, number);
    if (const auto known = ports_.find(key); known != ports_.end()) return known->second;
    wire::PortInfoRecord wanted;
    wanted.end_port_lid = lid;
    wanted.port_num = PortNum{number};
    const auto found =
        first(wanted,
              component<&wire::PortInfoRecord::end_port_lid>() |
                  component<&wire::PortInfoRecord::port_num>(),
              fmt::format("the SA has no PortInfo of LID {} port {}", lid.value, number));
    if (!found) return tl::unexpected(found.error());
    return ports_.emplace(key, found->port_info).first->second;
  }

  Result<wire::LinkRecord> link(Lid lid, std::uint8_t port) {
    wire::LinkRecord wanted;
    wanted.from_lid = lid;
    wanted.from_port = PortNum{port};
    return first(
        wanted,
        component<&wire::LinkRecord::from_lid>() | component<&wire::LinkRecord::from_port>(),
        fmt::format("the SA knows no link of LID {} port {}", lid.value, port));
  }

  /// The port by which a switch sends packets to `destination`.
  Result<std::uint8_t> entry(Lid at, Lid destination) {
    wire::LinearFdtRecord wanted;
    wanted.lid = at;
    wanted.block = static_cast<std::uint16_t>(destination.value / kLidsPerBlock);
    const auto found =
        first(wanted,
              component<&wire::LinearFdtRecord::lid>() | component<&wire::LinearFdtRecord::block>(),
              fmt::format("the SA has no block {} of the LFT of LID {}", wanted.block, at.value));
    if (!found) return tl::unexpected(found.error());
    return found->table.port[destination.value % kLidsPerBlock];
  }

  /// The VL of an SL behind a port; none when the SA does not show it.
  std::optional<std::uint8_t> vl(Lid at, std::uint8_t in, std::uint8_t out, ib::Sl sl) {
    wire::SlToVlRecord wanted;
    wanted.lid = at;
    wanted.input_port = PortNum{in};
    wanted.output_port = PortNum{out};
    const auto found = context_.table(wanted, component<&wire::SlToVlRecord::lid>() |
                                                  component<&wire::SlToVlRecord::input_port>() |
                                                  component<&wire::SlToVlRecord::output_port>());
    if (!found || found->empty()) return std::nullopt;
    return found->front().table.vl[sl.value % 16];
  }

  /// What arbitration behind a port gives a VL; none when the SA does not show it.
  std::optional<ib::tables::VlShare> share(Lid at, std::uint8_t out, std::uint8_t vl) {
    constexpr std::uint8_t kHighBlocks = 3;
    const auto key = std::pair(at, out);
    auto known = arbitration_.find(key);
    if (known == arbitration_.end()) {
      wire::VlArbitrationRecord wanted;
      wanted.lid = at;
      wanted.output_port = PortNum{out};
      auto found = context_.table(wanted, component<&wire::VlArbitrationRecord::lid>() |
                                              component<&wire::VlArbitrationRecord::output_port>());
      known =
          arbitration_
              .emplace(key, found ? *std::move(found) : std::vector<wire::VlArbitrationRecord>{})
              .first;
    }
    if (known->second.empty()) return std::nullopt;
    std::vector<wire::VlArbitrationTable> low, high;
    for (const auto& record : known->second)
      (record.block < kHighBlocks ? low : high).push_back(record.table);
    return ib::tables::vl_share(vl, low, high);
  }

  /// P_Keys of an end port; none when the SA does not show them.
  std::optional<std::vector<ib::PKey>> p_keys(Lid lid, std::uint8_t port) {
    wire::PKeyTableRecord wanted;
    wanted.lid = lid;
    wanted.port = PortNum{port};
    const auto found = context_.table(wanted, component<&wire::PKeyTableRecord::lid>() |
                                                  component<&wire::PKeyTableRecord::port>());
    if (!found || found->empty()) return std::nullopt;
    std::vector<ib::PKey> keys;
    for (const auto& record : *found)
      keys.insert(keys.end(), record.table.p_keys.begin(), record.table.p_keys.end());
    return keys;
  }

 private:
  template <class Record>
  Result<Record> first(const Record& wanted, std::uint64_t mask, const std::string& none) {
    auto found = context_.table(wanted, mask);
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) return ib::fail(ErrorKind::NotFound, none);
    return found->front();
  }

  CommandContext& context_;
  std::map<Lid, wire::NodeRecord> nodes_;
  std::map<std::pair<Lid, std::uint8_t>, wire::PortInfo> ports_;
  std::map<std::pair<Lid, std::uint8_t>, std::vector<wire::VlArbitrationRecord>> arbitration_;
};

LinkEnd end_of(const wire::NodeRecord& node, Lid lid, std::uint8_t port,
               const wire::PortInfo& info) {
  return {lid,
          port,
          name_of(node),
          info,
          node.node_info.node_type,
          node.node_info.node_guid,
          node.node_info.port_guid};
}

bool holds(Lid base, std::uint8_t lmc, Lid wanted) {
  return wanted.value >= base.value && wanted.value < base.value + (1U << lmc);
}

/// The way through the forwarding tables. An SA that does not answer is an error; a way that ends
/// somewhere else is a Way that says so.
Result<Way> walk(Atlas& atlas, Lid source, Lid destination, ib::Sl sl) {
  Way way;
  const auto broken = [&](std::string why) {
    way.broken = std::move(why);
    return way;
  };
  const auto missing = [&](const ib::Error& error) -> Result<Way> {
    if (error.kind == ErrorKind::NotFound) return broken(error.message);
    return tl::unexpected(error);
  };
  Lid at = source;
  std::uint8_t in = 0;
  std::set<Lid> passed;
  while (way.links.size() <= kMostLinks) {
    const auto node = atlas.node(at);
    if (!node) return missing(node.error());
    const bool is_switch = node->node_info.node_type == wire::NodeType::Switch;
    const auto own = is_switch ? std::uint8_t{0} : node->node_info.local_port_num.value;
    const auto port = atlas.port(at, own);
    if (!port) return missing(port.error());
    if (holds(node->lid, port->lmc, destination)) return way;
    if (!is_switch && !way.links.empty())
      return broken(fmt::format("delivered to {} (LID {}), which does not have LID {}",
                                name_of(*node), node->lid.value, destination.value));
    if (!passed.insert(node->lid).second)
      return broken(fmt::format("a loop: back at {} (LID {})", name_of(*node), node->lid.value));
    std::uint8_t out = own;
    if (is_switch) {
      const auto entry = atlas.entry(node->lid, destination);
      if (!entry) return missing(entry.error());
      out = *entry;
      if (out == kNoPort || out == 0 || out > node->node_info.num_ports)
        return broken(fmt::format("{} (LID {}) has no route to LID {}: its LFT entry is {}",
                                  name_of(*node), node->lid.value, destination.value, out));
    }
    const auto next = atlas.link(node->lid, out);
    if (!next) return missing(next.error());
    const auto leaving = atlas.port(node->lid, out);
    if (!leaving) return missing(leaving.error());
    const auto entering = atlas.port(next->to_lid, next->to_port.value);
    if (!entering) return missing(entering.error());
    const auto peer = atlas.node(next->to_lid);
    if (!peer) return missing(peer.error());
    const auto vl = atlas.vl(node->lid, is_switch ? in : std::uint8_t{0}, out, sl);
    way.links.push_back({end_of(*node, node->lid, out, *leaving),
                         end_of(*peer, next->to_lid, next->to_port.value, *entering), vl,
                         vl ? atlas.share(node->lid, out, *vl) : std::nullopt});
    in = next->to_port.value;
    at = next->to_lid;
  }
  return broken(fmt::format("more than {} links", kMostLinks));
}

/// The IPoIB broadcast group of a partition: ff12:401b:PKEY::ffff:ffff, full membership.
Gid broadcast_gid(ib::PKey key) {
  Gid gid;
  gid.bytes = {0xFF, 0x12, 0x40, 0x1B, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  const unsigned full = key.value | 0x8000U;
  gid.bytes[4] = static_cast<std::uint8_t>(full >> 8);
  gid.bytes[5] = static_cast<std::uint8_t>(full);
  return gid;
}

PathQuery asked_of(const Query& query) {
  return {ib::wire::decode<PathRecord>(query.body().data()), query.mask()};
}

/// A path back by the same SL and P_Key: of the same traffic, which a QoS policy may treat by a
/// rule of its own; else of the partition; else by the SL that the SA gives by itself.
Result<std::optional<PathRecord>> path_back(CommandContext& context, const PathRecord& path,
                                            const PathQuery& asked) {
  PathRecord home;
  home.slid = path.dlid;
  home.dlid = path.slid;
  home.p_key = path.p_key;
  home.sl = path.sl;
  home.service_id = asked.record.service_id;
  home.qos_class = asked.record.qos_class;
  const auto ends = component<&PathRecord::slid>() | component<&PathRecord::dlid>();
  const auto p_key = component<&PathRecord::p_key>(), sl = component<&PathRecord::sl>();
  // Both halves of a ServiceID have a bit.
  const auto service_id = component<&PathRecord::service_id>() * 3;
  const auto traffic = asked.mask & (p_key | service_id | component<&PathRecord::qos_class>());
  for (const auto mask : {ends | traffic | sl, ends | p_key | sl, ends | p_key}) {
    const auto paths = context.table(home, mask);
    if (!paths) return tl::unexpected(paths.error());
    const auto same = std::ranges::find_if(
        *paths, [&](const PathRecord& back) { return back.p_key.base() == path.p_key.base(); });
    if (same != paths->end()) return *same;
  }
  return std::nullopt;
}

Result<PathFacts> gather(CommandContext& context, Atlas& atlas, const PathRecord& path,
                         PathQuery asked) {
  PathFacts facts;
  facts.path = path;
  facts.asked = asked;
  const auto source = atlas.node(path.slid), destination = atlas.node(path.dlid);
  if (!source) return tl::unexpected(source.error());
  if (!destination) return tl::unexpected(destination.error());
  facts.source_name = name_of(*source);
  facts.destination_name = name_of(*destination);
  auto there = walk(atlas, path.slid, path.dlid, path.sl);
  if (!there) return tl::unexpected(there.error());
  facts.there = std::move(*there);
  auto back = walk(atlas, path.dlid, path.slid, path.sl);
  if (!back) return tl::unexpected(back.error());
  facts.back = std::move(*back);

  auto home = path_back(context, path, asked);
  if (!home) return tl::unexpected(home.error());
  facts.back_path = *home;

  const auto keys = [&](const wire::NodeRecord& node) {
    const bool is_switch = node.node_info.node_type == wire::NodeType::Switch;
    return atlas.p_keys(node.lid,
                        is_switch ? std::uint8_t{0} : node.node_info.local_port_num.value);
  };
  // A switch's own port is no link's end, but may be slower than all of them.
  const auto own_port = [&](const wire::NodeRecord& node) -> Result<std::optional<wire::PortInfo>> {
    if (node.node_info.node_type != wire::NodeType::Switch) return std::nullopt;
    const auto port = atlas.port(node.lid, 0);
    if (!port) return tl::unexpected(port.error());
    return *port;
  };
  const auto own_source = own_port(*source), own_destination = own_port(*destination);
  if (!own_source) return tl::unexpected(own_source.error());
  if (!own_destination) return tl::unexpected(own_destination.error());
  facts.source_port0 = *own_source;
  facts.destination_port0 = *own_destination;
  facts.source_keys = keys(*source);
  facts.destination_keys = keys(*destination);
  wire::McMemberRecord group;
  group.mgid = broadcast_gid(path.p_key);
  // Without a key: to one who has it an SA shows members, of whom there may be none.
  auto address = context.sa().address();
  address.sm_key = 0;
  const auto groups = ib::query::SaClient(context.session(), address)
                          .get_table(group, component<&wire::McMemberRecord::mgid>());
  if (groups && !groups->empty()) facts.broadcast_group = groups->front();
  return facts;
}

/// Asked one by one: the conditions that no path meets, against the path there is without any.
Result<std::optional<Unmet>> find_unmet(CommandContext& context, Atlas& atlas, const Pair& pair) {
  Pair without = pair;
  without.query = Query(wire::describe<PathRecord>());
  const auto paths = fetch_paths(context, without);
  if (!paths) return tl::unexpected(paths.error());
  if (paths->empty()) return std::nullopt;
  auto facts = gather(context, atlas, paths->front(), {});
  if (!facts) return tl::unexpected(facts.error());
  Unmet unmet{{std::move(*facts), {}}, {}};
  for (const auto& condition : pair.conditions) {
    Pair alone = without;
    if (auto ok = alone.query.add(condition); !ok) return tl::unexpected(ok.error());
    const auto met = fetch_paths(context, alone);
    if (!met) return tl::unexpected(met.error());
    if (!met->empty()) continue;
    const auto asked = asked_of(alone.query);
    PathFacts tried = unmet.without.facts;
    if ((asked.mask & component<&PathRecord::sl>()) != 0) {
      auto way = walk(atlas, tried.path.slid, tried.path.dlid, asked.record.sl);
      if (!way) return tl::unexpected(way.error());
      tried.asked_sl_way = std::move(*way);
    }
    unmet.conditions.push_back(ibpath::unmet(condition, asked, tried));
  }
  unmet.without.reasons = judge(unmet.without.facts);
  return unmet;
}

/// There is no path: says what keeps the conditions from being met, if that is what it is.
Result<int> explain_nothing(CommandContext& context, Atlas& atlas, const Pair& pair) {
  std::optional<Unmet> unmet;
  if (!pair.conditions.empty()) {
    auto found = find_unmet(context, atlas, pair);
    if (!found) return tl::unexpected(found.error());
    unmet = std::move(*found);
  }
  if (context.options().common.json)
    print(explain_json({}, unmet, IBKIT_VERSION));
  else if (unmet)
    print(unmet_text(*unmet));
  if (pair.conditions.empty() || unmet) return context.found_nothing(no_path(pair));
  Pair without = pair;
  without.query = Query(wire::describe<PathRecord>());
  return context.found_nothing(no_path(without) + ", with or without the conditions");
}

}  // namespace

Result<Job> plan_explain(const Options& options, Words words) {
  if (words.size() < 2) return ib::fail(ErrorKind::Usage, "explain: SRC and DST are needed");
  auto pair = read_pair(words[0], words[1], words.subspan(2), options);
  if (!pair) return tl::unexpected(pair.error());
  return Job([pair = std::move(*pair)](CommandContext& context) -> Result<int> {
    const auto paths = fetch_paths(context, pair);
    if (!paths) return tl::unexpected(paths.error());
    Atlas atlas(context);
    if (paths->empty()) return explain_nothing(context, atlas, pair);
    std::vector<Explanation> all;
    bool wrong = false;
    for (const PathRecord& path : *paths) {
      if (!path.dlid.is_unicast())
        return ib::fail(ErrorKind::Usage, "explain: a multicast path is a tree, not a way");
      auto facts = gather(context, atlas, path, asked_of(pair.query));
      if (!facts) return tl::unexpected(facts.error());
      auto reasons = judge(*facts);
      wrong = wrong || std::ranges::any_of(reasons, &Reason::wrong);
      all.push_back({std::move(*facts), std::move(reasons)});
    }
    if (context.options().common.json) {
      print(explain_json(all, std::nullopt, IBKIT_VERSION));
    } else {
      for (std::size_t i = 0; i < all.size(); ++i)
        print((i == 0 ? "" : "\n") + explain_text(all[i].facts, all[i].reasons));
    }
    return wrong ? ib::cli::kExitFound : ib::cli::kExitGood;
  });
}

}  // namespace ibpath
