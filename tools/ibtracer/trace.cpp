// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/query/smp_client.h"
#include "tools/ibtracer/prove.h"
#include "tools/ibtracer/sa_route.h"

namespace ibtracer {

using ib::Lid;
using ib::query::PathWalk;
using ib::query::Walk;
using ib::query::WalkEnd;
using ib::query::WalkOptions;
namespace wire = ib::wire;
namespace mad = ib::mad;

mad::Request class_port_info_request(mad::Cookie cookie, ib::Guid target, Lid lid, ib::Sl sl) {
  mad::Request r;
  r.cookie = cookie;
  r.target_key = target.value;
  r.address = mad::gsi_address(lid, sl);
  r.mad = wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Get,
                         wire::attr::kClassPortInfo);
  return r;
}

mad::Request source_route_request(mad::Cookie cookie, ib::Guid target, Lid lid, ib::Sl sl,
                                  const wire::SourceRoute& route) {
  mad::Request r = class_port_info_request(cookie, target, lid, sl);
  r.mad =
      wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Get, wire::attr::kSourceRoute);
  wire::set_body(r.mad, route);
  return r;
}

namespace {

/// Who says which route is to be expected: the tables of the switches, or the SA.
struct Guide {
  mad::Session& session;
  SaRoutes* sa{nullptr};  // nullptr: the tables
};

ib::Result<Walk> walk_to(const Guide& guide, Lid dlid, const WalkOptions& options) {
  if (guide.sa != nullptr) return guide.sa->walk(dlid);
  PathWalk walk(dlid, options);
  mad::Session& session = guide.session;
  if (auto ran = session.run(walk); !ran) return tl::unexpected(ran.error());
  return walk.walk();
}

/// The vector of a request to the last hop of `walk`: ingress ports from hop 1 on.
wire::SourceRoute vector_of(const Walk& walk) {
  wire::SourceRoute route;
  route.hop = static_cast<std::uint8_t>(walk.hops.size() - 1);
  for (std::size_t i = 1; i < walk.hops.size(); ++i)
    route.expected_port[i] = walk.hops[i].ingress_port;
  return route;
}

bool is_switch(const ib::query::Hop& hop) { return hop.type == wire::NodeType::Switch; }

/// One hop's questions: its own LID's route from the tables, its agent, and a LID-routed NodeInfo.
class HopCheck {
 public:
  HopCheck(const Guide& guide, const TraceOptions& options, TracedHop& hop, Lid lid)
      : guide_(guide), session_(guide.session), options_(options), hop_(hop), lid_(lid) {}

  ib::Result<void> run(const Walk& dlid_walk, bool is_last) {
    if (is_last) {
      own_ = dlid_walk;
    } else if (auto read = read_own_route(); !read) {
      return read;
    }
    take_expectation();
    if (hop_.expected == 0) return {};
    if (auto asked = ask(); !asked) return asked;
    if (!disagrees()) return {};
    // Tables may have changed between the walk and the question: read them once more and ask again.
    if (guide_.sa != nullptr) guide_.sa->forget();
    if (auto read = read_own_route(); !read) return read;
    const std::uint8_t before = hop_.expected;
    take_expectation();
    if (hop_.expected == 0) return {};
    if (auto asked = ask(); !asked) return asked;
    hop_.mismatch = disagrees() ? Mismatch::Unexplained : Mismatch::Explained;
    hop_.note =
        hop_.mismatch == Mismatch::Explained
            ? fmt::format(
                  "came in by port {}, not {}: the tables had changed meanwhile and agree now",
                  hop_.expected, before)
            : fmt::format("came in by port {} although the tables for lid {} say {}", actual(),
                          lid_.value, hop_.expected);
    return {};
  }

 private:
  ib::Result<void> read_own_route() {
    WalkOptions walk_options;
    walk_options.m_key = options_.m_key;
    walk_options.descriptions = false;
    auto read = walk_to(guide_, lid_, walk_options);
    if (!read) return tl::unexpected(read.error());
    own_ = std::move(*read);
    return {};
  }

