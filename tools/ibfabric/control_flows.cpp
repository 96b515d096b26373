// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ctl flow` and `ctl counters`: traffic, and errors that links are said to have.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "libdiag/base/text.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/control_answers.h"
#include "tools/ibfabric/place.h"

namespace ibfabric {

using ib::Instant;
using ib::Result;
using ib::fabric::NodeIndex;
using ib::sim::FlowLimit;
using ib::sim::FlowSpec;
using ib::sim::FlowState;
using ib::sim::PortRef;

namespace {

constexpr const char* kFlowForm =
    "expected flow add SRC DST, flow list, flow del ID|all, or flow pattern shift|alltoall|random "
    "[N]";
constexpr const char* kCountersForm = "expected counters NODE PORT [NAME=VALUE|NAME=+RATE]...";
constexpr double kGbitMax = 1e5, kRateMax = 1e9;
constexpr std::uint32_t kSizeMax = 1U << 31;
constexpr std::size_t kFlowsMax = 100'000;

struct LimitName {
  FlowLimit limit;
  const char* name;
  const char* text;
};
constexpr LimitName kLimits[] = {
    {FlowLimit::Demand, "demand", "what it wants"},
    {FlowLimit::Link, "link", "the link is full at"},
    {FlowLimit::SlRate, "sl_rate", "the rate limit of its SL at"},
    {FlowLimit::Behind, "behind", "packets ahead wait for a full link at"},
    {FlowLimit::Congestion, "congestion_control", "congestion control for the full link at"},
    {FlowLimit::NoRoute, "no_route", "no route"},
};
const LimitName& name_of(FlowLimit limit) {
  for (const LimitName& row : kLimits)
    if (row.limit == limit) return row;
  return kLimits[0];
}

CtlResult expected(const std::string& what, const std::string& wanted, std::string_view got) {
  return usage(what + ": expected " + wanted + ", got '" + ib::printable(got) + "'");
}

Json port_json(const ib::fabric::Fabric& fabric, PortRef port) {
  Json json = node_json(fabric.node(port.node));
  json["port"] = port.port;
  return json;
}
std::string port_text(const ib::fabric::Fabric& fabric, PortRef port) {
  return "\"" + ib::printable(fabric.node(port.node).description) + "\" port " +
         std::to_string(port.port);
}

}  // namespace

Result<PortRef> Control::end_port(std::string_view text) const {
  const auto& fabric = model_.topology();
  const auto place = find_place(fabric, text);
  if (!place) return tl::unexpected(place.error());
  const auto first = static_cast<std::uint8_t>(fabric.node(place->node).is_switch() ? 0 : 1);
  return PortRef{place->node, place->port.value_or(first)};
}

std::vector<PortRef> Control::hosts_with_lids() const {
  std::vector<PortRef> hosts;
  const auto& fabric = model_.topology();
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
      const PortRef port{n, static_cast<std::uint8_t>(p)};
      const auto info = model_.port_info(port);
      if (info.lid.value != 0 && info.port_state == ib::wire::PortState::Active)
        hosts.push_back(port);
    }
  }
  return hosts;
}

