// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/control.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "libdiag/base/text.h"
#include "libdiag/mad/describe.h"
#include "libdiag/report/json.h"
#include "libdiag/report/words.h"
#include "libdiag/wire/rates.h"
#include "libdiag/wire/words.h"
#include "tools/ibfabric/control_answers.h"
#include "tools/ibfabric/place.h"

namespace ibfabric {

using ib::Error;
using ib::ErrorKind;
using ib::Instant;
using ib::Result;
using ib::fabric::NodeIndex;
using ib::sim::Faults;
using ib::sim::PortRef;

CtlResult usage(const std::string& message) { return {2, message + "\n"}; }
Json node_json(const ib::fabric::Node& node) {
  return {{"type", ib::wire::type_word(node.type)},
          {"node_guid", ib::to_string(node.guid)},
          {"name", ib::printable(node.description)}};
}

CtlResult in_json(const std::string& verb, const Json& fields) {
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kSchema, "ibfabric", IBKIT_VERSION, true, {}});
  json.field("command", verb);
  for (const auto& [name, value] : fields.items()) json.key(name).tree(value);
  json.end_object();
  return {0, json.take()};
}
CtlResult done(const CtlCommand& command, const Json& fields) {
  return command.json ? in_json(command.verb, fields) : CtlResult{};
}

CtlResult refused(const Error& error) {
  return {error.kind == ErrorKind::NotFound ? kNobody : 2, error.message + "\n"};
}

bool parse_real(std::string_view text, double max, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= 0 && out <= max;
}

namespace {

constexpr char kBetween = '\0';
constexpr double kDelayMsMax = 1e6, kSmaUsMax = 1e9;
constexpr std::uint32_t kQueueMax = 1'000'000;

const char* state_name(ib::wire::PortState s) {
  static constexpr const char* kNames[] = {"NoChange", "Down", "Init", "Armed", "Active"};
  const auto i = static_cast<std::size_t>(s);
  return i < std::size(kNames) ? kNames[i] : "?";
}
const char* phys_name(ib::wire::PhysState s) {
  static constexpr const char* kNames[] = {"NoChange", "Sleep",  "Polling",       "Disabled",
                                           "Training", "LinkUp", "ErrorRecovery", "PhyTest"};
  const auto i = static_cast<std::size_t>(s);
  return i < std::size(kNames) ? kNames[i] : "?";
}
const char* type_name(ib::wire::NodeType t) {
  switch (t) {
    case ib::wire::NodeType::Switch:
      return "Switch";
    case ib::wire::NodeType::Router:
      return "Router";
    default:
      return "CA";
  }
}

double milliseconds(ib::Duration d) { return static_cast<double>(d.count()) / 1e6; }

/// Of one link only what a link has.
Json faults_json(const Faults& f, bool of_link) {
  Json fields = {{"loss_percent", f.loss_percent},
                 {"duplicate_percent", f.duplicate_percent},
                 {"delay_ms", milliseconds(f.delay)}};
  if (of_link) return fields;
  fields["sma_us"] = static_cast<double>(f.sma_service.count()) / 1e3;
  fields["sma_queue"] = f.sma_queue;
  fields["vl15_buffer"] = f.vl15_buffer;
  fields["receive_queue"] = f.receive_queue;
  return fields;
}

CtlResult wrong_number(const std::string& option, double max, const std::string& text) {
  char range[48];
  std::snprintf(range, sizeof range, "a number from 0 to %.0f", max);
  return usage("--" + option + ": expected " + range + ", got '" + ib::printable(text) + "'");
}

}  // namespace

std::string encode(const CtlCommand& command) {
  std::string text = command.verb;
  text.append(1, kBetween).append(command.json ? "json" : "text");
  for (const auto& word : command.words) text.append(1, kBetween).append("w").append(word);
  for (const auto& [name, value] : command.options) {
    text.append(1, kBetween).append("o").append(name).append("=").append(value);
  }
  return text;
}

CtlCommand decode(std::string_view text) {
  CtlCommand command;
  const auto pieces = ib::split(text, kBetween);
  if (pieces.size() < 2) return command;
  command.verb = pieces[0];
  command.json = pieces[1] == "json";
  for (std::size_t i = 2; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    if (piece.starts_with('w')) command.words.emplace_back(piece.substr(1));
    if (!piece.starts_with('o')) continue;
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos) continue;
    command.options[std::string(piece.substr(1, equals - 1))] = piece.substr(equals + 1);
  }
  return command;
}

