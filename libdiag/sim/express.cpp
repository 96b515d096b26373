// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// GMPs that nothing can befall on their way. As long as no other MAD is under way, no fault is set
// and no table changes, what a GMP meets at each hop is known when it leaves: it takes one event to
// arrive, and not one a hop. The ways are remembered until something changes that they depend on;
// when it does, and when a MAD sets out that is not of this kind, what is on such a way goes on
// hop by hop from where it is.
//
// What differs from hop by hop: of two MADs that meet at a cable the one that set out first goes
// first there.
#include <algorithm>

#include "libdiag/sim/impl.h"
#include "libdiag/sim/traffic.h"

namespace ib::sim {
namespace {

constexpr std::size_t kWays = 4096;

std::size_t place_of(PortIndex from, const Flight& x) {
  const std::uint64_t key = (std::uint64_t{from} << 32 | std::uint64_t{x.p_key} << 16 | x.dlid) ^
                            std::uint64_t{x.sl} << 60;
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 52);
}
static_assert(kWays == std::size_t{1} << (64 - 52));

}  // namespace

/// Fills in where the GMPs of `way` pass; false: hop by hop they would be lost, or something else
/// would happen to them.
bool Model::Impl::find_way(Way& way) const {
  const PKey key{way.p_key};
  PortIndex out = way.from;
  std::uint8_t in = 0;
  while (way.hops < way.out.size()) {
    const SimPort& p = ports_[out];
    if (p.peer == kNoPort || p.fault != 0) return false;
    const SimPort& q = ports_[p.peer];
    if (q.peer != out || !carries_gmps(p) || !carries_gmps(q)) return false;
    if (!is_allowed(p, key, false) || !is_allowed(q, key, true)) return false;
    const std::uint8_t vl = vl_of(p, in, way.sl);
    if (vl == kManagementVl) return false;
    way.vl[way.hops] = vl;
    way.out[way.hops++] = out;
    const SimNode& node = nodes_[q.node];
    if (!node.is_switch()) {
      way.to = p.peer;
      return owns_lid(q, way.dlid);
    }
    if (chooses_exit(node, way.dlid, way.sl)) return false;
    const std::uint8_t exit = exit_of(node, way.dlid, way.sl);
    if (exit == 0) {
      way.to = node.first_port;
      return owns_lid(ports_[way.to], way.dlid);
    }
    if (exit > node.num_ports || exit == q.number) return false;
    in = q.number;
    out = node.first_port + exit;
  }
  return false;
}

/// The way of a GMP; nullptr: it has to go hop by hop.
Way* Model::Impl::way_of(PortIndex from, const Flight& x) {
  if (ways_.empty()) ways_.resize(kWays);
  const std::size_t place = place_of(from, x);
  Way* free = nullptr;
  for (const std::size_t i : {place, place ^ 1}) {
    Way& way = ways_[i];
    if (way.generation == generation_ && way.from == from && way.dlid == x.dlid &&
        way.p_key == x.p_key && way.sl == x.sl)
      return &way;
    if (way.under_way == 0 && (free == nullptr || way.generation != generation_)) free = &way;
  }
  if (free == nullptr) return nullptr;
  count_arrived(*free);
  *free = {};
  free->from = from;
  free->dlid = x.dlid;
  free->p_key = x.p_key;
  free->sl = x.sl;
  if (!find_way(*free)) return nullptr;
  free->generation = generation_;
  return free;
}

/// Sends `f` all the way; false: it has to go hop by hop.
bool Model::Impl::send_express(FlightIndex f, PortIndex from) {
  Flight& x = flight(f);
  const bool others = flights_in_use() != express_.size() + arrived_.size() + 1;
  if (others || x.dlid >= kLidMulticastMin.value || faults_.loss_percent > 0 ||
      faults_.duplicate_percent > 0 || faults_.delay.count() > 0 || faults_.jitter.count() > 0)
    return false;
  Way* const found = way_of(from, x);
  if (found == nullptr) return false;
  Way& way = *found;
  const std::uint64_t words = words_of(x);
  std::int64_t at = now_.ns;
  for (std::size_t i = 0; i < way.hops; ++i) {
    SimPort& p = ports_[way.out[i]];
    at = transmit(p, words, at);
    x.express.arrival[i] = static_cast<std::uint32_t>(at - now_.ns);
  }
  x.off_sender = true;
  x.express.way = static_cast<std::uint32_t>(found - ways_.data());
  ++way.under_way;
  x.express.left = now_.ns;
  x.express.place = static_cast<std::uint32_t>(express_.size());
  express_.push_back(f);
  schedule(at, EventKind::Land, f, way.to);
  return true;
}

