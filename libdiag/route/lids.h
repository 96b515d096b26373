// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which LIDs each end port gets. Pure: the same ports, the same memory, the same answer, whatever
// the order they were discovered in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace ib::route {

/// What a store remembers of a port.
struct StoredLid {
  Lid lid{};
  std::uint8_t lmc{};
};
using StoredLids = std::unordered_map<Guid, StoredLid>;

/// An end port that wants LIDs.
struct LidRequest {
  fabric::PortRef port;
  Guid guid{};
  Lid held{};                   // as the port reports it
  bool armed_or_active{false};  // ARMED or ACTIVE: `held` may be in use
  std::uint8_t lmc{};           // wanted; 0 on a base switch port 0
};

struct LidAssignment {
  fabric::PortRef port;
  Guid guid{};
  Lid lid{};  // kNoLid: none was left
  std::uint8_t lmc{};
  friend bool operator==(const LidAssignment&, const LidAssignment&) = default;
};

/// Two requests that hold a LID in common; indexes of the requests.
struct LidConflict {
  Lid lid{};  // held by `other`, which gets a different one
  std::size_t keeper{}, other{};
  friend bool operator==(const LidConflict&, const LidConflict&) = default;
};

/// A port in use that holds the LID which another one has in the store and keeps, and gets its own
/// of the store.
struct AstrayLid {
  fabric::PortRef port;
  Guid guid{}, owner{};
  friend bool operator==(const AstrayLid&, const AstrayLid&) = default;
};

struct LidPlan {
  std::vector<LidAssignment> assigned;  // in the order of the requests
  std::vector<LidConflict> conflicts;
  std::vector<AstrayLid> astray;
  std::vector<std::string> notes;  // where ports and the store differ, one line each
  std::size_t unassigned{0};
};

/// Whose word counts for a port in use that holds another LID than the store has for it.
enum class LidMemory {
  Store,    // the store's, unless most ports say otherwise
  Devices,  // the port's: another subnet manager was master until now
  None,     // neither's (ibsm -r)
};

/// Gives each request 2^lmc LIDs, aligned, within 1..lid_max. First the LID it holds, if that is
/// aligned, in range, the port standing and the store agrees; then, with LidMemory::Store, the
/// store's to a standing port that holds another one, unless a port that the store does not know
/// holds it, or most of the ports that the store knows hold others (another subnet manager
/// renumbered them, or the store is an old one); then other LIDs that standing ports hold (of two
/// claimants the smaller GUID); then the store's; then a free one. Last among these come LIDs that
/// the store keeps for absent ports, and those that standing ports of `left_alone` hold: end ports
/// that are told no LID now and keep their own. The first request gets the first free LID.
LidPlan assign_lids(std::span<const LidRequest> requests, const StoredLids& stored, Lid lid_max,
                    LidMemory memory, std::span<const LidRequest> left_alone = {});

}  // namespace ib::route
