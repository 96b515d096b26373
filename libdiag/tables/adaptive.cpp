// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/adaptive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "libdiag/tables/names.h"
#include "libdiag/tables/verify_turns.h"

namespace ib::tables {
namespace {

using check::Channel;
using check::Dependencies;
using check::Node;
using check::SwitchGraph;
using fabric::kNoSwitch;
using fabric::SwitchIndex;

/// The ports by which packets to one LID may leave each switch, made for one LID after the other.
class Choices {
 public:
  Choices(const LinearTables& lfts, const PortGroups& groups)
      : lfts_(lfts), groups_(groups), of_(lfts.switch_count()) {}

  /// False: all are as they were for the LID before, but at the two leaves.
  bool take(const fabric::Destination& to) {
    bool news = to.leaf != leaf_;
    has_groups_ = false;
    for (SwitchIndex s = 0; s < of_.size(); ++s) {
      const PortMask* group = groups_.find(s, to.lid);
      has_groups_ = has_groups_ || group != nullptr;
      PortMask ports;
      if (const std::uint8_t port = lfts_.at(s, to.lid); group != nullptr)
        ports = *group;
      else if (port != kNoPort)
        ports.set(port);
      news = news || (s != to.leaf && ports != of_[s]);
      of_[s] = ports;
    }
    leaf_ = to.leaf;
    return news;
  }
  bool has_groups() const { return has_groups_; }
  const PortMask& at(SwitchIndex s) const { return of_[s]; }

 private:
  const LinearTables& lfts_;
  const PortGroups& groups_;
  std::vector<PortMask> of_;
  SwitchIndex leaf_{kNoSwitch};
  bool has_groups_{false};
};

template <class Visit>
void for_each_port(const PortMask& ports, Visit visit) {
  for (unsigned word = 0; word < ports.bits.size(); ++word)
    for (std::uint64_t bits = ports.bits[word]; bits != 0; bits &= bits - 1)
      visit(static_cast<std::uint8_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits))));
}

class LidChecker {
 public:
  LidChecker(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
             const LinearTables& lfts, const PortGroups& groups)
      : fabric_(fabric),
        switch_graph_(switch_graph),
        lfts_(lfts),
        groups_(groups),
        choices_(lfts, groups) {}

  std::vector<ChoiceFault> run() {
    std::vector<ChoiceFault> faults;
    std::optional<ChoiceFault> before;
    for (const auto& to : switch_graph_.destinations) {
      if (choices_.take(to)) before = choices_.has_groups() ? fault(to) : std::nullopt;
      if (!choices_.has_groups()) continue;
      if (auto own = without_own_port(to))
        faults.push_back(std::move(*own));
      else if (before)
        faults.push_back({before->kind, to.lid, before->message});
    }
    return faults;
  }

 private:
  std::string name(SwitchIndex s) const { return switch_name(fabric_, switch_graph_.graph, s); }

  std::optional<ChoiceFault> without_own_port(const fabric::Destination& to) const {
    for (SwitchIndex s = 0; s < groups_.switch_count(); ++s) {
      const PortMask* group = groups_.find(s, to.lid);
      if (group == nullptr) continue;
      const std::uint8_t port = lfts_.at(s, to.lid);
      if (s == to.leaf || port == kNoPort || !group->test(port))
        return ChoiceFault{
            ChoiceFault::Kind::OwnPort, to.lid,
            fmt::format("the port of {} to LID {} is not in its group", name(s), to.lid.value)};
    }
    return std::nullopt;
  }

  std::optional<ChoiceFault> fault(const fabric::Destination& to) {
    entries_.assign(groups_.switch_count(), 0);
    std::optional<ChoiceFault> found;
    for (SwitchIndex s = 0; s < entries_.size() && !found; ++s) {
      if (s == to.leaf) continue;
      const bool chooses = groups_.find(s, to.lid) != nullptr;
      for_each_port(choices_.at(s), [&](std::uint8_t port) {
        const Channel c = switch_graph_.link(s, port);
        if (c == check::kNoChannel) {
          if (chooses && !found)
            found = ChoiceFault{ChoiceFault::Kind::NoLink, to.lid,
                                fmt::format("port {} of {} to LID {} leads to no switch", port,
                                            name(s), to.lid.value)};
          return;
        }
        const SwitchIndex next = switch_graph_.to[c];
        ++entries_[next];
        if (chooses && !found && next != to.leaf && choices_.at(next).empty())
          found = ChoiceFault{ChoiceFault::Kind::Lost, to.lid,
                              fmt::format("{} may send packets to LID {} by port {} to {}, which "
                                          "has no route there",
                                          name(s), to.lid.value, port, name(next))};
      });
    }
    return found ? found : loop(to);
  }