void Model::Impl::land(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  if (x.express.way == kNoWay) return release(f);  // it went on by another flight
  Way& way = ways_[x.express.way];
  if (way.packets == 0) {
    if (ways_to_count_.size() >= kWays) count_all_arrived();
    ways_to_count_.push_back(x.express.way);
  }
  ++way.packets;
  way.words += words_of(x);
  leave_express(x);
  x.hops = way.hops;
  x.egress = way.out[way.hops - 1U];
  x.ingress = ports_[x.egress].peer;
  x.vl = way.vl[way.hops - 1U];
  accept_local(f, end);
}

void Model::Impl::leave_express(Flight& x) {
  const FlightIndex last = express_.back();
  flight(last).express.place = x.express.place;
  express_[x.express.place] = last;
  express_.pop_back();
  --ways_[x.express.way].under_way;
  x.express.way = kNoWay;
}

/// Counts at the ports who has arrived by `way`.
void Model::Impl::count_arrived(Way& way) {
  if (way.packets == 0) return;
  for (std::size_t i = 0; i < way.hops; ++i) {
    SimPort& p = ports_[way.out[i]];
    const SlVl sl_vl{way.sl, way.vl[i]};
    count_sent(p, way.packets, way.words, sl_vl, false);
    count_received(ports_[p.peer], way.packets, way.words, sl_vl, false);
  }
  way.packets = way.words = 0;
}

void Model::Impl::count_all_arrived() {
  for (const std::uint32_t way : ways_to_count_) count_arrived(ways_[way]);
  ways_to_count_.clear();
}

/// GMPs on their way go on hop by hop.
void Model::Impl::end_express() {
  for (std::size_t i = express_.size(); i-- > 0;) {
    Flight& before = flight(express_[i]);
    const Way& way = ways_[before.express.way];
    std::size_t passed = 0;
    const auto arrival_of = [&](std::size_t hop) {
      return before.express.left + before.express.arrival[hop];
    };
    while (passed < way.hops && arrival_of(passed) <= now_.ns) ++passed;
    if (passed == way.hops) continue;  // what is left of its way is an event that is due
    // The event of its arrival stays behind, and finds nobody.
    const FlightIndex f = allocate();
    Flight& x = flight(f);
    x = before;
    leave_express(before);
    x.express.way = kNoWay;
    const std::uint64_t words = words_of(x);
    x.ingress = way.from;
    for (std::size_t hop = 0; hop < passed; ++hop) {
      SimPort& p = ports_[way.out[hop]];
      const SlVl sl_vl{x.sl, way.vl[hop]};
      count_sent(p, 1, words, sl_vl, false);
      count_received(ports_[p.peer], 1, words, sl_vl, false);
      x.ingress = p.peer;
    }
    x.hops = static_cast<std::uint8_t>(passed);
    x.egress = way.out[passed];
    x.vl = way.vl[passed];
    SimPort& p = ports_[x.egress];
    count_sent(p, 1, words, {x.sl, x.vl}, false);
    ++p.in_flight;
    x.buffered = true;
    schedule(arrival_of(passed), EventKind::Arrive, f, p.peer);
    // The cables behind it are not taken yet.
    for (std::size_t hop = passed + 1; hop < way.hops; ++hop) {
      SimPort& later = ports_[way.out[hop]];
      const std::int64_t begin =
          arrival_of(hop) - options_.hop_latency.count() - time_of(later, words);
      later.busy_until = std::min(later.busy_until, begin);
    }
  }
}

/// Something changes that ways depend on.
void Model::Impl::forget_ways() {
  if (traffic_) traffic_->note_change();
  end_express();
  count_all_arrived();
  ++generation_;
}

}  // namespace ib::sim
