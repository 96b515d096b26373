// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/adaptive_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "libdiag/discover/vendor_port_info.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/route/adaptive/port_groups.h"
#include "libdiag/wire/adaptive_attributes.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/desired.h"

namespace sm::plan {
namespace {

using ib::Lid;
using ib::fabric::NodeIndex;
using ib::fabric::SwitchIndex;
using ib::tables::PortGroups;
using ib::tables::PortMask;
using ib::wire::MlnxArGroup;
using ib::wire::MlnxArInfo;
using ib::wire::MlnxArLft;
using Settings = policy::AdaptiveSettings;

/// Groups are numbered from here: no source says whether group 0 is like others.
constexpr std::uint16_t kFirstGroup = 1;
/// Then a block of the table is one group.
constexpr std::uint8_t kSubGroups = 2;

std::string_view name_of(Settings::Algorithm algorithm) {
  return algorithm == Settings::Algorithm::Lag ? "LAG" : "TREE";
}

template <class T>
device::Block block_of(const T& value) {
  device::Block block{};
  ib::wire::encode(value, block.data());
  return block;
}

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

/// What is to be written to one switch.
class SwitchTables {
 public:
  SwitchTables(const AdaptiveRoutes& routes, const Routing& routing, SwitchIndex s,
               std::size_t groups_most)
      : groups_(routes.groups), lfts_(routing.lfts), s_(s) {
    choosing_ =
        routes.settings.free_choice ? ib::wire::ArLidState::Free : ib::wire::ArLidState::Bounded;
    number(groups_most);
  }

  std::size_t groups() const { return kept_.size(); }
  std::size_t left_out() const { return left_out_; }
  std::uint16_t group_top() const {
    return static_cast<std::uint16_t>(kept_.empty() ? 0 : kFirstGroup + kept_.size() - 1);
  }

  void append(NodeIndex n, std::vector<WantedBlock>& out) const {
    for (std::size_t g = 0; g < kept_.size(); ++g) {
      MlnxArGroup group;
      const PortMask& ports = groups_.groups(s_)[kept_[g]];
      for (unsigned port = 0; port < 256; ++port)
        if (ports.test(port)) group.add(port);
      out.push_back({n, &device::kArGroup, slot(kFirstGroup + g), block_of(group)});
    }
    for (std::size_t first = 0; first < lfts_.lid_count(); first += MlnxArLft::kLids)
      out.push_back({n, &device::kArLft, slot(first / MlnxArLft::kLids), block_of(lids(first))});
  }

 private:
  static device::Slot slot(std::size_t block) { return {0, 0, static_cast<std::uint16_t>(block)}; }

  /// In the order of the first LID of each, so that the same routes give the same numbers.
  void number(std::size_t most) {
    number_.assign(groups_.groups(s_).size(), PortGroups::kNone);
    for (std::size_t lid = 0; lid < lfts_.lid_count(); ++lid) {
      const std::uint16_t group = groups_.at(s_, Lid{static_cast<std::uint16_t>(lid)});
      if (group == PortGroups::kNone) continue;
      if (number_[group] == PortGroups::kNone && kept_.size() < most) {
        number_[group] = static_cast<std::uint16_t>(kFirstGroup + kept_.size());
        kept_.push_back(group);
      }
      left_out_ += number_[group] == PortGroups::kNone ? 1 : 0;
    }
  }

  MlnxArLft lids(std::size_t first) const {
    MlnxArLft block;
    block.state.fill(ib::wire::ArLidState::Static);
    block.port.fill(ib::tables::kNoPort);
    for (std::size_t i = 0; i < MlnxArLft::kLids && first + i < lfts_.lid_count(); ++i) {
      const Lid lid{static_cast<std::uint16_t>(first + i)};
      block.port[i] = lfts_.at(s_, lid);
      const std::uint16_t group = groups_.at(s_, lid);
      if (group == PortGroups::kNone || number_[group] == PortGroups::kNone) continue;
      block.state[i] = choosing_;
      block.group[i] = number_[group];
    }
    return block;
  }

  const PortGroups& groups_;
  const ib::tables::LinearTables& lfts_;
  SwitchIndex s_;
  ib::wire::ArLidState choosing_;
  std::vector<std::uint16_t> number_;  // by group of the routes
  std::vector<std::uint16_t> kept_;    // groups of the routes, in the order of their numbers
  std::size_t left_out_{0};            // LIDs whose group has no number
};

class BlockPlanner {
 public:
  BlockPlanner(const AdaptiveRoutes& routes, const ib::discover::Observed& observed,
               const Routing& routing, const device::Inventory& held,
               const std::set<ib::Guid>& mute)
      : routes_(routes), observed_(observed), routing_(routing), held_(held), mute_(mute) {}

