// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// NodeTables: the blocks of every table that one node is known to hold. A block is unknown until an
// answer reported it.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "sm/device/table.h"

namespace sm::device {

/// Blocks that many ports hold alike, each kept once. They stay where they are.
class BlockPool {
 public:
  const Block* stored(const Block& block) { return &*blocks_.insert(block).first; }

 private:
  struct Hash {
    std::size_t operator()(const Block& block) const;
  };
  std::unordered_set<Block, Hash> blocks_;
};

class NodeTables {
 public:
  explicit NodeTables(unsigned num_ports) : port_count_(num_ports + std::size_t{1}) {}

  /// nullptr: not known. Any slot may be asked for.
  const Block* held(const TableKind& kind, Slot slot) const;
  /// `stored` is of the pool that the tables share.
  void put(const TableKind& kind, Slot slot, const Block* stored);
  void forget(const TableKind& kind, Slot slot);
  void forget(const TableKind& kind);

  /// The node said that it has no such block, whatever its capabilities are (not of pairs of
  /// ports). One that is put there is there.
  void note_absent(const TableKind& kind, Slot slot);
  bool is_absent(const TableKind& kind, Slot slot) const;
  bool lacks_some() const { return !absent_.empty(); }

  /// Everything that the node has was asked for once since it was last forgotten.
  bool is_read() const { return read_; }
  void set_read(bool read) { read_ = read; }

 private:
  static constexpr std::uint16_t kUnknown = 0xFFFF;
  struct Entry {
    std::uint64_t key;
    const Block* stored;
  };
  static std::uint64_t key_of(const TableKind& kind, Slot slot) {
    return static_cast<std::uint64_t>(kind.attribute) << 32 |
           static_cast<std::uint64_t>(slot.port) << 24 | slot.block;
  }
  /// A table for each pair of ports: few of the many differ.
  struct Pairs {
    std::uint16_t attribute;
    std::vector<const Block*> different;
    std::vector<std::uint16_t> which;  // by input * ports + output
  };
  const Pairs* pairs_of(const TableKind& kind) const;
  void put_pair(const TableKind& kind, Slot slot, const Block* stored);

  std::size_t port_count_;
  std::vector<Entry> blocks_;  // in the order of their keys
  std::vector<Pairs> pairs_;
  std::vector<std::uint64_t> absent_;  // keys of blocks, in the order in which they were asked for
  bool read_{false};
};

}  // namespace sm::device