CtlResult Control::flow(Instant now, const CtlCommand& command) {
  const auto& words = command.words;
  if (words.empty()) return usage(kFlowForm);
  FlowSpec spec;
  std::uint64_t seed = 1;
  for (const auto& [name, text] : command.options) {
    std::uint64_t number = 0;
    if (name == "rate") {
      if (!parse_real(text, kGbitMax, spec.gbit) || spec.gbit == 0)
        return expected("--rate", "Gb/s, more than 0 and at most 100000", text);
    } else if (name == "sl") {
      if (!ib::parse_number(text, 15, number)) return expected("--sl", "an SL from 0 to 15", text);
      spec.sl = ib::Sl{static_cast<std::uint8_t>(number)};
    } else if (name == "size") {
      if (!ib::parse_number(text, kSizeMax, number) || number == 0)
        return expected("--size", "bytes of a message, 1 to 2147483648", text);
      spec.size = static_cast<std::uint32_t>(number);
    } else if (name == "seed") {
      if (!ib::parse_number(text, ~std::uint64_t{0}, seed))
        return expected("--seed", "a whole number", text);
    } else {
      return usage("unknown option --" + ib::printable(name));
    }
  }
  if (words[0] == "add" && words.size() == 3) {
    const auto source = end_port(words[1]), target = end_port(words[2]);
    if (!source) return refused(source.error());
    if (!target) return refused(target.error());
    spec.source = *source;
    spec.target = *target;
    return add_flows(now, command, {spec});
  }
  if (words[0] == "pattern" && (words.size() == 2 || words.size() == 3))
    return flow_pattern(now, command, spec, seed);
  if (!command.options.empty())
    return usage("--" + command.options.begin()->first + " belongs to flow add and flow pattern");
  if (words[0] == "list" && words.size() == 1) return list_flows(now, command);
  if (words[0] == "del" && words.size() == 2) {
    if (words[1] == "all") {
      model_.remove_flows(now);
      return done(command);
    }
    std::uint64_t id = 0;
    if (!ib::parse_number(words[1], UINT32_MAX, id))
      return expected("flow del", "the number of a flow, or all", words[1]);
    const auto removed = model_.remove_flow(now, static_cast<std::uint32_t>(id));
    return removed ? done(command) : refused(removed.error());
  }
  return usage(kFlowForm);
}

CtlResult Control::flow_pattern(Instant now, const CtlCommand& command, FlowSpec spec,
                                std::uint64_t seed) {
  const std::string& kind = command.words[1];
  if (kind != "shift" && kind != "alltoall" && kind != "random")
    return expected("flow pattern", "shift, alltoall or random", kind);
  std::uint64_t number = 1;
  if (command.words.size() == 3 &&
      (kind == "alltoall" || !ib::parse_number(command.words[2], kFlowsMax, number) || number == 0))
    return expected("flow pattern " + ib::printable(kind),
                    kind == "alltoall" ? "no number" : "a number from 1 to 100000",
                    command.words[2]);
  const auto hosts = hosts_with_lids();
  if (hosts.size() < 2)
    return usage(
        "a pattern takes two host ports at least that are ACTIVE and have LIDs, there are " +
        std::to_string(hosts.size()) + ": start a subnet manager first");
  std::vector<FlowSpec> specs;
  const auto add = [&](std::size_t source, std::size_t target) {
    if (source == target) return;
    spec.source = hosts[source];
    spec.target = hosts[target];
    specs.push_back(spec);
  };
  if (kind == "shift") {
    for (std::size_t i = 0; i < hosts.size(); ++i) add(i, (i + number) % hosts.size());
    if (specs.empty())
      return usage("flow pattern shift " + std::to_string(number) + ": of " +
                   std::to_string(hosts.size()) + " host ports each would send to itself");
  } else if (kind == "alltoall") {
    if (hosts.size() * (hosts.size() - 1) > kFlowsMax)
      return usage("flow pattern alltoall: " + std::to_string(hosts.size()) +
                   " host ports are more than 100000 flows; take random N");
    for (std::size_t i = 0; i < hosts.size(); ++i)
      for (std::size_t j = 0; j < hosts.size(); ++j) add(i, j);
  } else {
    std::mt19937_64 random(seed);
    while (specs.size() < number) add(random() % hosts.size(), random() % hosts.size());
  }
  return add_flows(now, command, specs);
}

CtlResult Control::add_flows(Instant now, const CtlCommand& command,
                             const std::vector<FlowSpec>& specs) {
  if (model_.flows(now).size() + specs.size() > kFlowsMax)
    return usage("more than 100000 flows; flow del all removes those that there are");
  const auto ids = model_.add_flows(now, specs);
  if (!ids) return refused(ids.error());
  if (command.json) return in_json("flow", {{"ids", *ids}});
  std::string text = ids->empty() ? "" : "flow " + std::to_string(ids->front());
  if (ids->size() > 1)
    text = "flows " + std::to_string(ids->front()) + ".." + std::to_string(ids->back());
  return {0, text.empty() ? text : text + "\n"};
}