  AdaptivePlan run(const std::vector<bool>& managed) {
    for (SwitchIndex s = 0; s < routing_.graph.switch_count(); ++s)
      if (const NodeIndex n = routing_.graph.node_of(s); managed[n]) plan(n, s);
    tell();
    return std::move(plan_);
  }

 private:
  /// Switches of which the same is to be said.
  struct Some {
    std::size_t count{0};
    std::string first;
  };

  void plan(NodeIndex n, SwitchIndex s) {
    const auto& node = observed_.fabric.node(n);
    const device::Block* capabilities = known(n, device::kGeneralInfo);
    const device::Block* held_info = known(n, device::kArInfo);
    if (!may_know_adaptive_routing(node)) return note(unable_, n);
    if (!mute_.contains(node.guid) && (capabilities == nullptr || held_info == nullptr)) {
      if (capabilities == nullptr) ask(n, device::kGeneralInfo);
      if (held_info == nullptr) ask(n, device::kArInfo);
      return;
    }
    if (capabilities == nullptr || !knows(*capabilities) || held_info == nullptr)
      return note(unable_, n);
    const auto info = ib::wire::decode<MlnxArInfo>(held_info->data());
    if (info.group_cap == 0) return note(unable_, n);
    if (!wanted(n, info)) return want_off(n, *held_info);
    const SwitchTables tables(routes_, routing_, s, info.group_cap - std::size_t{kFirstGroup});
    if (tables.left_out() > 0)
      note(few_groups_, n, fmt::format("of {}", counted(info.group_cap, "group")));
    most_groups_ = std::max(most_groups_, tables.groups());
    ++switches_;
    tables.append(n, plan_.blocks);
    want_on(n, *held_info, info, tables.group_top());
  }

  bool wanted(NodeIndex n, const MlnxArInfo& info) {
    if (routes_.groups.empty() || !routes_.settings.enabled(observed_.fabric.node(n).guid))
      return false;
    if (info.sub_groups_supported < kSubGroups || info.group_cap <= kFirstGroup) {
      note(other_layout_, n, counted(info.sub_groups_supported, "sub-group"));
      return false;
    }
    if (routes_.settings.sls != 0xFFFF && !info.by_sl_cap) {
      note(all_sls_, n);
      return false;
    }
    return true;
  }

  void want_off(NodeIndex n, device::Block block) {
    ib::wire::View<MlnxArInfo> view(block.data());
    view.set<&MlnxArInfo::enabled>(false);
    view.set<&MlnxArInfo::fr_enabled>(false);
    plan_.blocks.push_back({n, &device::kArInfo, {}, block});
  }

  void want_on(NodeIndex n, device::Block block, const MlnxArInfo& info, std::uint16_t top) {
    const Settings& settings = routes_.settings;
    ib::wire::View<MlnxArInfo> view(block.data());
    view.set<&MlnxArInfo::enabled>(true);
    view.set<&MlnxArInfo::fr_enabled>(settings.fast_recovery && info.fr_supported);
    view.set<&MlnxArInfo::rn_xmit_enabled>(false);
    view.set<&MlnxArInfo::pfrn_enabled>(false);
    view.set<&MlnxArInfo::sub_groups_active>(kSubGroups);
    view.set<&MlnxArInfo::group_top>(top);
    view.set<&MlnxArInfo::by_sl_enabled>(settings.sls != 0xFFFF);
    view.set<&MlnxArInfo::enabled_sls>(settings.sls);
    view.set<&MlnxArInfo::ageing_time>(settings.ageing_time_of(observed_.fabric.node(n).guid));
    plan_.blocks.push_back({n, &device::kArInfo, {}, block});
    if (settings.fast_recovery && !info.fr_supported) note(no_recovery_, n);
  }

  const device::Block* known(NodeIndex n, const device::TableKind& kind) const {
    return held_.held(kind, observed_.fabric.node(n).guid, {});
  }
  void ask(NodeIndex n, const device::TableKind& kind) {
    plan_.to_read.push_back({n, &kind, {}, {}});
  }
  static bool knows(const device::Block& capabilities) {
    const auto info = ib::wire::decode<ib::wire::MlnxGeneralInfo>(capabilities.data());
    return (info.capability_mask[0] & ib::wire::mlnx_cap::kAdaptiveRouting) != 0;
  }
  void note(Some& some, NodeIndex n, const std::string& what = {}) {
    if (some.count++ != 0) return;
    some.first = ib::fabric::node_label(observed_.fabric.node(n));
    if (!what.empty()) some.first += " (" + what + ")";
  }
  /// One alarm, or note, of all of them.
  static void say(std::vector<std::string>& lines, const Some& some, std::string_view what) {
    if (some.count > 0)
      lines.push_back(fmt::format("adaptive routing: {} {}: {}{}", counted(some.count, "switch"),
                                  what, some.first, some.count > 1 ? " and others" : ""));
  }

