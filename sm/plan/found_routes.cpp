// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/found_routes.h"

#include <algorithm>

#include "libdiag/base/fnv.h"
#include "libdiag/route/chain/chain.h"

namespace sm::plan {
namespace {

using ib::Guid;
using ib::fabric::CompactGraph;
using ib::fabric::kNoSwitch;
using ib::fabric::SwitchIndex;
using ib::route::PlacedSwitch;
using ib::route::PlacedSwitches;
using ib::tables::PathSls;

constexpr std::uint8_t kVersion = 1;

class Writer {
 public:
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void text(std::string_view text) {
    number(text.size(), 4);
    for (const char c : text) out_.push_back(static_cast<std::byte>(c));
  }
  template <class List>
  void numbers(const List& list, unsigned bytes) {
    number(list.size(), 4);
    for (const auto value : list) number(value, bytes);
  }
  std::vector<std::byte> take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

/// Reads what Writer wrote; after what is not there everything is zero and `good` is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool good{true};

  std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : take(bytes)) value = value << 8 | std::to_integer<unsigned>(byte);
    return value;
  }
  std::string text() {
    const auto bytes = take(count(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// How many elements of so many bytes follow.
  std::size_t count(unsigned bytes) {
    const std::size_t count = number(4);
    good = good && count <= rest_.size() / bytes;
    return good ? count : 0;
  }
  template <class T>
  std::vector<T> numbers(unsigned bytes) {
    std::vector<T> list(count(bytes));
    for (T& value : list) value = static_cast<T>(number(bytes));
    return list;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    good = good && bytes <= rest_.size();
    if (!good) return {};
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::span<const std::byte> rest_;
};

/// A checksum of numbers.
class Sum {
 public:
  template <class... Numbers>
  void add(Numbers... numbers) {
    (put(static_cast<std::uint64_t>(numbers)), ...);
  }
  std::uint64_t value() const { return sum_.value(); }

 private:
  void put(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      sum_.add(static_cast<std::uint8_t>(number >> shift));
  }
  ib::Fnv1a sum_;
};

/// The index in `graph` of each of these switches; kNoSwitch: it is not there.
std::vector<SwitchIndex> indexes_of(const std::vector<Guid>& switches, const CompactGraph& graph) {
  std::unordered_map<Guid, SwitchIndex> of;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) of.emplace(graph.guid(s), s);
  std::vector<SwitchIndex> indexes;
  for (const Guid guid : switches) {
    const auto at = of.find(guid);
    indexes.push_back(at != of.end() ? at->second : kNoSwitch);
  }
  return indexes;
}

PathSls sls_among(const RouteMemory& made, const CompactGraph& graph) {
  if (made.sls.uniform()) return PathSls(made.sls.at(0, 0));
  PathSls sls(graph.switch_count(), ib::tables::kNoSl);
  const auto now = indexes_of(made.switches, graph);
  for (SwitchIndex a = 0; a < now.size(); ++a)
    for (SwitchIndex b = 0; b < now.size(); ++b)
      if (now[a] != kNoSwitch && now[b] != kNoSwitch)
        sls.set_one_way(now[a], now[b], made.sls.at(a, b));
  return sls;
}

}  // namespace

std::uint64_t sum_of(const ib::route::Options& o) {
  Sum sum;
  sum.add(o.scatter_seed, o.link_capacity, o.connect_roots, o.max_reverse_hops, o.lash_start_vl,
          o.do_mesh_analysis, o.nue_max_num_vls, o.nue_include_switches);
  for (const auto* list :
       {&o.guid_routing_order, &o.roots, &o.ids, &o.compute_nodes, &o.io_nodes, &o.no_hosts}) {
    sum.add(list->entries.size());
    for (const auto& entry : list->entries)
      sum.add(entry.guid.value, entry.rank.value_or(255), entry.number.value_or(0));
  }
  sum.add(o.ignored.size(), o.hop_weights.size(), o.port_search_order.size());
  for (const auto& [port, both] : o.ignored) sum.add(port.first.value, port.second, both);
  for (const auto& [port, hops] : o.hop_weights) sum.add(port.first.value, port.second, hops);
  for (const auto& [guid, ports] : o.port_search_order) {
    sum.add(guid.value, ports.size());
    for (const std::uint8_t port : ports) sum.add(port);
  }
  if (o.chain != nullptr) {
    for (const char c : o.chain->text) sum.add(static_cast<unsigned char>(c));
    for (const ib::route::ChainStep& step : o.chain->steps)
      if (step.options != nullptr) sum.add(sum_of(*step.options));
  }
  if (!o.torus) return sum.value();
  for (std::size_t axis = 0; axis < 3; ++axis) sum.add(o.torus->radix[axis], o.torus->mesh[axis]);
  for (const auto& seed : o.torus->seeds)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sum.add(seed.dateline[axis]);
      for (const auto* link : {&seed.plus[axis], &seed.minus[axis]})
        if (*link) sum.add((*link)->from.value, (*link)->to.value);
    }
  return sum.value();
}

RouteMemory remember(const ib::route::Rerouter& rerouter, const CompactGraph& graph,
                     const ib::route::Options& options) {
  const ib::route::Routes& routes = rerouter.routes();
  RouteMemory memory{routes.engine,    sum_of(options), {},
                     routes.multicast, routes.vls_used, routes.virtual_lanes.sls,
                     rerouter.order()};
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) memory.switches.push_back(graph.guid(s));
  return memory;
}

