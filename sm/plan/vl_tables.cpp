// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/vl_tables.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sm/device/tables/kinds.h"
#include "sm/plan/vl_weights.h"

namespace sm::plan {
namespace {

using device::Block;
using device::kSlToVl;
using device::kVlArbitration;
using ib::discover::Observed;
using ib::discover::ObservedPort;
using ib::fabric::NodeIndex;
using ib::tables::SlToVlRow;
using ib::wire::PortInfo;

constexpr std::uint8_t kWeight = 4;  // 64 bytes each
constexpr unsigned kVlDrop = 15;

bool maps(const ObservedPort* port) {
  return port != nullptr &&
         (port->get<&PortInfo::capability_mask>() & ib::wire::port_cap::kSlMapping) != 0;
}

/// `row` for a link of `vls` data VLs.
Block folded(const SlToVlRow& row, unsigned vls) {
  ib::wire::SlToVlTable table;
  for (std::size_t sl = 0; sl < row.vl.size(); ++sl)
    table.vl[sl] =
        static_cast<std::uint8_t>(row.vl[sl] == kVlDrop ? kVlDrop : row.vl[sl] % std::max(vls, 1U));
  Block block{};
  ib::wire::encode(table, block.data());
  return block;
}

class VlPlanner {
 public:
  VlPlanner(const Observed& observed, std::span<const PortWant> ports, const Routing& routing,
            const policy::VlSettingsByKind* settings, const VlClasses* classes,
            std::optional<PutBack> put_back = std::nullopt)
      : observed_(observed),
        ports_(ports),
        routing_(routing),
        map_(routing.virtual_lanes.sl_to_vl),
        own_map_(!routing.virtual_lanes.trivial()),
        settings_(settings),
        classes_(classes),
        put_back_(put_back),
        out_(std::make_shared<WantedTables>(observed.fabric)) {}

  std::shared_ptr<const WantedTables> run() {
    for (NodeIndex n = 0; n < observed_.nodes.size(); ++n) {
      find_live(n);
      if (live_.empty() || !concerns(n)) continue;
      if (settings_ != nullptr && classes_ == nullptr) {
        by_sets(n);
        continue;
      }
      if (observed_.fabric.node(n).is_switch()) {
        if (maps(observed_.known_port({n, 0}))) map_switch(n);
      } else {
        for (const std::uint8_t p : live_) map_end_port(n, p);
      }
      if (classes_ != nullptr && has_enhanced_port0(n)) arbitrate_by_set(n, 0);
      if (put_back_ == PutBack::All && has_enhanced_port0(n)) arbitrate(n, 0);
      for (const std::uint8_t p : live_)
        classes_ != nullptr ? arbitrate_by_set(n, p) : arbitrate(n, p);
    }
    return std::move(out_);
  }

 private:
  /// As the operator wrote it, fitted to what each output port operates.
  void by_sets(NodeIndex n) {
    const bool is_switch = observed_.fabric.node(n).is_switch();
    std::vector<std::uint8_t> outputs = live_;
    if (has_enhanced_port0(n)) outputs.insert(outputs.begin(), 0);
    const bool switch_maps = is_switch && maps(observed_.known_port({n, 0}));
    for (const std::uint8_t out : outputs) {
      const auto* port = observed_.known_port({n, out});
      if (port == nullptr) continue;
      const policy::VlSettings& holds = settings(n, out);
      const unsigned link = out == 0 && is_switch ? port0_vls(n) : vls(n, out);
      unsigned used = std::min(link, holds.vls);
      // What the operator wrote stands as it is; what is built in fits.
      if (is_built_in(holds)) used = weighable_vls(port, used);
      SlToVlRow row;
      std::ranges::copy(holds.sl_to_vl, row.vl.begin());
      if (switch_maps) {
        const Block* kept = out_->keep(folded(row, used));
        if (out != 0) out_->set(kSlToVl, n, {out, 0, 0}, kept);
        for (const std::uint8_t in : live_) out_->set(kSlToVl, n, {out, in, 0}, kept);
      } else if (!is_switch && maps(port) && has_vls(n, out)) {
        out_->set(kSlToVl, n, {out, 0, 0}, out_->keep(folded(row, used)));
      }
    }
    for (const std::uint8_t p : outputs) arbitrate_by_set(n, p);
  }
  const policy::VlSettings& settings(NodeIndex n, std::uint8_t p) const {
    return (*settings_)[static_cast<std::size_t>(qos_kind(observed_.fabric, {n, p}))];
  }

