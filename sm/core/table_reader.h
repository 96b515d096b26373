// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TableReader: asks devices for the tables that the subnet manager neither programs nor needs, so
// that subnet administration answers what they hold: P_Keys, GUIDs, VL arbitration, SL to VL. A
// machine, for the time between sweeps: few requests at once, node after node, and what is taken
// from it halfway is whole nodes.
//
// Rows of SL to VL are as many as pairs of ports. What the subnet manager programmed it knows from
// the answers, and optimised programming has no reading counterpart; when more rows than a bound
// are left, none is read.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "libdiag/mad/session.h"
#include "sm/apply/lanes.h"
#include "sm/core/device_tables.h"
#include "sm/core/snapshot.h"

namespace sm::core {

struct TableReaderOptions {
  std::uint32_t per_node{2};       // requests under way to one node
  std::uint32_t nodes{8};          // asked at once
  std::uint32_t rows_max{50'000};  // SL to VL rows of switches in one reading
  ib::mad::Cookie cookie_base{0};  // added to every cookie; the low 44 bits are ours
};

class TableReader final : public ib::mad::Exchange {
 public:
  /// Asks the `managed` nodes (by index in the snapshot) of which `tables` has nothing and puts
  /// what they answer into it. `tables` outlives this; `lanes` is read now only.
  TableReader(SnapshotPtr snapshot, const std::vector<bool>& managed,
              const std::unordered_map<ib::Guid, apply::KnownLanes>& lanes, DeviceTables& tables,
              TableReaderOptions options = {});

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override { return waiting_.empty() && active_.empty(); }

  /// What was asked and not answered, for who ends this early.
  const std::set<ib::mad::Cookie>& in_flight() const { return in_flight_; }

  std::size_t nodes_read() const { return nodes_read_; }
  /// Worth a line, when not everything is read.
  const std::string& note() const { return note_; }

 private:
  /// One block or row to ask for.
  struct Ask {
    std::uint16_t attribute;
    std::uint32_t modifier;
    std::uint8_t port;    // whose table it is; the output of a row
    std::uint8_t input;   // of a row
    std::uint16_t index;  // of a block
  };
  struct Node {
    std::vector<Ask> asks;
    std::size_t next{0};
    std::uint32_t in_flight{0};
    bool failed{false};
    std::vector<std::uint16_t> unknown;  // attributes that the node does not have
    std::shared_ptr<NodeTables> tables;
    bool finished() const { return in_flight == 0 && (failed || next == asks.size()); }
    void skip_unknown();
  };

  Node plan(ib::fabric::NodeIndex n) const;
  void plan_port(ib::fabric::NodeIndex n, unsigned port, Node& node) const;
  void plan_rows(ib::fabric::NodeIndex n, Node& node) const;
  std::size_t rows_of_switch(ib::fabric::NodeIndex n) const;
  bool is_reached(ib::fabric::PortRef port) const;
  ib::mad::DirectedRoute route_to(ib::fabric::PortRef port) const;
  void keep(Node& node, const Ask& ask, const ib::wire::Mad& answer);

  SnapshotPtr snapshot_;
  DeviceTables& tables_;
  TableReaderOptions options_;
  std::unordered_map<ib::fabric::NodeIndex, std::shared_ptr<NodeTables>> programmed_;
  bool with_rows_{true};
  std::deque<ib::fabric::NodeIndex> waiting_;
  std::unordered_map<ib::fabric::NodeIndex, Node> active_;
  std::set<ib::mad::Cookie> in_flight_;
  std::size_t nodes_read_{0};
  std::string note_;
};

}  // namespace sm::core
