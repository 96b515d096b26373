// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TableKind: what a table that devices hold is: how it is addressed and asked for, and which blocks
// of it a node has. A table is one row of this type in a file of its own under tables/, named in
// table_kinds(); all code that reads, keeps, compares or reports tables goes by the row.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libdiag/discover/observed.h"

namespace sm::device {

/// One block as on the wire, zeros behind its last byte.
using Block = std::array<std::byte, 64>;

/// What one table belongs to. It decides by which way an SMP has to come in
/// (IBA 14.2.5.5, 14.2.5.7, 14.2.5.8): a switch takes the port from the attribute modifier, a CA or
/// router answers for the port that the SMP arrives at.
enum class Scope : std::uint8_t {
  Node,     // one a node
  Port,     // one a port
  PortPair  // one for each input and output of a switch; of a CA or router one a port, input 0
};

/// Where in the tables of one node a block is. What a kind does not use is 0.
struct Slot {
  std::uint8_t port{};   // whose table it is; of a pair the output
  std::uint8_t input{};  // of a pair
  std::uint16_t block{};
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

struct TableKind {
  std::string_view name;  // "P_KeyTable", for messages
  std::uint16_t attribute;
  Scope scope;
  std::uint8_t bytes;  // of one block, 1 to 64
  std::uint32_t (*modifier)(const ib::discover::Observed&, ib::fabric::NodeIndex, Slot);
  /// Appends what the node has, by the capabilities it reports, ports and blocks ascending.
  void (*slots)(const ib::discover::Observed&, ib::fabric::NodeIndex, std::vector<Slot>&);
  /// Whether a port does the same by one block as by the other; nullptr: where the bytes are equal.
  bool (*same)(const ib::discover::Observed&, ib::fabric::NodeIndex, Slot, const Block&,
               const Block&){nullptr};
  /// A write by another program opens or closes access, and no notice reports it: blocks that are
  /// known are read again after every full sweep.
  bool guarded{false};
};

/// All kinds, by attribute id.
std::span<const TableKind* const> table_kinds();

/// The way by which the node can be asked for `slot`, or told; nothing where no way leads in by
/// that port (a CA's second port on another subnet).
std::optional<ib::mad::DirectedRoute> route_to(const ib::discover::Observed& observed,
                                               ib::fabric::NodeIndex node, const TableKind& kind,
                                               Slot slot);

/// Whether the node does the same by block `a` of `slot` as by `b`.
bool means_the_same(const TableKind& kind, const ib::discover::Observed& observed,
                    ib::fabric::NodeIndex node, Slot slot, const Block& a, const Block& b);

/// The block in an answer of this kind.
Block block_of(const TableKind& kind, const std::byte* data);

// ---- for the rows

/// Blocks that hold `entries`.
constexpr unsigned blocks_for(unsigned entries, unsigned entries_in_block) {
  return (entries + entries_in_block - 1) / entries_in_block;
}
/// Ports of a node that have attributes of their own: a switch's from 0, a CA's or router's from 1.
constexpr unsigned first_port(bool is_switch) { return is_switch ? 0 : 1; }

}  // namespace sm::device
