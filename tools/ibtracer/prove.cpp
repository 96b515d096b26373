// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "libdiag/base/text.h"
#include "libdiag/query/pma_client.h"

namespace ibtracer {

namespace wire = ib::wire;
namespace mad = ib::mad;

namespace {

constexpr std::uint64_t kPacketsMin = 500;      // enough that a stray packet does not matter
constexpr std::uint64_t kPacketsMax = 200'000;  // beyond that the port is too busy to tell
constexpr std::uint64_t kBurst = 32;            // between pauses: QP1 has no flow control
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBackgroundIntervals = 4;
constexpr int kSettleReadingsMax = 20;

mad::Request ask_counters(const TracedHop& hop, ib::Sl sl, std::uint16_t attribute) {
  auto request = ib::query::pma_request(0, hop.hop.lid, attribute, hop.hop.ingress_port, sl);
  request.target_key = hop.hop.node_guid.value;
  return request;
}

/// PortRcvPkts of every hop's ingress port; nullopt with a note where one does not answer.
ib::Result<std::optional<std::vector<std::uint64_t>>> read_all(mad::Session& session, Trace& trace,
                                                               ib::Sl sl) {
  std::vector<mad::Request> asks;
  for (std::size_t i = 1; i < trace.hops.size(); ++i)
    asks.push_back(ask_counters(trace.hops[i], sl, wire::attr::kPortCountersExtended));
  auto answers = session.call_all(std::move(asks));
  if (!answers) return tl::unexpected(answers.error());
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    const auto& answer = (*answers)[i];
    if (!answer.reply || answer.reply->mad.status() != 0) {
      trace.counters_note = fmt::format(
          "no PortCountersExtended from {}: {}", ib::printable(trace.hops[i + 1].hop.description),
          answer.reply ? fmt::format("status 0x{:04x}", answer.reply->mad.status())
                       : answer.reply.error().message);
      return std::optional<std::vector<std::uint64_t>>{};
    }
    counts.push_back(wire::body<wire::PortCountersExtended>(answer.reply->mad).port_rcv_pkts);
  }
  return std::optional{std::move(counts)};
}

/// Lets time pass: the port's own wait, so that a simulated port moves its clock.
ib::Result<void> pause(mad::Session& session, ib::Duration length) {
  std::vector<mad::Received> ignored;
  return session.port().receive(ignored, length);
}

/// Sends `n` one-way MADs to the DLID: class 0x30, method Send, which nobody serves, so that
/// nothing comes back.
ib::Result<void> send_burst(mad::Session& session, const Trace& trace, ib::Sl sl, std::uint64_t n) {
  mad::AgentSpec spec;
  spec.mgmt_class = wire::MgmtClass::VendorIbtracer;
  spec.oui = wire::kOpenIbOui;
  auto agent = session.port().register_agent(spec);
  if (!agent) return tl::unexpected(agent.error());
  mad::Packet packet;
  packet.address = mad::gsi_address(trace.dlid, sl);
  packet.mad =
      wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Send, wire::attr::kSourceRoute);
  for (std::uint64_t i = 0; i < n; ++i) {
    packet.mad.set<&wire::MadHeader::tid>(ib::Tid{i + 1});
    if (auto sent = session.port().send(*agent, packet, ib::Duration{0}); !sent) return sent;
    if (i % kBurst == kBurst - 1) {
      if (auto waited = pause(session, kPause); !waited) return waited;
    }
  }
  return {};
}

std::int64_t difference(std::uint64_t later, std::uint64_t earlier) {
  return static_cast<std::int64_t>(later - earlier);
}

void note_background(std::vector<PortCount>& ports, const std::vector<std::uint64_t>& before,
                     const std::vector<std::uint64_t>& after) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t rise = difference(after[i], before[i]);
    ports[i].background_min = std::min(ports[i].background_min, rise);
    ports[i].background_max = std::max(ports[i].background_max, rise);
  }
}

}  // namespace

CounterProof judge_count(std::uint64_t sent, const PortCount& count) {
  const auto n = static_cast<std::int64_t>(sent);
  const std::int64_t spread = count.background_max - count.background_min;
  if (n < 10 * spread) return CounterProof::NotProven;
  const std::int64_t ours_at_least = count.risen - count.background_max;
  const std::int64_t ours_at_most = count.risen - count.background_min;
  if (ours_at_least >= n - n / 50 - spread)
    return CounterProof::Proven;  // 2 per cent may be lost on the way
  if (ours_at_most < n / 2) return CounterProof::Contradicted;
  return CounterProof::NotProven;
}

