// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/p_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/base/text.h"
#include "libdiag/fabric/labels.h"
#include "sm/device/tables/kinds.h"

namespace sm::plan {
namespace {

using device::kPKeysInBlock;
using device::kPKeyTable;
using ib::PKey;
using ib::discover::Observed;
using ib::fabric::PortRef;
using policy::PortPartition;

constexpr PKey kNoPKey{0};

/// The wanted keys by their 15 bits, so that one whose membership changed is found again.
class Placement {
 public:
  /// No more are wanted than there is room for.
  Placement(std::span<const PortPartition> wanted, std::size_t size)
      : wanted_(wanted), placed_(wanted.size(), false), table_(size, kNoPKey) {
    by_base_.reserve(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      by_base_.emplace_back(wanted[i].p_key.base(), i);
    std::ranges::sort(by_base_);
  }

  /// A key of before stays where it is: the same key, else the one that takes its place.
  void keep(std::span<const PKey> held) {
    for (const bool same_membership : {true, false}) {
      if (std::ranges::find(placed_, false) == placed_.end()) return;
      for (std::size_t index = 0; index < held.size(); ++index) {
        if (held[index].base() == 0 || table_[index] != kNoPKey) continue;
        for (const auto& [base, i] : std::ranges::equal_range(
                 by_base_, held[index].base(), {}, &std::pair<std::uint16_t, std::size_t>::first)) {
          if (placed_[i] || (same_membership && wanted_[i].p_key != held[index])) continue;
          put(i, index);
          break;
        }
      }
    }
  }

  /// The first key that is to be at index 0 goes there; who was there moves on. Where none is to
  /// and the index is not in use, the default partition's does: management packets go by it.
  void take_index0(bool is_unused) {
    auto first = std::ranges::find(wanted_, true, &PortPartition::index0);
    if (first == wanted_.end() && is_unused)
      first = std::ranges::find(wanted_, ib::kDefaultPKey.base(),
                                [](const PortPartition& p) { return p.p_key.base(); });
    if (first == wanted_.end() || table_.empty() || table_[0] == first->p_key) return;
    const auto i = static_cast<std::size_t>(first - wanted_.begin());
    unplace(first->p_key);
    if (table_[0] != kNoPKey) unplace(table_[0]);
    put(i, 0);
  }

  /// The others, in their order.
  std::vector<PKey> fill() {
    std::size_t free = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (placed_[i]) continue;
      while (table_[free] != kNoPKey) ++free;
      put(i, free);
    }
    return std::move(table_);
  }

 private:
  void put(std::size_t i, std::size_t index) {
    table_[index] = wanted_[i].p_key;
    placed_[i] = true;
  }
  std::size_t position_of(PKey key) const {
    return static_cast<std::size_t>(std::ranges::find(wanted_, key, &PortPartition::p_key) -
                                    wanted_.begin());
  }
  void unplace(PKey key) {
    const auto at = std::ranges::find(table_, key);
    if (at == table_.end()) return;
    *at = kNoPKey;
    placed_[position_of(key)] = false;
  }

  std::span<const PortPartition> wanted_;
  std::vector<bool> placed_;
  std::vector<PKey> table_;
  std::vector<std::pair<std::uint16_t, std::size_t>> by_base_;  // ascending
};

/// Planning of all tables; a table's slots are those of its row in sm/device.
class PKeyPlanner {
 public:
  PKeyPlanner(const Observed& observed, const device::Inventory& held, const PKeyOptions& options)
      : observed_(observed), held_(held), options_(options) {}

  PKeyPlan run(std::span<const EndPortKeys> end_ports) {
    out_.blocks.reserve(blocks_at_most(end_ports));
    for (const EndPortKeys& end : end_ports) {
      const std::size_t room = room_of(end.port);
      const PlacedKeys placed = write(end.port, end.keys, room);
      if (!placed.left_out.empty()) say_left_out(end.port, room, placed.left_out);
      if (const PortRef peer = observed_.fabric.port(end.port).peer) check_at(peer, all_keys(end));
    }
    free_ports_between_switches();
    std::ranges::sort(out_.blocks, {},
                      [](const WantedBlock& b) { return std::pair(b.node, b.slot); });
    return std::move(out_);
  }

 private:
  std::size_t capacity(PortRef port) const {
    const auto& node = observed_.nodes[port.node];
    if (!observed_.fabric.node(port.node).is_switch() || port.port == 0)
      return node.info.partition_cap;
    return node.switch_info ? node.switch_info->partition_enforcement_cap : 0;
  }

  /// Keys that its table has room for.
  std::size_t room_of(PortRef port) const {
    const std::size_t said = capacity(port);
    const device::NodeTables* tables = held_.find(observed_.fabric.node(port.node).guid);
    if (tables == nullptr || !tables->lacks_some()) return said;
    std::size_t room = std::min<std::size_t>(said, kPKeysInBlock);
    while (room < said && !tables->is_absent(kPKeyTable, slot_of(port, room)))
      room = std::min(said, room + kPKeysInBlock);
    return room;
  }

  /// Of the block with this index of the table.
  static device::Slot slot_of(PortRef port, std::size_t index) {
    return {port.port, 0, static_cast<std::uint16_t>(index / kPKeysInBlock)};
  }

  /// With those of the ports that they hang from.
  std::size_t blocks_at_most(std::span<const EndPortKeys> end_ports) const {
    std::size_t count = 0;
    for (const EndPortKeys& end : end_ports) {
      count += device::blocks_for(static_cast<unsigned>(capacity(end.port)), kPKeysInBlock);
      if (const PortRef peer = observed_.fabric.port(end.port).peer)
        count += device::blocks_for(static_cast<unsigned>(capacity(peer)), kPKeysInBlock);
    }
    return count;
  }

