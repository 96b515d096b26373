// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What one snapshot says about end ports and the paths between them. Built once per snapshot,
// look-ups afterwards: by one thread, which need not be the one that built it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sm/device/snapshot.h"
#include "sm/sa/subnet/path_table.h"

namespace sm::sa {

/// A port that has a LID of its own: CA and router ports, port 0 of a switch.
struct EndPort {
  ib::fabric::PortRef port;
  ib::Guid guid{};
  ib::Lid lid{};
  std::uint8_t lmc{};
  ib::fabric::SwitchIndex leaf{ib::fabric::kNoSwitch};  // the switch it hangs from, or is
  Allowed link{};              // by its cable; of a switch's port 0 there is none, and no rate
  std::uint8_t knows_rates{};  // highest rate code that its host has heard of; 0: not known
  std::uint16_t drops{};       // SLs, a bit each, that its host drops by a mapping that it keeps
  bool has_rivals{};           // packets to one of its LIDs go to another port, or to none
  bool is_virtual{};           // a virtual port behind the port, whose LIDs it shares
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
  /// What was learnt about pairs of leaves is taken over from `previous` where nothing that decides
  /// has changed.
  explicit Paths(SnapshotPtr snapshot, const Paths* previous = nullptr);

  const Snapshot& snapshot() const { return *snapshot_; }
  /// In the order of the fabric's nodes and ports.
  const std::vector<EndPort>& end_ports() const { return end_ports_; }
  /// Those of routers, the same way.
  const std::vector<std::uint32_t>& routers() const { return routers_; }
  /// LIDs of all end ports.
  std::size_t lid_count() const { return lid_count_; }
  /// 0 when no port has a LID.
  ib::Lid highest_lid() const {
    return ib::Lid{static_cast<std::uint16_t>(by_lid_.empty() ? 0 : by_lid_.size() - 1)};
  }
  /// Of several that have the LID the one that the routes lead to; nullptr when there is none.
  const EndPort* find(ib::Lid lid) const;
  const EndPort* find(ib::Guid guid) const;
  /// A virtual port that is up: as the port that it is behind, but for its GUID. None of
  /// end_ports().
  const EndPort* find_virtual(ib::Guid guid) const;
  /// By GUID.
  const std::vector<EndPort>& virtual_ports() const { return virtual_ports_; }
  /// The SM's own end port; nullptr when the snapshot lacks it.
  const EndPort* sm_port() const { return find(snapshot_->sm_port_guid); }

  /// The way from one to a LID of the other; nullopt when a packet would not arrive.
  /// Precondition: both are of end_ports() or virtual_ports().
  std::optional<PathQuality> between(const EndPort& from, const EndPort& to, ib::Lid dlid) const;

  /// Whether there is one.
  bool arrives(const EndPort& from, const EndPort& to, ib::Lid dlid) const {
    return from.port == to.port || trunk(from, to, dlid).has_value();
  }

  /// The nodes that a packet passes, the two ends included, in order; empty when it does not
  /// arrive.
  struct Step {
    ib::fabric::NodeIndex node{};
    std::uint8_t entry{}, exit{};  // 0: it begins or ends here
  };
  std::vector<Step> trace(const EndPort& from, const EndPort& to, ib::Lid dlid) const;

  /// The SL that the routes have for packets from one to the other.
  ib::Sl sl(const EndPort& from, const EndPort& to) const {
    if (sls_ == nullptr) return {};
    if (sls_->uniform()) return sls_->at(0, 0);
    if (from.leaf == ib::fabric::kNoSwitch || to.leaf == ib::fabric::kNoSwitch) return {};
    return sls_->at(from.leaf, to.leaf);
  }
  /// The SLs that packets may use all over the subnet, one bit each, where the routes are the same
  /// for several; 0 where each pair has its own.
  std::uint16_t free_sls() const { return free_sls_; }
  /// The SLs of levels of service on routes that use several VLs; nullptr: free_sls() counts.
  const ib::tables::LevelSls* levels() const { return levels_; }

  /// Whether a port on the way drops packets of this SL, by the operator's mapping or by one that
  /// the host keeps.
  bool drops(const EndPort& from, const EndPort& to, ib::Sl sl) const;

  /// What the table of pairs is made from. Precondition: the snapshot has routes.
  PathTable::Inputs inputs() const;

  /// MTU and rate of a port's own link; of a switch's port 0 what port 0 claims.
  PathQuality own(const EndPort& port) const;

  /// What the cable at a port allows, by both of its ends.
  PathQuality cable(ib::fabric::PortRef at) const;

 private:
  std::optional<Trunk> trunk(const EndPort& from, const EndPort& to, ib::Lid dlid) const;
  Allowed link_of(ib::fabric::PortRef port) const;
  Allowed cable_of(ib::fabric::PortRef port) const;
  /// Whether the routes have the LID for this port's.
  bool is_routed_to(ib::fabric::PortRef port, ib::Lid lid) const;
  void find_end_ports();
  void find_virtual_ports();

  SnapshotPtr snapshot_;
  std::vector<EndPort> end_ports_;
  std::vector<EndPort> virtual_ports_;
  std::vector<std::uint32_t> routers_;  // indexes into end_ports_
  std::size_t lid_count_{0};
  std::vector<Allowed> links_;         // by port_index(): what each end of a link allows
  std::vector<std::uint32_t> by_lid_;  // index into end_ports_ + 1
  /// Whether packets to `dlid` are for this port, one of end_ports() or virtual_ports().
  bool is_for(const EndPort& port, ib::Lid dlid) const {
    if (!port.has_rivals) return port.owns(dlid);
    const EndPort* owner = find(dlid);
    return owner != nullptr && owner->port == port.port;
  }

  static std::uint64_t hash_of(ib::Guid guid) { return guid.value * 0x9E3779B97F4A7C15ULL; }
  /// Where in by_guid_ a GUID is looked for first, and what tells most others that are met there
  /// from it without a look at their ports.
  std::size_t place_of(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash >> guid_shift_);
  }
  static std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash >> 16); }
  struct GuidPlace {
    std::uint32_t port : 24;  // index into end_ports_ + 1
    std::uint32_t tag : 8;
  };
  /// Where it is in by_guid_, or would be.
  std::size_t find_place(ib::Guid guid) const;

  std::vector<GuidPlace> by_guid_;  // open addressing, half empty
  unsigned guid_shift_{63};
  const ib::tables::PathSls* sls_{nullptr};  // null before the first routing
  std::uint16_t free_sls_{0xFFFF};
  const ib::tables::LevelSls* levels_{nullptr};
  std::shared_ptr<PathTable> table_;  // null before the first routing
};

}  // namespace sm::sa