  void take_expectation() {
    hop_.expected = 0;
    if (!own_.arrived() || own_.hops.size() < 2) {
      hop_.note =
          fmt::format("the route to this hop's own lid {} is broken: {}", lid_.value, own_.failure);
      return;
    }
    hop_.expected = own_.hops.back().ingress_port;
    hop_.own_lid_hops = static_cast<std::uint8_t>(own_.hops.size() - 1);
  }

  ib::Result<void> ask() {
    const ib::Guid guid = hop_.hop.node_guid;
    std::vector<mad::Request> questions;
    questions.push_back(class_port_info_request(0, guid, lid_, options_.sl));
    questions.push_back(source_route_request(1, guid, lid_, options_.sl, vector_of(own_)));
    questions.push_back(mad::smp_request(2, guid.value, lid_, wire::Method::Get,
                                         wire::attr::kNodeInfo, 0, options_.m_key));
    auto answers = session_.call_all(std::move(questions));
    if (!answers) return tl::unexpected(answers.error());
    read_agent((*answers)[0], (*answers)[1]);
    read_smp((*answers)[2]);
    hop_.proof = Proof::None;
    if (hop_.agent_actual == hop_.expected) {
      hop_.proof = Proof::Agent;
    } else if (hop_.smp_actual == hop_.expected) {
      hop_.proof = Proof::Smp;
    }
    return {};
  }

  void read_agent(const mad::Completion& info, const mad::Completion& route) {
    hop_.agent_actual.reset();
    if (!info.reply) {
      hop_.agent = AgentWord::Silent;
      return;
    }
    const std::uint16_t status = info.reply->mad.status();
    if (status == wire::status::kBadAttribute) {
      hop_.agent = AgentWord::NoAgent;
    } else if (status == wire::status::kBadVersion || status == wire::status::kBadMethod) {
      hop_.agent = AgentWord::OtherVersion;
    } else if (status != wire::status::kOk) {
      hop_.agent = AgentWord::Odd;
      hop_.note = fmt::format("its agent answered ClassPortInfo with status 0x{:04x}", status);
    } else if ((wire::body<wire::ClassPortInfo>(info.reply->mad).capability_mask &
                wire::kTracerKnowsIngress) == 0) {
      hop_.agent = AgentWord::KnowsNoIngress;
    } else {
      read_source_route(route);
    }
  }

  void read_source_route(const mad::Completion& route) {
    if (!route.reply) {
      hop_.agent = AgentWord::Silent;
      return;
    }
    const std::uint16_t status = route.reply->mad.status();
    const auto body = wire::body<wire::SourceRoute>(route.reply->mad);
    const bool port_agrees = body.actual_port.value == hop_.expected;
    // Status 7 with the expected port means that the agent found the request malformed, not that
    // the port is wrong.
    if ((status != wire::status::kOk && status != wire::status::kBadValue) ||
        (status == wire::status::kBadValue) == port_agrees) {
      hop_.agent = AgentWord::Odd;
      hop_.note = fmt::format("its agent answered status 0x{:04x} with port {}", status,
                              body.actual_port.value);
      return;
    }
    hop_.agent = AgentWord::Answered;
    if (body.actual_port.value != 0) hop_.agent_actual = body.actual_port.value;
  }

  void read_smp(const mad::Completion& answer) {
    hop_.smp_actual.reset();
    if (!answer.reply || answer.reply->mad.status() != 0) return;
    const auto node = wire::body<wire::NodeInfo>(answer.reply->mad);
    // Port 0 of a switch says nothing of the ingress; and an answer of another node proves nothing
    // of this one.
    if (node.local_port_num.value != 0 && node.node_guid == hop_.hop.node_guid)
      hop_.smp_actual = node.local_port_num.value;
  }