CtlResult Control::execute(Instant now, const CtlCommand& command) {
  if (command.verb == "link") return link(now, command);
  if (command.verb == "node") return node(now, command);
  if (command.verb == "cable") return cable(now, command);
  if (command.verb == "faults") return faults(command);
  if (command.verb == "seed") return seed(command);
  if (command.verb == "show") return show(command);
  if (command.verb == "pcap") return pcap(command);
  if (command.verb == "stats") return stats(command);
  if (command.verb == "device") return device(now, command);
  if (command.verb == "vport") return vport(now, command);
  if (command.verb == "flow") return flow(now, command);
  if (command.verb == "counters") return counters(now, command);
  if (command.verb == "thresholds") return thresholds(command);
  if (command.verb == "at") return locate(command);
  return usage("unknown command '" + ib::printable(command.verb) + "'");
}

Result<PortRef> Control::find_port(std::string_view node, std::string_view port) const {
  const auto found = find_node(model_.topology(), node);
  if (!found) return tl::unexpected(found.error());
  const unsigned last = model_.topology().node(*found).num_ports;
  const unsigned first = model_.topology().node(*found).is_switch() ? 0 : 1;
  std::uint64_t number = 0;
  if (!ib::parse_number(port, last, number) || number < first) {
    return ib::fail(ErrorKind::Usage, describe_node(model_.topology(), *found) +
                                          ": expected a port " + std::to_string(first) + ".." +
                                          std::to_string(last) + ", got '" + ib::printable(port) +
                                          "'");
  }
  return PortRef{*found, static_cast<std::uint8_t>(number)};
}

CtlResult Control::link(Instant now, const CtlCommand& command) {
  const auto& w = command.words;
  if (w.size() != 3 || (w[0] != "down" && w[0] != "up" && w[0] != "errors"))
    return usage("expected link down|up|errors NODE PORT");
  const auto port = find_port(w[1], w[2]);
  if (!port) return refused(port.error());
  if (w[0] == "errors") {
    model_.report_link_errors(now, *port, ib::wire::trap::kLocalLinkIntegrity);
    return done(command);
  }
  const auto result = w[0] == "down" ? model_.link_down(now, *port) : model_.link_up(now, *port);
  return result ? done(command) : refused(result.error());
}

CtlResult Control::node(Instant now, const CtlCommand& command) {
  using ib::sim::Behaviour;
  const auto& w = command.words;
  if (w.size() == 3 && w[0] == "describe") {
    const auto node = find_node(model_.topology(), w[1]);
    if (!node) return refused(node.error());
    model_.set_description(now, *node, w[2]);
    return done(command);
  }
  if (w.size() != 2)
    return usage(
        "expected node reboot|remove|return|silent|garbage|normal NODE, or node describe NODE "
        "TEXT");
  static constexpr std::string_view kVerbs[] = {"reboot", "remove",  "return",
                                                "silent", "garbage", "normal"};
  if (std::find(std::begin(kVerbs), std::end(kVerbs), w[0]) == std::end(kVerbs)) {
    return usage("expected node reboot|remove|return|silent|garbage|normal NODE, got '" +
                 ib::printable(w[0]) + "'");
  }
  const auto node = find_node(model_.topology(), w[1]);
  if (!node) return refused(node.error());
  Result<void> result;
  if (w[0] == "reboot") {
    result = model_.reboot(now, *node);
  } else if (w[0] == "remove") {
    result = model_.remove(now, *node);
  } else if (w[0] == "return") {
    result = model_.bring_back(now, *node);
  } else if (w[0] == "silent") {
    model_.set_behaviour(*node, Behaviour::Silent);
  } else if (w[0] == "garbage") {
    model_.set_behaviour(*node, Behaviour::Garbage);
  } else {
    model_.set_behaviour(*node, Behaviour::Normal);
  }
  return result ? done(command) : refused(result.error());
}

CtlResult Control::cable(Instant now, const CtlCommand& command) {
  const auto& w = command.words;
  if (w.size() != 5 || w[0] != "move") return usage("expected cable move NODE PORT NODE2 PORT2");
  const auto from = find_port(w[1], w[2]);
  if (!from) return refused(from.error());
  const auto to = find_port(w[3], w[4]);
  if (!to) return refused(to.error());
  const auto result = model_.move_cable(now, *from, *to);
  return result ? done(command) : refused(result.error());
}

