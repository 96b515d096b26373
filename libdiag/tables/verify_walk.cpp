// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_walk.h"

#include <bit>

namespace ib::tables::check {
namespace {

template <class Function>
void for_bits(std::uint16_t bits, Function function) {
  for (; bits != 0; bits &= static_cast<std::uint16_t>(bits - 1))
    function(static_cast<unsigned>(std::countr_zero(bits)));
}

}  // namespace

Turns::Turns(const SwitchGraph& switch_graph, const VlView& virtual_lanes) {
  if (virtual_lanes.kind() == VlView::Kind::ByOutput)
    sls.assign(switch_graph.channels() * switch_graph.stride, 0);
  else
    graph = Dependencies(switch_graph, virtual_lanes.vls());
}

void Turns::merge(const Turns& other) {
  graph.merge(other.graph);
  for (std::size_t i = 0; i < sls.size(); ++i) sls[i] |= other.sls[i];
}

void Turns::expand(const SwitchGraph& switch_graph, const VlView& virtual_lanes) {
  if (virtual_lanes.kind() != VlView::Kind::ByOutput) return;
  graph = Dependencies(switch_graph, virtual_lanes.vls());
  for (Channel c = 0; c < switch_graph.channels(); ++c) {
    if (switch_graph.to[c] == fabric::kNoSwitch) continue;
    for (std::size_t port = 0; port < switch_graph.stride; ++port) {
      const auto out = static_cast<std::uint8_t>(port);
      for_bits(sls[c * switch_graph.stride + port], [&](unsigned sl) {
        const unsigned before = virtual_lanes.vl(c, sl);
        const unsigned after = virtual_lanes.vl(switch_graph.channel(switch_graph.to[c], out), sl);
        if (before < kVlDrop && after < kVlDrop) graph.add(c, before, out, after);
      });
    }
  }
  sls = {};
}

Tally::Tally(const SwitchGraph& switch_graph, const VlView& virtual_lanes, WalkOptions options)
    : load(options.loads ? switch_graph.channels() : 0, 0),
      carried(switch_graph.channels(), 0),
      must(switch_graph, virtual_lanes),
      should(switch_graph, virtual_lanes) {}

void Tally::add(const Tally& other) {
  unreachable += other.unreachable;
  loops += other.loops;
  must_failures += other.must_failures;
  bystanders_unreachable += other.bystanders_unreachable;
  for (std::size_t i = 0; i < load.size(); ++i) load[i] += other.load[i];
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] |= other.carried[i];
  must.merge(other.must);
  should.merge(other.should);
  bad_lids.insert(bad_lids.end(), other.bad_lids.begin(), other.bad_lids.end());
}

LidWalker::LidWalker(const SwitchGraph& switch_graph, const VlView& virtual_lanes, Lid sm_lid,
                     WalkOptions options)
    : switch_graph_(switch_graph),
      virtual_lanes_(virtual_lanes),
      sm_lid_(sm_lid),
      options_(options),
      exact_(virtual_lanes.kind() == VlView::Kind::Exact),
      tally(switch_graph, virtual_lanes, options) {
  const std::size_t n = switch_graph.graph.switch_count();
  visit_.assign(n, 0);
  state_.resize(n);
  depth_.resize(n);
  weight_.resize(n);
  out_.resize(n);
  must_bits_.resize(n);
  all_bits_.resize(n);
  must_flow_.resize(exact_ ? n : 0);
  all_flow_.resize(exact_ ? n : 0);
}

void LidWalker::walk(const fabric::Destination& destination, const std::uint8_t* column) {
  const bool to_sm = destination.lid == sm_lid_;
  if (sls_leaf_ != destination.leaf || sls_to_sm_ != to_sm) {
    virtual_lanes_.sls_to(destination.leaf, to_sm, sls_);
    sls_leaf_ = destination.leaf;
    sls_to_sm_ = to_sm;
  }
  const bool must = !destination.is_switch() || to_sm;
  must_ = must || options_.switches_too;
  bystanders_send_ = must;
  std::uint64_t bad = 0;
  if (resolve(destination, column)) {
    for (SwitchIndex s : switch_graph_.sources_near(destination.leaf))
      bad += state_[s] == State::Lost;
    resolve_bystanders(destination, column);
    if (exact_)
      accumulate_exactly(destination);
    else
      accumulate(destination);
  } else {
    bad = walk_each(destination, column);
  }
  tally.unreachable += bad;
  if (switch_graph_.pieces.count > 1) bad += loops_apart(destination, column);
  if (must) tally.must_failures += bad;
  if (bad != 0) tally.bad_lids.push_back(destination.lid);
}

