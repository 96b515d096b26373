// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libdiag/wire/rates.h"

namespace ib::sim {
namespace {

/// From a change to when flows follow it.
constexpr Duration kFollow = std::chrono::milliseconds(10);
/// What a packet has beside its payload, as counters see it: LRH 8, BTH 12, ICRC 4 bytes.
constexpr double kPacketOverhead = 24;
constexpr std::size_t kHopsMax = 72;
constexpr std::uint32_t kRateMask = 0xFFFFF;  // Mb/s in a word of QosConfigSL

double bytes_per_second(double gbit) { return gbit * 1e9 / 8; }
double gbit_of(double bytes) { return bytes * 8 / 1e9; }

/// Of what is on the wire, data: 8b/10b up to QDR, 64b/66b up to EDR, then 64b/66b inside of
/// forward error correction (IBA vol. 2, 5.3 and 5.9): 50 Gb/s of the 53.125 of an HDR lane.
double data_part(wire::LinkSpeed speed) {
  switch (speed) {
    case wire::LinkSpeed::Sdr:
    case wire::LinkSpeed::Ddr:
    case wire::LinkSpeed::Qdr:
      return 8.0 / 10;
    case wire::LinkSpeed::Fdr10:
    case wire::LinkSpeed::Fdr:
    case wire::LinkSpeed::Edr:
      return 64.0 / 66;
    default:
      return 16.0 / 17;
  }
}

/// Bytes a second.
double capacity_of(const SimPort& p) {
  const auto speed = wire::active_speed(p.info, p.fdr10_active != 0);
  const double lanes = wire::lanes(wire::active_width(p.info));
  return bytes_per_second(wire::gbps_per_lane(speed) * lanes * data_part(speed));
}

}  // namespace

std::uint64_t Traffic::Meter::take(double seconds) {
  owed += per_second * seconds;
  const double whole = std::floor(owed);
  owed -= whole;
  return static_cast<std::uint64_t>(whole);
}

/// Where a flow goes, or why it does not arrive.
struct Traffic::Way {
  struct Hop {
    PortIndex out;
    std::uint8_t vl;
  };
  std::vector<Hop> hops;
  unsigned mtu{4096};
  std::string problem;
};

std::vector<std::uint32_t> Traffic::add(const std::vector<FlowSpec>& specs) {
  std::vector<std::uint32_t> ids;
  for (const FlowSpec& spec : specs) {
    FlowState flow;
    flow.id = ++last_id_;
    flow.spec = spec;
    ids.push_back(flow.id);
    flows_.push_back(std::move(flow));
  }
  follow();
  return ids;
}

bool Traffic::remove(std::uint32_t id) {
  if (std::erase_if(flows_, [&](const FlowState& flow) { return flow.id == id; }) == 0)
    return false;
  follow();
  return true;
}

void Traffic::remove_all() {
  flows_.clear();
  follow();
}

const std::vector<FlowState>& Traffic::flows() {
  if (change_pending_) follow();
  return flows_;
}

void Traffic::grow(PortIndex port, std::uint32_t Counters::*counter, double per_second) {
  count_port(port);
  auto& growing = growing_[port];
  std::erase_if(growing, [&](const Growing& other) { return other.counter == counter; });
  if (per_second > 0) growing.push_back({counter, {per_second, 0}, model_.now_.ns});
}

void Traffic::note_change() {
  if (flows_.empty() || change_pending_) return;
  change_pending_ = true;
  model_.schedule(model_.now_.ns + kFollow.count(), EventKind::Flows, 0, 0);
}

// ---- the way of a flow

Traffic::Way Traffic::trace(const FlowSpec& spec) const {
  Way way;
  const PortIndex from = model_.index_of(spec.source), to = model_.index_of(spec.target);
  const std::uint16_t dlid = model_.ports_[to].info.lid.value;
  const auto at = [&](PortIndex p) {
    const fabric::PortRef ref = model_.ref_of(p);
    return "port " + std::to_string(ref.port) + " of \"" +
           model_.fabric_.node(ref.node).description + "\"";
  };
  const auto lost = [&](std::string problem) {
    way.problem = std::move(problem);
    return way;
  };
  if (dlid == 0) return lost("the target has no LID");
  if (from == to) return way;
  const PKey key = model_.p_key_at(model_.ports_[from], 0);
  PortIndex out = from;
  std::uint8_t in = 0;
  if (model_.nodes_[spec.source.node].is_switch()) {
    const SimNode& node = model_.nodes_[spec.source.node];
    const std::uint8_t exit = model_.exit_of(node, dlid, spec.sl.value);
    if (exit == 0 || exit > node.num_ports)
      return lost("the LFT of the source has no port for LID " + std::to_string(dlid));
    out = node.first_port + exit;
  }
  while (way.hops.size() < kHopsMax) {
    const SimPort& p = model_.ports_[out];
    if (p.peer == kNoPort) return lost(at(out) + " has no cable");
    const SimPort& q = model_.ports_[p.peer];
    if (!Model::Impl::carries_gmps(p) || !Model::Impl::carries_gmps(q))
      return lost("the link at " + at(out) + " is not ACTIVE");
    if (!model_.is_allowed(p, key, false) || !model_.is_allowed(q, key, true))
      return lost(fmt::format("P_Key 0x{:04x} does not pass {}", key.value, at(out)));
    const std::uint8_t vl = model_.vl_of(p, in, spec.sl.value);
    if (vl == kManagementVl)
      return lost("SL " + std::to_string(spec.sl.value) + " has no VL at " + at(out));
    way.hops.push_back({out, vl});
    way.mtu = std::min(way.mtu, wire::mtu_bytes(p.info.neighbor_mtu));
    const SimNode& node = model_.nodes_[q.node];
    if (!node.is_switch() || p.peer == to) {
      if (p.peer == to) return way;
      return lost("it ends at " + at(p.peer));
    }
    const std::uint8_t exit = model_.exit_of(node, dlid, spec.sl.value);
    if (exit == 0) {
      if (node.first_port == to) return way;
      return lost("it ends at " + at(node.first_port));
    }
    if (exit > node.num_ports || exit == q.number)
      return lost("the LFT of \"" + model_.fabric_.node(q.node).description +
                  "\" has no port for LID " + std::to_string(dlid));
    in = q.number;
    out = node.first_port + exit;
  }
  return lost("its way is a loop");
}

// ---- rates

/// The links, VLs and flows that fluid_rates() is asked about, and what they are in the model.
struct Traffic::Fluid {
  explicit Fluid(const Traffic& of) : traffic(of) {}