namespace {

/// What the ports count while nothing of ours is under way, from the readings `before` on. False:
/// one did not answer.
ib::Result<bool> watch_background(mad::Session& session, Trace& trace, const TraceOptions& options,
                                  std::vector<std::uint64_t> before) {
  for (int i = 0; i < kBackgroundIntervals; ++i) {
    if (auto waited = pause(session, kInterval); !waited) return tl::unexpected(waited.error());
    auto after = read_all(session, trace, options.sl);
    if (!after) return tl::unexpected(after.error());
    if (!*after) return false;
    note_background(trace.port_counts, before, **after);
    before = std::move(**after);
  }
  return true;
}

/// The verdict on each port, when it was read so often after our packets, and on the route.
void judge_ports(Trace& trace, int readings) {
  trace.counters = CounterProof::Proven;
  for (PortCount& p : trace.port_counts) {
    // The background of one interval counts once for each reading that the burst took.
    PortCount scaled = p;
    scaled.background_min *= readings;
    scaled.background_max *= readings;
    p.verdict = judge_count(trace.packets_sent, scaled);
    if (p.verdict == CounterProof::Contradicted) {
      trace.counters = CounterProof::Contradicted;
    } else if (p.verdict == CounterProof::NotProven && trace.counters == CounterProof::Proven) {
      trace.counters = CounterProof::NotProven;
    }
    TracedHop& hop = trace.hops[p.hop_index];
    if (p.verdict == CounterProof::Proven && hop.proof == Proof::None) hop.proof = Proof::Counters;
  }
}

}  // namespace

ib::Result<void> prove_by_counters(mad::Session& session, Trace& trace,
                                   const TraceOptions& options) {
  if (trace.hops.size() < 2) return {};
  trace.counters = CounterProof::NotProven;
  trace.port_counts.assign(trace.hops.size() - 1, PortCount{});
  for (std::size_t i = 0; i < trace.port_counts.size(); ++i) {
    trace.port_counts[i].hop_index = i + 1;
    trace.port_counts[i].background_min = std::numeric_limits<std::int64_t>::max();
    trace.port_counts[i].background_max = std::numeric_limits<std::int64_t>::min();
  }
  const auto read = [&]() { return read_all(session, trace, options.sl); };
  const auto background = [&](std::vector<std::uint64_t> before) {
    return watch_background(session, trace, options, std::move(before));
  };

  auto start = read();
  if (!start) return tl::unexpected(start.error());
  if (!*start) return {};
  if (auto measured = background(**start); !measured) {
    return tl::unexpected(measured.error());
  } else if (!*measured) {
    return {};
  }
  std::int64_t spread = 0;
  for (const PortCount& p : trace.port_counts)
    spread = std::max(spread, p.background_max - p.background_min);
  const std::uint64_t n =
      std::clamp(static_cast<std::uint64_t>(spread) * 12, kPacketsMin, kPacketsMax);

  auto before = read();
  if (!before) return tl::unexpected(before.error());
  if (!*before) return {};
  if (auto sent = send_burst(session, trace, options.sl, n); !sent) return sent;
  trace.packets_sent = n;
  // Counters lag: read until no port rises faster than its background any more.
  std::vector<std::uint64_t> last = **before;
  std::vector<std::uint64_t> now = last;
  int readings = 0;
  for (bool settled = false; !settled && readings < kSettleReadingsMax; ++readings) {
    if (auto waited = pause(session, kInterval); !waited) return waited;
    auto again = read();
    if (!again) return tl::unexpected(again.error());
    if (!*again) return {};
    last = std::exchange(now, std::move(**again));
    settled = true;
    for (std::size_t i = 0; i < now.size(); ++i)
      settled = settled && difference(now[i], last[i]) <= trace.port_counts[i].background_max;
  }
  for (std::size_t i = 0; i < now.size(); ++i)
    trace.port_counts[i].risen = difference(now[i], (**before)[i]);
  if (auto measured = background(now); !measured) {
    return tl::unexpected(measured.error());
  } else if (!*measured) {
    return {};
  }
  judge_ports(trace, readings);
  return {};
}

void read_counters(mad::Session& session, Trace& trace, const TraceOptions& options,
                   std::vector<std::string>& errors) {
  for (std::size_t i = 1; i < trace.hops.size(); ++i) {
    TracedHop& hop = trace.hops[i];
    if (!hop.hop.lid.is_unicast()) continue;
    std::vector<mad::Request> asks{ask_counters(hop, options.sl, wire::attr::kPortCountersExtended),
                                   ask_counters(hop, options.sl, wire::attr::kPortCounters)};
    const auto answers = session.call_all(std::move(asks));
    if (!answers) {
      errors.push_back(answers.error().message);
      return;
    }
    const auto& extended = (*answers)[0].reply;
    const auto& plain = (*answers)[1].reply;
    if (extended && extended->mad.status() == 0)
      hop.ingress_counters = wire::body<wire::PortCountersExtended>(extended->mad);
    if (plain && plain->mad.status() == 0)
      hop.ingress_errors = wire::body<wire::PortCounters>(plain->mad);
    if (!hop.ingress_counters && !hop.ingress_errors)
      errors.push_back(fmt::format("no counters from {} port {}",
                                   ib::printable(hop.hop.description), hop.hop.ingress_port));
  }
}

}  // namespace ibtracer
