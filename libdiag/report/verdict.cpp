// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/report/shapes.h"
#include "libdiag/report/words.h"

namespace ib::report {

std::string verdict_text(const tables::Verdict& v) {
  std::string out = fmt::format("pairs: {}\n", v.pairs);
  if (v.pairs_apart != 0) out += fmt::format("pairs-disconnected: {}\n", v.pairs_apart);
  return out + fmt::format(
                   "unreachable: {}\nloops: {}\ncredit-loop-channels: {}\nload-max: {}\n"
                   "load-mean: {:.1f}\n",
                   v.unreachable, v.loops, v.credit_loop_channels, v.load_max, v.load_mean);
}

void write_verdict(JsonWriter& json, const tables::Verdict& v) {
  json.field("pairs", v.pairs)
      .field("pairs_disconnected", v.pairs_apart)
      .field("unreachable", v.unreachable)
      .field("loops", v.loops)
      .field("credit_loop_channels", v.credit_loop_channels)
      .field("load_max", v.load_max)
      .field("load_mean", v.load_mean);
}

void write_pieces(JsonWriter& json, const fabric::Fabric& fabric,
                  std::span<const tables::Piece> pieces) {
  const auto write_nodes = [&](const char* name, const std::vector<fabric::NodeIndex>& nodes) {
    json.key(name).begin_array();
    for (const fabric::NodeIndex n : nodes) {
      json.begin_object();
      write_node(json, fabric.node(n));
      json.end_object();
    }
    json.end_array();
  };
  json.key("subfabrics").begin_array();
  for (const tables::Piece& piece : pieces) {
    json.begin_object();
    write_nodes("switches", piece.switches);
    write_nodes("hosts", piece.hosts);
    json.end_object();
  }
  json.end_array();
}

std::string figures_text(const tables::Figures& f) {
  std::string out = fmt::format(
      "hosts: {}\nload-floor: {}\nweighted-load: {:.1f} at most, {:.1f} on average, floor {:.1f}\n"
      "all-to-all: {:.3f}\nhops-mean: {:.3f} (least {:.3f})\nhops-max: {}\n"
      "extra-hops-max: {}\nshift-contention: {} at worst, {:.2f} on average of {}\n"
      "permutation-contention: {} at worst, {:.2f} on average of {}\n"
      "bisection: {:.3f} on average, {:.3f} at least\n",
      f.hosts, f.load_floor, f.weighed.max, f.weighed.mean, f.weighed.floor, f.all_to_all,
      f.hops_mean, f.hops_least_mean, f.hops_max, f.extra_hops_max, f.shifts.worst, f.shifts.mean,
      f.shifts.patterns, f.permutations.worst, f.permutations.mean, f.permutations.patterns,
      f.bisection_mean, f.bisection_least);
  const auto paths = [&](const char* name, const tables::DisjointPaths& p) {
    if (p.possible > 0)
      out += fmt::format("{}: {:.2f} on average, {} at least, {:.2f} possible\n", name, p.mean,
                         p.least, p.possible);
  };
  paths("disjoint-paths", f.paths);
  paths("disjoint-paths-of-a-port", f.paths_of_port);
  return out;
}

void write_figures(JsonWriter& json, const tables::Figures& f) {
  const auto contention = [&](const char* name, const tables::Figures::Contention& c) {
    json.key(name)
        .begin_object()
        .field("patterns", c.patterns)
        .field("worst", c.worst)
        .field("mean", c.mean)
        .end_object();
  };
  const auto paths = [&](const char* name, const tables::DisjointPaths& p) {
    json.key(name)
        .begin_object()
        .field("mean", p.mean)
        .field("least", p.least)
        .field("possible", p.possible)
        .end_object();
  };
  json.key("figures").begin_object();
  json.field("hosts", f.hosts)
      .field("load_floor", f.load_floor)
      .field("weighted_load_max", f.weighed.max)
      .field("weighted_load_mean", f.weighed.mean)
      .field("weighted_load_floor", f.weighed.floor)
      .field("all_to_all", f.all_to_all)
      .field("hops_mean", f.hops_mean)
      .field("hops_least_mean", f.hops_least_mean)
      .field("hops_max", f.hops_max)
      .field("extra_hops_max", f.extra_hops_max);
  contention("shifts", f.shifts);
  contention("permutations", f.permutations);
  json.field("bisection_mean", f.bisection_mean).field("bisection_least", f.bisection_least);
  paths("disjoint_paths", f.paths);
  paths("disjoint_paths_of_a_port", f.paths_of_port);
  json.end_object();
}

bool is_error(const tables::Finding& finding) {
  return finding.must || finding.kind == tables::Finding::Kind::CreditLoop;
}

std::string nothing_to_verify(const fabric::CompactGraph& graph, const tables::Verdict& verdict) {
  if (verdict.pairs != 0) return "";
  if (graph.switch_count() == 0) return "the fabric has no switch";
  return graph.destinations().empty() ? "no port has a LID" : "no switch has a host with a LID";
}

std::string routes_verdict(const tables::Verdict& verdict, const VerdictScope& scope) {
  std::vector<std::string> wrong;
  const auto count = [&](std::uint64_t n, const char* words) {
    if (n != 0) wrong.push_back(fmt::format(fmt::runtime(words), n));
  };
  count(verdict.credit_loop_channels, "routes can deadlock ({} channels)");
  count(verdict.switch_turns_refused,
        "paths to or from LIDs of switches can deadlock ({} dependencies)");
  count(verdict.loops, "routes loop ({})");
  // Hosts reach one another where the checks that must pass have passed.
  count(verdict.unreachable - std::min(verdict.unreachable, verdict.loops),
        verdict.must_ok() ? "some switches are not reached ({})" : "routes do not arrive ({})");
  count(scope.duplicate_lids, "duplicate LIDs ({})");
  if (wrong.empty() && !verdict.must_ok()) count(verdict.must_failures, "checks failed ({})");
  const std::string said = !wrong.empty()          ? fmt::format("{}", fmt::join(wrong, ", "))
                           : scope.nothing.empty() ? std::string("routes are verified")
                                                   : "nothing to verify: " + scope.nothing;
  return scope.missing.empty() ? said : "incomplete (" + scope.missing + "): " + said;
}

std::string findings_text(std::span<const tables::Finding> findings) {
  std::string out;
  for (const auto& finding : findings)
    out += (is_error(finding) ? "error: " : "warning: ") + printable(finding.message) + '\n';
  return out;
}

void write_findings(JsonWriter& json, const fabric::Fabric& fabric,
                    const fabric::CompactGraph& graph, std::span<const tables::Finding> findings) {
  json.key("findings").begin_array();
  for (const auto& finding : findings) {
    json.begin_object()
        .field("kind", finding_word(finding.kind))
        .field("severity", is_error(finding) ? "error" : "warning")
        .field("lid", finding.lid)
        .field("message", finding.message);
    json.key("hops").begin_array();
    std::uint8_t ingress = 0;
    for (const auto& [s, port] : finding.hops) {
      const fabric::NodeIndex node = graph.node_of(s);
      json.begin_object();
      write_hop(json, fabric, node, ingress, port);
      json.end_object();
      const fabric::PortRef peer = port != 0 && port <= fabric.node(node).num_ports
                                       ? fabric.port(node, port).peer
                                       : fabric::PortRef{};
      ingress = peer ? peer.port : std::uint8_t{0};
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace ib::report
