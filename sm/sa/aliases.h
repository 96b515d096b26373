// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs: the entries of ports' GUIDInfo beside the hardware's own (IBA 14.2.5.5, 15.2.5.18):
// who may have which, and those that subnet administration makes up. Nothing is changed until the
// change was made durable and handed to apply(); the devices are programmed after that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "sm/device/holdings.h"
#include "sm/sa/change.h"

namespace sm::sa {

struct World;

namespace guid_info_bit {
inline constexpr unsigned kLid = 0, kBlock = 1, kGuid0 = 4;
}

class Aliases {
 public:
  using Key = store::AliasPlace;
  using Map = std::map<Key, ib::Guid>;

  /// Set(GUIDInfoRecord): entries with a GUID get it, unless somebody else has it; entries with 0
  /// keep theirs, or are given one.
  Outcome set(const World& world, const WriteRequest& request) const;
  Outcome remove(const World& world, const WriteRequest& request) const;

  void apply(const store::Batch& batch);
  const Map& all() const { return by_place_; }
  /// GUID of the port that bears `alias`; zero when none does.
  ib::Guid port_of(ib::Guid alias) const;
  /// Those of one port.
  std::ranges::subrange<Map::const_iterator> of(ib::Guid port) const {
    return {by_place_.lower_bound({port, 0}), by_place_.upper_bound({port, 0xFFFF})};
  }
  /// Zero when there is none.
  ib::Guid at(const Key& place) const;
  /// Places whose alias was taken back, and whose port may hold it still.
  const std::set<Key>& given_back() const { return given_back_; }

 private:
  Map by_place_;
  std::set<Key> given_back_;
  std::unordered_map<ib::Guid, ib::Guid> port_by_alias_;
};

/// Aliases that are GUIDs of ports which are in the subnet now: they were away when somebody took
/// the GUID. The hardware's it is; who joined groups by it did so as another, and leaves them.
std::vector<store::AliasGuid> taken_from_ports(const World& world);
Change give_to_ports(const World& world, const std::vector<store::AliasGuid>& aliases);

/// Places that were given back and that ports are known to hold nothing at: nobody needs to
/// remember them. Precondition: the ports were programmed by the aliases as they are.
std::vector<Aliases::Key> emptied(const World& world);

/// The GUID that a place is given when its owner leaves the choice to us, the n-th try: 00:14:05
/// (the OpenFabrics OUI), `byte`, 00, and 24 bits that follow from the place. A place that gives
/// its GUID back is thus given the same again, by any release and after any loss of memory.
ib::Guid assigned_guid(const Aliases::Key& place, std::uint8_t byte, std::uint32_t n);

}  // namespace sm::sa
