// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/verdict.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/report/words.h"

namespace ib::report {

std::string figures_text(const routes::Figures& f) {
  return fmt::format(
      "hosts: {}\nload-floor: {}\nhops-mean: {:.3f} (least {:.3f})\nhops-max: {}\n"
      "extra-hops-max: {}\nshift-contention: {} at worst, {:.2f} on average of {}\n"
      "permutation-contention: {} at worst, {:.2f} on average of {}\n"
      "bisection: {:.3f} on average, {:.3f} at least\n",
      f.hosts, f.load_floor, f.hops_mean, f.hops_least_mean, f.hops_max, f.extra_hops_max,
      f.shifts.worst, f.shifts.mean, f.shifts.patterns, f.permutations.worst, f.permutations.mean,
      f.permutations.patterns, f.bisection_mean, f.bisection_least);
}

void write_figures(JsonWriter& json, const routes::Figures& f) {
  const auto contention = [&](const char* name, const routes::Figures::Contention& c) {
    json.key(name)
        .begin_object()
        .field("patterns", c.patterns)
        .field("worst", c.worst)
        .field("mean", c.mean)
        .end_object();
  };
  json.key("figures").begin_object();
  json.field("hosts", f.hosts)
      .field("load_floor", f.load_floor)
      .field("hops_mean", f.hops_mean)
      .field("hops_least_mean", f.hops_least_mean)
      .field("hops_max", f.hops_max)
      .field("extra_hops_max", f.extra_hops_max);
  contention("shifts", f.shifts);
  contention("permutations", f.permutations);
  json.field("bisection_mean", f.bisection_mean)
      .field("bisection_least", f.bisection_least)
      .end_object();
}

std::string findings_text(std::span<const routes::Finding> findings) {
  std::string out;
  for (const auto& finding : findings)
    out += (finding.must ? "must: " : "should: ") + printable(finding.message) + '\n';
  return out;
}

void write_findings(JsonWriter& json, const fabric::CompactGraph& graph,
                    std::span<const routes::Finding> findings) {
  json.key("findings").begin_array();
  for (const auto& finding : findings) {
    json.begin_object()
        .field("kind", finding_word(finding.kind))
        .field("must", finding.must)
        .field("lid", finding.lid)
        .field("message", finding.message);
    json.key("hops").begin_array();
    for (const auto& [s, port] : finding.hops)
      json.begin_object().field("switch", graph.guid(s)).field("port", port).end_object();
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace ib::report