  std::vector<PKey> held_at(PortRef port, std::size_t size) const {
    std::vector<PKey> keys(size, kNoPKey);
    const ib::Guid guid = observed_.fabric.node(port.node).guid;
    for (std::size_t first = 0; first < size; first += kPKeysInBlock) {
      const device::Block* block = held_.held(kPKeyTable, guid, slot_of(port, first));
      if (block == nullptr) continue;
      const auto table = ib::wire::decode<ib::wire::PKeyTable>(block->data());
      for (std::size_t i = first; i < std::min(size, first + kPKeysInBlock); ++i)
        keys[i] = table.p_keys[i - first];
    }
    return keys;
  }

  PlacedKeys write(PortRef port, std::span<const PortPartition> keys, std::size_t size) {
    PlacedKeys placed = place_keys(keys, held_at(port, size), options_.keep_indexes);
    for (std::size_t first = 0; first < size; first += kPKeysInBlock) {
      ib::wire::PKeyTable table{};
      for (std::size_t i = first; i < std::min(size, first + kPKeysInBlock); ++i)
        table.p_keys[i - first] = placed.table[i];
      WantedBlock& want =
          out_.blocks.emplace_back(WantedBlock{port.node, &kPKeyTable, slot_of(port, first), {}});
      ib::wire::encode(table, want.block.data());
    }
    ask_behind(port, size);
    return placed;
  }

  void ask_behind(PortRef port, std::size_t size) {
    for (std::size_t first = size; first < capacity(port); first += kPKeysInBlock)
      out_.behind.push_back({port.node, &kPKeyTable, slot_of(port, first), {}});
  }

  /// Of the port and of the virtual ports behind it, each key once.
  static std::vector<PortPartition> all_keys(const EndPortKeys& end) {
    std::vector<PortPartition> all = end.keys;
    for (const PortPartition& key : end.of_virtual_ports)
      if (std::ranges::find(all, key.p_key, &PortPartition::p_key) == all.end())
        all.push_back({key.p_key, false});
    return all;
  }

  /// The keys of a host at the port of the switch that it hangs from. Where they do not all fit, a
  /// check would cut the host off from partitions it is in.
  void check_at(PortRef port, std::span<const PortPartition> keys) {
    const auto& node = observed_.fabric.node(port.node);
    if (!node.is_switch()) return;
    PortEnforcement check{port};
    const std::size_t room = room_of(port);
    const auto& info = observed_.nodes[port.node].switch_info;
    if (options_.enforcement != Enforcement::Off && room != 0) {
      if (keys.size() <= room) {
        write(port, keys, room);
        check.inbound = options_.enforcement != Enforcement::Out && info->inbound_enforcement_cap;
        check.outbound = options_.enforcement != Enforcement::In && info->outbound_enforcement_cap;
      } else {
        ask_behind(port, room);
        out_.alarms.push_back(
            fmt::format("{}: {} P_Keys of the port behind it are more than its table holds ({}): "
                        "it does not enforce partitions",
                        name(port), keys.size(), room));
      }
    }
    out_.enforcement.push_back(check);
  }

  /// A host may have been at such a port before: its keys would hold up everybody else's packets.
  void free_ports_between_switches() {
    const auto& fabric = observed_.fabric;
    for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
      const unsigned last = fabric.node(n).is_switch() ? fabric.node(n).num_ports : 0U;
      for (unsigned p = 1; p <= last; ++p) {
        const PortRef port{n, static_cast<std::uint8_t>(p)};
        const PortRef peer = fabric.port(port).peer;
        const auto* seen = observed_.known_port(port);
        if (!peer || !fabric.node(peer.node).is_switch() || seen == nullptr) continue;
        if (seen->get<&ib::wire::PortInfo::partition_enforcement_inbound>() ||
            seen->get<&ib::wire::PortInfo::partition_enforcement_outbound>())
          out_.enforcement.push_back({port});
      }
    }
  }

  void say_left_out(PortRef port, std::size_t room, std::span<const PortPartition> keys) {
    auto& left_out = out_.left_out.emplace_back(LeftOutKeys{port, room, {}});
    for (const PortPartition& key : keys) left_out.keys.push_back(key.p_key);
    std::string list;
    for (const PortPartition& key : keys)
      list += fmt::format("{}0x{:04x}", list.empty() ? "" : ", ", key.p_key.value);
    out_.alarms.push_back(fmt::format("{}: its table holds {} P_Keys; these did not fit: {}",
                                      name(port), room, list));
  }
  std::string name(PortRef port) const { return ib::fabric::port_label(observed_.fabric, port); }

  const Observed& observed_;
  const device::Inventory& held_;
  const PKeyOptions& options_;
  PKeyPlan out_;
};

}  // namespace

PlacedKeys place_keys(std::span<const PortPartition> wanted, std::span<const PKey> held,
                      bool keep_indexes) {
  const auto fit = wanted.first(std::min(wanted.size(), held.size()));
  Placement placement(fit, held.size());
  if (keep_indexes) placement.keep(held);
  placement.take_index0(!held.empty() && held.front().base() == 0);
  const auto rest = wanted.subspan(fit.size());
  return {placement.fill(), {rest.begin(), rest.end()}};
}

PKeyPlan plan_p_keys(const Observed& observed, std::span<const EndPortKeys> end_ports,
                     const device::Inventory& held, const PKeyOptions& options) {
  return PKeyPlanner(observed, held, options).run(end_ports);
}

}  // namespace sm::plan