  bool disagrees() const {
    return (hop_.agent_actual && *hop_.agent_actual != hop_.expected) ||
           (hop_.smp_actual && *hop_.smp_actual != hop_.expected);
  }
  unsigned actual() const {
    return hop_.agent_actual && *hop_.agent_actual != hop_.expected ? *hop_.agent_actual
                                                                    : hop_.smp_actual.value_or(0);
  }

  const Guide& guide_;
  mad::Session& session_;
  const TraceOptions& options_;
  TracedHop& hop_;
  Lid lid_;
  Walk own_;
};

Trace trace_of(const Walk& walk, Lid dlid) {
  Trace trace;
  trace.dlid = dlid;
  trace.end = walk.end;
  trace.failure = walk.failure;
  for (std::size_t i = 0; i < walk.hops.size(); ++i) {
    TracedHop hop;
    hop.hop = walk.hops[i];
    hop.hop_number = static_cast<std::uint8_t>(i);
    trace.hops.push_back(std::move(hop));
  }
  return trace;
}

ib::Result<Trace> trace_forward(const Guide& guide, Lid dlid, const TraceOptions& options) {
  WalkOptions walk_options;
  walk_options.m_key = options.m_key;
  const auto walk = walk_to(guide, dlid, walk_options);
  if (!walk) return tl::unexpected(walk.error());
  // Without our own node there is no path to call broken.
  if (walk->hops.empty())
    return ib::fail(ib::ErrorKind::Unavailable, "our own port does not answer: " + walk->failure);
  Trace trace = trace_of(*walk, dlid);
  for (std::size_t i = 1; i < trace.hops.size(); ++i) {
    TracedHop& hop = trace.hops[i];
    const bool is_last = walk->arrived() && i + 1 == trace.hops.size();
    // The last hop is asked by the very LID that was named, since its low bits choose the path.
    const Lid lid = is_last ? dlid : hop.hop.lid;
    if (!lid.is_unicast()) {
      hop.note = "has no lid, so nothing but a directed route reaches it";
      continue;
    }
    if (auto checked = HopCheck(guide, options, hop, lid).run(*walk, is_last); !checked)
      return tl::unexpected(checked.error());
  }
  return trace;
}

/// The way back, from the tables: our own LID's route from the far end. It starts at the first
/// switch the answers meet, since a CA does not pass directed routes on.
ib::Result<Trace> trace_back(mad::Session& session, const Trace& forward, Lid own_lid,
                             const TraceOptions& options) {
  const TracedHop& last = forward.hops.back();
  WalkOptions walk_options;
  walk_options.m_key = options.m_key;
  walk_options.start = last.hop.route;
  const bool from_host = !is_switch(last.hop) && forward.hops.size() > 1;
  std::optional<std::uint8_t> entered;
  if (from_host) {
    walk_options.start.hops.pop_back();
    entered = forward.hops[forward.hops.size() - 2].hop.egress_port;
  }
  const auto walk = walk_to({session}, own_lid, walk_options);
  if (!walk) return tl::unexpected(walk.error());
  Trace trace = trace_of(*walk, own_lid);
  trace.reverse = true;
  if (from_host) {
    trace.hops.front().hop.ingress_port = *entered;
    TracedHop host;
    host.hop = last.hop;
    host.hop.egress_port = last.hop.ingress_port;
    host.hop.ingress_port = 0;
    trace.hops.insert(trace.hops.begin(), std::move(host));
    for (std::size_t i = 0; i < trace.hops.size(); ++i)
      trace.hops[i].hop_number = static_cast<std::uint8_t>(i);
  }
  return trace;
}

/// Evidence for the way back. A switch is asked by a packet that itself goes that way: a directed
/// route to the first switch, LID-routed from there (IBA 14.2.2, DrDLID). What does not support
/// that form stays unproved.
ib::Result<void> prove_back(mad::Session& session, Trace& trace, const Trace& forward,
                            const TraceOptions& options) {
  if (trace.hops.size() < 2) return {};
  const bool from_host = !is_switch(trace.hops.front().hop);
  const std::size_t first_switch = from_host ? 1 : 0;
  const mad::DirectedRoute& start = trace.hops[first_switch].hop.route;
  // The switch next to the far host: its ingress is the far end of the cable the forward walk came
  // out of.
  if (from_host && forward.hops.back().proof != Proof::None) {
    trace.hops[1].proof = forward.hops.back().proof;
    trace.hops[1].expected = trace.hops[1].hop.ingress_port;
    trace.hops[1].note = "the same cable as the last hop there";
  }
  for (std::size_t i = first_switch + 1; i < trace.hops.size(); ++i) {
    TracedHop& hop = trace.hops[i];
    const bool is_last = trace.end == WalkEnd::Arrived && i + 1 == trace.hops.size();
    const Lid lid = is_last ? trace.dlid : hop.hop.lid;
    if (!lid.is_unicast()) continue;
    WalkOptions own;
    own.m_key = options.m_key;
    own.start = start;
    own.descriptions = false;
    const auto walk = walk_to({session}, lid, own);
    if (!walk) return tl::unexpected(walk.error());
    if (!walk->arrived() || walk->hops.size() < 2) {
      hop.note =
          fmt::format("the route back to its own lid {} is broken: {}", lid.value, walk->failure);
      continue;
    }
    hop.expected = walk->hops.back().ingress_port;
    hop.own_lid_hops = static_cast<std::uint8_t>(walk->hops.size() - 1);
    mad::Request ask = mad::smp_request(0, hop.hop.node_guid.value, start, wire::Method::Get,
                                        wire::attr::kNodeInfo, 0, options.m_key);
    ask.mad.set<&wire::SmpHeader::dr_dlid>(lid);
    const auto answer = session.call(std::move(ask));
    if (!answer || answer->mad.status() != 0) continue;
    const auto node = wire::body<wire::NodeInfo>(answer->mad);
    if (node.local_port_num.value == 0 || node.node_guid != hop.hop.node_guid) continue;
    hop.smp_actual = node.local_port_num.value;
    if (*hop.smp_actual == hop.expected) {
      hop.proof = Proof::Smp;
    } else {
      hop.mismatch = Mismatch::Unexplained;
      hop.note = fmt::format("came in by port {} although the tables for lid {} say {}",
                             *hop.smp_actual, lid.value, hop.expected);
    }
  }
  return {};
}

std::string label(const ib::query::Hop& hop) {
  const std::string name = ib::printable(hop.description);
  return name.empty() ? ib::to_string(hop.node_guid) : '"' + name + '"';
}

/// Who answers at the end of `route`.
ib::Result<ib::query::Hop> hop_at(mad::Session& session, const mad::DirectedRoute& route) {
  ib::query::SmpClient smp(session);
  const auto node = smp.node_info(route);
  if (!node) return tl::unexpected(node.error());
  ib::query::Hop hop;
  hop.route = route;
  hop.type = node->node_type;
  hop.node_guid = node->node_guid;
  hop.port_guid = node->port_guid;
  hop.num_ports = node->num_ports;
  if (!route.hops.empty()) hop.ingress_port = node->local_port_num.value;
  // Name and LID are a comfort here.
  if (const auto name = smp.node_description(route)) {
    const auto& text = name->text;
    hop.description.assign(text.begin(), std::find(text.begin(), text.end(), '\0'));
  }
  const auto own =
      smp.port_info(route, is_switch(hop) ? std::uint8_t{0} : node->local_port_num.value);
  if (own) hop.lid = own->lid;
  return hop;
}

/// Why a route that leaves `hop` by `port` goes no further; nothing where it may.
std::optional<std::pair<WalkEnd, std::string>> end_of_route(mad::Session& session,
                                                            const ib::query::Hop& hop,
                                                            std::uint8_t port) {
  if (!hop.route.hops.empty() && !is_switch(hop)) {
    return std::pair{WalkEnd::WrongPort,
                     fmt::format("{} is no switch and passes nothing on", label(hop))};
  }
  if (port > hop.num_ports) {
    return std::pair{WalkEnd::WrongPort,
                     fmt::format("{} has {} ports, no port {}", label(hop), hop.num_ports, port)};
  }
  if (hop.route.hops.empty() && !is_switch(hop)) {
    const auto facts = session.port().facts();
    if (facts && facts->port_num != port)
      return std::pair{WalkEnd::WrongPort,
                       fmt::format("the route leaves by port {}, and the port in use is {} of {}",
                                   port, facts->port_num, facts->device)};
  }
  ib::query::SmpClient smp(session);
  const auto info = smp.port_info(hop.route, port);
  if (!info) return std::pair{WalkEnd::TimedOut, info.error().message};
  if (info->port_state == wire::PortState::Down) {
    return std::pair{WalkEnd::LinkDown, fmt::format("port {} of {}, by which the route leaves, is "
                                                    "DOWN",
                                                    port, label(hop))};
  }
  return std::nullopt;
}

/// All LIDs of the port that has `lid`.
std::vector<Lid> lids_of(Lid lid, unsigned lmc) {
  const unsigned base = lid.value & ~((1U << lmc) - 1);
  std::vector<Lid> lids;
  for (unsigned i = 0; i < 1U << lmc; ++i)
    lids.push_back(Lid{static_cast<std::uint16_t>(base + i)});
  return lids;
}

/// Says so where a trace arrived at another port than the one that is asked for.
void check_end(const std::optional<Wanted>& wanted, Trace& trace) {
  if (!wanted || trace.end != WalkEnd::Arrived) return;
  const ib::query::Hop& end = trace.hops.back().hop;
  const bool port_known = end.port_guid.value != 0;
  if (port_known ? end.port_guid == wanted->port_guid : end.node_guid == wanted->node_guid) return;
  ib::query::Hop asked_for;
  asked_for.node_guid = wanted->node_guid;
  asked_for.description = wanted->description;
  trace.wrong_node = fmt::format("the way ends at {} (port {}), not at {} (port {}), {}",
                                 label(end), ib::to_string(end.port_guid), label(asked_for),
                                 ib::to_string(wanted->port_guid), wanted->claim);
}

}  // namespace

