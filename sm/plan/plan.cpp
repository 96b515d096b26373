// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "libdiag/fabric/labels.h"
#include "libdiag/fabric/planes.h"
#include "libdiag/wire/port_attributes.h"
#include "sm/plan/adaptive_routing.h"
#include "sm/plan/fdr10.h"
#include "sm/plan/partitions.h"
#include "sm/plan/routes.h"
#include "sm/plan/sl_rates.h"
#include "sm/plan/vl_wants.h"

namespace sm::plan {
namespace {

using ib::Lid;
using ib::discover::Observed;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::route::LidAssignment;
using ib::route::LidMemory;
using ib::wire::PortInfo;
using ib::wire::PortState;

/// The planner's working state; run() reads as the order of the steps.
class Planner {
 public:
  explicit Planner(PlanRequest request)
      : request_(std::move(request)),
        options_(request_.options),
        observed_(*request_.observed),
        sa_state_lost_(request_.sa_state_lost),
        reroute_(std::move(request_.reroute)) {
    if (options_.qos) vl_settings_ = policy::all_settings(options_.qos_sets);
  }

  Planned run() {
    auto desired = plan();
    return {std::move(desired), std::move(reroute_)};
  }

 private:
  ib::Result<Desired> plan() {
    if (observed_.nodes.empty())
      return ib::fail(ib::ErrorKind::Unavailable, "the local port does not answer");
    const PortRef local = observed_.local_port;
    if (!is_switch(local.node) && !observed_.port(local).known)
      return ib::fail(ib::ErrorKind::Unavailable,
                      fmt::format("the local port, {} port {}, did not say what state it is in",
                                  name(local.node), local.port));
    if (!is_switch(local.node) && observed_.port(local).state() == PortState::Down)
      return ib::fail(
          ib::ErrorKind::Unavailable,
          fmt::format("{} port {} is DOWN: the local port is down", name(local.node), local.port));
    find_managed();
    assign();
    want_ports();
    if (!request_.stopgap_engine.empty()) return stopgap();
    want_partitions();
    want_rates();
    want_fdr10();
    routes_ = plan_routes(request_, settings(), reroute_, out_);
    want_adaptive_routing();
    want_sm_sls();
    want_vls(request_, settings(), routes_, keeps_vls_, out_);
    want_switches();
    want_tables();
    return std::move(out_);
  }

  ib::Result<Desired> stopgap() {
    out_.partitions = options_.partitions;
    routes_ = stopgap_routes(request_, reroute_, out_);
    want_sm_sls();
    want_switches();
    out_.program_mfts = false;
    reroute_ = {};  // of an earlier term: the plan that follows is as at a start
    return std::move(out_);
  }

  const policy::VlSettingsByKind* settings() const {
    return vl_settings_ ? &*vl_settings_ : nullptr;
  }
  const Fabric& fabric() const { return observed_.fabric; }
  bool is_switch(NodeIndex n) const { return fabric().node(n).is_switch(); }
  std::string name(NodeIndex n) const { return ib::fabric::node_label(fabric().node(n)); }

  /// Managed: usable, and reached from the local port by cables between usable nodes. Packets pass
  /// through switches only, so a CA ends the search.
  void find_managed() {
    out_.node_managed.assign(observed_.nodes.size(), false);
    const NodeIndex start = observed_.local_port.node;
    std::vector<NodeIndex> queue;
    if (observed_.nodes[start].usable) {
      queue.push_back(start);
      out_.node_managed[start] = true;
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const NodeIndex n = queue[i];
      if (!is_switch(n) && n != start) continue;
      for (const auto& port : fabric().ports(n)) {
        if (!port.peer || port.state == PortState::Down) continue;
        // Not through the subnet manager's own CA either.
        if (!is_switch(n) && &port != &fabric().port(observed_.local_port)) continue;
        const NodeIndex far = port.peer.node;
        if (out_.node_managed[far] || !observed_.nodes[far].usable) continue;
        out_.node_managed[far] = true;
        queue.push_back(far);
      }
    }
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n) {
      if (out_.node_managed[n]) continue;
      const auto has_link = [](const ib::fabric::Port& port) {
        return static_cast<bool>(port.peer);
      };
      const char* why = "no link that is in use leads to it";
      if (!observed_.nodes[n].usable)
        why = "its answers are incomplete or wrong";
      else if (std::ranges::any_of(fabric().ports(n), has_link))
        why = "only reached through a node that is not managed";
      out_.unmanaged.emplace_back().node = n;
      out_.unmanaged.back().reason = why;
    }
  }

