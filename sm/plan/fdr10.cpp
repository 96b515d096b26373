// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/fdr10.h"

#include <optional>

#include "libdiag/discover/vendor_port_info.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::MlnxExtendedPortInfo;

constexpr std::uint8_t kFdr10 = 1;         // in each byte of speeds
constexpr std::uint8_t kSpeedsChange = 1;  // StateChangeEnable: LinkSpeedEnabled is written

class Links {
 public:
  Links(Desired& desired, const ib::discover::Observed& observed, bool enabled,
        const device::Inventory& held, const std::set<ib::Guid>& keep)
      : desired_(desired), observed_(observed), enabled_(enabled), held_(held), keep_(keep) {}

  void want(PortRef p) {
    if (!may_know(p)) return;
    const device::Block* block = held(p);
    if (block == nullptr) {
      desired_.to_read.push_back({p.node, &device::kExtendedPortInfo, {p.port, 0, 0}, {}});
      return;
    }
    if (!changes(p)) return;
    device::Block wanted = *block;
    wanted[0] = std::byte{0};  // bits that choose what else a Set changes
    ib::wire::View<MlnxExtendedPortInfo> view(wanted.data());
    view.set<&MlnxExtendedPortInfo::state_change_enable>(kSpeedsChange);
    view.set<&MlnxExtendedPortInfo::link_speed_enabled>(enabled_ ? kFdr10 : 0);
    desired_.speed_blocks.push_back({p.node, &device::kExtendedPortInfo, {p.port, 0, 0}, wanted});
  }

  /// A link trains again when its speed will be another; the switch at its end sees to it.
  void want_training(PortRef p) {
    const PortRef q = observed_.fabric.port(p).peer;
    if (!q || !(changes(p) || changes(q))) return;
    const bool runs = observed_.port(p).fdr10 || observed_.port(q).fdr10;
    if (will_have(p) && will_have(q) ? !runs : runs)
      desired_.ports[observed_.port_index(p)].retrain = true;
  }

 private:
  bool may_know(PortRef p) const {
    const auto& node = observed_.nodes[p.node].info;
    const auto* seen = observed_.known_port(p);
    return seen != nullptr && observed_.fabric.port(p).peer &&
           desired_.ports[observed_.port_index(p)].managed && !keep_.contains(node.node_guid) &&
           ib::discover::answers_vendor_port_info(node.vendor_id, node.device_id) &&
           ib::discover::may_run_fdr10(seen->info());
  }
  const device::Block* held(PortRef p) const {
    return held_.held(device::kExtendedPortInfo, observed_.fabric.node(p.node).guid,
                      {p.port, 0, 0});
  }
  std::optional<MlnxExtendedPortInfo> info(PortRef p) const {
    const device::Block* block = held(p);
    if (block == nullptr) return std::nullopt;
    return ib::wire::decode<MlnxExtendedPortInfo>(block->data());
  }
  static bool knows(const MlnxExtendedPortInfo& info) {
    return (info.link_speed_supported & kFdr10) != 0;
  }
  bool changes(PortRef p) const {
    const auto at = info(p);
    return at && may_know(p) && knows(*at) && ((at->link_speed_enabled & kFdr10) != 0) != enabled_;
  }
  bool will_have(PortRef p) const {
    const auto at = info(p);
    if (!at || !knows(*at)) return false;
    return may_know(p) ? enabled_ : (at->link_speed_enabled & kFdr10) != 0;
  }

  Desired& desired_;
  const ib::discover::Observed& observed_;
  bool enabled_;
  const device::Inventory& held_;
  const std::set<ib::Guid>& keep_;
};

}  // namespace

void want_fdr10(Desired& desired, const ib::discover::Observed& observed, bool enabled,
                const device::Inventory& held, const std::set<ib::Guid>& keep) {
  Links links(desired, observed, enabled, held, keep);
  const auto for_each_port = [&](auto&& run) {
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n)
      for (unsigned p = 1; p <= observed.fabric.node(n).num_ports && desired.node_managed[n]; ++p)
        run(PortRef{n, static_cast<std::uint8_t>(p)});
  };
  for_each_port([&](PortRef p) { links.want(p); });
  if (desired.speed_blocks.empty()) return;
  for_each_port([&](PortRef p) {
    if (observed.fabric.node(p.node).is_switch()) links.want_training(p);
  });
}

}  // namespace sm::plan