  void arbitrate_by_set(NodeIndex n, std::uint8_t p) {
    const auto* port = observed_.known_port({n, p});
    if (port == nullptr || port->get<&PortInfo::vl_cap>() <= 1) return;
    const unsigned operates = p == 0 ? port0_vls(n) : vls(n, p);
    if (operates <= 1) return;
    const policy::VlSettings& holds = settings(n, p);
    const unsigned low = port->get<&PortInfo::vl_arbitration_low_cap>();
    const unsigned high = port->get<&PortInfo::vl_arbitration_high_cap>();
    const bool of_classes = classes_ != nullptr;
    const unsigned link =
        of_classes || is_built_in(holds) ? weighable_vls(port, operates) : operates;
    ClassWeights weights{holds.low, holds.high};
    if (of_classes)
      weights = class_arbitration(holds, classes_->classes, *classes_->class_mapping, link);
    // A port with one table serves all from it.
    if (of_classes || is_built_in(holds)) {
      if (high == 0) move(weights.high, weights.low);
      if (low == 0) move(weights.low, weights.high);
    }
    put_arbitration(n, p, device::kArbitrationLow, low, weights.low, link);
    put_arbitration(n, p, device::kArbitrationHigh, high, weights.high, link);
  }
  static bool is_built_in(const policy::VlSettings& holds) {
    static const policy::VlSettings kBuiltIn;
    return holds.low == kBuiltIn.low && holds.high == kBuiltIn.high;
  }
  /// Entries of VLs that the other table has none for.
  static void move(const policy::VlArbitrationTemplate& from, policy::VlArbitrationTemplate& to) {
    for (const policy::VlWeight& entry : from)
      if (entry.weight != 0 && std::ranges::find(to, entry.vl, &policy::VlWeight::vl) == to.end())
        to.push_back(entry);
  }
  void put_arbitration(NodeIndex n, std::uint8_t p, std::uint16_t first_block, unsigned entries,
                       const policy::VlArbitrationTemplate& wanted, unsigned link) {
    constexpr unsigned kInBlock = device::kArbitrationInBlock;
    const auto table = fitted(wanted, link, std::min(entries, 2 * kInBlock));
    for (unsigned first = 0; first < table.size(); first += kInBlock) {
      ib::wire::VlArbitrationTable block;
      for (unsigned i = first; i < std::min<std::size_t>(table.size(), first + kInBlock); ++i) {
        block.vl[i - first] = table[i].vl;
        block.weight[i - first] = table[i].weight;
      }
      Block bytes{};
      ib::wire::encode(block, bytes.data());
      const auto number = static_cast<std::uint16_t>(first_block + first / kInBlock);
      out_->set(kVlArbitration, n, {p, 0, number}, out_->keep(bytes));
    }
  }

  void find_live(NodeIndex n) {
    live_.clear();
    for (unsigned p = 1; p <= observed_.fabric.node(n).num_ports; ++p) {
      const auto port = static_cast<std::uint8_t>(p);
      const PortWant& want = ports_[observed_.port_index({n, port})];
      if (want.managed && want.activate && observed_.port({n, port}).known) live_.push_back(port);
    }
  }
  /// Whether a row between these is among those that are planned.
  bool is_due(NodeIndex n, std::uint8_t in, std::uint8_t out) const {
    return put_back_ != PutBack::ComingUp || comes_up(observed_, {n, in}) ||
           comes_up(observed_, {n, out});
  }
  bool concerns(NodeIndex n) const {
    return std::ranges::any_of(live_, [&](std::uint8_t p) { return is_due(n, p, p); });
  }
  unsigned vls(NodeIndex n, std::uint8_t p) const {
    return ib::wire::data_vls(ports_[observed_.port_index({n, p})].operational_vls);
  }
  bool has_enhanced_port0(NodeIndex n) const {
    const auto& info = observed_.nodes[n].switch_info;
    return observed_.fabric.node(n).is_switch() && info && info->enhanced_port0 &&
           observed_.known_port({n, 0}) != nullptr;
  }
  /// Those of them that get weight; VLs behind these are folded to them.
  unsigned served_vls(NodeIndex n, std::uint8_t p) const {
    const unsigned link = observed_.fabric.node(n).is_switch() && p == 0 ? port0_vls(n) : vls(n, p);
    return weighable_vls(observed_.known_port({n, p}), link);
  }
  /// Port 0 has no link; what it can, it operates.
  unsigned port0_vls(NodeIndex n) const {
    return ib::wire::data_vls(observed_.port({n, 0}).get<&PortInfo::vl_cap>());
  }
  bool has_vls(NodeIndex n, std::uint8_t p) const {
    return observed_.port({n, p}).get<&PortInfo::vl_cap>() > 1;
  }

  /// Routes on one SL and VL get the mapping that hardware has when it is new.
  const Block* row_for(const SlToVlRow& row, unsigned vls) {
    const Block*& known = rows_[{own_map_ ? &row : nullptr, vls}];
    if (known == nullptr)
      known = out_->keep(folded(own_map_ ? row : SlToVlRow::modulo(std::max(vls, 1U)), vls));
    return known;
  }

  void map_end_port(NodeIndex n, std::uint8_t p) {
    if (!is_due(n, p, p) || !maps(&observed_.port({n, p})) || !has_vls(n, p)) return;
    out_->set(kSlToVl, n, {p, 0, 0}, row_for(map_.injection(), served_vls(n, p)));
  }

