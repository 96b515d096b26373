// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs: the entries of ports' GUIDInfo beside the hardware's own (IBA 14.2.5.5, 15.2.5.18),
// as they are now. Who may have which is alias_rules.h's to say; nothing is changed but by batches
// that are handed to apply(), and the devices are programmed after that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "sm/store/store.h"

namespace sm::sa {

class Aliases {
 public:
  using Key = store::AliasPlace;
  using Map = std::map<Key, ib::Guid>;

  void apply(const store::Batch& batch);
  void add_to(store::Contents& contents) const;

  /// The keys of them that batches change.
  class BatchKeys {
   public:
    void add(const store::Batch& batch);
    /// What makes any aliases that differ from `present` in the keys only equal to it.
    void bring(const Aliases& present, store::Batch& batch) const;

   private:
    std::set<Key> aliases_;
  };

  const Map& all() const { return by_place_; }
  /// GUID of the port that has `alias`; zero when none does.
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

}  // namespace sm::sa