ib::Result<TraceReport> trace_route(mad::Session& session, const mad::DirectedRoute& route) {
  Trace trace;
  trace.route = mad::to_string(route);
  mad::DirectedRoute so_far;
  for (std::size_t i = 0;; ++i) {
    const auto hop = hop_at(session, so_far);
    if (!hop) {
      if (i == 0) return tl::unexpected(hop.error());
      trace.end = WalkEnd::TimedOut;
      const ib::query::Hop& before = trace.hops.back().hop;
      trace.failure = fmt::format("beyond port {} of {}: {}", before.egress_port, label(before),
                                  hop.error().message);
      break;
    }
    TracedHop& traced = trace.hops.emplace_back();
    traced.hop = *hop;
    traced.hop_number = static_cast<std::uint8_t>(i);
    if (i == route.hops.size()) {
      trace.end = WalkEnd::Arrived;
      break;
    }
    const std::uint8_t port = route.hops[i];
    traced.hop.egress_port = port;
    if (auto end = end_of_route(session, traced.hop, port)) {
      std::tie(trace.end, trace.failure) = std::move(*end);
      break;
    }
    so_far.hops.push_back(port);
  }
  TraceReport report;
  report.traces.push_back(std::move(trace));
  return report;
}

Verdict verdict_of(const Trace& trace) {
  if (trace.end != WalkEnd::Arrived) return Verdict::Broken;
  if (!trace.wrong_node.empty() || trace.counters == CounterProof::Contradicted)
    return Verdict::Mismatch;
  bool unproved = false;
  for (std::size_t i = 1; i < trace.hops.size(); ++i) {
    if (trace.hops[i].mismatch == Mismatch::Unexplained) return Verdict::Mismatch;
    unproved = unproved || trace.hops[i].proof == Proof::None;
  }
  return unproved ? Verdict::Partly : Verdict::Verified;
}

