// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/lanes.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::apply {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortInfo;
using ib::wire::PortState;

constexpr std::uint32_t kAllOutputs = 1U << 16, kAllInputs = 1U << 17;
constexpr std::uint8_t kWeight = 4;  // 64 bytes each
constexpr unsigned kDrop = 15;

/// `row` for a link of `vls` data VLs.
std::uint64_t folded(const ib::tables::SlToVlRow& row, unsigned vls) {
  std::uint64_t packed = 0;
  for (const std::uint8_t vl : row.vl)
    packed = packed << 4 | (vl == kDrop ? kDrop : vl % std::max(vls, 1U));
  return packed;
}

/// The value that occurs most often; of equal ones the smallest.
std::uint64_t usual(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::uint64_t best = 0;
  std::ptrdiff_t count = 0;
  for (auto i = rows.begin(); i != rows.end();) {
    const auto end = std::upper_bound(i, rows.end(), *i);
    if (end - i > count) {
      count = end - i;
      best = *i;
    }
    i = end;
  }
  return best;
}

/// In the entries that a port has, and of those in what they do: weight 0 is skipped (IBA 7.6.9).
bool same(const ib::wire::VlArbitrationTable& a, const ib::wire::VlArbitrationTable& b,
          unsigned entries) {
  for (std::size_t i = 0; i < std::min<std::size_t>(entries, a.weight.size()); ++i)
    if (a.weight[i] != b.weight[i] || (a.weight[i] != 0 && a.vl[i] != b.vl[i])) return false;
  return true;
}

class NodeLanes {
 public:
  NodeLanes(const plan::Desired& desired, const Observed& seen, KnownLanes& known, NodeIndex node)
      : desired_(desired),
        seen_(seen),
        known_(known),
        node_(node),
        ports_(seen.fabric.node(node).num_ports),
        s_(seen.fabric.node(node).is_switch() ? desired.routing->graph.switch_of(node)
                                              : ib::fabric::kNoSwitch) {
    known_.rows.resize((ports_ + std::size_t{1}) * (ports_ + 1), kRowUnknown);
    for (unsigned p = 1; p <= ports_; ++p)
      if (operates({node_, static_cast<std::uint8_t>(p)}))
        live_.push_back(static_cast<std::uint8_t>(p));
  }

  std::vector<LaneTable> sets() {
    forget_new_ports();
    if (is_switch()) {
      if (switch_maps() && !live_.empty()) map_switch();
    } else if (!seen_.fabric.node(node_).is_switch()) {
      for (const std::uint8_t p : live_) map_end_port(p);
    }
    for (const std::uint8_t p : live_) arbitrate(p);
    return std::move(tables_);
  }

  std::vector<LaneTable> reads() {
    forget_new_ports();
    for (const std::uint8_t out : live_) {
      if (seen(out).state() <= PortState::Initialize) continue;
      if (is_switch() ? switch_maps() : end_port_maps(out)) {
        if (held(0, out) == kRowUnknown) ask_row(0, out);
        for (const std::uint8_t in : live_)
          if (is_switch() && held(in, out) == kRowUnknown) ask_row(in, out);
      }
      for (const std::uint8_t block : {kArbitrationLow, kArbitrationHigh})
        if (arbitrates(out, block) && !known_.arbitration.contains({block, out}))
          tables_.push_back(arbitration_of(block, out));
    }
    return std::move(tables_);
  }

 private:
  bool is_switch() const { return s_ != ib::fabric::kNoSwitch; }
  bool switch_maps() const {
    const auto port0 = seen_.known_port({node_, 0});
    return port0 != nullptr && maps(*port0);
  }
  bool end_port_maps(std::uint8_t p) const { return maps(seen(p)) && has_lanes(p); }
  unsigned arbitration_cap(std::uint8_t p, std::uint8_t block) const {
    return block == kArbitrationHigh ? seen(p).get<&PortInfo::vl_arbitration_high_cap>()
                                     : seen(p).get<&PortInfo::vl_arbitration_low_cap>();
  }
  bool arbitrates(std::uint8_t p, std::uint8_t block) const {
    return has_lanes(p) && vls(p) > 1 && arbitration_cap(p, block) != 0;
  }
  bool operates(PortRef p) const {
    const auto& want = desired_.ports[seen_.port_index(p)];
    return want.managed && want.activate && seen_.port(p).known;
  }
  const ib::discover::ObservedPort& seen(std::uint8_t p) const { return seen_.port({node_, p}); }
  static bool maps(const ib::discover::ObservedPort& port) {
    return (port.get<&PortInfo::capability_mask>() & ib::wire::port_cap::kSlMapping) != 0;
  }
  bool has_lanes(std::uint8_t p) const { return seen(p).get<&PortInfo::vl_cap>() > 1; }
  unsigned vls(std::uint8_t p) const {
    return ib::wire::data_vls(desired_.ports[seen_.port_index({node_, p})].operational_vls);
  }
  std::uint64_t& held(std::uint8_t in, std::uint8_t out) {
    return known_.rows[in * (ports_ + std::size_t{1}) + out];
  }

