// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MADs at their destination: keys, the queues of agents and of programs, and answers of agents on
// their way back.
#include <algorithm>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"
#include "libdiag/sim/traffic.h"

namespace ib::sim {
namespace {

bool is_request(wire::Method m) { return m == wire::Method::Get || m == wire::Method::Set; }
/// Every node has an agent of its own for these.
bool has_agent(wire::MgmtClass c) {
  return c == wire::MgmtClass::Perf || c == wire::MgmtClass::CongestionControl;
}

}  // namespace

void Model::Impl::accept_local(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  if (!nodes_[ports_[end].node].powered) return drop(f, counters_.dropped_link_down);
  if (x.smi) {
    if (!wire::is_smp(x.mad.mgmt_class()) || x.target_qp != 0)
      return drop(f, counters_.dropped_key);
    if (x.mad.is_directed() && !x.local) return receive_directed(f, x.ingress);
    return consume(f, end);
  }
  if (wire::is_smp(x.mad.mgmt_class())) return drop(f, counters_.dropped_key);
  if (!check_keys(f, end)) return;
  consume(f, end);
}

/// P_Key and Q_Key of a GMP at the receiver (IBA 10.9.3, 10.2.5), and whose GID it carries.
bool Model::Impl::check_keys(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  SimPort& p = ports_[end];
  const PKey key{x.p_key};
  const std::size_t slots = p.tables && !p.tables->p_keys.empty() ? p.tables->p_keys.size() : 1;
  bool member = false;
  for (std::size_t i = 0; i < slots && !member; ++i) {
    const PKey own = p_key_at(p, i);
    if (own.base() != key.base() || own.base() == 0 || !(own.is_full() || key.is_full())) continue;
    member = true;
    x.p_key_index = static_cast<std::uint16_t>(i);
  }
  if (!member) {
    if (p.info.p_key_violations < 0xFFFF) ++p.info.p_key_violations;
    const bool is_suppressed =
        !Lid{x.dlid}.is_unicast() && (p.info.multicast_p_key_trap_suppression & 1) != 0;
    if (!is_suppressed) trap_bad_key(x, end, wire::trap::kBadPKey, x.p_key);
    drop(f, counters_.dropped_key);
    return false;
  }
  if (x.q_key != wire::kQp1QKey) {
    if (p.info.q_key_violations < 0xFFFF) ++p.info.q_key_violations;
    trap_bad_key(x, end, wire::trap::kBadQKey, x.q_key);
    drop(f, counters_.dropped_key);
    return false;
  }
  if (x.target_qp != 1 && x.target_qp != 0xFFFFFF) {
    drop(f, counters_.dropped_key);
    return false;
  }
  return true;
}

void Model::Impl::consume(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  count_stat(x.mad);
  ++counters_.delivered;
  const wire::Method method = x.mad.method();
  const wire::MgmtClass mgmt_class = x.mad.mgmt_class();
  const bool agent = x.smi ? is_request(method) && x.mad.attribute_id() != wire::attr::kSmInfo
                           : is_request(method) && has_agent(mgmt_class);
  if (agent || (x.smi && method == wire::Method::TrapRepress)) return queue_for_agent(f, end);
  deliver(f, end);
}

void Model::Impl::queue_for_agent(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  SimNode& node = node_of(end);
  if (node.sma_waiting >= faults_.sma_queue) {
    Counters& c = ports_[x.ingress].counters;
    ++(x.smi ? c.vl15_dropped : c.qp1_dropped);
    return drop(f, counters_.dropped_queue);
  }
  ++node.sma_waiting;
  node.sma_busy_until = std::max(now_.ns, node.sma_busy_until) + faults_.sma_service.count();
  schedule(node.sma_busy_until, EventKind::Serve, f, end);
}

void Model::Impl::serve(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  SimNode& node = node_of(end);
  if (node.sma_waiting > 0) --node.sma_waiting;
  if (!node.powered || node.behaviour == Behaviour::Silent) return release(f);
  if (x.smi && node.traits && node.traits->loses(x.mad.attribute_id())) return release(f);
  if (x.smi && x.mad.method() == wire::Method::TrapRepress) {
    if (!m_key_allows(x, end) || repress(x, end)) return release(f);
    return deliver(f, end);
  }
  if (x.smi) {
    if (x.mad.method() == wire::Method::Set) forget_ways();
    if (!sma_answer(x, end)) return drop(f, counters_.dropped_key);
    if (watch_ != nullptr && x.mad.method() == wire::Method::Set &&
        x.mad.get<&wire::SmpHeader::status>() == 0)
      watch_(watch_context_, now_, ref_of(end), x.mad);
  } else {
    end_express();
    count_all_arrived();
    if (x.mad.mgmt_class() == wire::MgmtClass::CongestionControl) {
      if (traffic_ && x.mad.method() == wire::Method::Set) traffic_->note_change();
      if (!congestion_answer(x, end)) return drop(f, counters_.dropped_key);
    } else {
      x.mad.set<&wire::MadHeader::status>(pma_answer(x, end));
    }
  }
  if (node.behaviour == Behaviour::Garbage) garble(x);
  respond(f, end);
}

/// Turns a request round, as an agent does: method, D bit, addresses (IBA 13.5.4).
void Model::Impl::respond(FlightIndex f, PortIndex end) {
  Flight& x = flight(f);
  x.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
  if (x.mad.is_directed()) x.mad.bytes[4] |= std::byte{0x80};
  const std::uint16_t asked = x.dlid;
  x.dlid = x.slid;
  x.slid = asked >= kLidMulticastMin.value && asked != kPermissiveLid.value
               ? ports_[end].info.lid.value
               : asked;
  std::swap(x.source_qp, x.target_qp);
  if (!x.smi) {
    x.source_qp = 1;
    x.p_key = p_key_at(ports_[end], x.p_key_index).value;
  }
  std::swap(x.source_gid, x.target_gid);
  x.off_sender = x.local = false;
  x.from_sma = true;
  x.hops = 0;
  tap(x);
  originate(f, end);
}

void Model::Impl::deliver(FlightIndex f, PortIndex end) {
  const Flight& x = flight(f);
  std::uint32_t& waiting = ports_[end].receive_waiting[x.smi ? 0 : 1];
  if (waiting >= faults_.receive_queue) {
    Counters& c = ports_[end].counters;
    ++(x.smi ? c.vl15_dropped : c.qp1_dropped);
    return drop(f, counters_.dropped_queue);
  }
  ++waiting;
  arrived_.push_back({f, end});
}

Delivery* Model::Impl::take_delivery() {
  if (arrived_.empty()) return nullptr;
  const Arrived next = arrived_.front();
  arrived_.pop_front();
  const Flight& x = flight(next.flight);
  SimPort& p = ports_[next.port];
  --p.receive_waiting[x.smi ? 0 : 1];
  Delivery& d = taken_;
  d.port = ref_of(next.port);
  d.smi = x.smi;
  d.dlid = Lid{x.dlid};
  d.packet.mad = x.mad;
  mad::Address& from = d.packet.address;
  from.lid = Lid{x.slid};
  from.qpn = x.source_qp;
  from.q_key = x.q_key;
  from.sl = Sl{x.sl};
  from.path_bits = 0;
  if (owns_lid(p, x.dlid))
    from.path_bits = static_cast<std::uint8_t>(x.dlid & ((1U << p.info.lmc) - 1));
  from.p_key_index = x.p_key_index;
  from.grh.reset();
  if (x.has_grh) {
    mad::Grh& grh = from.grh.emplace();
    grh.gid = x.source_gid;
    grh.hop_limit = x.hop_limit;
    grh.traffic_class = x.traffic_class;
    grh.flow_label = x.flow_label;
    for (std::size_t i = 1; i < p.info.guid_cap; ++i)
      if (guid_at(p, i) == x.target_gid.guid()) grh.gid_index = static_cast<std::uint8_t>(i);
  }
  release(next.flight);
  return &d;
}

void Model::Impl::count_stat(const wire::Mad& mad) {
  const auto mgmt_class = static_cast<std::uint8_t>(mad.mgmt_class());
  const auto method = static_cast<std::uint8_t>(mad.method());
  const std::uint16_t attribute = mad.attribute_id();
  const auto same = [&](const StatRow& r) {
    return r.attribute == attribute && r.method == method && r.mgmt_class == mgmt_class;
  };
  std::uint16_t& last = last_stats_[(attribute ^ (method >> 3U) ^ mgmt_class) % last_stats_.size()];
  if (last < stats_.size() && same(stats_[last])) {
    ++stats_[last].count;
    return;
  }
  // A few dozen kinds in practice; a client that sends random attributes must not grow this for
  // ever, so what comes after the first 4096 kinds is counted as attribute 0 of class 0.
  for (std::size_t i = 0; i < stats_.size(); ++i)
    if (same(stats_[i])) {
      last = static_cast<std::uint16_t>(i);
      ++stats_[i].count;
      return;
    }
  constexpr std::size_t kKindsMax = 4096;
  if (stats_.size() < kKindsMax) {
    stats_.push_back({mgmt_class, method, attribute, 1});
  } else if (stats_.size() == kKindsMax) {
    stats_.push_back({0, 0, 0, 1});
  } else {
    ++stats_.back().count;
  }
}

}  // namespace ib::sim
