// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/query/smp_client.h"
#include "tools/ibtracer/hop_check.h"
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
                                  const wire::SourceRoute& route,
                                  const std::optional<mad::Grh>& grh) {
  mad::Request r = class_port_info_request(cookie, target, lid, sl);
  r.address.grh = grh;
  r.mad =
      wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Get, wire::attr::kSourceRoute);
  wire::set_body(r.mad, route);
  return r;
}

namespace {

bool is_switch(const ib::query::Hop& hop) { return hop.type == wire::NodeType::Switch; }

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
  walk_options.names = options.names;
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
    if (auto checked = check_hop(guide, options, {lid, is_last}, *walk, hop); !checked)
      return tl::unexpected(checked.error());
  }
  return trace;
}

/// The return path, from the tables: our own LID's route from the far end. It starts at the first
/// switch the answers meet, since a CA does not pass directed routes on.
ib::Result<Trace> trace_back(mad::Session& session, const Trace& forward, Lid own_lid,
                             const TraceOptions& options) {
  const TracedHop& last = forward.hops.back();
  WalkOptions walk_options;
  walk_options.m_key = options.m_key;
  walk_options.names = options.names;
  walk_options.start = last.hop.route;
  const bool from_host = !is_switch(last.hop) && forward.hops.size() > 1;
  std::optional<std::uint8_t> entered;
  if (from_host) {
    walk_options.start.hops.pop_back();
    entered = forward.hops[forward.hops.size() - 2].hop.egress_port;
  }
  const auto walk = walk_to({session, 0}, own_lid, walk_options);
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

/// The cable of the host that a way begins at is that by which packets of ours came to the host.
void prove_first_cable(Trace& trace, const TracedHop& host) {
  TracedHop& first = trace.hops[1];
  if (host.proof != Proof::None) {
    first.proof = host.proof;
    first.expected = first.hop.ingress_port;
    first.note = "the same cable as the last hop there";
  }
  if (trace.reverse) return;
  switch (host.proof) {
    case Proof::Agent:
      first.note = "the sender's cable, by which its agent got a packet of ours";
      break;
    case Proof::Smp:
      first.note = "the sender's cable, by which an SMP of ours came; its agent did not say so";
      break;
    default:
      first.note = "the sender's agent did not say that this is its cable";
  }
}

/// Evidence for the return path. A switch is asked by a packet that itself goes that way: a
/// directed route to the first switch, LID-routed from there (IBA 14.2.2, DrDLID). What does not
/// support that form stays unproved.
ib::Result<void> prove_back(mad::Session& session, Trace& trace, const Trace& forward,
                            const TraceOptions& options) {
  if (trace.hops.size() < 2) return {};
  const bool from_host = !is_switch(trace.hops.front().hop);
  const std::size_t first_switch = from_host ? 1 : 0;
  const mad::DirectedRoute& start = trace.hops[first_switch].hop.route;
  // The switch next to the far host: its ingress is the far end of the cable the forward walk came
  // out of.
  if (from_host) prove_first_cable(trace, forward.hops.back());
  for (std::size_t i = first_switch + 1; i < trace.hops.size(); ++i) {
    TracedHop& hop = trace.hops[i];
    const bool is_last = trace.end == WalkEnd::Arrived && i + 1 == trace.hops.size();
    const Lid lid = is_last ? trace.dlid : hop.hop.lid;
    if (!lid.is_unicast()) continue;
    WalkOptions own;
    own.m_key = options.m_key;
    own.names = options.names;
    own.start = start;
    own.descriptions = false;
    const auto walk = walk_to({session, 0}, lid, own);
    if (!walk) return tl::unexpected(walk.error());
    if (walk->arrived() && walk->hops.size() < 2) {
      hop.note = "the packet is back at the first switch, to which no route leads from there";
      continue;
    }
    if (!walk->arrived()) {
      hop.note = fmt::format("the route {} its own lid {} is broken: {}",
                             trace.reverse ? "back to" : "from the first switch to", lid.value,
                             walk->failure);
      continue;
    }
    hop.expected = walk->hops.back().ingress_port;
    hop.own_lid_hops = static_cast<std::uint8_t>(walk->hops.size() - 1);
    mad::Request ask = mad::smp_request(0, hop.hop.node_guid.value, start, wire::Method::Get,
                                        wire::attr::kNodeInfo, 0, options.m_key);
    ask.mad.set<&wire::SmpHeader::dr_dlid>(lid);
    const auto answer = session.call(std::move(ask));
    if (!answer && !trace.reverse)
      hop.note =
          fmt::format("an SMP that went on from the first switch to lid {} has no answer: {}",
                      lid.value, answer.error().message);
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
ib::Result<ib::query::Hop> hop_at(mad::Session& session, const mad::DirectedRoute& route,
                                  const TraceOptions& options) {
  ib::query::SmpClient smp(session, options.m_key);
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
  hop.description = ib::fabric::name_in(options.names, hop.node_guid, std::move(hop.description));
  const auto own =
      smp.port_info(route, is_switch(hop) ? std::uint8_t{0} : node->local_port_num.value);
  if (own) hop.lid = own->lid;
  return hop;
}

/// Why a route that leaves `hop` by `port` goes no further; nothing where it may.
std::optional<std::pair<WalkEnd, std::string>> end_of_route(mad::Session& session,
                                                            const ib::query::Hop& hop,
                                                            std::uint8_t port,
                                                            std::uint64_t m_key) {
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
  ib::query::SmpClient smp(session, m_key);
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

/// Of our own port, which has to have a LID.
ib::Result<mad::PortFacts> local_facts(mad::Session& session, Lid dlid) {
  auto facts = session.port().facts();
  if (!facts || facts->lid.is_unicast()) return facts;
  return ib::fail(
      ib::ErrorKind::Unavailable,
      fmt::format("trace lid {}: port {}/{} has no lid yet; is a subnet manager running?",
                  dlid.value, facts->device, facts->port_num));
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

ib::Result<TraceReport> trace_route(mad::Session& session, const mad::DirectedRoute& route,
                                    const TraceOptions& options) {
  Trace trace;
  trace.route = mad::to_string(route);
  mad::DirectedRoute so_far;
  for (std::size_t i = 0;; ++i) {
    const auto hop = hop_at(session, so_far, options);
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
    if (auto end = end_of_route(session, traced.hop, port, options.m_key)) {
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

ib::Result<TraceReport> trace_between(mad::Session& session, const Sender& from, Lid dlid,
                                      const TraceOptions& options) {
  const auto facts = local_facts(session, dlid);
  if (!facts) return tl::unexpected(facts.error());
  TraceOptions to_sender = options;
  to_sender.grh.reset();
  auto there = trace_forward({session, facts->gid_prefix}, from.lid, to_sender);
  if (!there) return tl::unexpected(there.error());
  if (there->end == WalkEnd::Arrived && there->hops.size() == 1)
    return trace(session, dlid, options);
  check_end(from.wanted, *there);
  TraceReport report;
  if (there->end != WalkEnd::Arrived || !there->wrong_node.empty()) {
    report.errors.emplace_back("the sender is not where it was looked for, so its way is unknown");
    report.traces.push_back(std::move(*there));
    return report;
  }
  auto way = trace_back(session, *there, dlid, options);
  if (!way) return tl::unexpected(way.error());
  way->reverse = false;
  way->seen_from = label(there->hops.front().hop);
  check_end(options.wanted, *way);
  if (auto asked = prove_back(session, *way, *there, options); !asked)
    return tl::unexpected(asked.error());
  if (options.counters) read_counters(session, *way, options, report.errors);
  report.traces.push_back(std::move(*way));
  return report;
}

ib::Result<TraceReport> trace(mad::Session& session, Lid dlid, const TraceOptions& options) {
  const auto facts = local_facts(session, dlid);
  if (!facts) return tl::unexpected(facts.error());
  Guide guide{session, facts->gid_prefix};
  std::optional<SaRoutes> sa_routes;
  if (options.by_sa) {
    const auto sa = ib::query::sa_address(*facts);
    if (!sa) return tl::unexpected(sa.error());
    guide.sa = &sa_routes.emplace(session, *sa, *facts, options.names);
  }
  TraceReport report;
  std::vector<Lid> targets{dlid};
  // LIDs of both ends go in pairs, the first with the first (as the SA pairs them): a return path
  // to each of ours, and what is left over behind the last way there.
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
