// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TableReader: asks devices for the tables that the subnet manager neither programs nor needs, so
// that subnet administration answers what they hold: P_Keys, GUIDs, VL arbitration, SL to VL. A
// machine, for the time between sweeps: few requests at once, node after node. Which tables there
// are is sm/device's to say.
//
// Tables of pairs of ports are many. What the subnet manager programmed it knows from the answers,
// and optimised programming has no reading counterpart; when more of them than a bound are left on
// switches, none is read there.
//
// What is known of guarded tables (P_Keys) can be asked again: where a device holds something else,
// somebody else wrote it.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "libdiag/mad/session.h"
#include "sm/device/inventory.h"
#include "sm/device/snapshot.h"

namespace sm::core {

struct TableReaderOptions {
  std::uint32_t per_node{2};        // requests under way to one node
  std::uint32_t nodes{8};           // asked at once
  std::uint32_t pairs_max{50'000};  // tables of pairs of ports of switches in one reading
  bool compare{false};              // asks again for guarded tables of nodes that are read
  ib::mad::Cookie cookie_base{0};   // added to every cookie; the low 44 bits are ours
};

class TableReader final : public ib::mad::Exchange {
 public:
  /// Asks the `managed` nodes (by index in the snapshot) that `tables` says are not read for what
  /// is not known of them, and puts their answers into it. `tables` outlives this.
  TableReader(SnapshotPtr snapshot, const std::vector<bool>& managed, device::Inventory& tables,
              TableReaderOptions options = {});

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override { return waiting_.empty() && active_.empty(); }

  /// What was asked and not answered, for who ends this early.
  const std::set<ib::mad::Cookie>& in_flight() const { return in_flight_; }

  /// Nodes of which everything is known that was not before.
  std::size_t nodes_read() const { return nodes_read_; }
  /// A guarded block that was not what it was known to be.
  struct Rewritten {
    const device::TableKind* kind;
    ib::fabric::NodeIndex node;
    device::Slot slot;
  };
  const std::vector<Rewritten>& rewritten() const { return rewritten_; }
  /// Worth a line, when not everything is read.
  const std::string& note() const { return note_; }

 private:
  /// One block to ask for.
  struct Ask {
    const device::TableKind* kind;
    device::Slot slot;
  };
  struct Node {
    std::vector<Ask> asks;
    bool compared{false};  // it was read before
    std::size_t next{0};
    std::uint32_t in_flight{0};
    bool failed{false};
    std::vector<const device::TableKind*> unknown;  // attributes that the node does not have
    bool finished() const { return in_flight == 0 && (failed || next == asks.size()); }
    void skip_unknown();
  };

  Node plan(ib::fabric::NodeIndex n) const;
  void end_node(ib::fabric::NodeIndex n);
  /// Blocks that are known, or those that nobody has heard of yet, of ports that there is a way to.
  std::vector<Ask> asks_of(ib::fabric::NodeIndex n, const device::TableKind& kind,
                           bool known) const;
  bool is_left_out(ib::fabric::NodeIndex n, const device::TableKind& kind) const;
  void keep(ib::fabric::NodeIndex n, bool compared, const Ask& ask, const device::Block& block);

  SnapshotPtr snapshot_;
  device::Inventory& tables_;
  TableReaderOptions options_;
  bool with_pairs_{true};  // of switches
  std::deque<ib::fabric::NodeIndex> waiting_;
  std::unordered_map<ib::fabric::NodeIndex, Node> active_;
  std::set<ib::mad::Cookie> in_flight_;
  std::size_t nodes_read_{0};
  std::vector<Rewritten> rewritten_;
  std::string note_;
};

}  // namespace sm::core
