// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "libdiag/wire/words.h"

namespace ibtracer {

using ib::query::WalkEnd;
namespace wire = ib::wire;
/// In the order they are written here: the envelope first.
using Json = nlohmann::ordered_json;

std::string_view agent_word(AgentWord word) {
  switch (word) {
    case AgentWord::NotAsked:
      return "not asked";
    case AgentWord::Answered:
      return "answered";
    case AgentWord::NoAgent:
      return "no agent (0x000C)";
    case AgentWord::OtherVersion:
      return "agent of another version";
    case AgentWord::Silent:
      return "agent timeout";
    case AgentWord::KnowsNoIngress:
      return "agent cannot know its ingress";
    case AgentWord::Odd:
      return "odd answer";
  }
  return "";
}

std::string_view verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::Verified:
      return "VERIFIED";
    case Verdict::Partly:
      return "PARTLY VERIFIED";
    case Verdict::Mismatch:
      return "MISMATCH";
    case Verdict::Broken:
      return "BROKEN";
  }
  return "";
}

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::Verified:
      return 0;
    case Verdict::Partly:
      return 3;
    default:
      return 1;
  }
}

namespace {

std::string name_of(const TracedHop& hop) {
  const std::string name = ib::printable(hop.hop.description);
  return name.empty() ? ib::to_string(hop.hop.node_guid) : name;
}

const char* grh_word(GrhWord word) {
  switch (word) {
    case GrhWord::NotUsed:
      return "not used";
    case GrhWord::Answered:
      return "answered";
    case GrhWord::Unknown:
      return "agent does not know it";
    case GrhWord::Silent:
      return "timeout";
  }
  return "";
}

const char* proof_word(Proof proof) {
  switch (proof) {
    case Proof::None:
      return "none";
    case Proof::Agent:
      return "agent";
    case Proof::Smp:
      return "smp";
    case Proof::Counters:
      return "counters";
  }
  return "";
}

const char* counter_word(CounterProof proof) {
  switch (proof) {
    case CounterProof::NotAsked:
      return "not asked";
    case CounterProof::Proven:
      return "proven";
    case CounterProof::NotProven:
      return "not proven";
    case CounterProof::Contradicted:
      return "contradicted";
  }
  return "";
}

std::string_view route_source_word(RouteSource source) {
  switch (source) {
    case RouteSource::Tables:
      return "tables";
    case RouteSource::SaTraceRecords:
      return "SA TraceRecords";
    case RouteSource::SaOtherRecords:
      return "SA LinkRecords and LinearForwardingTableRecords";
  }
  return "";
}

std::string_view grh_evidence(GrhWord word) {
  switch (word) {
    case GrhWord::NotUsed:
      return "";
    case GrhWord::Answered:
      return " with GRH";
    case GrhWord::Unknown:
      return " without GRH, which it does not know";
    case GrhWord::Silent:
      return " without GRH, with which it does not answer";
  }
  return "";
}

std::string evidence(const TracedHop& hop) {
  if (hop.mismatch != Mismatch::No)
    return fmt::format("{} MISMATCH: {}",
                       hop.mismatch == Mismatch::Explained ? "explained" : "unexplained", hop.note);
  std::string text;
  switch (hop.proof) {
    case Proof::Agent:
      text = "verified by agent";
      text += grh_evidence(hop.grh);
      break;
    case Proof::Smp:
      text = "verified by LocalPortNum";
      if (hop.agent != AgentWord::NotAsked) text += fmt::format(" ({})", agent_word(hop.agent));
      break;
    case Proof::Counters:
      text = fmt::format("proven by counters ({})", agent_word(hop.agent));
      break;
    case Proof::None:
      text = fmt::format("no proof ({})", agent_word(hop.agent));
      break;
  }
  if (hop.differs_from_dlid_route())
    text += fmt::format(" (route to its own LID enters on port {})", hop.expected);
  if (!hop.note.empty()) text += "; " + hop.note;
  return text;
}

std::string counters_line(const TracedHop& hop) {
  std::string line = fmt::format("       port {} counters:", hop.hop.ingress_port);
  if (hop.ingress_counters) {
    const auto& c = *hop.ingress_counters;
    line += fmt::format(" rcv {} pkts {} words, xmit {} pkts {} words", c.port_rcv_pkts,
                        c.port_rcv_data, c.port_xmit_pkts, c.port_xmit_data);
  }
  if (hop.ingress_errors) {
    const auto& e = *hop.ingress_errors;
    line += fmt::format("; symbol {} link-recovery {} link-down {} rcv-err {} xmit-discard {}",
                        e.symbol_error_counter, e.link_error_recovery_counter,
                        e.link_downed_counter, e.port_rcv_errors, e.port_xmit_discards);
  }
  return line + "\n";
}

std::string hop_lines(const Trace& trace) {
  std::size_t width = 0;
  for (const TracedHop& hop : trace.hops) width = std::max(width, name_of(hop).size());
  std::string out;
  for (const TracedHop& hop : trace.hops) {
    const std::string quoted = '"' + name_of(hop) + '"';
    const std::string out_port = hop.hop.egress_port != 0
                                     ? fmt::format("out {:>3}", hop.hop.egress_port)
                                     : std::string("       ");
    const std::string in_port = hop.hop.ingress_port != 0
                                    ? fmt::format("in {:>3}", hop.hop.ingress_port)
                                    : std::string("      ");
    out += fmt::format("  {:>2}  {:<6} {:<{}} lid {:>5}  {}  {}", hop.hop_number,
                       ib::wire::type_word(hop.hop.type), quoted, width + 2, hop.hop.lid.value,
                       in_port, out_port);
    out += hop.hop_number == 0 ? std::string("  source") : "  " + evidence(hop);
    while (out.back() == ' ') out.pop_back();
    out += '\n';
    if (hop.ingress_counters || hop.ingress_errors) out += counters_line(hop);
  }
  return out;
}

std::size_t proved(const Trace& trace) {
  return static_cast<std::size_t>(std::count_if(
      trace.hops.begin(), trace.hops.end(),
      [](const TracedHop& h) { return h.hop_number != 0 && h.proof != Proof::None; }));
}

/// What was traced: "lid 7", or a directed route.
std::string target_of(const Trace& trace) {
  return trace.route.empty() ? fmt::format("lid {}", trace.dlid.value) : "DR path " + trace.route;
}

std::string heading(const Trace& trace) {
  const std::string from = trace.hops.empty() ? std::string("here") : name_of(trace.hops.front());
  std::string line = fmt::format("{} {}: \"{}\"",
                                 trace.reverse             ? "Return to"
                                 : trace.seen_from.empty() ? "To"
                                                           : fmt::format("From \"{}\" to", from),
                                 target_of(trace), from);
  // Where the path breaks off, the last node on it is not the one that was looked for.
  if (trace.end == WalkEnd::Arrived && !trace.hops.empty())
    line += fmt::format(" -> \"{}\"", name_of(trace.hops.back()));
  line += '\n';
  if (!trace.seen_from.empty())
    line +=
        fmt::format("  by packets of {} that join the way at its first switch\n", trace.seen_from);
  return line;
}

/// Before the number of a LID: which way that is.
std::string way_of(const Trace& trace) {
  if (trace.reverse) return "return path to lid";
  if (trace.seen_from.empty() || trace.hops.empty()) return "lid";
  return fmt::format("from \"{}\" to lid", name_of(trace.hops.front()));
}

std::string counting_lines(const Trace& trace) {
  if (trace.counters == CounterProof::NotAsked) return "";
  std::string out = fmt::format("  counters: {} after {} packets to lid {}",
                                counter_word(trace.counters), trace.packets_sent, trace.dlid.value);
  if (!trace.counters_note.empty()) out += "; " + trace.counters_note;
  out += '\n';
  for (const PortCount& p : trace.port_counts) {
    if (p.verdict == CounterProof::NotAsked) continue;
    const TracedHop& hop = trace.hops[p.hop_index];
    out +=
        fmt::format("      hop {:>2} port {:>3}: rose by {}, background {} to {} an interval: {}\n",
                    hop.hop_number, hop.hop.ingress_port, p.risen, p.background_min,
                    p.background_max, counter_word(p.verdict));
  }
  return out;
}

const Trace& decisive(const TraceReport& report) {
  return *std::max_element(
      report.traces.begin(), report.traces.end(),
      [](const Trace& a, const Trace& b) { return verdict_of(a) < verdict_of(b); });
}

std::string last_line(const TraceReport& report) {
  const Verdict verdict = report.verdict();
  const Trace& t = decisive(report);
  const std::string where = way_of(t);
  const std::size_t hops = t.hops.empty() ? 0 : t.hops.size() - 1;
  switch (verdict) {
    case Verdict::Verified: {
      const Trace& first = report.traces.front();
      const std::string what = report.traces.size() == 1
                                   ? std::string()
                                   : fmt::format(", {} traces", report.traces.size());
      return fmt::format("VERIFIED {} {} \"{}\": all {} hops confirmed{}\n", way_of(first),
                         first.dlid.value, name_of(first.hops.back()), first.hops.size() - 1, what);
    }
    case Verdict::Partly:
      return fmt::format("PARTLY VERIFIED {} {} \"{}\": {} of {} hops have a proof\n", where,
                         t.dlid.value, name_of(t.hops.back()), proved(t), hops);
    case Verdict::Mismatch: {
      if (!t.wrong_node.empty())
        return fmt::format("MISMATCH {} {}: {}\n", where, t.dlid.value, t.wrong_node);
      for (const TracedHop& hop : t.hops)
        if (hop.mismatch == Mismatch::Unexplained)
          return fmt::format("MISMATCH {} {} at hop {} \"{}\": {}\n", where, t.dlid.value,
                             hop.hop_number, name_of(hop), hop.note);
      return fmt::format(
          "MISMATCH {} {}: according to the counters, packets did not take the path of the LFTs\n",
          where, t.dlid.value);
    }
    case Verdict::Broken:
      return fmt::format("BROKEN {}{} after {} hop{}: {}: {}\n", t.reverse ? "return path to " : "",
                         target_of(t), hops, hops == 1 ? "" : "s", ib::query::walk_end_name(t.end),
                         t.failure);
  }
  return "";
}

Json hop_json(const TracedHop& hop, const PortCount* count) {
  Json j{{"hop", hop.hop_number},
         {"type", ib::wire::type_word(hop.hop.type)},
         {"node_guid", ib::to_string(hop.hop.node_guid)},
         {"port_guid", ib::to_string(hop.hop.port_guid)},
         {"lid", hop.hop.lid.value},
         {"name", ib::printable(hop.hop.description)},
         {"ingress_port", hop.hop.ingress_port},
         {"egress_port", hop.hop.egress_port}};
  if (hop.hop_number == 0) return j;
  j["own_lid_ingress_port"] = hop.expected;
  j["own_lid_hops"] = hop.own_lid_hops;
  j["agent"] = agent_word(hop.agent);
  j["grh"] = grh_word(hop.grh);
  j["agent_port"] = hop.agent_actual ? Json(*hop.agent_actual) : Json();
  j["smp_port"] = hop.smp_actual ? Json(*hop.smp_actual) : Json();
  j["proof"] = proof_word(hop.proof);
  j["mismatch"] = hop.mismatch == Mismatch::No          ? "no"
                  : hop.mismatch == Mismatch::Explained ? "explained"
                                                        : "unexplained";
  j["note"] = hop.note;
  if (hop.ingress_counters) {
    const auto& c = *hop.ingress_counters;
    j["counters"] = {{"rcv_pkts", c.port_rcv_pkts},
                     {"rcv_words", c.port_rcv_data},
                     {"xmit_pkts", c.port_xmit_pkts},
                     {"xmit_words", c.port_xmit_data}};
  }
  if (hop.ingress_errors) {
    const auto& e = *hop.ingress_errors;
    j["errors"] = {{"symbol", e.symbol_error_counter},
                   {"link_recovery", e.link_error_recovery_counter},
                   {"link_downed", e.link_downed_counter},
                   {"rcv_errors", e.port_rcv_errors},
                   {"xmit_discards", e.port_xmit_discards}};
  }
  if (count != nullptr && count->verdict != CounterProof::NotAsked) {
    j["count"] = {{"rise", count->risen},
                  {"background_min", count->background_min},
                  {"background_max", count->background_max},
                  {"verdict", counter_word(count->verdict)}};
  }
  return j;
}

/// What --prove counted at a hop; nullptr: nothing.
const PortCount* count_at(const Trace& trace, std::size_t hop_index) {
  for (const PortCount& count : trace.port_counts)
    if (count.hop_index == hop_index) return &count;
  return nullptr;
}

}  // namespace

