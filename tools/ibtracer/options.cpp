// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "libdiag/base/text.h"

namespace ibtracer {

namespace {

std::optional<ib::mad::DirectedRoute> parse_route(const std::string& text) {
  ib::mad::DirectedRoute route;
  bool first = true;
  for (const auto piece : ib::split(text, ',')) {
    std::uint64_t port = 0;
    if (!ib::parse_number(ib::trim(piece), 254, port)) return std::nullopt;
    if (first && port != 0) return std::nullopt;  // a route starts at 0, the local port
    if (!first && port == 0) return std::nullopt;
    if (!first) route.hops.push_back(static_cast<std::uint8_t>(port));
    first = false;
  }
  if (route.hops.size() > 63) return std::nullopt;
  return route;
}

/// Turns the five spellings of a target into one; a message when they do not make exactly one.
std::optional<std::string> take_target(const std::string& lid, const std::string& gid,
                                       const std::string& guid, const std::string& name,
                                       const std::string& route, const std::string& operand,
                                       Target& target) {
  int given = 0;
  for (const auto* text : {&lid, &gid, &guid, &name, &route, &operand})
    if (!text->empty()) ++given;
  if (given != 1)
    return fmt::format(
        "expected exactly one target (-l, -g, --guid, --name, -D or an operand), got {}", given);
  if (!lid.empty()) {
    ib::Lid value;
    if (!ib::parse_lid(lid, value) || !value.is_unicast())
      return fmt::format("-l: expected a unicast LID (1 to 0xbfff), got '{}'", lid);
    target = value;
  } else if (!gid.empty()) {
    ib::Gid value;
    if (!ib::parse_gid(gid, value))
      return fmt::format("-g: expected a GID such as fe80::2:c903:0:1, got '{}'", gid);
    target = value;
  } else if (!guid.empty()) {
    ib::Guid value;
    if (!ib::parse_guid(guid, value))
      return fmt::format("--guid: expected 0x and up to 16 hex digits, got '{}'", guid);
    target = value;
  } else if (!name.empty()) {
    target = NodeName{name};
  } else if (!route.empty()) {
    const auto value = parse_route(route);
    if (!value) return fmt::format("-D: expected a directed route such as 0,1,2, got '{}'", route);
    target = *value;
  } else {
    target = classify_operand(operand);
    if (const auto* value = std::get_if<ib::Lid>(&target); value != nullptr && !value->is_unicast())
      return fmt::format("expected a unicast LID (1 to 0xbfff), got '{}'", operand);
  }
  return std::nullopt;
}

}  // namespace

Target classify_operand(const std::string& text) {
  ib::Gid gid;
  if (text.find(':') != std::string::npos && ib::parse_gid(text, gid)) return gid;
  if (text.find(',') != std::string::npos) {
    if (const auto route = parse_route(text)) return *route;
  }
  ib::Lid lid;
  if (ib::parse_lid(text, lid)) return lid;
  ib::Guid guid;
  if (ib::parse_guid(text, guid)) return guid;
  return NodeName{text};
}

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options o;
  std::string lid, gid, guid, name, route, operand;
  unsigned sl = 0;
  CLI::App app{"Prove the path that packets take to a LID, GUID, GID or host, hop by hop.",
               "ibtracer"};
  app.set_version_flag("--version", std::string("ibtracer ") + IBKIT_VERSION);
  app.add_option("-I", o.device, "device (default: the first with an active port)")
      ->type_name("DEVICE");
  app.add_option("-p", o.port, "port of the device")->check(CLI::Range(1, 254))->type_name("PORT");
  app.add_option("-r", o.retries, "retries of an unanswered MAD")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_option("-t", o.timeout_ms, "time-out of one attempt, ms")
      ->check(CLI::Range(1, 60000))
      ->capture_default_str();
  app.add_flag("-v", o.verbose, "show every hop");
  app.add_option("-l", lid, "target LID")->type_name("LID");
  app.add_option("-g", gid, "target GID; the SA gives its LID and SL")->type_name("DGID");
  app.add_option("--guid", guid, "target port or node GUID")->type_name("GUID");
  app.add_option("--name", name, "target node name")->type_name("NAME");
  app.add_option("-D", route, "target by directed route: 0,1,2")->type_name("ROUTE");
  app.add_option("target", operand, "the same as one operand of any form");
  auto* sl_option = app.add_option("--sl", sl, "service level")->check(CLI::Range(0, 15));
  app.add_flag("--json", o.json, "one JSON document");
  app.add_flag("--both", o.both, "the way back too");
  app.add_flag("--lmc-all", o.lmc_all, "every LID of the target port");
  app.add_flag("--counters", o.counters, "counters of each hop's ingress port");
  app.add_flag("--prove", o.prove, "count packets on the target's own path; resets nothing");
  app.footer(
      "exit status: 0 verified, 1 mismatch or broken, 2 usage, 3 some hop has no proof, 4 cannot "
      "run");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (*sl_option) o.sl = sl;
  if (const auto wrong = take_target(lid, gid, guid, name, route, operand, o.target)) {
    fmt::print(stderr, "ibtracer: {}; see ibtracer --help\n", *wrong);
    return 2;
  }
  return o;
}

}  // namespace ibtracer