  void map_switch(NodeIndex n) {
    const auto s = routing_.graph.switch_of(n);
    const bool by_pair = own_map_ && !map_.uniform();
    // Behind port 0 no packet waits for another one's buffer: one VL of a class is as good as
    // another.
    if ((classes_ != nullptr || put_back_) && has_enhanced_port0(n))
      for (const std::uint8_t in : live_)
        if (is_due(n, in, in))
          out_->set(kSlToVl, n, {0, in, 0}, row_for(map_.injection(), served_vls(n, 0)));
    for (const std::uint8_t out : live_) {
      const unsigned link = served_vls(n, out);
      const Block* row = row_for(map_.injection(), link);
      if (is_due(n, out, out)) out_->set(kSlToVl, n, {out, 0, 0}, row);
      for (const std::uint8_t in : live_)
        if (is_due(n, in, out))
          out_->set(kSlToVl, n, {out, in, 0}, by_pair ? row_for(map_.row(s, in, out), link) : row);
    }
  }

  void arbitrate(NodeIndex n, std::uint8_t p) {
    const bool port0 = observed_.fabric.node(n).is_switch() && p == 0;
    if (!is_due(n, p, p) || !has_vls(n, p) || (port0 ? port0_vls(n) : vls(n, p)) <= 1) return;
    const unsigned link = served_vls(n, p);
    const auto& port = observed_.port({n, p});
    const bool alone = port.get<&PortInfo::vl_arbitration_low_cap>() == 0 ||
                       port.get<&PortInfo::vl_arbitration_high_cap>() == 0;
    const auto put = [&](std::uint16_t first_block, unsigned entries, bool high) {
      if (entries == 0) return;
      out_->set(kVlArbitration, n, {p, 0, first_block},
                arbitration(link, alone  ? Arbitrated::All
                                  : high ? Arbitrated::High
                                         : Arbitrated::Low));
      // Entries behind these skip no VL, but may be somebody's of before.
      if (entries > device::kArbitrationInBlock)
        out_->set(kVlArbitration, n, {p, 0, static_cast<std::uint16_t>(first_block + 1)},
                  out_->keep(Block{}));
    };
    put(device::kArbitrationLow, port.get<&PortInfo::vl_arbitration_low_cap>(), false);
    put(device::kArbitrationHigh, port.get<&PortInfo::vl_arbitration_high_cap>(), true);
  }
  const Block* arbitration(unsigned vls, Arbitrated which) {
    const Block*& known = arbitrations_[{vls, which}];
    if (known == nullptr) {
      Block block{};
      ib::wire::encode(default_arbitration(vls, which), block.data());
      known = out_->keep(block);
    }
    return known;
  }

  const Observed& observed_;
  std::span<const PortWant> ports_;
  const Routing& routing_;
  const ib::tables::SlToVl& map_;
  bool own_map_;  // the routes need one of their own
  const policy::VlSettingsByKind* settings_;
  const VlClasses* classes_;
  std::optional<PutBack> put_back_;
  std::shared_ptr<WantedTables> out_;
  std::map<std::pair<const SlToVlRow*, unsigned>, const Block*> rows_;  // by row and VLs
  std::map<std::pair<unsigned, Arbitrated>, const Block*> arbitrations_;
  std::vector<std::uint8_t> live_;  // ports of the present node
};

}  // namespace

std::shared_ptr<const WantedTables> plan_vl_tables(const Observed& observed,
                                                   std::span<const PortWant> ports,
                                                   const Routing& routing,
                                                   const policy::VlSettingsByKind* settings,
                                                   const VlClasses* classes) {
  return VlPlanner(observed, ports, routing, settings, classes).run();
}

std::shared_ptr<const WantedTables> plan_default_vl_tables(const Observed& observed,
                                                           std::span<const PortWant> ports,
                                                           const Routing& routing, PutBack which) {
  return VlPlanner(observed, ports, routing, nullptr, nullptr, which).run();
}

bool comes_up(const Observed& observed, ib::fabric::PortRef port) {
  return observed.port(port).state() <= ib::wire::PortState::Initialize;
}

policy::QosKind qos_kind(const ib::fabric::Fabric& fabric, ib::fabric::PortRef port) {
  const auto& node = fabric.node(port.node);
  if (node.type == ib::wire::NodeType::Router) return policy::QosKind::Router;
  if (!node.is_switch()) return policy::QosKind::Ca;
  if (port.port == 0) return policy::QosKind::SwitchPort0;
  const auto peer = fabric.port(port).peer;
  return peer && fabric.node(peer.node).is_switch() ? policy::QosKind::SwitchToSwitch
                                                    : policy::QosKind::SwitchExternal;
}

ib::wire::VlArbitrationTable default_arbitration(unsigned vls, Arbitrated which) {
  ib::wire::VlArbitrationTable table;
  // Entries of weight 0 are skipped, so those that count stand first: short tables hold them too.
  const unsigned first = which == Arbitrated::Low ? 1 : 0;
  const unsigned end = which == Arbitrated::High ? 1 : vls;
  for (unsigned vl = first; vl < end; ++vl) {
    table.vl[vl - first] = static_cast<std::uint8_t>(vl);
    table.weight[vl - first] = kWeight;
  }
  return table;
}

}  // namespace sm::plan