  /// The link that begins at `out`; made when it is asked for first, as those below are.
  std::uint32_t link_at(PortIndex out);
  std::uint32_t vl_at(PortIndex out, std::uint8_t vl);
  /// The rate limit of a port for an SL: a VL of a link of its own, which comes before the port.
  std::uint32_t limit_at(PortIndex out, std::uint8_t sl, double rate);

  const Traffic& traffic;
  std::vector<FluidLink> links;
  std::vector<FluidVl> vls;
  std::vector<FluidFlow> flows;
  std::vector<std::size_t> flow_of;            // by FluidFlow: its place in flows_
  std::vector<Way> ways;                       // by FluidFlow
  std::vector<PortIndex> port_of;              // by link
  std::vector<int> limited_sl;                 // by link: of a port's rate limit; -1: a real link
  std::map<PortIndex, std::uint32_t> link_of;  // real ones
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> vl_of;  // of real links
  std::map<std::pair<PortIndex, std::uint8_t>, std::uint32_t> limit_of;   // VLs of limits
};

std::uint32_t Traffic::Fluid::link_at(PortIndex out) {
  const auto [place, is_new] = link_of.try_emplace(out, static_cast<std::uint32_t>(links.size()));
  if (!is_new) return place->second;
  const SimPort& p = traffic.model_.ports_[out];
  FluidLink link{capacity_of(p), {}};
  for (std::size_t block = 1; block <= 4; ++block) {
    const auto table = traffic.model_.vl_arbitration_at(p, block);
    auto& weights = block <= 2 ? link.shares.low : link.shares.high;
    for (std::size_t i = 0; i < table.vl.size(); ++i)
      if (table.vl[i] < kDataVls) weights[table.vl[i]] += table.weight[i];
  }
  link.shares.high_part = high_part_of(p.info.vl_high_limit, wire::mtu_bytes(p.info.neighbor_mtu));
  links.push_back(link);
  port_of.push_back(out);
  limited_sl.push_back(-1);
  return place->second;
}

std::uint32_t Traffic::Fluid::vl_at(PortIndex out, std::uint8_t vl) {
  const auto link = link_at(out);
  const auto [place, is_new] =
      vl_of.try_emplace({link, vl}, static_cast<std::uint32_t>(vls.size()));
  if (is_new) vls.push_back({link, vl, traffic.marks_from(traffic.model_.ports_[out])});
  return place->second;
}

std::uint32_t Traffic::Fluid::limit_at(PortIndex out, std::uint8_t sl, double rate) {
  const auto [place, is_new] =
      limit_of.try_emplace({out, sl}, static_cast<std::uint32_t>(vls.size()));
  if (!is_new) return place->second;
  VlShares alone;
  alone.low[0] = 1;
  vls.push_back({static_cast<std::uint32_t>(links.size()), 0, kUnmarked});
  links.push_back({rate, alone});
  port_of.push_back(out);
  limited_sl.push_back(sl);
  return place->second;
}

std::uint32_t Traffic::marks_from(const SimPort& port) const {
  const SimNode& node = model_.nodes_[port.node];
  if (!node.is_switch()) return kUnmarked;
  const auto& tables = model_.ports_[node.first_port].tables;
  if (!tables || !tables->congestion) return kUnmarked;
  const CongestionState& state = *tables->congestion;
  if (port.number < state.of_ports.size() && state.of_ports[port.number].valid) {
    const auto& own = state.of_ports[port.number];
    return own.control_type || own.threshold == 0 ? kUnmarked : own.packet_size * 64U;
  }
  return state.of_switch.threshold == 0 ? kUnmarked : state.of_switch.packet_size * 64U;
}

/// What congestion control makes of the sender: its table says how far packets can be spaced.
void Traffic::limit_at_sender(FluidFlow& flow, const FlowSpec& spec, double link) const {
  const auto& tables = model_.ports_[model_.index_of(spec.source)].tables;
  if (!tables || !tables->congestion) return;
  const CongestionState& state = *tables->congestion;
  const wire::CaCongestionEntry& entry = state.of_ca.entries[spec.sl.value];
  const std::size_t entries = std::min<std::size_t>(state.ccti_limit + 1U, state.table.size());
  const auto rate_of = [&](std::size_t i) {
    const wire::CongestionDelay& delay = state.table[i];
    return link / (1.0 + static_cast<double>(delay.multiplier) / (1U << delay.shift));
  };
  if (entry.ccti_min < entries) flow.demand = std::min(flow.demand, rate_of(entry.ccti_min));
  if (entry.ccti_increase == 0) return;
  for (std::size_t i = 0; i < entries; ++i) flow.slowest = std::min(flow.slowest, rate_of(i));
}

void Traffic::follow() {
  change_pending_ = false;
  count_all();
  Fluid fluid(*this);
  for (std::size_t i = 0; i < flows_.size(); ++i) add_to(fluid, i);
  const FluidRates rates = fluid_rates(fluid.links, fluid.vls, fluid.flows);
  senders_.clear();
  note_rates(fluid, rates);
  note_waits(fluid, rates);
  for (auto& [port, sender] : senders_) sender.counted = model_.now_.ns;
}

void Traffic::add_to(Fluid& fluid, std::size_t index) {
  FlowState& state = flows_[index];
  const FlowSpec& spec = state.spec;
  Way way = trace(spec);
  state.problem = way.problem;
  if (!way.problem.empty() || way.hops.empty()) {
    state.gbit = 0;
    state.limit = way.problem.empty() ? FlowLimit::Demand : FlowLimit::NoRoute;
    return;
  }
  FluidFlow flow;
  flow.packet = std::min<unsigned>(spec.size, way.mtu);
  if (spec.gbit > 0) flow.demand = bytes_per_second(spec.gbit);
  const PortIndex source = way.hops.front().out;
  limit_at_sender(flow, spec, capacity_of(model_.ports_[source]));
  const auto& tables = model_.ports_[source].tables;
  if (tables && tables->sl_rates)
    if (const auto mbit = tables->sl_rates->sl[spec.sl.value] & kRateMask; mbit != 0)
      flow.vls.push_back(fluid.limit_at(source, spec.sl.value, bytes_per_second(mbit / 1e3)));
  for (const Way::Hop& hop : way.hops) flow.vls.push_back(fluid.vl_at(hop.out, hop.vl));
  fluid.flows.push_back(std::move(flow));
  fluid.flow_of.push_back(index);
  fluid.ways.push_back(std::move(way));
}

/// What flows are limited by, and what each port sends for them.
void Traffic::note_rates(const Fluid& fluid, const FluidRates& rates) {
  for (std::size_t i = 0; i < fluid.flows.size(); ++i) {
    FlowState& state = flows_[fluid.flow_of[i]];
    const FluidRate& rate = rates.flows[i];
    state.gbit = gbit_of(rate.rate);
    state.limit = FlowLimit::Demand;
    if (rate.vl != kNoVl) {
      const auto link = fluid.vls[rate.vl].link;
      state.port = model_.ref_of(fluid.port_of[link]);
      state.limit = fluid.limited_sl[link] >= 0  ? FlowLimit::SlRate
                    : rate.by == Stopped::Behind ? FlowLimit::Behind
                    : rate.by == Stopped::Slowed ? FlowLimit::Congestion
                                                 : FlowLimit::Link;
    }
    const Way& way = fluid.ways[i];
    const double packets = std::ceil(static_cast<double>(state.spec.size) / way.mtu);
    const double bytes = state.spec.size / packets + kPacketOverhead;
    for (const Way::Hop& hop : way.hops) {
      Sender& sender = senders_[hop.out];
      sender.bytes_per_second += rate.rate;
      const auto same = std::ranges::find_if(sender.streams, [&](const Stream& stream) {
        return stream.sl_vl.sl == state.spec.sl.value && stream.sl_vl.vl == hop.vl;
      });
      Stream& stream =
          same != sender.streams.end()
              ? *same
              : sender.streams.emplace_back(Stream{{state.spec.sl.value, hop.vl}, {}, {}});
      stream.packets.per_second += rate.rate / bytes;
      stream.words.per_second += rate.rate / 4;
    }
  }
}

/// A tick is the time of a word: while packets wait, what a link does not carry is waiting.
void Traffic::note_waits(const Fluid& fluid, const FluidRates& rates) {
  std::vector<bool> full(fluid.vls.size());
  for (const FluidRate& rate : rates.flows)
    if (rate.by == Stopped::Full) full[rate.vl] = true;
  for (std::uint32_t i = 0; i < fluid.vls.size(); ++i) {
    const FluidVl& vl = fluid.vls[i];
    const PortIndex out = fluid.port_of[vl.link];
    const double ticks = capacity_of(model_.ports_[out]) / 4;
    Sender& sender = senders_[out];
    if (fluid.limited_sl[vl.link] >= 0) {
      if (full[i])
        sender.wait_of_sl[static_cast<std::size_t>(fluid.limited_sl[vl.link])].per_second =
            ticks - fluid.links[vl.link].capacity / 4;
      continue;
    }
    if (!rates.waits[i]) continue;
    sender.wait.per_second = std::max(ticks - sender.bytes_per_second / 4, 0.0);
    double own = 0;
    for (const Stream& stream : sender.streams)
      if (stream.sl_vl.vl == vl.number) own += stream.words.per_second;
    sender.wait_of_vl[vl.number].per_second = std::max(ticks - own, 0.0);
  }
}

// ---- counters

void Traffic::count_port(PortIndex port) {
  const auto seconds_since = [&](std::int64_t& counted) {
    const double seconds = static_cast<double>(model_.now_.ns - counted) / 1e9;
    counted = model_.now_.ns;
    return seconds;
  };
  SimPort& p = model_.ports_[port];
  if (const auto found = senders_.find(port); found != senders_.end()) {
    Sender& sender = found->second;
    const double seconds = seconds_since(sender.counted);
    for (Stream& stream : sender.streams) {
      const auto packets = stream.packets.take(seconds), words = stream.words.take(seconds);
      Model::Impl::count_sent(p, packets, words, stream.sl_vl, false);
      if (p.peer != kNoPort)
        Model::Impl::count_received(model_.ports_[p.peer], packets, words, stream.sl_vl, false);
    }
    p.counters.xmit_wait += sender.wait.take(seconds);
    for (std::size_t vl = 0; vl < sender.wait_of_vl.size(); ++vl)
      if (const auto ticks = sender.wait_of_vl[vl].take(seconds))
        Model::Impl::vls(p).xmit_wait[vl] += ticks;
    for (std::size_t sl = 0; sl < sender.wait_of_sl.size(); ++sl)
      if (const auto ticks = sender.wait_of_sl[sl].take(seconds))
        Model::Impl::vls(p).rate_wait_of_sl[sl] += ticks;
  }
  if (const auto found = growing_.find(port); found != growing_.end())
    for (Growing& growing : found->second) {
      auto& counter = p.counters.*growing.counter;
      const std::uint64_t sum = counter + growing.meter.take(seconds_since(growing.counted));
      counter = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
    }
}

void Traffic::count_node(NodeIndex node) {
  const SimNode& n = model_.nodes_[node];
  for (unsigned i = 0; i <= n.num_ports; ++i) {
    const PortIndex port = n.first_port + i;
    count_port(port);
    if (model_.ports_[port].peer != kNoPort) count_port(model_.ports_[port].peer);
  }
}

void Traffic::count_all() {
  for (const auto& [port, sender] : senders_) count_port(port);
}

}  // namespace ib::sim
