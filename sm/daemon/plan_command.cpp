// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_command.h"

#include <fmt/format.h>

#include <fstream>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/json.h"
#include "libdiag/report/words.h"
#include "libdiag/route/plan.h"
#include "libdiag/routes/dump.h"

namespace sm::daemon {
namespace {

using ib::routes::Finding;
using ib::wire::NodeType;

constexpr const char* kPlanSchema = "ibkit.ibsm-plan/1";

/// That no engine fits the topology is what was to be found out; everything else is a failure.
int plan_status(const ib::Error& error) {
  return error.kind == ib::ErrorKind::NotFound ? 1 : ib::exit_status(error.kind);
}

const char* verdict_of(const ib::route::Plan& plan) {
  if (!plan.passed) return "fails";
  if (plan.verdict.credit_loop_channels != 0) return "can deadlock";
  return plan.verdict.unreachable == 0 ? "good" : "some switches are not reached";
}

void print_text(std::ostream& out, const PlanCommand& command, const ib::route::Plan& plan) {
  const auto& v = plan.verdict;
  out << fmt::format(
      "topology: {}\nswitches: {}\ncas: {}\nrouters: {}\nlinks: {}\nlids: {}\n"
      "lids-given: {}\nengine: {}\nvls: {}\npairs: {}\nunreachable: {}\nloops: {}\n"
      "credit-loop-channels: {}\nload-max: {}\nload-mean: {:.1f}\nverdict: {}\n",
      ib::printable(command.topology), plan.fabric.count(NodeType::Switch),
      plan.fabric.count(NodeType::ChannelAdapter), plan.fabric.count(NodeType::Router),
      plan.fabric.link_count(), plan.graph.destinations().size(), plan.lids_given,
      plan.routes.engine, plan.routes.vls_used, v.pairs, v.unreachable, v.loops,
      v.credit_loop_channels, v.load_max, v.load_mean, verdict_of(plan));
  for (const auto& note : plan.notes) out << "note: " << note << '\n';
  for (const Finding& finding : v.findings)
    out << (finding.must ? "must: " : "should: ") << finding.message << '\n';
}

void print_json(std::ostream& out, const PlanCommand& command, const ib::route::Plan& plan) {
  const auto& v = plan.verdict;
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kPlanSchema, "ibsm", command.version, true, {}});
  json.field("topology", command.topology)
      .field("switches", plan.fabric.count(NodeType::Switch))
      .field("cas", plan.fabric.count(NodeType::ChannelAdapter))
      .field("routers", plan.fabric.count(NodeType::Router))
      .field("links", plan.fabric.link_count())
      .field("lids", plan.graph.destinations().size())
      .field("lids_given", plan.lids_given)
      .field("engine", plan.routes.engine)
      .field("vls", plan.routes.vls_used)
      .field("pairs", v.pairs)
      .field("unreachable", v.unreachable)
      .field("loops", v.loops)
      .field("credit_loop_channels", v.credit_loop_channels)
      .field("load_max", v.load_max)
      .field("load_mean", v.load_mean)
      .field("must_failures", v.must_failures)
      .field("verdict", verdict_of(plan));
  json.key("notes").begin_array();
  for (const auto& note : plan.notes) json.value(note);
  json.end_array();
  json.key("findings").begin_array();
  for (const Finding& finding : v.findings) {
    json.begin_object()
        .field("kind", ib::report::finding_word(finding.kind))
        .field("must", finding.must)
        .field("lid", finding.lid)
        .field("message", finding.message);
    json.key("hops").begin_array();
    for (const auto& [s, port] : finding.hops)
      json.begin_object().field("switch", plan.graph.guid(s)).field("port", port).end_object();
    json.end_array().end_object();
  }
  json.end_array().end_object();
  out << json.take();
}

bool write_lfts(const std::string& path, const ib::route::Plan& plan) {
  std::ofstream file(path, std::ios::binary);
  const ib::routes::DestinationNames names(plan.fabric);
  std::string text;
  for (const auto& one : ib::routes::switch_tables(plan.fabric, plan.graph, plan.routes.lfts)) {
    text.clear();
    ib::routes::append_dump_fts_lft(text, one, names);
    file << text;
  }
  return static_cast<bool>(file.flush());
}

}  // namespace

std::string plan_failure(const std::string& version, const ib::Error& error) {
  return ib::report::failure_document(kPlanSchema, "ibsm", version, error, plan_status(error));
}

int run_plan_command(const PlanCommand& command, std::ostream& out, std::ostream& complaints) {
  auto complain = [&](const ib::Error& error) {
    complaints << "ibsm: " << ib::printable(error.message) << '\n';
    if (command.json) out << plan_failure(command.version, error) << std::flush;
    return plan_status(error);
  };
  std::vector<std::string> warnings;
  auto fabric = ib::fabric::read_topology_file(command.topology, &warnings);
  if (!fabric) return complain(fabric.error());
  for (const auto& warning : warnings)
    complaints << "ibsm: warning: " << ib::printable(warning) << '\n';
  ib::route::PlanOptions options;
  options.choice = command.choice;
  const auto plan = ib::route::plan_routes(std::move(*fabric), options);
  if (!plan) return complain(plan.error());
  for (const std::string& line : ib::route::unknown_names(plan->fabric, command.mentions))
    complaints << "ibsm: warning: " << ib::printable(line) << '\n';
  if (!command.lfts_file.empty() && !write_lfts(command.lfts_file, *plan))
    return complain({ib::ErrorKind::Io, "cannot write " + command.lfts_file, 0});
  if (command.json)
    print_json(out, command, *plan);
  else
    print_text(out, command, *plan);
  if (!out.flush()) return complain({ib::ErrorKind::Io, "cannot write to stdout", 0});
  return plan->passed ? 0 : 1;
}

}  // namespace sm::daemon
