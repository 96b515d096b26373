// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/row_sets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "libdiag/wire/rates.h"
#include "sm/device/tables/kinds.h"

namespace sm::apply {
namespace {

using device::Block;
using device::kSlToVl;
using device::Slot;

/// The block that occurs most often; of equally frequent ones the smallest. Equal ones are one.
const Block* usual(std::vector<const Block*> blocks) {
  std::ranges::sort(blocks);
  const Block* best = nullptr;
  std::ptrdiff_t count = 0;
  for (auto i = blocks.begin(); i != blocks.end();) {
    const auto end = std::upper_bound(i, blocks.end(), *i);
    if (end - i > count || (end - i == count && **i < *best)) {
      count = end - i;
      best = *i;
    }
    i = end;
  }
  return best;
}

/// The wanted rows of one output, and what the switch holds in their place; null: not known.
struct Column {
  std::uint8_t output{};
  std::vector<std::uint8_t> inputs;
  std::vector<const Block*> wanted, held;

  bool differs(std::size_t i) const { return held[i] == nullptr || *held[i] != *wanted[i]; }
  std::size_t differences() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) n += differs(i) ? 1 : 0;
    return n;
  }
  std::size_t differences_from(const Block* row) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(wanted, [&](const Block* b) { return *b != *row; }));
  }
  void hold(const Block* row) { std::ranges::fill(held, row); }
};

class RowSets {
 public:
  RowSets(const Holder& holder, const plan::WantedTables& wanted, const PortSet& later)
      : holder_(holder), all_now_(later.none()) {
    const unsigned ports = holder.seen.fabric.node(holder.node).num_ports;
    const device::NodeTables* known = holder.inventory.find(holder.guid());
    for (unsigned output = 0; output <= ports; ++output) {
      if (later[output]) continue;
      Column column;
      column.output = static_cast<std::uint8_t>(output);
      for (unsigned input = 0; input <= ports; ++input) {
        const Slot slot{column.output, static_cast<std::uint8_t>(input), 0};
        const Block* want = wanted.find(kSlToVl, holder.node, slot);
        if (want == nullptr) continue;
        column.inputs.push_back(slot.input);
        column.wanted.push_back(want);
        // What it refused it would refuse again.
        const bool refused = holder.refused.contains(holder.guid(), {&kSlToVl, slot, want});
        column.held.push_back(refused            ? want
                              : known != nullptr ? known->held(kSlToVl, slot)
                                                 : nullptr);
      }
      if (!column.wanted.empty()) columns_.push_back(std::move(column));
    }
  }

  std::vector<Ask> run() {
    // Bit 0 is the wildcarded form; bit 1 is another one, with a mask of ports, that is not used.
    const bool optimised =
        (holder_.seen.nodes[holder_.node].switch_info->optimized_sl_to_vl & 1U) != 0;
    if (optimised && all_now_ && !columns_.empty()) set_all();
    if (optimised)
      for (Column& column : columns_) set_inputs(column);
    for (const Column& column : columns_)
      for (std::size_t i = 0; i < column.wanted.size(); ++i)
        if (column.differs(i))
          asks_.push_back({&kSlToVl, {column.output, column.inputs[i], 0}, column.wanted[i]});
    return std::move(asks_);
  }

 private:
  bool add_wide(const Ask& ask) {
    if (holder_.refused.contains(holder_.guid(), ask)) return false;
    asks_.push_back(ask);
    return true;
  }

  /// Until each output has its own, no packet of theirs is to be dropped by a VL that the link has
  /// not.
  bool fits_links_in_use(const Block* row) {
    const auto known = vls_of_row_.find(row);
    const unsigned vls = known != vls_of_row_.end()
                             ? known->second
                             : vls_of_row_.emplace(row, vls_of(*row)).first->second;
    return vls <= fewest_in_use();
  }
  static unsigned vls_of(const Block& row) {
    constexpr unsigned kDrop = 15;
    unsigned vls = 0;
    for (const std::uint8_t vl : ib::wire::decode<ib::wire::SlToVlTable>(row.data()).vl)
      if (vl != kDrop) vls = std::max(vls, vl + 1U);
    return vls;
  }
  unsigned fewest_in_use() {
    if (fewest_in_use_) return *fewest_in_use_;
    unsigned fewest = 15;
    for (const Column& column : columns_) {
      const auto& port = holder_.seen.port({holder_.node, column.output});
      if (column.output != 0 && port.state() > ib::wire::PortState::Initialize)
        fewest =
            std::min(fewest, ib::wire::data_vls(port.get<&ib::wire::PortInfo::operational_vls>()));
    }
    fewest_in_use_ = fewest;
    return fewest;
  }

  /// Where one Set for all pairs leaves fewer rows to be written. That it is for port 0, too,
  /// nobody promises.
  void set_all() {
    const auto external = std::span(columns_).subspan(columns_.front().output == 0 ? 1 : 0);
    if (external.empty()) return;
    std::vector<const Block*> all;
    for (const Column& column : external)
      all.insert(all.end(), column.wanted.begin(), column.wanted.end());
    std::erase_if(all, [&](const Block* row) { return !fits_links_in_use(row); });
    if (all.empty()) return;
    const Block* row = usual(std::move(all));
    std::size_t now = 0, after = 0;
    for (const Column& column : external) {
      now += column.differences();
      after += column.differences_from(row);
    }
    if (now <= after + 1 || !add_wide({&kSlToVl, {}, row, true, true})) return;
    for (Column& column : external) column.hold(row);
  }

  void set_inputs(Column& column) {
    const Block* row = usual(column.wanted);
    if (column.differences() <= column.differences_from(row) + 1) return;
    if (add_wide({&kSlToVl, {column.output, 0, 0}, row, true, false})) column.hold(row);
  }

  const Holder& holder_;
  bool all_now_;  // no port's rows are to stay as they are
  std::vector<Column> columns_;
  std::map<const Block*, unsigned> vls_of_row_;
  std::optional<unsigned> fewest_in_use_;
  std::vector<Ask> asks_;
};

}  // namespace

std::vector<Ask> row_sets(const Holder& holder, const plan::WantedTables& wanted,
                          const PortSet& later) {
  return RowSets(holder, wanted, later).run();
}

void put_row(device::Inventory& inventory, ib::Guid node, unsigned num_ports, const Ask& ask,
             const Block& answered) {
  const Block* stored = inventory.stored(answered);
  device::NodeTables& tables = inventory.own(node, num_ports);
  const auto last = static_cast<std::uint8_t>(num_ports);
  const std::uint8_t first_in = ask.all_inputs ? std::uint8_t{0} : ask.slot.input;
  const std::uint8_t last_in = ask.all_inputs ? last : ask.slot.input;
  const std::uint8_t first_out = ask.all_outputs ? std::uint8_t{1} : ask.slot.port;
  const std::uint8_t last_out = ask.all_outputs ? last : ask.slot.port;
  for (unsigned out = first_out; out <= last_out; ++out)
    for (unsigned in = first_in; in <= last_in; ++in)
      tables.put(kSlToVl, {static_cast<std::uint8_t>(out), static_cast<std::uint8_t>(in), 0},
                 stored);
}

}  // namespace sm::apply