Verdict TraceReport::verdict() const {
  Verdict worst = Verdict::Verified;
  for (const Trace& t : traces) worst = std::max(worst, verdict_of(t));
  return worst;
}

ib::Result<TraceReport> trace(mad::Session& session, Lid dlid, const TraceOptions& options) {
  const auto facts = session.port().facts();
  if (!facts) return tl::unexpected(facts.error());
  if (!facts->lid.is_unicast())
    return ib::fail(
        ib::ErrorKind::Unavailable,
        fmt::format("trace lid {}: port {}/{} has no lid yet; is a subnet manager running?",
                    dlid.value, facts->device, facts->port_num));
  Guide guide{session};
  std::optional<SaRoutes> sa_routes;
  if (options.by_sa) {
    const auto sa = ib::query::sa_address(*facts);
    if (!sa) return tl::unexpected(sa.error());
    guide.sa = &sa_routes.emplace(session, *sa, *facts);
  }
  TraceReport report;
  std::vector<Lid> targets{dlid};
  // LIDs of both ends go in pairs, the first with the first (as the SA pairs them): a way back to
  // each of ours, and what is left over behind the last way there.
  const std::vector<Lid> own =
      options.lmc_all ? lids_of(facts->lid, facts->lmc) : std::vector<Lid>{facts->lid};
  std::size_t ways_back = 0;
  std::optional<std::size_t> arrived;  // the last way there that did
  for (std::size_t t = 0; t < targets.size(); ++t) {
    auto forward = trace_forward(guide, targets[t], options);
    if (!forward) return tl::unexpected(forward.error());
    if (t == 0 && options.lmc_all && forward->end == WalkEnd::Arrived) {
      unsigned lmc = forward->hops.back().hop.lmc;
      if (guide.sa != nullptr) {  // TraceRecords do not tell it
        const auto told = guide.sa->lmc_of(dlid);
        if (!told) return tl::unexpected(told.error());
        lmc = *told;
      }
      targets = lids_of(dlid, lmc);
      if (targets[0] != dlid) {
        forward = trace_forward(guide, targets[0], options);
        if (!forward) return tl::unexpected(forward.error());
      }
    }
    check_end(options.wanted, *forward);
    if (options.prove && forward->end == WalkEnd::Arrived) {
      if (auto counted = prove_by_counters(session, *forward, options); !counted)
        return tl::unexpected(counted.error());
    }
    if (options.counters) read_counters(session, *forward, options, report.errors);
    if (forward->end == WalkEnd::Arrived && forward->hops.size() > 1)
      arrived = report.traces.size();
    report.traces.push_back(std::move(*forward));
    const std::size_t due = t + 1 == targets.size() ? own.size() : std::min(t + 1, own.size());
    for (; options.both && arrived && ways_back < due; ++ways_back) {
      auto back = trace_back(session, report.traces[*arrived], own[ways_back], options);
      if (!back) return tl::unexpected(back.error());
      if (auto asked = prove_back(session, *back, report.traces[*arrived], options); !asked)
        return tl::unexpected(asked.error());
      if (options.counters) read_counters(session, *back, options, report.errors);
      report.traces.push_back(std::move(*back));
    }
  }
  if (guide.sa != nullptr)
    report.route_source =
        guide.sa->has_trace_records() ? RouteSource::SaTraceRecords : RouteSource::SaOtherRecords;
  return report;
}

}  // namespace ibtracer