/// Nothing is sent to another piece, and an entry for what is there may be left from better days. A
/// packet that goes round by such entries would still block others.
std::uint64_t LidWalker::loops_apart(const fabric::Destination& destination,
                                     const std::uint8_t* column) {
  std::uint64_t loops = 0;
  for (const SwitchIndex source : switch_graph_.sources) {
    if (!switch_graph_.apart(source, destination.leaf)) continue;
    SwitchIndex s = source;
    unsigned hop = 0;
    for (; hop <= kHopsMax; ++hop) {
      const Channel c = switch_graph_.link(s, column[s]);
      if (c == kNoChannel) break;
      s = switch_graph_.to[c];
    }
    loops += hop > kHopsMax;
  }
  tally.loops += loops;
  return loops;
}

bool LidWalker::step(const fabric::Destination& destination, const std::uint8_t* column,
                     SwitchIndex s, State& end) {
  visit_[s] = stamp_;
  state_[s] = State::Walking;
  weight_[s] = switch_graph_.hosts[s];
  const bool sends = switch_graph_.own[s] != 0 || s == switch_graph_.sm_leaf;
  all_bits_[s] = sends || bystanders_send_ ? sls_[s] : std::uint16_t{0};
  must_bits_[s] = must_ && sends ? sls_[s] : std::uint16_t{0};
  out_[s] = kNoChannel;
  path_.push_back(s);
  if (s == destination.leaf) {
    end = column[s] == destination.port ? State::Arrives : State::Lost;
    return false;
  }
  out_[s] = switch_graph_.link(s, column[s]);
  end = State::Lost;
  return out_[s] != kNoChannel;
}

/// Visits every switch that sources meet. False when a walk loops or is too long to tell.
bool LidWalker::resolve(const fabric::Destination& destination, const std::uint8_t* column) {
  ++stamp_;
  order_.clear();
  for (SwitchIndex source : switch_graph_.sources_near(destination.leaf)) {
    if (visit_[source] == stamp_) continue;
    path_.clear();
    State end = State::Lost;
    std::uint32_t depth = 0;
    for (SwitchIndex s = source;;) {
      if (visit_[s] == stamp_) {
        if (state_[s] == State::Walking) return false;
        end = state_[s];
        depth = depth_[s] + 1U;
        break;
      }
      if (!step(destination, column, s, end)) break;
      s = switch_graph_.to[out_[s]];
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at, ++depth) {
      state_[*at] = end;
      depth_[*at] = depth;
      order_.push_back(*at);
    }
    if (depth > kHopsMax + 1) return false;
  }
  return true;
}

/// The same from switches without CAs. Here a loop or a long walk is lost, no more.
void LidWalker::resolve_bystanders(const fabric::Destination& destination,
                                   const std::uint8_t* column) {
  for (SwitchIndex source : switch_graph_.bystanders_near(destination.leaf)) {
    if (visit_[source] == stamp_) {
      tally.bystanders_unreachable += state_[source] == State::Lost;
      continue;
    }
    path_.clear();
    State end = State::Lost;
    std::uint32_t depth = 0;
    for (SwitchIndex s = source;;) {
      if (visit_[s] == stamp_) {
        end = state_[s] == State::Arrives ? State::Arrives : State::Lost;
        if (state_[s] == State::Walking) out_[path_.back()] = kNoChannel;  // cut the loop
        depth = state_[s] == State::Walking ? 0 : depth_[s] + 1U;
        break;
      }
      if (!step(destination, column, s, end)) break;
      s = switch_graph_.to[out_[s]];
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at, ++depth) {
      if (depth > kHopsMax) end = State::Lost;
      state_[*at] = end;
      depth_[*at] = depth;
      order_.push_back(*at);
    }
    tally.bystanders_unreachable += end == State::Lost;
  }
}

void LidWalker::turn(Turns& turns, Channel before, Channel after, std::uint16_t bits) {
  const std::uint8_t port = switch_graph_.port(after);
  if (turns.sls.empty())
    turns.graph.add(before, 0, port, 0);
  else
    turns.sls[before * switch_graph_.stride + port] |= bits;
}

void LidWalker::accumulate(const fabric::Destination& destination) {
  const bool loads = options_.loads && destination.is_host;
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const SwitchIndex s = *at;
    const Channel c = out_[s];
    const std::uint16_t bits = must_bits_[s];
    if (c == kNoChannel) {
      if (s == destination.leaf && state_[s] == State::Arrives)
        tally.carried[switch_graph_.channel(s, destination.port)] |= bits;
      continue;
    }
    const SwitchIndex next = switch_graph_.to[c];
    const Channel after = out_[next];
    if (loads) {
      weight_[next] += weight_[s];
      tally.load[c] += weight_[s];
    }
    must_bits_[next] |= bits;
    all_bits_[next] |= all_bits_[s];
    tally.carried[c] |= bits;
    if (after == kNoChannel) continue;
    if (bits != 0) turn(tally.must, c, after, bits);
    const auto more = static_cast<std::uint16_t>(all_bits_[s] & ~bits);
    if (more != 0) turn(tally.should, c, after, more);
  }
}