CtlResult Control::faults(const CtlCommand& command) {
  Faults f = model_.faults();
  std::optional<PortRef> link;
  if (!command.words.empty()) {
    if (command.words.size() != 2) return usage("expected faults [--link NODE PORT] ...");
    const auto port = find_port(command.words[0], command.words[1]);
    if (!port) return refused(port.error());
    const auto& topology = model_.topology();
    if (!topology.port(*port).peer) {
      return usage(describe_node(topology, port->node) + ": port " + std::to_string(port->port) +
                   " has no cable");
    }
    link = *port;
    f = model_.link_faults(*link);
  }
  for (const auto& [name, text] : command.options) {
    if (name == "loss" || name == "duplicate" || name == "delay-ms") {
      const double max = name == "delay-ms" ? kDelayMsMax : 100;
      double value = 0;
      if (!parse_real(text, max, value)) return wrong_number(name, max, text);
      if (name == "loss") f.loss_percent = value;
      if (name == "duplicate") f.duplicate_percent = value;
      if (name == "delay-ms") f.delay = ib::Duration{std::llround(value * 1e6)};
      continue;
    }
    if (link) return usage("--" + ib::printable(name) + " is not a property of a link");
    if (name == "sma-us") {
      double value = 0;
      if (!parse_real(text, kSmaUsMax, value)) return wrong_number(name, kSmaUsMax, text);
      f.sma_service = ib::Duration{std::llround(value * 1e3)};
      continue;
    }
    std::uint32_t* const count = name == "sma-queue"     ? &f.sma_queue
                                 : name == "vl15-buffer" ? &f.vl15_buffer
                                 : name == "rcv-queue"   ? &f.receive_queue
                                                         : nullptr;
    if (count == nullptr) return usage("unknown option --" + ib::printable(name));
    std::uint64_t value = 0;
    if (!ib::parse_number(text, kQueueMax, value)) return wrong_number(name, kQueueMax, text);
    *count = static_cast<std::uint32_t>(value);
  }
  if (!command.options.empty()) {
    if (link) {
      model_.set_link_faults(*link, f);
    } else {
      model_.set_faults(f);
    }
  }
  const Json now = faults_json(f, link.has_value());
  if (command.json) return in_json("faults", {{"faults", now}});
  if (!command.options.empty()) return {};
  std::string text;
  for (const auto& [name, value] : now.items()) text += name + " " + value.dump() + "\n";
  return {0, text};
}

CtlResult Control::seed(const CtlCommand& command) {
  std::uint64_t number = 0;
  if (command.words.size() != 1 || !ib::parse_number(command.words[0], ~std::uint64_t{0}, number)) {
    return usage("expected seed N, a whole number");
  }
  model_.reseed(number);
  return done(command, {{"seed", number}});
}

CtlResult Control::locate(const CtlCommand& command) {
  const auto place =
      find_place(model_.topology(), command.words.empty() ? "" : command.words.front());
  if (!place) return refused(place.error());
  std::string text = "@" + std::to_string(place->node);
  if (place->port) text += ":" + std::to_string(*place->port);
  return {0, text};
}

namespace {

/// Of a switch that knows it.
Json adaptive_json(const ib::wire::MlnxArInfo& info) {
  return {{"enabled", info.enabled},
          {"fast_recovery", info.fr_enabled},
          {"group_top", info.group_top},
          {"group_cap", info.group_cap}};
}
std::string adaptive_text(const ib::wire::MlnxArInfo& info) {
  const auto state = [](bool on) { return on ? "on" : "off"; };
  return std::string("     adaptive routing ") + state(info.enabled) + ", fast recovery " +
         state(info.fr_enabled) + ", group_top " + std::to_string(info.group_top) + " of " +
         std::to_string(info.group_cap) + "\n";
}

Json port_state_json(const ib::sim::Model& model, PortRef port) {
  const auto& fabric = model.topology();
  const auto info = model.port_info(port);
  Json entry = {{"port", port.port},
                {"state", ib::report::link_state_word(info.port_state)},
                {"phys_state", phys_name(info.port_physical_state)}};
  if (is_host_port(fabric, port)) {
    const auto guids = model.guids(port);
    entry["port_guid"] = ib::to_string(guids.empty() ? ib::Guid{} : guids.front());
    entry["lid"] = info.lid.value;
    entry["lmc"] = info.lmc;
    entry["sm_lid"] = info.master_sm_lid.value;
    entry["capability_mask"] = info.capability_mask;
  }
  if (port.port != 0 && info.port_physical_state == ib::wire::PhysState::LinkUp) {
    entry["width"] = ib::wire::width_name(ib::wire::active_width(info));
    entry["speed"] = ib::wire::speed_name(ib::wire::active_speed(info));
    entry["neighbor_mtu"] = ib::wire::mtu_bytes(info.neighbor_mtu);
    entry["operational_vls"] = ib::wire::data_vls(info.operational_vls);
  }
  if (const auto peer = fabric.port(port).peer) {
    entry["peer"] = node_json(fabric.node(peer.node));
    entry["peer"]["port"] = peer.port;
  }
  return entry;
}

/// The same as a line.
std::string port_line(const Json& port, const char* state) {
  char start[160];
  std::snprintf(start, sizeof start, "%4u %-8s %s", port["port"].get<unsigned>(), state,
                port["phys_state"].get<std::string>().c_str());
  std::string line = start;
  if (port.contains("width"))
    line += " " + port["width"].get<std::string>() + " " + port["speed"].get<std::string>();
  if (port.contains("lid"))
    line += " lid " + port["lid"].dump() + " lmc " + port["lmc"].dump() + " sm_lid " +
            port["sm_lid"].dump();
  if (port.contains("peer"))
    line +=
        " -> '" + port["peer"]["name"].get<std::string>() + "' port " + port["peer"]["port"].dump();
  return line + "\n";
}

}  // namespace

