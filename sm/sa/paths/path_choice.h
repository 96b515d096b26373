// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What may be promised about the path between two LIDs, and whether that is what a request wants:
// the one place where links, routes and the operator's policy meet. PathRecord and MultiPathRecord
// requests are both put to it.
#pragma once

#include <optional>

#include "sm/sa/records/record_source.h"

namespace sm::sa {

namespace path_preference {
inline constexpr std::uint8_t kFirst = 0, kOther = 2;  // less is better
}

/// HopLimit of paths that leave the subnet.
inline constexpr std::uint8_t kHopLimitGlobal = 0xFF;

/// Writes the path as a record, with zeros behind it: ib::wire::record_bytes<PathRecord>() bytes.
void put_path(const ib::wire::PathRecord& path, std::byte* record);

/// 0, or the status that refuses a request whose values cannot be meant.
std::uint16_t check_path_request(const ib::wire::PathRecord& wanted, std::uint64_t mask);

/// Code of the most that paths from or to a Tavor are given by Policy::limits_tavor_mtu (1024).
inline constexpr std::uint8_t kTavorMtuMax = 3;
/// Whether `port` is of a Tavor, Mellanox's first HCA (MT23108), of any vendor.
bool is_tavor(const Paths& paths, const EndPort& port);

class PathChoice {
 public:
  /// What `world` names must be kept while this is used.
  PathChoice(const World& world, const Requester& requester, const ib::wire::PathRecord& wanted,
             std::uint64_t mask);

  const Paths& paths() const { return *paths_; }
  const ib::wire::PathRecord& wanted() const { return wanted_; }
  std::uint64_t mask() const { return mask_; }
  /// What is asked for leaves the subnet: the destinations are ports of routers.
  void leave_subnet() { leaves_subnet_ = true; }

  /// Whether the requester may know of paths between these two.
  bool shows(const EndPort& from, const EndPort& to) const;
  /// The path, complete but for the GIDs and the preference; nullopt: none that fits.
  /// Precondition: shows(from, to).
  std::optional<ib::wire::PathRecord> path(const EndPort& from, ib::Lid slid, const EndPort& to,
                                           ib::Lid dlid) const;

 private:
  bool has(unsigned n) const { return has_bit(mask_, n); }
  bool both(unsigned selector, unsigned value) const { return has_both(mask_, selector, value); }
  bool wants_more_than_tavor() const;
  bool fit_mtu(std::uint8_t& mtu) const;
  bool fit_rate(std::uint8_t& rate) const;
  bool fit_life(std::uint8_t& life) const;
  std::optional<ib::Sl> level_sl(const policy::QosGrant* level, const Partition& partition) const;
  std::optional<ib::Sl> choose_sl(const EndPort& from, const EndPort& to,
                                  const policy::QosGrant* level, const Partition& partition) const;

  const Paths* paths_;
  const Policy* policy_;
  const EndPort* requester_;
  ib::wire::PathRecord wanted_;
  std::uint64_t mask_;
  policy::QosRequest traffic_;
  bool leaves_subnet_{false};
};

}  // namespace sm::sa
