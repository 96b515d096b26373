// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_vls.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libdiag/tables/names.h"

namespace ib::tables::check {
namespace {

std::uint16_t bit(unsigned i) { return static_cast<std::uint16_t>(1U << i); }

/// Data VLs that a link operates: the smaller of both ends; 15 where nothing is known.
unsigned operational_vls(const fabric::Fabric& fabric, fabric::PortRef end) {
  unsigned least = 15;
  const auto lower = [&](fabric::PortRef p) {
    if (p && fabric.port(p).vl_cap != 0)
      least = std::min(least, wire::data_vls(fabric.port(p).vl_cap));
  };
  lower(end);
  lower(fabric.port(end).peer);
  return least;
}

std::string listed(std::uint16_t bits) {
  std::string out;
  for (unsigned i = 0; i < 16; ++i)
    if ((bits >> i) & 1U) out += (out.empty() ? "" : ", ") + std::to_string(i);
  return out;
}

}  // namespace

VlView::VlView(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
               const VirtualLanes& virtual_lanes, const VerifyOptions& options, std::uint16_t also)
    : switch_graph_(switch_graph),
      virtual_lanes_(virtual_lanes),
      sm_sl_(options.master_sm_sl),
      earlier_(options.earlier_sls),
      uniform_(virtual_lanes.sl_to_vl.injection()) {
  std::uint16_t used = also;
  if (sm_sl_) used |= bit(sm_sl_->value & 15U);
  for (unsigned sl = 0; sl < sets_.size(); ++sl)
    sets_[sl] = virtual_lanes.levels.all(Sl{static_cast<std::uint8_t>(sl)});
  if (virtual_lanes.sls.uniform() && (earlier_ == nullptr || earlier_->uniform())) {
    used |= sls_between(0, 0);
  } else {
    for (SwitchIndex s = 0; s < switch_graph.graph.switch_count(); ++s)
      for (SwitchIndex t = 0; t < switch_graph.graph.switch_count(); ++t) used |= sls_between(s, t);
  }
  one_ = static_cast<unsigned>(std::countr_zero(used));
  const bool simple = virtual_lanes.sl_to_vl.uniform() || independent_of_input(fabric);
  kind_ = !simple ? Kind::Exact : std::has_single_bit(used) ? Kind::One : Kind::ByOutput;
  if (kind_ != Kind::One) {
    for (const SlToVlRow& row : virtual_lanes.sl_to_vl.rows())
      for (unsigned sl = 0; sl < 16; ++sl)
        if (((used >> sl) & 1U) && row.vl[sl] < kVlDrop) vls_ = std::max(vls_, row.vl[sl] + 1U);
  }
  if (virtual_lanes.sl_to_vl.uniform()) return;

  const auto switches = static_cast<SwitchIndex>(switch_graph.graph.switch_count());
  if (kind_ == Kind::Exact)
    injected_.assign(switch_graph.channels() * 16, 0);
  else
    by_channel_.assign(switch_graph.channels() * 16, 0);
  for (SwitchIndex s = 0; s < switches; ++s) {
    const auto ports = fabric.ports(switch_graph.graph.node_of(s));
    for (unsigned out = 0; out < ports.size(); ++out) {
      const std::size_t first =
          switch_graph.channel(s, static_cast<std::uint8_t>(out)) * std::size_t{16};
      for (unsigned in = 0; in < ports.size(); ++in) {
        if (in == out || !ports[in].peer) continue;
        const bool host = !fabric.node(ports[in].peer.node).is_switch();
        if (kind_ == Kind::Exact && !host) continue;
        const auto& row = virtual_lanes.sl_to_vl.row(s, static_cast<std::uint8_t>(in),
                                                     static_cast<std::uint8_t>(out));
        for (unsigned sl = 0; sl < 16; ++sl) {
          if (kind_ == Kind::Exact)
            injected_[first + sl] |= bit(row.vl[sl] & 15U);
          else
            by_channel_[first + sl] = row.vl[sl];
        }
        if (kind_ != Kind::Exact) break;
      }
    }
  }
}

std::uint16_t VlView::sls_between(SwitchIndex s, SwitchIndex t) const {
  std::uint16_t sls = set_of(virtual_lanes_.sls.at(s, t));
  if (earlier_ != nullptr && earlier_->at(s, t) != kNoSl) sls |= set_of(earlier_->at(s, t));
  return sls;
}

bool VlView::independent_of_input(const fabric::Fabric& fabric) const {
  const auto switches = static_cast<SwitchIndex>(switch_graph_.graph.switch_count());
  for (SwitchIndex s = 0; s < switches; ++s) {
    const auto ports = fabric.ports(switch_graph_.graph.node_of(s));
    for (unsigned out = 1; out < ports.size(); ++out) {
      if (!ports[out].peer) continue;
      const SlToVlRow* first = nullptr;
      for (unsigned in = 0; in < ports.size(); ++in) {
        if (in == out || (in != 0 && !ports[in].peer)) continue;
        const SlToVlRow* row = &virtual_lanes_.sl_to_vl.row(s, static_cast<std::uint8_t>(in),
                                                            static_cast<std::uint8_t>(out));
        if (first != nullptr && first != row) return false;
        first = row;
      }
    }
  }
  return true;
}

void VlView::sls_to(SwitchIndex leaf, bool to_sm, std::vector<std::uint16_t>& by_switch) const {
  const auto switches = static_cast<SwitchIndex>(switch_graph_.graph.switch_count());
  if (kind_ == Kind::One) {
    by_switch.assign(switches, 1);
    return;
  }
  by_switch.resize(switches);
  const std::uint16_t sm = sm_sl_ ? bit(sm_sl_->value & 15U) : std::uint16_t{0};
  for (SwitchIndex s = 0; s < switches; ++s) {
    by_switch[s] = sls_between(s, leaf);
    if (to_sm || s == switch_graph_.sm_leaf) by_switch[s] |= sm;
  }
}

std::uint16_t VlView::sls_from(SwitchIndex s) const {
  std::uint16_t sls = sm_sl_ ? bit(sm_sl_->value & 15U) : std::uint16_t{0};
  for (SwitchIndex t : switch_graph_.sources) sls |= sls_between(s, t);
  return sls;
}

namespace {

void check_symmetry(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                    const VirtualLanes& virtual_lanes, const VerifyOptions& options,
                    Verdict& verdict) {
  if (virtual_lanes.sls.uniform() && virtual_lanes.sls.at(0, 0).value < 16) return;
  const auto report = [&](SwitchIndex a, SwitchIndex b, std::string message) {
    ++verdict.asymmetric_pairs;
    if (verdict.findings.size() < options.findings_max)
      verdict.findings.push_back(
          {Finding::Kind::AsymmetricSl, true, kNoLid, {{a, 0}, {b, 0}}, std::move(message)});
  };
  for (std::size_t i = 0; i < switch_graph.sources.size(); ++i) {
    for (std::size_t j = i; j < switch_graph.sources.size(); ++j) {
      const SwitchIndex a = switch_graph.sources[i], b = switch_graph.sources[j];
      if (switch_graph.apart(a, b)) continue;
      const unsigned there = virtual_lanes.sls.at(a, b).value,
                     back = virtual_lanes.sls.at(b, a).value;
      if (there == back && there < 16) continue;
      const std::string from = switch_name(fabric, switch_graph.graph, a);
      const std::string to = switch_name(fabric, switch_graph.graph, b);
      report(a, b,
             there == back
                 ? fmt::format("SL {} between hosts of {} and {} does not exist", there, from, to)
                 : fmt::format("hosts of {} reach those of {} with SL {}, but those answer with "
                               "SL {}: replies and connections use the request's",
                               from, to, there, back));
    }
  }
}

}  // namespace

void check_vls(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
               const VirtualLanes& virtual_lanes, const VlView& view,
               const std::vector<std::uint16_t>& carried, const VerifyOptions& options,
               Verdict& verdict) {
  check_symmetry(fabric, switch_graph, virtual_lanes, options, verdict);
  const auto report = [&](SwitchIndex s, std::uint8_t port, std::string message) {
    ++verdict.vl_faults;
    if (verdict.findings.size() < options.findings_max)
      verdict.findings.push_back(
          {Finding::Kind::Vl, true, kNoLid, {{s, port}}, std::move(message)});
  };
  const auto& graph = switch_graph.graph;
  // Host links of fewer VLs than their SLs ask for: rows are folded there when they are programmed,
  // and a link that ends at a host is part of no cycle.
  std::size_t folded = 0;
  std::string first_folded;
  std::pair<SwitchIndex, std::uint8_t> folded_at{};
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto node = graph.node_of(s);
    const auto ports = fabric.ports(node);
    // What end ports send: their own mapping, on the link to the switch.
    std::uint16_t sends = 0;
    const std::uint16_t sls = switch_graph.own[s] != 0 ? view.sls_from(s) : std::uint16_t{0};
    for (unsigned sl = 0; sl < 16; ++sl)
      if ((sls >> sl) & 1U) sends |= bit(virtual_lanes.sl_to_vl.injection().vl[sl] & 15U);
    for (unsigned p = 1; p < ports.size(); ++p) {
      if (!ports[p].peer) continue;
      const auto port = static_cast<std::uint8_t>(p);
      const unsigned have = operational_vls(fabric, {node, port});
      const auto beyond = [&](std::uint16_t vls) {
        return static_cast<std::uint16_t>(vls & ~bit(kVlDrop) & ~((1U << have) - 1U));
      };
      const auto& far = fabric.node(ports[p].peer.node);
      std::uint16_t used = carried[switch_graph.channel(s, port)];
      if (used & bit(kVlDrop))
        report(s, port,
               fmt::format("{} drops traffic for port {}: an SL in use is on VL 15",
                           switch_name(fabric, graph, s), p));
      if (!far.is_switch() && sends != 0 && fabric.port(ports[p].peer).lid.is_unicast()) {
        if (sends & bit(kVlDrop))
          report(s, port,
                 fmt::format("{} drops what it sends: an SL of its paths is on VL 15",
                             node_name(fabric, ports[p].peer.node)));
        used |= sends;
      }
      const std::uint16_t over = beyond(used);
      if (over == 0) continue;
      if (!far.is_switch() && have > 0) {
        if (folded++ == 0) {
          folded_at = {s, port};
          first_folded =
              fmt::format("{} port {} to {} operates {}, and VL {} is folded",
                          switch_name(fabric, graph, s), p, node_name(fabric, ports[p].peer.node),
                          counted(have, "data VL", "data VLs"), listed(over));
        }
        continue;
      }
      report(s, port,
             fmt::format("{} port {} carries VL {}, but its link operates {}",
                         switch_name(fabric, graph, s), p, listed(over),
                         counted(have, "data VL", "data VLs")));
    }
  }
  if (folded > 1) first_folded += fmt::format("; {} more links of hosts likewise", folded - 1);
  if (folded > 0 && verdict.findings.size() < options.findings_max)
    verdict.findings.push_back(
        {Finding::Kind::Vl, false, kNoLid, {folded_at}, std::move(first_folded)});
}

}  // namespace ib::tables::check