  void tell() {
    if (!routes_.settings.enable || routes_.groups.empty() || !plan_.to_read.empty()) return;
    plan_.notes.push_back(fmt::format("adaptive routing: {}, {} at most, algorithm {}",
                                      counted(switches_, "switch"), counted(most_groups_, "group"),
                                      name_of(routes_.settings.algorithm)));
    say(plan_.notes, unable_, "without it, which forward by their LFTs");
    say(plan_.notes, no_recovery_, "without fast recovery");
    say(plan_.notes, few_groups_, "with too few groups, where LIDs are left to the LFT");
    say(plan_.alarms, other_layout_,
        "left as they are, since how their table of groups is laid out is not known");
    say(plan_.alarms, all_sls_, "left as they are, since they cannot do it for some SLs only");
  }

  const AdaptiveRoutes& routes_;
  const ib::discover::Observed& observed_;
  const Routing& routing_;
  const device::Inventory& held_;
  const std::set<ib::Guid>& mute_;
  AdaptivePlan plan_;
  std::size_t switches_{0}, most_groups_{0};
  Some unable_, few_groups_, other_layout_, all_sls_, no_recovery_;
};

}  // namespace

bool may_know_adaptive_routing(const ib::fabric::Node& node) {
  return node.is_switch() && ib::discover::answers_vendor_port_info(node.vendor_id, node.device_id);
}

AdaptiveRoutes plan_adaptive_routes(const Settings& settings, const ib::fabric::Fabric& fabric,
                                    const Routing& routing, const ib::route::Options& options,
                                    std::shared_ptr<const ib::route::PlacedSwitches> order,
                                    Lid sm_lid) {
  AdaptiveRoutes out{settings, {}, {}, {}};
  if (!settings.enable) return out;
  const auto off = [&](const std::string& why) {
    out.groups = {};
    out.alarms.push_back("adaptive routing is off: " + why);
  };
  PortGroups groups;
  if (settings.algorithm == Settings::Algorithm::Lag) {
    groups = ib::route::parallel_links(routing.graph, routing.lfts);
  } else {
    ib::route::Request request{&fabric, &routing.graph, options, nullptr};
    auto ways = ib::route::shortest_ways(request, routing.engine, std::move(order), routing.lfts);
    if (!ways) {
      off(ways.error().message);
      return out;
    }
    groups = *std::move(ways);
  }
  const auto faults = ib::tables::faulty_choices(fabric, routing.graph, routing.lfts, groups);
  for (const auto& fault : faults)
    for (SwitchIndex s = 0; s < groups.switch_count(); ++s) groups.clear(s, fault.lid);
  if (!faults.empty())
    out.notes.push_back(fmt::format("adaptive routing: {} left to the LFTs: {}",
                                    counted(faults.size(), "LID"), faults.front().message));
  if (const auto circle = ib::tables::credit_loop_of_choices(fabric, routing.graph, routing.lfts,
                                                             groups, routing.virtual_lanes, sm_lid))
    off("what switches could choose may deadlock: " + circle->message);
  else
    out.groups = std::move(groups);
  return out;
}

void take_adaptive_blocks(Desired& desired, const ib::discover::Observed& observed,
                          const device::Inventory& held, const std::set<ib::Guid>& mute) {
  AdaptivePlan plan = plan_adaptive_blocks(*desired.adaptive, observed, desired.node_managed,
                                           *desired.routing, held, mute);
  std::ranges::stable_sort(plan.blocks, {}, &WantedBlock::node);
  desired.adaptive_blocks = std::move(plan.blocks);
  std::ranges::move(plan.to_read, std::back_inserter(desired.to_read));
  std::ranges::move(plan.notes, std::back_inserter(desired.notes));
  std::ranges::move(plan.alarms, std::back_inserter(desired.alarms));
}

AdaptivePlan plan_adaptive_blocks(const AdaptiveRoutes& routes,
                                  const ib::discover::Observed& observed,
                                  const std::vector<bool>& managed, const Routing& routing,
                                  const device::Inventory& held, const std::set<ib::Guid>& mute) {
  return BlockPlanner(routes, observed, routing, held, mute).run(managed);
}

}  // namespace sm::plan