LidWalker::Flow LidWalker::injected(Channel c, std::uint16_t sls) const {
  Flow flow{};
  for_bits(sls, [&](unsigned sl) {
    for_bits(virtual_lanes_.injected(c, sl),
             [&](unsigned v) { flow[v] |= static_cast<std::uint16_t>(1U << sl); });
  });
  return flow;
}

LidWalker::Flow LidWalker::forward(Turns* turns, Channel c, const Flow& flow, std::uint8_t port,
                                   bool carries) {
  Flow next{};
  const SwitchIndex at = switch_graph_.to[c];
  for (unsigned v = 0; v < kVlDrop; ++v)
    for_bits(flow[v], [&](unsigned sl) {
      const unsigned w = virtual_lanes_.vl(at, switch_graph_.in_port[c], port, sl) & 15U;
      next[w] |= static_cast<std::uint16_t>(1U << sl);
      if (carries)
        tally.carried[switch_graph_.channel(at, port)] |= static_cast<std::uint16_t>(1U << w);
      if (turns != nullptr && w < kVlDrop) turns->graph.add(c, v, port, w);
    });
  return next;
}

void LidWalker::accumulate_exactly(const fabric::Destination& destination) {
  const auto carry = [&](Channel c, const Flow& flow) {
    for (unsigned v = 0; v < flow.size(); ++v)
      if (flow[v] != 0) tally.carried[c] |= static_cast<std::uint16_t>(1U << v);
  };
  for (SwitchIndex s : order_) {
    must_flow_[s] = all_flow_[s] = Flow{};
    const bool ends = out_[s] == kNoChannel;
    if (ends && (s != destination.leaf || state_[s] != State::Arrives)) continue;
    const Channel c = ends ? switch_graph_.channel(s, destination.port) : out_[s];
    if (switch_graph_.own[s] != 0) all_flow_[s] = injected(c, sls_[s]);
    if (must_) must_flow_[s] = all_flow_[s];
    Flow own{};  // what the switch itself sends
    const bool itself = bystanders_send_ || s == switch_graph_.sm_leaf;
    for_bits(itself ? sls_[s] : std::uint16_t{0}, [&](unsigned sl) {
      own[virtual_lanes_.vl(s, 0, switch_graph_.port(c), sl) & 15U] |=
          static_cast<std::uint16_t>(1U << sl);
    });
    add(all_flow_[s], own);
    if (must_ && switch_graph_.own[s] == 0 && s == switch_graph_.sm_leaf) must_flow_[s] = own;
    carry(c, must_flow_[s]);
  }
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const SwitchIndex s = *at;
    const Channel c = out_[s];
    if (c == kNoChannel) continue;
    const SwitchIndex next = switch_graph_.to[c];
    if (options_.loads && destination.is_host) {
      weight_[next] += weight_[s];
      tally.load[c] += weight_[s];
    }
    const Channel after = out_[next];
    if (after == kNoChannel) {
      if (next == destination.leaf && state_[next] == State::Arrives)
        forward(nullptr, c, must_flow_[s], destination.port, true);
      continue;
    }
    const std::uint8_t port = switch_graph_.port(after);
    add(must_flow_[next], forward(&tally.must, c, must_flow_[s], port, true));
    add(all_flow_[next], forward(&tally.should, c, all_flow_[s], port, false));
  }
}

/// The slow way, source by source, for LIDs with a loop.
std::uint64_t LidWalker::walk_each(const fabric::Destination& destination,
                                   const std::uint8_t* column) {
  std::uint64_t bad = 0;
  Turns& turns = must_ ? tally.must : tally.should;
  for (SwitchIndex source : switch_graph_.sources_near(destination.leaf)) {
    SwitchIndex s = source;
    Channel before = kNoChannel;
    Flow flow{};
    bool ended = false;
    for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
      const Channel c = s == destination.leaf ? kNoChannel : switch_graph_.link(s, column[s]);
      if (c == kNoChannel) {
        bad += s != destination.leaf || column[s] != destination.port;
        ended = true;
        break;
      }
      if (options_.loads && destination.is_host) tally.load[c] += switch_graph_.hosts[source];
      if (exact_)
        flow = before == kNoChannel ? injected(c, sls_[source])
                                    : forward(&turns, before, flow, switch_graph_.port(c), must_);
      else if (before != kNoChannel)
        turn(turns, before, c, sls_[source]);
      if (must_ && !exact_) tally.carried[c] |= sls_[source];
      before = c;
      s = switch_graph_.to[c];
    }
    if (!ended) {
      ++bad;
      ++tally.loops;
    }
  }
  return bad;
}

}  // namespace ib::tables::check