  /// Of an end port that another port stands for; the local port always stands for its own.
  bool is_plane(PortRef p) const {
    const PortRef local = observed_.local_port;
    if (p == local) return false;
    if (p.node == local.node && !is_switch(p.node) && fabric().port(p).guid.value != 0 &&
        fabric().port(p).guid == fabric().port(local).guid)
      return true;
    return ib::fabric::is_further_plane(fabric(), p);
  }
  void tell_planes() {
    std::size_t count = 0;
    PortRef first;
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n)
      for (unsigned p = 1; p <= fabric().node(n).num_ports && !is_switch(n); ++p) {
        const PortRef ref{n, static_cast<std::uint8_t>(p)};
        if (fabric().port(ref).peer && is_plane(ref) && count++ == 0) first = ref;
      }
    if (count == 0) return;
    out_.notes.push_back(fmt::format(
        "{} port{} further planes of multi-plane HCAs, the first {} port {}: one plane of each has "
        "the LID, and the others are left as they are",
        count, count == 1 ? " is one of the" : "s are", name(first.node), first.port));
  }

  /// A port of a CA that is down, or leads to what packets do not get to from here, gets no LID.
  bool is_reached(PortRef p) const {
    const auto& port = fabric().port(p);
    if (!port.peer || port.state == PortState::Down) return false;
    return port.peer == observed_.local_port ||
           (is_switch(port.peer.node) && out_.node_managed[port.peer.node]);
  }

