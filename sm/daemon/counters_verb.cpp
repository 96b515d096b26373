// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/counters_verb.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/names.h"
#include "sm/daemon/failure_documents.h"
#include "sm/daemon/unknown_node.h"
#include "sm/managers/performance/history_text.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {

using managers::performance::Clock;
using managers::performance::PerformanceManager;
using managers::performance::PortRecords;
using managers::performance::Which;

/// The node that a word means, and its port where the word has one: of the subnet as it is, or of
/// those that were counted before.
ib::Result<ib::fabric::NodeAndPort> find_counted(const std::string& word,
                                                 const CountedSubnet& subnet) {
  if (subnet.fabric == nullptr)
    return ib::fail(ib::ErrorKind::NotFound, "no node is known yet, '" + ib::printable(word) + "'");
  return ib::fabric::find_node_and_port(*subnet.fabric, word);
}
ib::Result<ib::Guid> find_gone(const std::string& word, const PortRecords& records) {
  std::vector<ib::fabric::NamedNode> nodes;
  for (const auto& [key, record] : records)
    if (nodes.empty() || nodes.back().guid != record.node_guid)
      nodes.push_back({record.node_guid, false, record.node_name, {}});
  return ib::fabric::find_named(nodes, word, nullptr, [](std::size_t) { return std::string(); })
      .map([&](std::size_t n) { return nodes[n].guid; });
}

/// The node and port that words behind the first name.
ib::Result<Which> which_of(const control::Request& request, const PortRecords& records,
                           const CountedSubnet& subnet) {
  Which which;
  which.errors_only = request.has("errors");
  if (request.words.size() > 1) {
    const std::string& word = request.words[1];
    if (const auto found = find_counted(word, subnet)) {
      which.node = subnet.fabric->node(found->node).guid;
      if (found->port) which.port = *found->port;
    } else {
      const auto gone = find_gone(word, records);
      if (!gone) return tl::unexpected<ib::Error>(found.error());
      which.node = *gone;
    }
  }
  if (request.words.size() > 2) {
    constexpr std::uint64_t kPortMax = 254;
    std::uint64_t port = 0;
    if (!ib::parse_number(request.words[2], kPortMax, port))
      return ib::fail(ib::ErrorKind::Usage, fmt::format("expected a port number up to {}, got '{}'",
                                                        kPortMax, ib::printable(request.words[2])));
    which.port = static_cast<int>(port);
  }
  return which;
}

/// Of `text`, where there is none.
control::Answer or_why_not(std::string text, const PerformanceManager& manager,
                           const Which& which) {
  if (!text.empty()) return {0, std::move(text)};
  if (manager.sweeps() == 0) return {1, "no counters have been read yet\n"};
  if (which.errors_only) return {0, "no port has counted errors\n"};
  return {1, "no counters of that port are read\n"};
}

control::Answer list(const control::Request& request, const PerformanceManager& manager,
                     const Clock& clock, const CountedSubnet& subnet) {
  const auto which = which_of(request, manager.records(), subnet);
  if (!which) return misnamed(which.error(), request.words[1]);
  if (request.has("json"))
    return {0, counters_json(manager.records(), *which, clock, subnet.version)};
  return or_why_not(counters_text(manager.records(), *which, clock), manager, *which);
}

control::Answer history(const control::Request& request, const PerformanceManager& manager,
                        const CountedSubnet& subnet) {
  const auto which = which_of(request, manager.records(), subnet);
  if (!which) return misnamed(which.error(), request.words[1]);
  const auto& windows = manager.options().windows;
  if (request.has("json"))
    return {0, history_json(manager.records(), *which, windows, subnet.version)};
  return or_why_not(history_text(manager.records(), *which, windows), manager, *which);
}

/// What `sweep`, `clear` and `dump` did, with how many ports.
struct CountersChange {
  bool was_under_way{false};  // a sweep, already
  std::string file;           // that was written; empty: none
};
std::string change_json(const std::string& what, const CountersChange& change,
                        const PerformanceManager& manager, const std::string& version) {
  ib::report::JsonWriter json;
  begin_document(json, {kCountersChangeSchema, "ibsm", version, true, {}});
  json.field("change", what).field("ports", manager.records().size());
  json.field("was_under_way", change.was_under_way);
  json.field("file", change.file.empty() ? std::nullopt : std::optional(change.file));
  json.end_object();
  return json.take();
}

control::Answer sweep(const control::Request& request, PerformanceManager& manager,
                      const Clock& clock, const std::string& version) {
  const bool was_under_way = manager.sweeping();
  manager.sweep_now(clock.now);
  if (request.has("json")) return {0, change_json("sweep", {was_under_way, {}}, manager, version)};
  return {0, was_under_way ? "a sweep of counters is under way\n" : "a sweep of counters begins\n"};
}

control::Answer clear(const control::Request& request, PerformanceManager& manager,
                      const Clock& clock, const std::string& version) {
  manager.clear_totals(clock.now);
  if (request.has("json")) return {0, change_json("clear", {}, manager, version)};
  return {0, fmt::format("totals of {} ports are 0\n", manager.records().size())};
}

control::Answer dump(const control::Request& request, const PerformanceManager& manager,
                     const std::string& file, const Clock& clock, const std::string& version) {
  const bool table = request.words.size() > 1;
  if (table && request.words[1] != "mach")
    return {ib::cli::kExitUsage, fmt::format("expected `dump` or `dump mach`, got '{}'\n",
                                             ib::printable(request.words[1]))};
  const std::string text = table ? counters_table(manager.records(), clock)
                                 : counters_text(manager.records(), {}, clock);
  if (auto written = store::write_backup(file, text); !written)
    return {ib::cli::kExitCannotRun, written.error().message + '\n'};
  if (request.has("json")) return {0, change_json("dump", {false, file}, manager, version)};
  return {0, fmt::format("{} ports written to {}\n", manager.records().size(), file)};
}

}  // namespace

control::Answer counters_verb(const control::Request& request, PerformanceManager* manager,
                              const std::string& file, const Clock& clock,
                              const CountedSubnet& subnet) {
  if (manager == nullptr)
    return {ib::cli::kExitCannotRun,
            "counters are not read: start ibsm with --perfmgr (perfmgr TRUE)\n"};
  const std::string what = request.words.empty() ? "list" : request.words.front();
  const std::size_t words_max = what == "list" || what == "history" ? 3 : what == "dump" ? 2 : 1;
  if (request.words.size() <= words_max) {
    if (what == "list") return list(request, *manager, clock, subnet);
    if (what == "history") return history(request, *manager, subnet);
    if (what == "dump") return dump(request, *manager, file, clock, subnet.version);
    if (what == "sweep") return sweep(request, *manager, clock, subnet.version);
    if (what == "clear") return clear(request, *manager, clock, subnet.version);
  }
  return {
      ib::cli::kExitUsage,
      "expected `counters list [NODE [PORT]]`, `counters history [NODE [PORT]]`, `counters dump "
      "[mach]`, `counters sweep` or `counters clear`\n"};
}

}  // namespace sm::daemon
