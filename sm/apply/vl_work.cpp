// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/vl_work.h"

#include <array>

#include "sm/apply/row_sets.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/vl_tables.h"

namespace sm::apply {
namespace {

using device::kSlToVl;
using device::kVlArbitration;
using device::Slot;
using device::TableKind;
using ib::discover::Observed;
using ib::fabric::NodeIndex;

constexpr std::array<const TableKind*, 2> kKinds{&kSlToVl, &kVlArbitration};

bool comes_up(const Observed& seen, NodeIndex n, Slot slot) {
  return plan::comes_up(seen, {n, slot.port});
}

/// The wanted blocks of one kind, slots ascending, to which a way leads.
std::vector<Ask> wanted_asks(const Observed& seen, const plan::WantedTables& wanted, NodeIndex n,
                             const TableKind& kind) {
  std::vector<Slot> slots;
  kind.slots(seen, n, slots);
  std::vector<Ask> out;
  for (const Slot slot : slots)
    if (const auto* block = wanted.find(kind, n, slot);
        block != nullptr && device::route_to(seen, n, kind, slot))
      out.push_back({&kind, slot, block});
  return out;
}

}  // namespace

void forget_new_ports(const Holder& holder, const plan::WantedTables& wanted,
                      device::Inventory& inventory) {
  const Observed& seen = holder.seen;
  const NodeIndex node = holder.node;
  const ib::Guid guid = holder.guid();
  if (inventory.find(guid) == nullptr) return;
  std::array<bool, 256> is_new{};
  for (const TableKind* kind : kKinds)
    for (const Ask& ask : wanted_asks(seen, wanted, node, *kind))
      is_new[ask.slot.port] = comes_up(seen, node, ask.slot);
  for (const TableKind* kind : kKinds) {
    if (kind == &kSlToVl && holder.refused.refuses(guid, kSlToVl)) continue;
    std::vector<Slot> slots;
    kind->slots(seen, node, slots);
    for (const Slot slot : slots)
      if (is_new[slot.port]) inventory.forget(*kind, guid, slot);
  }
}

std::vector<Ask> unknown_rows(const Holder& holder, const plan::WantedTables& wanted) {
  std::vector<Ask> out = wanted_asks(holder.seen, wanted, holder.node, kSlToVl);
  std::erase_if(out, [&](const Ask& ask) {
    return holder.inventory.held(kSlToVl, holder.guid(), ask.slot) != nullptr;
  });
  return out;
}

std::vector<Ask> vl_reads(const Holder& holder, const plan::WantedTables& wanted) {
  std::vector<Ask> out;
  for (const TableKind* kind : kKinds)
    for (const Ask& ask : wanted_asks(holder.seen, wanted, holder.node, *kind))
      if (!comes_up(holder.seen, holder.node, ask.slot) && must_read(holder, ask))
        out.push_back(ask);
  return out;
}

std::vector<Ask> vl_sets(const Holder& holder, const plan::WantedTables& wanted,
                         const PortSet& later) {
  // What could not be read is set.
  const auto needs = [&](const Ask& ask) {
    return must_read(holder, ask) || must_write(holder, ask);
  };
  std::vector<Ask> out;
  const bool is_switch = holder.seen.fabric.node(holder.node).is_switch();
  if (is_switch) out = row_sets(holder, wanted, later);
  for (const TableKind* kind : kKinds)
    if (!is_switch || kind != &kSlToVl)
      for (const Ask& ask : wanted_asks(holder.seen, wanted, holder.node, *kind))
        if ((kind != &kSlToVl || !later[ask.slot.port]) && needs(ask)) out.push_back(ask);
  return out;
}

std::optional<Ask> vl_probe(const Holder& holder, const plan::WantedTables& wanted) {
  for (const Ask& ask : wanted_asks(holder.seen, wanted, holder.node, kVlArbitration))
    if (ask.slot.block == device::kArbitrationHigh &&
        !comes_up(holder.seen, holder.node, ask.slot) &&
        holder.inventory.held(kVlArbitration, holder.guid(), ask.slot) != nullptr)
      return ask;
  return std::nullopt;
}

}  // namespace sm::apply