  /// Behind a link that comes up there may be another device, or the same after a reset.
  void forget_new_ports() {
    for (const std::uint8_t p : live_) {
      if (seen(p).state() > PortState::Initialize) continue;
      for (unsigned in = 0; in <= ports_; ++in)
        held(static_cast<std::uint8_t>(in), p) = kRowUnknown;
      known_.arbitration.erase({kArbitrationLow, p});
      known_.arbitration.erase({kArbitrationHigh, p});
    }
  }

  /// Routes on one SL and VL get the mapping that hardware has when it is new.
  std::uint64_t wanted(std::uint8_t in, std::uint8_t out) const {
    const auto& lanes = desired_.routing->virtual_lanes;
    const unsigned n = vls(out);
    if (lanes.trivial()) return folded(ib::tables::SlToVlRow::modulo(std::max(n, 1U)), n);
    if (!is_switch()) return folded(lanes.sl_to_vl.injection(), n);
    return folded(in == 0 ? lanes.sl_to_vl.injection() : lanes.sl_to_vl.row(s_, in, out), n);
  }

  void add_row(std::uint32_t modifier, std::uint8_t out, std::uint64_t row) {
    LaneTable set;
    set.attribute = ib::wire::attr::kSlToVl;
    set.modifier = modifier;
    set.port = out;
    set.row = row;
    tables_.push_back(set);
  }
  void ask_row(std::uint8_t in, std::uint8_t out) {
    add_row(is_switch() ? static_cast<std::uint32_t>(in) << 8 | out : 0U, out, 0);
  }
  LaneTable arbitration_of(std::uint8_t block, std::uint8_t p) const {
    LaneTable table;
    table.attribute = ib::wire::attr::kVlArbitration;
    table.modifier = static_cast<std::uint32_t>(block) << 16 | (is_switch() ? p : 0U);
    table.port = p;
    return table;
  }

  void map_end_port(std::uint8_t p) {
    if (!end_port_maps(p)) return;
    if (held(0, p) != wanted(0, p)) add_row(0, p, wanted(0, p));
  }

  void map_switch() {
    std::vector<std::uint8_t> inputs{0};
    inputs.insert(inputs.end(), live_.begin(), live_.end());
    std::vector<std::vector<std::uint64_t>> columns;  // by output, then input
    std::vector<std::uint64_t> all;
    for (const std::uint8_t out : live_) {
      auto& column = columns.emplace_back();
      for (const std::uint8_t in : inputs) {
        column.push_back(wanted(in, out));
      }
      all.insert(all.end(), column.begin(), column.end());
    }
    const bool optimised = seen_.nodes[node_].switch_info->optimized_sl_to_vl != 0;
    // What a wide Set leaves behind is what the rest is compared with.
    std::vector<std::vector<std::uint64_t>> then;
    for (const std::uint8_t out : live_) {
      auto& column = then.emplace_back();
      for (const std::uint8_t in : inputs) column.push_back(held(in, out));
    }
    const auto differ = [](const std::vector<std::uint64_t>& a,
                           const std::vector<std::uint64_t>& b) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < a.size(); ++i) n += a[i] != b[i] ? 1 : 0;
      return n;
    };
    if (optimised) {
      const std::uint64_t row = usual(all);
      std::size_t now = 0, after = 0;
      for (std::size_t o = 0; o < live_.size(); ++o) {
        now += differ(columns[o], then[o]);
        after += differ(columns[o], std::vector<std::uint64_t>(inputs.size(), row));
      }
      if (now > after + 1) {
        add_row(kAllInputs | kAllOutputs, 0, row);
        for (auto& column : then) std::fill(column.begin(), column.end(), row);
      }
    }
    for (std::size_t o = 0; o < live_.size(); ++o) {
      if (optimised) {
        const std::uint64_t row = usual(columns[o]);
        const std::vector<std::uint64_t> one(inputs.size(), row);
        if (differ(columns[o], then[o]) > differ(columns[o], one) + 1) {
          add_row(kAllInputs | live_[o], live_[o], row);
          then[o] = one;
        }
      }
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (columns[o][i] != then[o][i])
          add_row(static_cast<std::uint32_t>(inputs[i]) << 8 | live_[o], live_[o], columns[o][i]);
    }
  }

  void arbitrate(std::uint8_t p) {
    for (const std::uint8_t block : {kArbitrationLow, kArbitrationHigh}) {
      if (!arbitrates(p, block)) continue;
      const auto table = default_arbitration(vls(p), block == kArbitrationHigh);
      const auto at = known_.arbitration.find({block, p});
      if (at != known_.arbitration.end() && same(at->second, table, arbitration_cap(p, block)))
        continue;
      tables_.push_back(arbitration_of(block, p));
      tables_.back().arbitration = table;
    }
  }

  const plan::Desired& desired_;
  const Observed& seen_;
  KnownLanes& known_;
  NodeIndex node_;
  unsigned ports_;
  ib::fabric::SwitchIndex s_;
  std::vector<std::uint8_t> live_;
  std::vector<LaneTable> tables_;
};

}  // namespace