CtlResult Control::show(const CtlCommand& command) {
  const auto& fabric = model_.topology();
  if (command.words.empty() || command.words.size() > 2) return usage("expected show NODE [PORT]");
  const auto found = find_node(fabric, command.words[0]);
  if (!found) return refused(found.error());
  const auto& node = fabric.node(*found);
  unsigned first = node.is_switch() ? 0 : 1;
  unsigned last = node.num_ports;
  if (command.words.size() == 2) {
    const auto port = find_port(command.words[0], command.words[1]);
    if (!port) return refused(port.error());
    first = last = port->port;
  }

  Json ports = Json::array();
  std::vector<const char*> states;
  for (unsigned p = first; p <= last; ++p) {
    const PortRef port{*found, static_cast<std::uint8_t>(p)};
    states.push_back(state_name(model_.port_info(port).port_state));
    ports.push_back(port_state_json(model_, port));
  }
  const ib::wire::MlnxArInfo adaptive = model_.adaptive_routing(*found);
  if (command.json) {
    Json whole = {{"node", node_json(node)}, {"ports", std::move(ports)}};
    if (adaptive.group_cap != 0) whole["adaptive_routing"] = adaptive_json(adaptive);
    whole["node"]["id"] = ib::printable(node.file_id);
    whole["node"]["num_ports"] = node.num_ports;
    return in_json("show", whole);
  }

  std::string text = std::string(type_name(node.type)) + " " + describe_node(fabric, *found) +
                     " ports " + std::to_string(node.num_ports) + "\n";
  if (adaptive.group_cap != 0) text += adaptive_text(adaptive);
  for (std::size_t i = 0; i < ports.size(); ++i) text += port_line(ports[i], states[i]);
  return {0, text};
}

CtlResult Control::pcap(const CtlCommand& command) {
  if (command.words.size() != 1) return usage("expected pcap FILE|off");
  const bool off = command.words[0] == "off";
  const auto result = off ? capture_.stop() : capture_.start(command.words[0]);
  if (!result) return refused(result.error());
  return done(command, {{"file", off ? Json() : Json(command.words[0])}});
}

CtlResult Control::stats(const CtlCommand& command) {
  const auto& c = model_.counters();
  const Json totals = {{"sent", c.sent},
                       {"delivered", c.delivered},
                       {"dropped_loss", c.dropped_loss},
                       {"dropped_queue", c.dropped_queue},
                       {"dropped_no_route", c.dropped_no_route},
                       {"dropped_link_down", c.dropped_link_down},
                       {"dropped_key", c.dropped_key},
                       {"dropped_vl", c.dropped_vl}};
  Json rows = Json::array();
  std::string text;
  for (const auto& row : model_.stats()) {
    const auto mgmt_class = static_cast<ib::wire::MgmtClass>(row.mgmt_class);
    const auto method = static_cast<ib::wire::Method>(row.method);
    const std::string names[] = {ib::mad::class_name(mgmt_class), ib::mad::method_name(method),
                                 ib::mad::attribute_name(mgmt_class, row.attribute)};
    rows.push_back({{"class", row.mgmt_class},
                    {"class_name", names[0]},
                    {"method", row.method},
                    {"method_name", names[1]},
                    {"attribute", row.attribute},
                    {"attribute_name", names[2]},
                    {"mads", row.count}});
    char line[160];
    std::snprintf(line, sizeof line, "%-16s %-14s %-24s %llu\n", names[0].c_str(), names[1].c_str(),
                  names[2].c_str(), static_cast<unsigned long long>(row.count));
    text += line;
  }
  if (command.json) return in_json("stats", {{"totals", totals}, {"mads", std::move(rows)}});
  for (const auto& [name, value] : totals.items()) text += name + " " + value.dump() + "\n";
  return {0, text};
}

}  // namespace ibfabric