CtlResult Control::list_flows(Instant now, const CtlCommand& command) {
  const auto& fabric = model_.topology();
  Json rows = Json::array();
  std::string text;
  for (const FlowState& flow : model_.flows(now)) {
    const LimitName& limit = name_of(flow.limit);
    const bool somewhere = flow.limit != FlowLimit::Demand && flow.limit != FlowLimit::NoRoute;
    if (command.json) {
      Json row = {{"id", flow.id},
                  {"source", port_json(fabric, flow.spec.source)},
                  {"target", port_json(fabric, flow.spec.target)},
                  {"sl", flow.spec.sl.value},
                  {"demand_gbit", flow.spec.gbit > 0 ? Json(flow.spec.gbit) : Json()},
                  {"size", flow.spec.size},
                  {"gbit", flow.gbit},
                  {"limit", limit.name}};
      row["limited_at"] = somewhere ? port_json(fabric, flow.port) : Json();
      row["problem"] = flow.problem.empty() ? Json() : Json(flow.problem);
      rows.push_back(std::move(row));
      continue;
    }
    char rate[64];
    std::snprintf(rate, sizeof rate, " sl %u %.2f Gb/s: ", unsigned{flow.spec.sl.value}, flow.gbit);
    text += std::to_string(flow.id) + " " + port_text(fabric, flow.spec.source) + " -> " +
            port_text(fabric, flow.spec.target) + rate + limit.text;
    if (somewhere) text += " " + port_text(fabric, flow.port);
    if (!flow.problem.empty()) text += ": " + flow.problem;
    text += "\n";
  }
  if (command.json) return in_json("flow", {{"flows", std::move(rows)}});
  return {0, text};
}

CtlResult Control::counters(Instant now, const CtlCommand& command) {
  const auto& words = command.words;
  if (words.size() < 2) return usage(kCountersForm);
  const auto port = find_port(words[0], words[1]);
  if (!port) return refused(port.error());
  struct Change {
    std::string name;
    double value;
    bool grows;
  };
  std::vector<Change> changes;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) return usage(kCountersForm);
    Change change{words[i].substr(0, equals), 0, false};
    std::string_view value = std::string_view(words[i]).substr(equals + 1);
    change.grows = value.starts_with('+');
    if (change.grows) value.remove_prefix(1);
    std::uint64_t whole = 0;
    if (change.grows ? !parse_real(value, kRateMax, change.value)
                     : !ib::parse_number(value, UINT32_MAX, whole))
      return expected(ib::printable(change.name),
                      change.grows ? "+ and how much it grows a second, up to 1e9"
                                   : "a number up to 4294967295, or +RATE",
                      value);
    if (!change.grows) change.value = static_cast<double>(whole);
    const auto known = model_.error_counters(now, *port);
    if (std::ranges::find(known, change.name, [](const auto& row) { return row.first; }) ==
        known.end()) {
      const auto unknown = model_.set_counter(now, *port, ib::printable(change.name), 0);
      return refused(unknown.error());
    }
    changes.push_back(std::move(change));
  }
  for (const Change& change : changes) {
    const auto result = change.grows ? model_.grow_counter(now, *port, change.name, change.value)
                                     : model_.set_counter(now, *port, change.name,
                                                          static_cast<std::uint32_t>(change.value));
    if (!result) return refused(result.error());
  }
  Json rows = Json::array();
  std::string text;
  const auto show = [&](const std::string& name, std::uint64_t value) {
    rows.push_back({{"name", name}, {"value", value}});
    text.append(name).append(" ").append(std::to_string(value)).append("\n");
  };
  for (const auto& [name, value] : model_.error_counters(now, *port))
    show(std::string(name), value);
  // No attribute tells it, so perfquery has no name for it.
  const auto waits = model_.vl_counters(*port).rate_wait_of_sl;
  for (std::size_t sl = 0; sl < waits.size(); ++sl)
    if (waits[sl] != 0) show("RateWaitSL" + std::to_string(sl), waits[sl]);
  if (command.json) return in_json("counters", {{"counters", std::move(rows)}});
  return changes.empty() ? CtlResult{0, text} : CtlResult{};
}

}  // namespace ibfabric