std::string text_report(const TraceReport& report, bool verbose) {
  std::string out;
  for (const Trace& trace : report.traces) {
    const Verdict verdict = verdict_of(trace);
    if (!verbose && (verdict == Verdict::Verified || verdict == Verdict::Partly) &&
        report.traces.size() == 1 && trace.counters == CounterProof::NotAsked &&
        std::none_of(trace.hops.begin(), trace.hops.end(),
                     [](const TracedHop& h) { return h.ingress_counters || h.ingress_errors; }))
      continue;
    out += heading(trace);
    if (report.route_source != RouteSource::Tables)
      out += fmt::format("  route by {}\n", route_source_word(report.route_source));
    out += hop_lines(trace) + counting_lines(trace);
    if (trace.end != WalkEnd::Arrived)
      out += fmt::format("      {}: {}\n", ib::query::walk_end_name(trace.end), trace.failure);
  }
  return out + last_line(report);
}

namespace {

/// What could not be read: besides counters, proofs of hops and the answer that a path ended for.
std::vector<std::string> unread(const TraceReport& report) {
  std::vector<std::string> out = report.errors;
  for (const Trace& trace : report.traces) {
    const std::string where = trace.reverse ? "return path to " : "";
    for (const TracedHop& hop : trace.hops) {
      if (trace.end != WalkEnd::Arrived || hop.hop_number == 0 || hop.proof != Proof::None ||
          hop.mismatch != Mismatch::No)
        continue;
      out.push_back(fmt::format("{}{} hop {} \"{}\": no proof ({})", where, target_of(trace),
                                hop.hop_number, name_of(hop), agent_word(hop.agent)));
    }
    if (trace.end == WalkEnd::TimedOut) out.push_back(trace.failure);
  }
  return out;
}

}  // namespace