  template <class Do>
  void for_each_end_port(Do&& run) const {
    const auto visit = [&](PortRef p) {
      if (const auto* seen = observed_.known_port(p); seen != nullptr && !is_plane(p))
        run(p, *seen);
    };
    visit(observed_.local_port);  // the subnet manager's own LID first
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n) {
      if (!out_.node_managed[n]) continue;
      const unsigned first = is_switch(n) ? 0 : 1;
      const unsigned last = is_switch(n) ? 0 : fabric().node(n).num_ports;
      for (unsigned p = first; p <= last; ++p) {
        const PortRef ref{n, static_cast<std::uint8_t>(p)};
        if (ref == observed_.local_port) continue;
        if (is_switch(n) || is_reached(ref)) visit(ref);
      }
    }
  }

  Lid lid_max() const {
    std::uint32_t max = ib::kLidUnicastMax.value;
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n) {
      if (!out_.node_managed[n] || !observed_.nodes[n].switch_info) continue;
      // LinearFDBCap counts entries from LID 0.
      max = std::min<std::uint32_t>(max, observed_.nodes[n].switch_info->linear_fdb_cap - 1U);
    }
    return Lid{static_cast<std::uint16_t>(max)};
  }

  LidMemory memory() const {
    if (options_.reassign_lids) return LidMemory::None;
    return options_.lids_of_devices ? LidMemory::Devices : LidMemory::Store;
  }

  /// With the LMC that the port has.
  ib::route::LidRequest request_as_held(PortRef p, const ib::discover::ObservedPort& seen) const {
    ib::route::LidRequest r;
    r.port = p;
    r.guid = fabric().port(p).guid;
    r.held = seen.get<&PortInfo::lid>();
    r.armed_or_active = seen.state() == PortState::Armed || seen.state() == PortState::Active;
    r.lmc = seen.get<&PortInfo::lmc>();
    return r;
  }

  /// End ports of nodes that are not managed. They are told no LID, and keep the one they hold: one
  /// that did not answer all may be managed by the next sweep.
  std::vector<ib::route::LidRequest> left_alone() const {
    std::vector<ib::route::LidRequest> held;
    for (const Unmanaged& u : out_.unmanaged) {
      const unsigned first = is_switch(u.node) ? 0 : 1;
      const unsigned last = is_switch(u.node) ? 0 : fabric().node(u.node).num_ports;
      for (unsigned p = first; p <= last; ++p) {
        const PortRef ref{u.node, static_cast<std::uint8_t>(p)};
        // Without a cable that was found it may be another subnet's.
        if (!is_switch(u.node) && !fabric().port(ref).peer) continue;
        if (const auto* seen = observed_.known_port(ref))
          held.push_back(request_as_held(ref, *seen));
      }
    }
    return held;
  }

  void assign() {
    std::vector<ib::route::LidRequest> requests;
    for_each_end_port([&](PortRef p, const ib::discover::ObservedPort& seen) {
      ib::route::LidRequest r = request_as_held(p, seen);
      const bool port0 = is_switch(p.node);
      const bool wide = !port0 || (options_.lmc_enhanced_port0 &&
                                   observed_.nodes[p.node].switch_info->enhanced_port0);
      r.lmc = wide ? options_.lmc : std::uint8_t{0};
      requests.push_back(r);
    });
    static const ib::route::StoredLids kNothing;
    ib::route::LidPlan plan = assign_lids(requests, request_.stored ? *request_.stored : kNothing,
                                          lid_max(), memory(), left_alone());
    if (plan.unassigned > 0)
      out_.alarms.push_back(fmt::format("no LID left for {} ports (LIDs end at {})",
                                        plan.unassigned, lid_max().value));
    std::ranges::move(plan.notes, std::back_inserter(out_.alarms));
    for (const auto& [lid, keeper, other] : plan.conflicts) {
      out_.lid_conflicts.push_back({lid, requests[keeper].port, requests[other].port});
      const std::string kept = to_string(requests[keeper].guid);
      out_.alarms.push_back(fmt::format("LID {} is claimed by {} and {}; {} keeps it", lid.value,
                                        kept, to_string(requests[other].guid), kept));
    }
    out_.lids = std::move(plan.assigned);
    out_.sm_port = observed_.local_port;
    if (!out_.lids.empty()) out_.sm_lid = out_.lids.front().lid;
    // No Set of ours brings our own LID elsewhere: another subnet manager has it, too.
    out_.astray_lids = std::move(plan.astray);
    std::erase_if(out_.astray_lids,
                  [this](const auto& a) { return a.owner == out_.lids.front().guid; });
    find_other_manager();
  }

  /// At a start, whether another subnet manager worked from this port since the store was written:
  /// a host port in use that names our LID for its subnet manager, and keeps a LID that the store
  /// did not give it. Every LID is in the store before it is sent. Where LIDs and hosts are as they
  /// were, nothing tells.
  void find_other_manager() {
    if (request_.before != nullptr || request_.stored == nullptr || request_.stored->empty() ||
        options_.reassign_lids)
      return;
    const auto is_anothers = [&](const LidAssignment& a) {
      if (is_switch(a.port.node)) return false;
      const auto& seen = observed_.port(a.port);
      if (seen.state() != PortState::Armed && seen.state() != PortState::Active) return false;
      if (seen.get<&PortInfo::lid>() != a.lid ||
          seen.get<&PortInfo::master_sm_lid>() != out_.sm_lid)
        return false;
      const auto claim = request_.stored->find(a.guid);
      return claim == request_.stored->end() || claim->second.lid != a.lid;
    };
    const auto at = std::find_if(out_.lids.begin(), out_.lids.end(), is_anothers);
    if (at == out_.lids.end()) return;
    sa_state_lost_ = true;
    out_.notes.push_back(fmt::format(
        "{} port {} holds LID {}, which this subnet manager never assigned: another one was active "
        "since it ran last, so all clients are asked to register again",
        name(at->port.node), at->port.port, at->lid.value));
  }

  void want_ports() {
    out_.ports.resize(observed_.ports.size());
    for (const LidAssignment& a : out_.lids) want_end_port(a);
    tell_hidden_keys();
    tell_planes();
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n) {
      if (!out_.node_managed[n]) continue;
      for (unsigned p = 0; p <= fabric().node(n).num_ports; ++p)
        want_link({n, static_cast<std::uint8_t>(p)});
    }
  }

  /// Ports that hide their M_Key from us take no Set from us.
  void tell_hidden_keys() {
    std::size_t count = 0;
    PortRef first;
    for (const LidAssignment& a : out_.lids) {
      const auto& seen = observed_.port(a.port);
      if (!seen.known || seen.get<&PortInfo::m_key>() != 0 ||
          seen.get<&PortInfo::m_key_protect_bits>() == 0)
        continue;
      if (count++ == 0) first = a.port;
    }
    if (count == 0) return;
    out_.alarms.push_back(fmt::format(
        "{} port{} protected by an M_Key that this subnet manager does not have, the first {} port "
        "{}: they take no Set; give the key (m_key, or the file guid2mkey)",
        count, count == 1 ? " is" : "s are", name(first.node), first.port));
  }

  void want_rates() {
    if (options_.rates == nullptr) return;
    static const device::Inventory kNothing;
    auto rates = plan_sl_rates(observed_, out_.node_managed, out_.sm_port, *options_.rates,
                               request_.held != nullptr ? *request_.held : kNothing, request_.mute);
    out_.rate_blocks = std::move(rates.blocks);
    out_.to_read = std::move(rates.to_read);
    std::ranges::move(rates.alarms, std::back_inserter(out_.alarms));
  }

  /// Where routes are not programmed those that stand go on, and so do the groups they have.
  void want_adaptive_routing() {
    if (options_.adaptive == nullptr || !out_.program_lfts || out_.routing->engine.empty()) return;
    const auto& engine =
        out_.options_adopted ? request_.pending_options->options : options_.choice.engine;
    const auto& rerouter = reroute_.rerouter;
    const bool follows = rerouter && rerouter->engine() == out_.routing->engine;
    auto routes = std::make_shared<AdaptiveRoutes>(
        plan_adaptive_routes(*options_.adaptive, routes_.fabric, *out_.routing, engine,
                             follows ? rerouter->order() : nullptr, out_.sm_lid));
    std::ranges::copy(routes->notes, std::back_inserter(out_.notes));
    std::ranges::copy(routes->alarms, std::back_inserter(out_.alarms));
    out_.adaptive = std::move(routes);
    static const device::Inventory kNothing;
    take_adaptive_blocks(out_, observed_, request_.held != nullptr ? *request_.held : kNothing,
                         request_.mute);
  }

  void want_fdr10() {
    static const device::Inventory kNothing;
    if (options_.link_force.fdr10)
      plan::want_fdr10(out_, observed_, *options_.link_force.fdr10,
                       request_.held != nullptr ? *request_.held : kNothing, request_.keep_fdr10);
  }

  void want_partitions() {
    static const device::Inventory kNothing;
    auto alarms = want_p_keys(out_, observed_, options_.partitions, options_.p_keys,
                              request_.held != nullptr ? *request_.held : kNothing,
                              request_.virtual_ports.get());
    std::ranges::move(alarms, std::back_inserter(out_.alarms));
  }

  void want_end_port(const LidAssignment& a) {
    PortWant& want = out_.ports[observed_.port_index(a.port)];
    const auto& seen = observed_.port(a.port);
    want.managed = a.lid != ib::kNoLid;
    want.end_port = true;
    want.lid = a.lid;
    want.lmc = a.lmc;
    want.sm_lid = out_.sm_lid;
    want.gid_prefix = options_.subnet_prefix;
    want.subnet_timeout = options_.subnet_timeout;
    if (options_.m_key) {
      want.m_key = options_.m_key->key;
      want.m_key_lease = options_.m_key->lease;
      want.m_key_protect = options_.m_key->protection;
    } else {
      want.m_key = seen.get<&PortInfo::m_key>();
      want.m_key_lease = seen.get<&PortInfo::m_key_lease_period>();
      want.m_key_protect = seen.get<&PortInfo::m_key_protect_bits>();
    }
    if (options_.suppress_multicast_p_key_traps &&
        (seen.get<&PortInfo::capability_mask>() &
         ib::wire::port_cap::kMulticastPKeyTrapSuppression) != 0)
      want.trap_suppression = *options_.suppress_multicast_p_key_traps ? 1 : 0;
    // Only what software behind the port may have built on: a port that comes up by itself
    // registers anyway.
    const bool in_use = is_in_use(seen);
    // A port that never had a LID says 0, or 0xFFFF (ConnectX-4 and later).
    const Lid lid = seen.get<&PortInfo::lid>(), sm_lid = seen.get<&PortInfo::master_sm_lid>();
    const bool lid_lost = lid.is_unicast() && (lid != a.lid || seen.get<&PortInfo::lmc>() != a.lmc);
    const bool sm_lost = sm_lid.is_unicast() && sm_lid != out_.sm_lid;
    const bool reregister_pending = request_.reregister_pending.contains(a.guid);
    const bool may_be_anothers = (request_.before == nullptr || request_.was_cut_off) &&
                                 request_.lids_of_other_masters.contains(sm_lid);
    // Where its LID is not stored, nothing of what it registered is.
    const bool is_new = request_.stored != nullptr && !request_.stored->contains(a.guid);
    want.reregister =
        may_reregister(options_, seen) && !is_switch(a.port.node) &&
        (lid_lost || sm_lost || request_.in_doubt.contains(a.guid) ||
         (in_use && (reregister_pending || may_be_anothers || is_new || sa_state_lost_)));
  }

  void want_link(PortRef p) {
    const auto& seen = observed_.port(p);
    const PortRef q = fabric().port(p).peer;
    PortWant& want = out_.ports[observed_.port_index(p)];
    const bool switch_port0 = is_switch(p.node) && p.port == 0;
    if (switch_port0) {
      // An enhanced port 0 has a state like any other end port; a base one has none to set.
      want.activate = want.managed && seen.known && observed_.nodes[p.node].switch_info &&
                      observed_.nodes[p.node].switch_info->enhanced_port0 &&
                      seen.state() >= PortState::Initialize;
      // It may come up with less than it can, and packets to it are as small (IBA 14.2.5.6).
      if (want.activate) want.neighbor_mtu = seen.get<&PortInfo::mtu_cap>();
      return;
    }
    if (!seen.known || !q || seen.state() == PortState::Down) return;
    if (is_plane(p) || is_plane(q)) return;
    if (!out_.node_managed[q.node] || !observed_.port(q).known) return;
    if (!is_switch(p.node) && !want.end_port) return;
    if (observed_.port(q).state() == PortState::Down) return;
    if (is_switch(p.node)) want.managed = true;
    if (!want.managed) return;
    want.activate = true;
    const auto& far = observed_.port(q);
    want.neighbor_mtu = std::min(seen.get<&PortInfo::mtu_cap>(), far.get<&PortInfo::mtu_cap>());
    want.operational_vls = std::min({vls_of(p), vls_of(q), options_.operational_vls_max});
    keeps_vls_ = cap_vls(request_, settings(), p, q, want) || keeps_vls_;
    want.phy_errors = options_.phy_errors;
    want.overrun_errors = options_.overrun_errors;
    if (is_switch(p.node)) {
      const bool leaf = !is_switch(q.node);
      want.hoq_life = leaf ? options_.leaf_hoq_life : options_.hoq_life;
      want.vl_stall_count = leaf ? options_.leaf_vl_stall_count : options_.vl_stall_count;
    }
    if (const auto& force = options_.link_force;
        is_switch(p.node) && (force.speed || force.speed_ext || force.width)) {
      want_training(seen.info(), want);
      want.retrain = trains_again(seen.info(), want);
      if (want.retrain && is_in_vain(p, want)) {
        want.retrain = false;
        out_.trained_in_vain.push_back(p);
      }
    }
    want.restart = seen.state() > PortState::Initialize &&
                   (want.neighbor_mtu != seen.get<&PortInfo::neighbor_mtu>() ||
                    want.operational_vls != seen.get<&PortInfo::operational_vls>());
  }

  /// The code of those that it can operate.
  std::uint8_t vls_of(PortRef p) const {
    const auto cap = observed_.port(p).get<&PortInfo::vl_cap>();
    const auto fewer = request_.fewer_vls.find({fabric().node(p.node).guid, p.port});
    return fewer == request_.fewer_vls.end() ? cap : std::min(cap, fewer->second);
  }

  /// What the operator forces, of what the port supports; what it supports nothing of stays.
  void want_training(const PortInfo& info, PortWant& want) const {
    const auto of = [](std::optional<std::uint8_t> forced, std::uint8_t supported, unsigned all,
                       unsigned none) -> std::optional<std::uint8_t> {
      if (!forced || *forced == 0 || supported == 0) return std::nullopt;
      if (*forced == none) return std::uint8_t{0};
      const auto enabled =
          static_cast<std::uint8_t>(*forced == all ? supported : *forced & supported);
      return enabled != 0 ? std::optional(enabled) : std::nullopt;
    };
    const LinkForce& force = options_.link_force;
    constexpr unsigned kNever = 256;
    want.speed_enabled = of(force.speed, info.link_speed_supported, 15, kNever);
    want.speed_ext_enabled = of(force.speed_ext, info.link_speed_ext_supported, 31, 30);
    want.width_enabled = of(force.width, info.link_width_supported, 255, kNever);
  }

  /// A link that runs at what it is no longer to has to train again, once it is told: by this
  /// manager, or by one that was lost before it made the link do so. What it runs at is supported,
  /// whatever the port says of that.
  static bool trains_again(const PortInfo& info, const PortWant& want) {
    const auto allows = [](std::optional<std::uint8_t> enabled, std::uint8_t supported,
                           std::uint8_t active) {
      return !enabled || *enabled == supported || (*enabled & active) != 0;
    };
    const auto allows_speed = [&] {
      if (info.link_speed_ext_active2 != 0) return true;  // no mask here has those
      if (info.link_speed_ext_active != 0)
        return allows(want.speed_ext_enabled, info.link_speed_ext_supported,
                      info.link_speed_ext_active);
      return allows(want.speed_enabled, info.link_speed_supported, info.link_speed_active);
    };
    return !allows_speed() ||
           !allows(want.width_enabled, info.link_width_supported, info.link_width_active);
  }

  bool is_in_vain(PortRef p, const PortWant& want) const {
    const auto before = request_.trained.find({fabric().node(p.node).guid, p.port});
    return before != request_.trained.end() && before->second.tries >= Trained::kTriesMax &&
           before->second.training == training_of(want, observed_.port(p).info());
  }

  /// By which SL a port reaches the subnet manager: that of the path, unless the operator says.
  void want_sm_sls() {
    for (const LidAssignment& a : out_.lids) {
      PortWant& want = out_.ports[observed_.port_index(a.port)];
      want.sm_sl =
          options_.sm_sl.value_or(path_sl(observed_.fabric, *out_.routing, a.port, out_.sm_port));
    }
  }

  /// The last LID; one more where that begins a block of 64, since stock dump_fts and ibroute leave
  /// out a top that does.
  std::uint16_t table_top(Lid last, NodeIndex n) const {
    const auto& info = observed_.nodes[n].switch_info;
    const bool room = info && last.value + 1 < info->linear_fdb_cap;
    return static_cast<std::uint16_t>(last.value + (last.value % 64 == 0 && room ? 1 : 0));
  }

  void want_switches() {
    const auto& graph = out_.routing->graph;
    for (ib::fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      const auto* port0 = observed_.known_port({graph.node_of(s), 0});
      SwitchWant want;
      want.linear_fdb_top = table_top(graph.max_lid(), graph.node_of(s));
      want.life_time_value = options_.packet_life_time;
      want.has_multicast_top =
          options_.multicast_top && port0 != nullptr &&
          (port0->get<&PortInfo::capability_mask>() & ib::wire::port_cap::kMulticastFdbTop) != 0;
      if (const auto& info = observed_.nodes[graph.node_of(s)].switch_info)
        want.multicast_fdb_cap = info->multicast_fdb_cap;
      out_.switches.push_back(want);
    }
  }

  void want_tables() {
    gather_blocks(
        out_, want_guids(observed_, out_.node_managed, request_.aliases, request_.alias_blocks));
    static const std::vector<MlidGroup> kNone;
    out_.keep_unknown_groups = options_.keep_unknown_groups;
    if (!options_.multicast) {
      out_.program_mfts = false;
      return;
    }
    auto [notes, alarms] =
        want_multicast(out_, routes_.fabric, request_.groups ? *request_.groups : kNone);
    std::ranges::move(notes, std::back_inserter(out_.notes));
    std::ranges::move(alarms, std::back_inserter(out_.alarms));
  }

  PlanRequest request_;
  const PlanOptions& options_;
  const Observed& observed_;
  bool sa_state_lost_;
  bool keeps_vls_{false};  // some link operates fewer than it would if it came up now
  RerouteState reroute_;
  std::optional<policy::VlSettingsByKind> vl_settings_;  // with -Q
  PlannedRoutes routes_;
  Desired out_;
};

}  // namespace

Planned make_plan(PlanRequest request) { return Planner(std::move(request)).run(); }

}  // namespace sm::plan