std::vector<std::byte> encode(const RouteMemory& memory) {
  Writer out;
  out.number(kVersion, 1);
  out.text(memory.engine);
  out.number(memory.options, 8);
  out.number(memory.vls_used, 1);
  out.number(memory.switches.size(), 4);
  for (const Guid guid : memory.switches) out.number(guid.value, 8);
  out.numbers(memory.multicast.up_order, 4);
  out.numbers(memory.multicast.parent, 4);
  out.number(memory.multicast.sl.value, 1);
  out.number(memory.multicast.sls, 2);
  const std::size_t rows = memory.sls.switch_count();
  out.number(rows, 4);
  if (rows == 0) out.number(memory.sls.at(0, 0).value, 1);
  for (SwitchIndex a = 0; a < rows; ++a)
    for (SwitchIndex b = 0; b < rows; ++b) out.number(memory.sls.at(a, b).value, 1);
  out.number(memory.order != nullptr ? memory.order->size() : 0, 4);
  if (memory.order != nullptr)
    for (const PlacedSwitch& place : *memory.order) {
      out.number(place.guid.value, 8);
      out.number(place.position, 4);
      out.number(place.former, 4);
      out.number(place.valley ? 1 : 0, 1);
    }
  return std::move(out).take();
}

std::optional<RouteMemory> decode(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (in.number(1) != kVersion) return std::nullopt;
  RouteMemory memory;
  memory.engine = in.text();
  memory.options = in.number(8);
  memory.vls_used = static_cast<std::uint8_t>(in.number(1));
  memory.switches.resize(in.count(8));
  for (Guid& guid : memory.switches) guid = Guid{in.number(8)};
  const std::size_t switches = memory.switches.size();
  memory.multicast.up_order = in.numbers<std::uint32_t>(4);
  memory.multicast.parent = in.numbers<SwitchIndex>(4);
  memory.multicast.sl = ib::Sl{static_cast<std::uint8_t>(in.number(1))};
  memory.multicast.sls = static_cast<std::uint16_t>(in.number(2));
  const std::uint64_t rows = in.number(4);
  if (!in.good || (rows != 0 && rows != switches)) return std::nullopt;
  memory.sls = rows == 0 ? PathSls(ib::Sl{static_cast<std::uint8_t>(in.number(1))})
                         : PathSls(rows, ib::tables::kNoSl);
  for (SwitchIndex a = 0; a < rows && in.good; ++a)
    for (SwitchIndex b = 0; b < rows; ++b)
      memory.sls.set_one_way(a, b, ib::Sl{static_cast<std::uint8_t>(in.number(1))});
  PlacedSwitches order(in.count(17));
  for (PlacedSwitch& place : order) {
    place.guid = Guid{in.number(8)};
    place.position = static_cast<std::uint32_t>(in.number(4));
    place.former = static_cast<std::uint32_t>(in.number(4));
    place.valley = in.number(1) != 0;
  }
  if (!order.empty()) memory.order = std::make_shared<const PlacedSwitches>(std::move(order));
  const auto fits = [&](const auto& list) { return list.empty() || list.size() == switches; };
  if (!in.good || !in.at_end() || !fits(memory.multicast.up_order) ||
      !fits(memory.multicast.parent) ||
      std::ranges::any_of(memory.multicast.parent,
                          [&](SwitchIndex s) { return s != kNoSwitch && s >= switches; }))
    return std::nullopt;
  return memory;
}