  /// What is left when switches that nobody sends to are taken away, one after the other.
  std::optional<ChoiceFault> loop(const fabric::Destination& to) {
    ready_.clear();
    for (SwitchIndex s = 0; s < entries_.size(); ++s)
      if (entries_[s] == 0) ready_.push_back(s);
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (ready_[i] == to.leaf) continue;
      for_each_port(choices_.at(ready_[i]), [&](std::uint8_t port) {
        const Channel c = switch_graph_.link(ready_[i], port);
        if (c != check::kNoChannel && --entries_[switch_graph_.to[c]] == 0)
          ready_.push_back(switch_graph_.to[c]);
      });
    }
    for (SwitchIndex s = 0; s < entries_.size(); ++s)
      if (entries_[s] != 0 && s != to.leaf)
        return ChoiceFault{
            ChoiceFault::Kind::Loop, to.lid,
            fmt::format("packets to LID {} can come back to {}", to.lid.value, name(s))};
    return std::nullopt;
  }

  const fabric::Fabric& fabric_;
  const SwitchGraph& switch_graph_;
  const LinearTables& lfts_;
  const PortGroups& groups_;
  Choices choices_;
  std::vector<std::uint32_t> entries_;  // by switch: links by which packets may come
  std::vector<SwitchIndex> ready_;
};

/// All packets on one VL.
Dependencies on_one_vl(const SwitchGraph& switch_graph, const LinearTables& lfts,
                       const PortGroups& groups) {
  Dependencies turns(switch_graph, 1);
  Choices choices(lfts, groups);
  std::vector<std::uint32_t> seen(switch_graph.graph.switch_count(), 0);
  std::uint32_t stamp = 0;
  std::vector<SwitchIndex> queue;
  for (const auto& to : switch_graph.destinations) {
    if (to.is_switch() || !choices.take(to)) continue;
    ++stamp;
    queue.assign(switch_graph.sources.begin(), switch_graph.sources.end());
    for (const SwitchIndex s : queue) seen[s] = stamp;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (queue[i] == to.leaf) continue;
      for_each_port(choices.at(queue[i]), [&](std::uint8_t port) {
        const Channel c = switch_graph.link(queue[i], port);
        if (c == check::kNoChannel) return;
        const SwitchIndex next = switch_graph.to[c];
        if (next == to.leaf) return;
        for (std::size_t word = 0; word < turns.words(); ++word)
          turns.add_word(c, word, choices.at(next).bits[word]);
        if (std::exchange(seen[next], stamp) != stamp) queue.push_back(next);
      });
    }
  }
  return turns;
}

constexpr std::uint8_t kDropped = 15;

/// Each pair on the VLs of its SLs.
class ByVls {
 public:
  ByVls(const SwitchGraph& switch_graph, const LinearTables& lfts, const PortGroups& groups,
        const VirtualLanes& virtual_lanes)
      : switch_graph_(switch_graph), virtual_lanes_(virtual_lanes), choices_(lfts, groups) {
    for (const SlToVlRow& row : virtual_lanes.sl_to_vl.rows())
      for (const std::uint8_t vl : row.vl)
        if (vl < kDropped) vls_ = std::max<unsigned>(vls_, vl + 1U);
    entrances_.resize(switch_graph.graph.switch_count());
    for (const auto& d : switch_graph.destinations)
      if (auto& ports = entrances_[d.leaf]; std::ranges::find(ports, d.port) == ports.end())
        ports.push_back(d.port);
  }

  Dependencies run() {
    Dependencies turns(switch_graph_, vls_);
    seen_.assign(turns.nodes(), 0);
    for (const auto& to : switch_graph_.destinations) {
      if (to.is_switch()) continue;
      choices_.take(to);
      for (std::uint8_t sl = 0; sl < 16; ++sl) follow(turns, to, sl);
    }
    return turns;
  }

 private:
  bool uses(SwitchIndex from, SwitchIndex leaf, std::uint8_t sl) const {
    const Sl routed = virtual_lanes_.sls.at(from, leaf);
    return (virtual_lanes_.levels.all(routed) >> sl & 1U) != 0;
  }
  std::uint8_t vl(SwitchIndex s, std::uint8_t in, std::uint8_t out, std::uint8_t sl) const {
    return virtual_lanes_.sl_to_vl.vl(s, in, out, Sl{sl});
  }

