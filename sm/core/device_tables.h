// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// DeviceTables: tables of ports as the devices answered them: P_Keys, GUIDs, VL arbitration, SL to
// VL. Values, by node GUID, so that they outlive a sweep. Blocks that many ports hold alike are
// kept once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/discover/observed.h"

namespace sm {

/// One block of a table as on the wire.
using TableBlock = std::array<std::byte, 64>;

/// The tables of one node.
class NodeTables {
 public:
  enum class Kind : std::uint8_t { PKeys, Guids, Arbitration };
  /// SL to VL of one pair of ports: 16 nibbles, SL 0 in the highest.
  using Row = std::uint64_t;

  explicit NodeTables(unsigned num_ports) : port_count_(num_ports + std::size_t{1}) {}

  /// nullptr: not answered. Any port and index may be asked for.
  const TableBlock* block(Kind kind, unsigned port, unsigned index) const;
  /// nullptr: not answered. A CA's and router's input is 0.
  const Row* row(unsigned input, unsigned output) const;

  /// So many will be set.
  void expect_blocks(std::size_t more) { blocks_.reserve(blocks_.size() + more); }
  /// `stored` is of the pool that the tables share.
  void set_block(Kind kind, unsigned port, unsigned index, const TableBlock* stored);
  void set_row(unsigned input, unsigned output, Row row);

 private:
  static constexpr std::uint16_t kNoRow = 0xFFFF;
  struct Block {
    std::uint32_t key;  // port, kind, index
    const TableBlock* stored;
  };
  static std::uint32_t key_of(Kind kind, unsigned port, unsigned index) {
    return port << 24 | static_cast<std::uint32_t>(kind) << 16 | index;
  }

  std::size_t port_count_;
  std::vector<Block> blocks_;          // in the order of their keys; a port has few
  std::vector<Row> rows_;              // the different ones
  std::vector<std::uint16_t> row_of_;  // by input * ports + output; empty: none is known
};

/// The tables of all nodes. Copies share what they hold.
class DeviceTables {
 public:
  /// nullptr: nothing was read of this node.
  const NodeTables* find(ib::Guid node) const;

  /// One block has become another; false: it says nothing new, or nothing was read of the node.
  bool note(ib::Guid node, NodeTables::Kind kind, unsigned port, unsigned index,
            const TableBlock& block);
  void put(ib::Guid node, std::shared_ptr<const NodeTables> tables);
  /// False: nothing was read of it.
  bool forget(ib::Guid node) { return by_node_.erase(node) > 0; }
  /// Those of nodes that may have lost what they held: a port waits for us, a switch has no LID.
  /// False: of none.
  bool forget_restarted(const ib::discover::Observed& found);
  void clear() { by_node_.clear(); }
  std::size_t size() const { return by_node_.size(); }
  /// The one copy of `block`.
  const TableBlock* stored(const TableBlock& block);

 private:
  std::unordered_map<ib::Guid, std::shared_ptr<const NodeTables>> by_node_;
  std::shared_ptr<std::set<TableBlock>> pool_{std::make_shared<std::set<TableBlock>>()};
};

}  // namespace sm