std::string json_report(const TraceReport& report, ib::Lid lid) {
  ib::report::JsonWriter json;
  const std::vector<std::string> errors = unread(report);
  ib::report::begin_document(json, {kSchema, "ibtracer", IBKIT_VERSION, errors.empty(), errors});
  json.field("target_lid", lid)
      .field("verdict", verdict_word(report.verdict()))
      .field("route_source", route_source_word(report.route_source));
  json.key("traces").begin_array();
  for (const Trace& trace : report.traces) {
    json.begin_object()
        .field("direction", trace.reverse             ? "back"
                            : trace.seen_from.empty() ? "forward"
                                                      : "between")
        .field("dlid", trace.dlid)
        .field("route", trace.route)
        .field("verdict", verdict_word(verdict_of(trace)))
        .field("end", ib::query::walk_end_name(trace.end))
        .field("reason", trace.failure)
        .field("wrong_node", trace.wrong_node)
        .field("counters", counter_word(trace.counters))
        .field("counters_reason", trace.counters_note)
        .field("packets_sent", trace.packets_sent);
    json.key("hops").begin_array(ib::report::JsonWriter::Items::Lines);
    for (std::size_t i = 0; i < trace.hops.size(); ++i)
      json.tree(hop_json(trace.hops[i], count_at(trace, i)));
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.take();
}

int exit_status(const TraceReport& report) { return exit_status(report.verdict()); }

}  // namespace ibtracer