  void follow(Dependencies& turns, const fabric::Destination& to, std::uint8_t sl) {
    ++stamp_;
    queue_.clear();
    const auto visit = [&](Channel c, std::uint8_t lane) {
      const Node n = turns.node(c, lane);
      if (std::exchange(seen_[n], stamp_) != stamp_) queue_.push_back(n);
    };
    for (const SwitchIndex s : switch_graph_.sources) {
      if (s == to.leaf || !uses(s, to.leaf, sl)) continue;
      for_each_port(choices_.at(s), [&](std::uint8_t port) {
        const Channel c = switch_graph_.link(s, port);
        if (c == check::kNoChannel) return;
        for (const std::uint8_t in : entrances_[s])
          if (const std::uint8_t lane = vl(s, in, port, sl); lane < kDropped) visit(c, lane);
      });
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const Node n = queue_[i];
      const Channel before = turns.channel(n);
      const SwitchIndex s = switch_graph_.to[before];
      if (s == to.leaf) continue;
      for_each_port(choices_.at(s), [&](std::uint8_t port) {
        const Channel c = switch_graph_.link(s, port);
        if (c == check::kNoChannel) return;
        const std::uint8_t lane = vl(s, switch_graph_.in_port[before], port, sl);
        if (lane >= kDropped) return;
        turns.add(check::Turn{n, turns.node(c, lane)});
        visit(c, lane);
      });
    }
  }

  const SwitchGraph& switch_graph_;
  const VirtualLanes& virtual_lanes_;
  Choices choices_;
  unsigned vls_{1};
  std::vector<std::vector<std::uint8_t>> entrances_;  // by switch: ports that packets come in by
  std::vector<std::uint32_t> seen_;                   // by node
  std::uint32_t stamp_{0};
  std::vector<Node> queue_;
};

std::optional<ChoiceFault> circle_in(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                                     const Dependencies& turns) {
  const check::Order order = order_of(switch_graph, turns);
  if (order.left.empty()) return std::nullopt;
  const std::vector<Node> circle = cycle_in(switch_graph, turns, order.left);
  std::string path;
  constexpr std::size_t kNamed = 8;
  for (std::size_t i = 0; i < circle.size() && i < kNamed; ++i) {
    const Channel c = turns.channel(circle[i]);
    path += fmt::format(
        "{} port {}{} -> ", switch_name(fabric, switch_graph.graph, switch_graph.from(c)),
        switch_graph.port(c), turns.vls() > 1 ? fmt::format(" VL {}", turns.vl(circle[i])) : "");
  }
  path += circle.size() > kNamed ? "..."
                                 : switch_name(fabric, switch_graph.graph,
                                               switch_graph.from(turns.channel(circle.front())));
  return ChoiceFault{ChoiceFault::Kind::CreditLoop, kNoLid,
                     fmt::format("credit loop through {} links: {}", circle.size(), path)};
}

}  // namespace

std::uint16_t PortGroups::number_of(SwitchIndex s, const PortMask& ports) {
  auto& groups = groups_[s];
  const auto at = std::ranges::find(groups, ports);
  const auto number = static_cast<std::uint16_t>(at - groups.begin());
  if (at == groups.end()) groups.push_back(ports);
  return number;
}

std::vector<ChoiceFault> faulty_choices(const fabric::Fabric& fabric,
                                        const fabric::CompactGraph& graph, const LinearTables& lfts,
                                        const PortGroups& groups) {
  return LidChecker(fabric, SwitchGraph(graph, kNoLid), lfts, groups).run();
}

std::optional<ChoiceFault> credit_loop_of_choices(const fabric::Fabric& fabric,
                                                  const fabric::CompactGraph& graph,
                                                  const LinearTables& lfts,
                                                  const PortGroups& groups,
                                                  const VirtualLanes& virtual_lanes, Lid sm_lid) {
  const SwitchGraph switch_graph(graph, sm_lid);
  auto fault = circle_in(fabric, switch_graph, on_one_vl(switch_graph, lfts, groups));
  if (!fault || virtual_lanes.trivial()) return fault;
  return circle_in(fabric, switch_graph, ByVls(switch_graph, lfts, groups, virtual_lanes).run());
}

}  // namespace ib::tables