bool is_held(const FoundRoutes& found, const CompactGraph& graph,
             const ib::tables::LinearTables& lfts) {
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto held = found.lfts.find(graph.guid(s));
    if (held != found.lfts.end() && !std::ranges::equal(held->second, lfts.row(s))) return false;
  }
  return true;
}

Changed changed_from(const FoundRoutes& found, const CompactGraph& graph,
                     const ib::tables::LinearTables& lfts) {
  Changed changed;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto held = found.lfts.find(graph.guid(s));
    const auto row = lfts.row(s);
    std::uint64_t entries = 0;
    for (std::size_t lid = 0; lid < row.size(); ++lid) {
      const bool known = held != found.lfts.end() && lid < held->second.size();
      entries += row[lid] != (known ? held->second[lid] : ib::tables::kNoPort) ? 1 : 0;
    }
    changed.entries += entries;
    changed.switches += entries != 0 ? 1 : 0;
  }
  return changed;
}

ib::route::FoundRoutes found_routes(const FoundRoutes& found, const CompactGraph& graph) {
  ib::route::FoundRoutes routes;
  routes.lfts = ib::tables::LinearTables(graph.switch_count(), graph.max_lid());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto held = found.lfts.find(graph.guid(s));
    if (held == found.lfts.end()) continue;
    const auto row = routes.lfts.row(s);
    std::copy_n(held->second.begin(), std::min(held->second.size(), row.size()), row.begin());
  }
  if (!found.made) return routes;
  const RouteMemory& made = *found.made;
  routes.order = made.order;
  // Tables of pairs and trees of switches mean something among the same switches only.
  const auto now = indexes_of(made.switches, graph);
  if (now.size() != graph.switch_count() || std::ranges::count(now, kNoSwitch) != 0) return routes;
  auto& as_made = routes.as_made.emplace();
  as_made.engine = made.engine;
  as_made.vls_used = made.vls_used;
  as_made.virtual_lanes.sls = sls_among(made, graph);
  as_made.multicast.sl = made.multicast.sl;
  as_made.multicast.sls = made.multicast.sls;
  as_made.multicast.up_order.resize(made.multicast.up_order.size());
  as_made.multicast.parent.resize(made.multicast.parent.size());
  for (SwitchIndex s = 0; s < now.size(); ++s) {
    if (!made.multicast.up_order.empty())
      as_made.multicast.up_order[now[s]] = made.multicast.up_order[s];
    if (!made.multicast.parent.empty()) {
      const SwitchIndex parent = made.multicast.parent[s];
      as_made.multicast.parent[now[s]] = parent == kNoSwitch ? kNoSwitch : now[parent];
    }
  }
  return routes;
}

std::optional<PathSls> found_sls(const FoundRoutes& found, const CompactGraph& graph) {
  if (!found.made) return std::nullopt;
  return sls_among(*found.made, graph);
}

}  // namespace sm::plan
