// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// perfmgr, pm: the performance manager. What `ibsm ctl counters` does too is left to that verb.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "libdiag/base/text.h"
#include "sm/console/texts.h"
#include "sm/managers/performance/dump.h"

namespace sm::console {
namespace {

using managers::performance::PerformanceManager;

/// What opensm says of it, or nothing, in place of the verb's words.
Outcome ask_for(std::vector<std::string> words, std::string said) {
  return {"", AskVerb{{"counters", std::move(words), {}}, std::move(said)}};
}

/// The rest of the line: NodeDescriptions have blanks.
std::string joined(Words words) { return fmt::format("{}", fmt::join(words, " ")); }

Outcome enable(const View&, Words) { return {"", SetCounters{.is_enabled = true}}; }
Outcome disable(const View&, Words) { return {"", SetCounters{.is_enabled = false}}; }
Outcome set_rm_nodes(const View&, Words) { return {"", SetCounters{.forget_gone_nodes = true}}; }
Outcome clear_rm_nodes(const View&, Words) { return {"", SetCounters{.forget_gone_nodes = false}}; }
Outcome set_query_cpi(const View&, Words) { return {"", SetCounters{.ask_capabilities = true}}; }
Outcome clear_query_cpi(const View&, Words) { return {"", SetCounters{.ask_capabilities = false}}; }
Outcome clear_inactive(const View& view, Words) {
  const auto& records = view.performance->records();
  std::set<ib::Guid> gone;
  for (const auto& [key, record] : records)
    if (!view.snapshot || !view.snapshot->fabric().find_node(record.node_guid))
      gone.insert(record.node_guid);
  return {fmt::format("Removed {} nodes from Database\n", gone.size()), ForgetGoneNodes{}};
}
Outcome sweep(const View&, Words) { return ask_for({"sweep"}, "sweep initiated...\n"); }
Outcome clear_counters(const View&, Words) { return ask_for({"clear"}, {}); }
Outcome dump_counters(const View&, Words words) {
  if (!words.empty() && words.front() == "mach") return ask_for({"dump", "mach"}, {});
  return ask_for({"dump"}, {});
}

Outcome sweep_time(const View&, Words words) {
  constexpr std::uint64_t kMost = 65535;
  std::uint64_t seconds = 0;
  if (words.empty() || !ib::parse_number(words.front(), kMost, seconds) || seconds == 0) {
    return failed(
        ib::cli::kExitUsage,
        fmt::format("sweep_time requires a time period from 1 to {} (in seconds) to be specified\n",
                    kMost));
  }
  return {"", SetCounters{.sweep_time_s = static_cast<std::uint16_t>(seconds)}};
}

/// Nodes with this name or GUID: in the subnet, or there before where their counters are kept.
std::set<ib::Guid> nodes_named(const View& view, const std::string& name) {
  ib::Guid guid;
  const bool is_guid = ib::parse_guid(name, guid);
  std::set<ib::Guid> nodes;
  if (view.snapshot)
    for (const auto& node : view.snapshot->fabric().nodes())
      if (node.name() == name || (is_guid && node.guid == guid)) nodes.insert(node.guid);
  for (const auto& [key, record] : view.performance->records())
    if (record.node_name == name || (is_guid && record.node_guid == guid))
      nodes.insert(record.node_guid);
  return nodes;
}
bool is_known(const View& view, const std::string& node) {
  return !nodes_named(view, node).empty();
}
/// opensm writes a GUID as a number.
Outcome not_found(const std::string& node, std::string before = {}) {
  ib::Guid guid;
  const std::string name =
      ib::parse_guid(node, guid) ? fmt::format("0x{:x}", guid.value) : ib::printable(node);
  return failed(ib::cli::kExitFound,
                std::move(before) + fmt::format("Node {} not found...\n", name));
}

/// Counters of all nodes, of `node`, or of one port of it; of those that counted errors. Where
/// there are none nothing is said.
Outcome list(const View& view, const std::string& node, const std::string& port, bool errors_only) {
  managers::performance::Which which;
  which.errors_only = errors_only;
  std::uint64_t number = 0;
  if (!port.empty() && ib::parse_number(port, UINT8_MAX, number))
    which.port = static_cast<int>(number);
  const auto nodes = nodes_named(view, node);
  const bool has_some = std::ranges::any_of(view.performance->records(), [&](const auto& one) {
    return (node.empty() || nodes.contains(one.second.node_guid)) &&
           is_asked_for(one.second, which);
  });
  if (!has_some) return {};
  std::vector<std::string> words{"list"};
  for (const std::string& word : {node, port})
    if (!word.empty()) words.push_back(word);
  std::map<std::string, std::string> options;
  if (errors_only) options["errors"] = "TRUE";
  return {"", AskVerb{{"counters", std::move(words), std::move(options)}}};
}

/// Whether a node of that name has the port, or one that is gone was counted there.
bool has_port(const View& view, const std::string& name, std::uint64_t port) {
  const auto nodes = nodes_named(view, name);
  const auto is_of_subnet = [&](ib::Guid guid) {
    const auto node = view.snapshot ? view.snapshot->fabric().find_node(guid) : std::nullopt;
    if (!node) return false;
    const auto& there = view.snapshot->fabric().node(*node);
    return port <= there.num_ports && (port > 0 || there.is_switch());
  };
  return std::ranges::any_of(nodes, is_of_subnet) ||
         std::ranges::any_of(view.performance->records(), [&](const auto& one) {
           return one.second.port == port && nodes.contains(one.second.node_guid);
         });
}

/// NODE[:PORT]
Outcome print_counters(const View& view, Words words) {
  const std::string which = joined(words);
  if (which.empty() || is_known(view, which)) return list(view, which, {}, false);
  const std::size_t colon = which.rfind(':');
  if (colon == std::string::npos) return not_found(which);
  const std::string node = which.substr(0, colon), port = which.substr(colon + 1);
  if (!is_known(view, node)) return not_found(node);
  std::uint64_t number = 0;
  if (ib::parse_number(port, UINT8_MAX, number) && has_port(view, node, number))
    return list(view, node, port, false);
  Outcome whole = list(view, node, {}, false);
  whole.text = fmt::format("Warning: \"{}\" is not a valid port\n", ib::printable(port));
  return whole;
}

Outcome print_errors(const View& view, Words words) {
  const std::string which = joined(words);
  if (!which.empty() && !is_known(view, which)) return not_found(which);
  return list(view, which, {}, true);
}

bool is_of(const managers::performance::Redirection& redirection, const std::string& node) {
  ib::Guid guid;
  return node.empty() || redirection.node_name == node ||
         (ib::parse_guid(node, guid) && guid == redirection.node_guid);
}

std::string not_followed(const View& view) {
  return view.performance->options().follow_redirections ? "" : "Perfmgr redirection not enabled\n";
}

Outcome dump_redirections(const View& view, Words words) {
  const std::string node = joined(words);
  std::string text = not_followed(view) +
                     "\nRedirection Table\n"
                     "-----------------\n";
  bool is_there = node.empty() || is_known(view, node);
  for (const auto& r : view.performance->redirections()) {
    if (!is_of(r, node)) continue;
    is_there = true;
    text += fmt::format(
        "   Node GUID       ESP0   Name\n"
        "   ---------       ----   ----\n"
        "   0x{:x} {:d}      {}\n"
        "\n   Port Valid  LIDs     PKey  QP    PKey Index\n"
        "   ---- -----  ----     ----  --    ----------\n"
        "   {}    1      {}->{}  0x{:x} 0x{:x}   {}\n\n",
        r.node_guid.value, r.enhanced_port0, ib::printable(r.node_name), r.port, r.from.value,
        r.to.value, r.p_key.value, r.qpn, r.p_key_index);
  }
  if (!is_there) return not_found(node, std::move(text));
  return {std::move(text)};
}

Outcome clear_redirections(const View& view, Words words) {
  std::string node = joined(words);
  if (!node.empty() && !is_known(view, node)) return not_found(node, not_followed(view));
  return {not_followed(view), ForgetRedirections{std::move(node)}};
}

std::string state_text(const View& view) {
  const PerformanceManager* manager = view.performance;
  const managers::performance::Options options =
      manager != nullptr ? manager->options() : managers::performance::Options{};
  const auto truth = [](bool value) { return value ? "TRUE" : "FALSE"; };
  return fmt::format(
      "Performance Manager status:\n"
      "state                        : {}\n"
      "sweep state                  : {}\n"
      "sweep time                   : {}s\n"
      "outstanding queries/max      : {}/{}\n"
      "remove missing nodes from DB : {}\n"
      "query ClassPortInfo          : {}\n",
      manager != nullptr && manager->is_enabled() ? "Enabled" : "Disabled",
      manager != nullptr && manager->sweeping() ? "Active" : "Sleeping",
      std::chrono::duration_cast<std::chrono::seconds>(options.sweep_time).count(),
      manager != nullptr ? manager->under_way() : 0, options.outstanding,
      truth(options.forget_gone_nodes), truth(options.ask_capabilities));
}

struct Verb {
  std::string_view name;
  Outcome (*run)(const View& view, Words words);
};
constexpr std::array kVerbs = {
    Verb{"enable", enable},
    Verb{"disable", disable},
    Verb{"sweep", sweep},
    Verb{"sweep_time", sweep_time},
    Verb{"clear_counters", clear_counters},
    Verb{"dump_counters", dump_counters},
    Verb{"print_counters", print_counters},
    Verb{"pc", print_counters},
    Verb{"print_errors", print_errors},
    Verb{"pe", print_errors},
    Verb{"set_rm_nodes", set_rm_nodes},
    Verb{"clear_rm_nodes", clear_rm_nodes},
    Verb{"clear_inactive", clear_inactive},
    Verb{"set_query_cpi", set_query_cpi},
    Verb{"clear_query_cpi", clear_query_cpi},
    Verb{"dump_redir", dump_redirections},
    Verb{"clear_redir", clear_redirections},
};

}  // namespace

Outcome counters(const View& view, Words words) {
  if (words.empty()) return {state_text(view)};
  const auto* const verb = std::ranges::find(kVerbs, words.front(), &Verb::name);
  if (verb == kVerbs.end()) {
    return failed(ib::cli::kExitUsage,
                  fmt::format("\"{}\" option not found\n", ib::printable(words.front())));
  }
  if (view.performance == nullptr) {
    return failed(
        ib::cli::kExitCannotRun,
        "the performance manager was not started: start ibsm with --perfmgr (perfmgr TRUE)\n");
  }
  return verb->run(view, words.subspan(1));
}

}  // namespace sm::console
