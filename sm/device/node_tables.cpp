// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/node_tables.h"

#include <algorithm>
#include <string_view>

namespace sm::device {

std::size_t BlockPool::Hash::operator()(const Block& block) const {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(block.data()), block.size()});
}

const NodeTables::Pairs* NodeTables::pairs_of(const TableKind& kind) const {
  const auto at = std::ranges::find(pairs_, kind.attribute, &Pairs::attribute);
  return at == pairs_.end() ? nullptr : &*at;
}

const Block* NodeTables::held(const TableKind& kind, Slot slot) const {
  if (slot.port >= port_count_ || slot.input >= port_count_) return nullptr;
  if (kind.scope == Scope::PortPair) {
    const Pairs* pairs = pairs_of(kind);
    if (pairs == nullptr) return nullptr;
    const auto which = pairs->which[slot.input * port_count_ + slot.port];
    return which == kUnknown ? nullptr : pairs->different[which];
  }
  const std::uint64_t key = key_of(kind, slot);
  const auto at = std::ranges::lower_bound(blocks_, key, {}, &Entry::key);
  return at != blocks_.end() && at->key == key ? at->stored : nullptr;
}

void NodeTables::put(const TableKind& kind, Slot slot, const Block* stored) {
  if (slot.port >= port_count_ || slot.input >= port_count_) return;
  if (kind.scope == Scope::PortPair) return put_pair(kind, slot, stored);
  const std::uint64_t key = key_of(kind, slot);
  const auto at = std::ranges::lower_bound(blocks_, key, {}, &Entry::key);
  if (at != blocks_.end() && at->key == key) {
    at->stored = stored;
  } else {
    blocks_.insert(at, {key, stored});
    std::erase(absent_, key);
  }
}

void NodeTables::forget(const TableKind& kind, Slot slot) {
  if (held(kind, slot) == nullptr) return;
  if (kind.scope == Scope::PortPair) {
    const auto pairs = std::ranges::find(pairs_, kind.attribute, &Pairs::attribute);
    pairs->which[slot.input * port_count_ + slot.port] = kUnknown;
  } else {
    blocks_.erase(std::ranges::lower_bound(blocks_, key_of(kind, slot), {}, &Entry::key));
  }
}

void NodeTables::note_absent(const TableKind& kind, Slot slot) {
  if (kind.scope == Scope::PortPair || is_absent(kind, slot)) return;
  forget(kind, slot);
  absent_.push_back(key_of(kind, slot));
}

bool NodeTables::is_absent(const TableKind& kind, Slot slot) const {
  return std::ranges::find(absent_, key_of(kind, slot)) != absent_.end();
}

void NodeTables::forget(const TableKind& kind) {
  std::erase_if(absent_, [&](std::uint64_t key) { return key >> 32 == kind.attribute; });
  std::erase_if(pairs_, [&](const Pairs& pairs) { return pairs.attribute == kind.attribute; });
  std::erase_if(blocks_, [&](const Entry& entry) { return entry.key >> 32 == kind.attribute; });
}

void NodeTables::put_pair(const TableKind& kind, Slot slot, const Block* stored) {
  auto pairs = std::ranges::find(pairs_, kind.attribute, &Pairs::attribute);
  if (pairs == pairs_.end()) {
    pairs = pairs_.insert(pairs_.end(), Pairs{kind.attribute, {}, {}});
    pairs->which.assign(port_count_ * port_count_, kUnknown);
  }
  auto known = std::ranges::find(pairs->different, stored);
  if (known == pairs->different.end()) {
    if (pairs->different.size() == kUnknown) return;
    known = pairs->different.insert(known, stored);
  }
  pairs->which[slot.input * port_count_ + slot.port] =
      static_cast<std::uint16_t>(known - pairs->different.begin());
}

}  // namespace sm::device
