// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A trace: the path the tables give a LID, and what each hop itself says of the port our packet
// came in by. The procedure reads top-down over a mad::Session, so it runs on a real port and on a
// simulated one alike.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/mad/session.h"
#include "libdiag/query/path_walk.h"
#include "libdiag/wire/gmp_attributes.h"

namespace ibtracer {

/// What a hop's agent (class 0x30) said.
enum class AgentWord {
  NotAsked,
  Answered,        // SourceRoute came back
  NoAgent,         // an answer of 0x000C: nobody there speaks the class
  OtherVersion,    // status 0x0004 or 0x0008
  Silent,          // no answer: no agent, or a broken path; it cannot be told which
  KnowsNoIngress,  // an agent that cannot know by which port a packet came (a switch's)
  Odd,             // an answer that fits nothing
};

/// What came of a question that was put with a GRH, as those of a target by GID are.
enum class GrhWord {
  NotUsed,   // the target is no GID, or there is no agent to ask
  Answered,  // with a GRH, as it must be
  Unknown,   // the agent does not say that it can: it was asked without
  Silent,    // no answer with a GRH, though the agent says that it can: it was asked without
};

/// What proved that a packet to the hop's own LID came in by the expected port.
enum class Proof { None, Agent, Smp, Counters };

enum class Mismatch {
  No,
  Explained,    // the tables had changed meanwhile: read again, they agree with the hop
  Unexplained,  // they still do not
};

/// A hop of the DLID's path with its evidence.
struct TracedHop {
  ib::query::Hop hop;
  std::uint8_t hop_number{};  // 1 is the first node behind the source
  std::uint8_t expected{};    // ingress by the route to the hop's own LID; 0: that route is broken
  std::uint8_t own_lid_hops{};               // hops of that route
  std::optional<std::uint8_t> agent_actual;  // port the agent says
  std::optional<std::uint8_t> smp_actual;    // LocalPortNum of a LID-routed NodeInfo, where not 0
  AgentWord agent{AgentWord::NotAsked};
  GrhWord grh{GrhWord::NotUsed};
  Proof proof{Proof::None};
  Mismatch mismatch{Mismatch::No};
  std::string note;  // what else is to be said of this hop, one line
  std::optional<ib::wire::PortCountersExtended> ingress_counters;  // --counters
  std::optional<ib::wire::PortCounters> ingress_errors;            // --counters

  bool differs_from_dlid_route() const { return expected != 0 && expected != hop.ingress_port; }
};

/// The outcome of counting packets on the DLID's own path (--prove).
enum class CounterProof { NotAsked, Proven, NotProven, Contradicted };

struct PortCount {
  std::size_t hop_index{};
  std::int64_t background_min{}, background_max{};  // packets per interval without us
  std::int64_t risen{};                             // packets while we sent
  CounterProof verdict{CounterProof::NotAsked};
};

/// The port that is asked for, where more than its LID is known: a fault may give another port the
/// same LID, and a trace that ends there has proved nothing of this one.
struct Wanted {
  ib::Guid node_guid{}, port_guid{};
  std::string description;  // raw bytes
  std::string_view claim;   // "which has this lid too"
};

/// One direction towards one LID.
struct Trace {
  ib::Lid dlid;
  std::string route;  // a directed route that was to be followed; then there is no dlid
  bool reverse{};
  std::string seen_from;  // another host sends, hops[0]: who looks on; empty: our own packets
  ib::query::WalkEnd end{ib::query::WalkEnd::Running};
  std::string failure;     // empty when the walk arrived
  std::string wrong_node;  // it arrived, but at another port than the wanted one: which, for whom
  std::vector<TracedHop> hops;  // hops[0] is the source
  CounterProof counters{CounterProof::NotAsked};
  std::uint64_t packets_sent{};  // --prove
  std::vector<PortCount> port_counts;
  std::string counters_note;
};

enum class Verdict { Verified, Partly, Mismatch, Broken };

struct TraceOptions {
  ib::Sl sl{};
  bool both{};
  bool lmc_all{};
  bool counters{};
  bool prove{};
  bool by_sa{};                     // the SA says which route to expect; excludes `both`
  std::optional<Wanted> wanted;     // nothing: any port that has the LID
  std::optional<ib::mad::Grh> grh;  // agents are asked with a GRH, and the last hop with this one
  std::uint64_t m_key{};
  const ib::fabric::NodeNames* names{nullptr};  // in place of NodeDescriptions
};

/// Who said which routes to expect.
enum class RouteSource {
  Tables,          // the switches, by SMPs
  SaTraceRecords,  // the SA
  SaOtherRecords,  // an SA that has no TraceRecords: by LinkRecords and forwarding-table records
};

/// Everything one run found.
struct TraceReport {
  RouteSource route_source{RouteSource::Tables};
  std::vector<Trace> traces;
  std::vector<std::string> errors;  // what could not be read and does not decide the verdict
  Verdict verdict() const;
};

Verdict verdict_of(const Trace& trace);

/// Traces `dlid` from the session's port. Error: our own port does not answer or has no LID.
ib::Result<TraceReport> trace(ib::mad::Session& session, ib::Lid dlid, const TraceOptions& options);

/// Where packets come from that another host sends.
struct Sender {
  ib::Lid lid;
  std::optional<Wanted> wanted{};  // nothing: any port that has the LID
};

/// Traces `dlid` from a host elsewhere: the way from its first switch on by packets of ours that
/// join it there, its cable by what proves the last hop of our way to it, its agent above all. Of
/// `options` no other way, GRH or counting of packets. Error: as trace().
ib::Result<TraceReport> trace_between(ib::mad::Session& session, const Sender& from, ib::Lid dlid,
                                      const TraceOptions& options);

/// Follows a directed route that leads to no node that answers, up to where it ends and why.
/// Of `options` the M_Key and the names.
ib::Result<TraceReport> trace_route(ib::mad::Session& session, const ib::mad::DirectedRoute& route,
                                    const TraceOptions& options = {});

// Requests of the protocol (class 0x30, OpenIB OUI).
ib::mad::Request class_port_info_request(ib::mad::Cookie cookie, ib::Guid target, ib::Lid lid,
                                         ib::Sl sl);
ib::mad::Request source_route_request(ib::mad::Cookie cookie, ib::Guid target, ib::Lid lid,
                                      ib::Sl sl, const ib::wire::SourceRoute& route,
                                      const std::optional<ib::mad::Grh>& grh = std::nullopt);

}  // namespace ibtracer