void LaneTable::write(ib::wire::Mad& mad) const {
  if (attribute == ib::wire::attr::kVlArbitration) {
    ib::wire::set_body(mad, arbitration);
    return;
  }
  ib::wire::SlToVlTable table;
  for (unsigned sl = 0; sl < 16; ++sl)
    table.vl[sl] = static_cast<std::uint8_t>(row >> (60 - 4 * sl) & 0xF);
  ib::wire::set_body(mad, table);
}

std::string LaneTable::where() const {
  if (attribute == ib::wire::attr::kVlArbitration)
    return fmt::format("VLArbitrationTable, port {}, block {}", port, modifier >> 16);
  const auto side = [&](std::uint32_t all, std::uint32_t one) {
    return (modifier & all) != 0 ? std::string("all") : std::to_string(one & 0xFF);
  };
  return fmt::format("SLtoVLMappingTable, input {}, output {}", side(kAllInputs, modifier >> 8),
                     side(kAllOutputs, port));
}

std::vector<LaneTable> lane_sets(const plan::Desired& desired, const Observed& seen,
                                 KnownLanes& known, NodeIndex node) {
  return NodeLanes(desired, seen, known, node).sets();
}

std::vector<LaneTable> lane_reads(const plan::Desired& desired, const Observed& seen,
                                  KnownLanes& known, NodeIndex node) {
  return NodeLanes(desired, seen, known, node).reads();
}

void note_read(KnownLanes& known, const LaneTable& read, const ib::wire::Mad& mad,
               unsigned num_ports) {
  if (read.attribute == ib::wire::attr::kVlArbitration) {
    const std::pair key{static_cast<std::uint8_t>(read.modifier >> 16), read.port};
    known.arbitration.insert_or_assign(key, ib::wire::body<ib::wire::VlArbitrationTable>(mad));
    return;
  }
  std::uint64_t row = 0;
  for (const std::uint8_t vl : ib::wire::body<ib::wire::SlToVlTable>(mad).vl)
    row = row << 4 | (vl & 0xFU);
  known.rows[(read.modifier >> 8 & 0xFF) * (num_ports + std::size_t{1}) + read.port] = row;
}

void note_lanes(KnownLanes& known, const LaneTable& set, const ib::wire::Mad* answer,
                unsigned num_ports) {
  if (set.attribute == ib::wire::attr::kVlArbitration) {
    const std::pair key{static_cast<std::uint8_t>(set.modifier >> 16), set.port};
    known.arbitration.erase(key);
    // A device may show less than it was given, where its tables are short: what was asked counts,
    // or it would be asked again for ever.
    if (answer != nullptr) known.arbitration.emplace(key, set.arbitration);
    return;
  }
  const std::uint64_t row = answer != nullptr ? set.row : kRowUnknown;
  const std::size_t stride = num_ports + std::size_t{1};
  const std::size_t in = set.modifier >> 8 & 0xFF;
  const bool all_in = (set.modifier & kAllInputs) != 0, all_out = (set.modifier & kAllOutputs) != 0;
  for (std::size_t i = all_in ? 0 : in; i <= (all_in ? num_ports : in); ++i)
    for (std::size_t o = all_out ? 1 : set.port; o <= (all_out ? num_ports : set.port); ++o)
      known.rows[i * stride + o] = row;
}

ib::wire::VlArbitrationTable default_arbitration(unsigned vls, bool high) {
  ib::wire::VlArbitrationTable table;
  // Entries of weight 0 are skipped, so those that count stand first: short tables hold them too.
  if (high) {
    table.weight[0] = kWeight;
    return table;
  }
  for (unsigned vl = 1; vl < vls; ++vl) {
    table.vl[vl - 1] = static_cast<std::uint8_t>(vl);
    table.weight[vl - 1] = kWeight;
  }
  return table;
}

}  // namespace sm::apply
