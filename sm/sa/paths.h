// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What one snapshot says about end ports and the paths between them. Built once per snapshot; pure
// look-ups afterwards. Default partition.
#pragma once

#include <optional>
#include <vector>

#include "sm/core/snapshot.h"

namespace sm::sa {

/// A port that has a LID of its own: CA and router ports, port 0 of a switch.
struct EndPort {
  ib::fabric::PortRef port;
  ib::Guid guid{};
  ib::Lid lid{};
  std::uint8_t lmc{};
  unsigned lid_count() const { return 1U << lmc; }
  bool owns(ib::Lid l) const { return l.value >= lid.value && l.value < lid.value + lid_count(); }
};

/// What the links on the way allow.
struct PathQuality {
  std::uint8_t mtu{};   // code
  std::uint8_t rate{};  // code
  unsigned hops{};      // switches passed
};

class Paths {
 public:
  explicit Paths(SnapshotPtr snapshot);

  const Snapshot& snapshot() const { return *snapshot_; }
  /// In the order of the fabric's nodes and ports.
  const std::vector<EndPort>& end_ports() const { return end_ports_; }
  /// nullptr when there is none.
  const EndPort* find(ib::Lid lid) const;
  const EndPort* find(ib::Guid guid) const;
  /// The SM's own end port; nullptr when the snapshot lacks it.
  const EndPort* sm_port() const { return find(snapshot_->sm_port_guid); }

  /// Follows the tables from `from` to `dlid`; nullopt when a packet would not arrive.
  std::optional<PathQuality> follow(const EndPort& from, ib::Lid dlid) const;

  /// The SL that the routes have for packets from one to the other.
  ib::Sl sl(const EndPort& from, const EndPort& to) const;
  /// The SL of all paths, if there is only one.
  std::optional<ib::Sl> common_sl() const;

  /// MTU and rate of a port's own link; of a switch's port 0 what port 0 claims.
  PathQuality own(const EndPort& port) const;

 private:
  struct Link {
    std::uint8_t mtu{};
    std::uint8_t rate{};
  };
  Link link_of(ib::fabric::PortRef port) const;
  bool delivered(ib::fabric::PortRef at, ib::Lid dlid) const;

  SnapshotPtr snapshot_;
  std::vector<EndPort> end_ports_;
  std::vector<Link> links_;            // by port_index()
  std::vector<std::uint32_t> by_lid_;  // index into end_ports_ + 1
  std::unordered_map<ib::Guid, std::uint32_t> by_guid_;
};

}  // namespace sm::sa
