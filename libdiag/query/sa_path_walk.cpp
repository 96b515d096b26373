// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/sa_path_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/wire/words.h"

namespace ib::query {
namespace {

constexpr unsigned kBlock = 64;  // entries of a block of a linear forwarding table

bool is_switch(const Hop& hop) { return hop.type == wire::NodeType::Switch; }

void finish(Walk& walk, WalkEnd end, std::string why) {
  walk.end = end;
  walk.failure = std::move(why);
}

/// Looks a record up in `known`, or asks for it and keeps the answer, "none" too.
template <class Known, class Ask>
auto recall(Known& known, const typename Known::key_type& key, Ask ask) -> decltype(ask()) {
  if (const auto found = known.find(key); found != known.end()) return found->second;
  auto asked = ask();
  if (asked) known.emplace(key, *asked);
  return asked;
}

}  // namespace

/// SAs differ in how they say that there is none: an empty table, or a status (IBA 15.2.5).
template <class Record>
Result<std::optional<Record>> SaPathWalk::first(const Record& wanted, std::uint64_t mask) {
  auto found = sa_.get_table(wanted, mask);
  if (!found && found.error().mad_status == wire::status::kSaNoRecords) return std::nullopt;
  if (!found) return tl::unexpected(std::move(found.error()));
  if (found->empty()) return std::nullopt;
  return found->front();
}

Result<std::optional<wire::NodeRecord>> SaPathWalk::node(Lid lid) {
  return recall(nodes_, {lid, 0}, [&] {
    wire::NodeRecord wanted;
    wanted.lid = lid;
    return first(wanted, component::kNodeLid);
  });
}

Result<std::optional<wire::PortInfoRecord>> SaPathWalk::port(Lid lid, std::uint8_t number) {
  return recall(ports_, {lid, number}, [&] {
    wire::PortInfoRecord wanted;
    wanted.end_port_lid = lid;
    wanted.port_num = PortNum{number};
    return first(wanted, component::kPortInfoLid | component::kPortInfoPort);
  });
}

Result<std::optional<wire::LinkRecord>> SaPathWalk::link(Lid lid, std::uint8_t number) {
  return recall(links_, {lid, number}, [&] {
    wire::LinkRecord wanted;
    wanted.from_lid = lid;
    wanted.from_port = PortNum{number};
    return first(wanted, component::kLinkFromLid | component::kLinkFromPort);
  });
}

Result<std::optional<wire::LinearFdtRecord>> SaPathWalk::table(Lid lid, std::uint16_t block) {
  return recall(tables_, {lid, block}, [&] {
    wire::LinearFdtRecord wanted;
    wanted.lid = lid;
    wanted.block = block;
    return first(wanted, component::kLftLid | component::kLftBlock);
  });
}

void SaPathWalk::forget() {
  nodes_.clear();
  ports_.clear();
  links_.clear();
  tables_.clear();
}

/// Adds the node that has `lid`, entered by `ingress` (0: the source).
Result<void> SaPathWalk::enter(Walk& walk, Lid lid, std::uint8_t ingress) {
  const bool is_source = walk.hops.empty();
  Hop hop;
  hop.lid = lid;
  hop.ingress_port = ingress;
  if (is_source) {
    hop.node_guid = own_node_;
  } else {
    hop.route = walk.hops.back().route.extended(walk.hops.back().egress_port);
  }
  const auto record = node(lid);
  if (!record) return tl::unexpected(record.error());
  if (!*record) {
    walk.hops.push_back(std::move(hop));
    finish(walk, WalkEnd::BadAnswer, fmt::format("the SA has no NodeRecord of lid {}", lid.value));
    return {};
  }
  const wire::NodeInfo& info = (*record)->node_info;
  hop.type = info.node_type;
  hop.node_guid = info.node_guid;
  hop.port_guid = info.port_guid;
  hop.num_ports = info.num_ports;
  const auto& text = (*record)->node_description.text;
  hop.description = fabric::name_in(names_, hop.node_guid,
                                    {text.begin(), std::find(text.begin(), text.end(), '\0')});
  const std::uint8_t end_port = is_switch(hop) ? 0 : is_source ? own_port_ : ingress;
  const auto end = port(lid, end_port);
  if (!end) return tl::unexpected(end.error());
  if (*end) {
    hop.lid = (*end)->port_info.lid;
    hop.lmc = (*end)->port_info.lmc;
    if (!is_switch(hop)) (is_source ? hop.egress : hop.ingress) = (*end)->port_info;
  }
  if (is_switch(hop) && !is_source) {
    const auto entered = port(lid, ingress);
    if (!entered) return tl::unexpected(entered.error());
    if (*entered) hop.ingress = (*entered)->port_info;
  }
  walk.hops.push_back(std::move(hop));
  return {};
}

/// The port by which the last hop's table sends `dlid` on; the walk ends where it names none.
Result<void> SaPathWalk::choose_egress(Walk& walk, Lid dlid) {
  Hop& hop = walk.hops.back();
  const auto record = table(hop.lid, static_cast<std::uint16_t>(dlid.value / kBlock));
  if (!record) return tl::unexpected(record.error());
  const std::uint8_t to = *record ? (*record)->table.port[dlid.value % kBlock] : 255;
  if (to == 0) {
    finish(walk, WalkEnd::WrongPort,
           fmt::format("{} keeps lid {} for itself, but its lid is {}", hop_label(hop), dlid.value,
                       hop.lid.value));
  } else if (to > hop.num_ports) {
    finish(walk, WalkEnd::NoEntry,
           fmt::format("{} has no entry for lid {} (port {} of {}), the SA says", hop_label(hop),
                       dlid.value, to, hop.num_ports));
  } else {
    hop.egress_port = to;
    const auto info = port(hop.lid, to);
    if (!info) return tl::unexpected(info.error());
    if (*info) hop.egress = (*info)->port_info;
  }
  return {};
}

/// The LID of the node beyond the last hop's egress port, and the port it is entered by; none: the
/// walk has ended.
Result<std::optional<Lid>> SaPathWalk::leave(Walk& walk, Lid dlid, std::uint8_t& ingress) {
  const Hop& hop = walk.hops.back();
  const auto down = [&](std::string_view why) {
    finish(walk, WalkEnd::LinkDown,
           fmt::format("port {} of {}, by which lid {} leaves, {}, the SA says", hop.egress_port,
                       hop_label(hop), dlid.value, why));
    return std::nullopt;
  };
  if (hop.egress && hop.egress->port_state != wire::PortState::Active)
    return down(fmt::format("is {}", wire::state_word(hop.egress->port_state)));
  const auto record = link(hop.lid, hop.egress_port);
  if (!record) return tl::unexpected(record.error());
  if (!*record) return down("has no link");
  if (walk.hops.size() > kHopsMax) {
    finish(walk, WalkEnd::TooLong,
           fmt::format("{} hops did not lead to lid {}", kHopsMax, dlid.value));
    return std::nullopt;
  }
  ingress = (*record)->to_port.value;
  return (*record)->to_lid;
}

Result<Walk> SaPathWalk::walk(Lid dlid) {
  Walk walk;
  std::optional<Lid> at = own_lid_;
  for (std::uint8_t ingress = 0; at;) {
    if (auto entered = enter(walk, *at, ingress); !entered)
      return tl::unexpected(std::move(entered.error()));
    if (walk.end != WalkEnd::Running) break;
    Hop& hop = walk.hops.back();
    const bool is_source = walk.hops.size() == 1;
    if (hop.lid.value != 0 && dlid.value >> hop.lmc == hop.lid.value >> hop.lmc) {
      walk.end = WalkEnd::Arrived;
      break;
    }
    if (!is_switch(hop) && !is_source) {
      finish(walk, WalkEnd::WrongPort,
             fmt::format("lid {} is delivered to {} port {}, whose lid is {}", dlid.value,
                         hop_label(hop), hop.ingress_port, hop.lid.value));
      break;
    }
    if (is_switch(hop) && std::any_of(walk.hops.begin(), walk.hops.end() - 1,
                                      [&](const Hop& h) { return h.node_guid == hop.node_guid; })) {
      finish(walk, WalkEnd::Loop,
             fmt::format("the tables lead lid {} back to {}", dlid.value, hop_label(hop)));
      break;
    }
    if (!is_switch(hop)) {
      hop.egress_port = own_port_;
    } else if (auto chosen = choose_egress(walk, dlid); !chosen) {
      return tl::unexpected(std::move(chosen.error()));
    }
    if (walk.end != WalkEnd::Running) break;
    auto next = leave(walk, dlid, ingress);
    if (!next) return tl::unexpected(std::move(next.error()));
    at = *next;
  }
  return walk;
}

}  // namespace ib::query
