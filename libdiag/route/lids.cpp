// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/lids.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace ib::route {
namespace {

/// Who owns each LID while the plan is made.
class LidMap {
 public:
  explicit LidMap(Lid max) : owner_(max.value + std::size_t{1}), reserved_(owner_.size()) {}

  bool fits(Lid lid, std::uint8_t lmc) const {
    const std::size_t width = std::size_t{1} << lmc;
    return lid.value != 0 && lid.value % width == 0 && lid.value + width <= owner_.size();
  }
  /// The request that owns a LID of the range, or nothing.
  std::size_t holder(Lid lid, std::uint8_t lmc) const {
    for (std::size_t i = 0; i < (std::size_t{1} << lmc); ++i)
      if (owner_[lid.value + i] != 0) return owner_[lid.value + i];
    return 0;
  }
  void take(Lid lid, std::uint8_t lmc, std::size_t request) {
    for (std::size_t i = 0; i < (std::size_t{1} << lmc); ++i) owner_[lid.value + i] = request;
  }
  void reserve(Lid lid, std::uint8_t lmc) {
    for (std::size_t i = 0; i < (std::size_t{1} << lmc); ++i)
      if (lid.value + i < reserved_.size()) reserved_[lid.value + i] = true;
  }
  /// The lowest free range; `spare_reserved` passes over what is reserved.
  Lid find_free(std::uint8_t lmc, bool spare_reserved) {
    const std::size_t width = std::size_t{1} << lmc;
    // A range found taken once stays taken, so each search starts where the last of its kind ended.
    std::size_t& lid = next_[spare_reserved ? 1 : 0][lmc];
    for (lid = std::max(lid, width); lid + width <= owner_.size(); lid += width) {
      bool good = true;
      for (std::size_t i = 0; i < width && good; ++i)
        good = owner_[lid + i] == 0 && !(spare_reserved && reserved_[lid + i]);
      if (good) return Lid{static_cast<std::uint16_t>(lid)};
    }
    return kNoLid;
  }

 private:
  std::vector<std::size_t> owner_;  // request index + 1
  std::vector<bool> reserved_;
  std::size_t next_[2][8]{};
};

/// What ports in use hold, beside what the store says of them.
class Memories {
 public:
  Memories(std::span<const LidRequest> requests, const StoredLids& stored, const LidMap& map) {
    for (const LidRequest& r : requests) {
      if (!r.armed_or_active || !map.fits(r.held, r.lmc)) continue;
      const auto claim = stored.find(r.guid);
      if (claim == stored.end()) {
        for (unsigned i = 0; i < (1U << r.lmc); ++i) strangers_.insert(r.held.value + i);
      } else {
        ++(claim->second.lid == r.held ? agree_ : differ_);
      }
    }
  }
  /// Most ports hold other LIDs than the store says: another subnet manager gave them, or the store
  /// is an old one. One Set by somebody changes one port.
  bool another_history() const { return differ_ > agree_; }
  std::size_t differing() const { return differ_; }
  std::size_t compared() const { return agree_ + differ_; }
  /// A port that the store does not know holds one of them.
  bool held_by_a_stranger(Lid lid, std::uint8_t lmc) const {
    const auto at = strangers_.lower_bound(lid.value);
    return at != strangers_.end() && *at < lid.value + (1U << lmc);
  }

 private:
  std::size_t agree_{0}, differ_{0};
  std::set<unsigned> strangers_;
};

class LidAssigner {
 public:
  LidAssigner(std::span<const LidRequest> requests, const StoredLids& stored, Lid lid_max)
      : requests_(requests), stored_(stored), map_(lid_max), by_guid_(requests.size()) {
    plan_.assigned.reserve(requests.size());
    for (const LidRequest& r : requests) plan_.assigned.push_back({r.port, r.guid, kNoLid, r.lmc});
    std::iota(by_guid_.begin(), by_guid_.end(), std::size_t{0});
    std::ranges::sort(by_guid_, [&](std::size_t a, std::size_t b) {
      return requests[a].guid < requests[b].guid;
    });
  }

  LidPlan run(LidMemory memory, std::span<const LidRequest> left_alone) {
    if (memory != LidMemory::None) give_remembered(memory);
    for (const LidRequest& r : left_alone)
      if (r.armed_or_active && r.held.is_unicast()) map_.reserve(r.held, r.lmc & 7U);
    if (!requests_.empty()) give_free(0);
    for (const std::size_t i : by_guid_)
      if (i != 0) give_free(i);
    note_astray();
    return std::move(plan_);
  }

 private:
  void give_remembered(LidMemory memory) {
    const Memories memories(requests_, stored_, map_);
    give_held(true);
    if (memory == LidMemory::Devices) {
      // What differs is the work of the master of before.
    } else if (memories.another_history()) {
      plan_.notes.push_back(
          fmt::format("{} of {} ports in use hold other LIDs than the store has for them: another "
                      "subnet manager assigned them, or the store is an old one; they keep them",
                      memories.differing(), memories.compared()));
    } else {
      reassign(memories);
    }
    give_held(false);
    give_stored();
    for (const auto& [guid, entry] : stored_) map_.reserve(entry.lid, entry.lmc & 7U);
  }

  /// To ports in use the LIDs that they hold, where the store agrees or where it does not.
  void give_held(bool agreed) {
    for (const std::size_t i : by_guid_) {
      const LidRequest& r = requests_[i];
      if (has_lid(i) || !r.armed_or_active || !map_.fits(r.held, r.lmc)) continue;
      if ((stored_lid(r.guid) == r.held) != agreed) continue;
      if (const std::size_t other = map_.holder(r.held, r.lmc); other != 0) {
        plan_.conflicts.push_back({r.held, other - 1, i});
        continue;
      }
      give(i, r.held);
    }
  }

  /// To ports in use that hold another LID the one that the store has for them.
  void reassign(const Memories& memories) {
    for (const std::size_t i : by_guid_) {
      const LidRequest& r = requests_[i];
      const Lid lid = stored_lid(r.guid);
      if (lid == r.held || !r.armed_or_active || !map_.fits(r.held, r.lmc) ||
          !map_.fits(lid, r.lmc))
        continue;
      if (map_.holder(lid, r.lmc) != 0 || memories.held_by_a_stranger(lid, r.lmc)) continue;
      plan_.notes.push_back(
          fmt::format("{} holds LID {}, not assigned by this subnet manager; reassigning LID {}",
                      to_string(r.guid), r.held.value, lid.value));
      give(i, lid);
    }
  }

  void give_stored() {
    for (const std::size_t i : by_guid_) {
      if (has_lid(i)) continue;
      const std::uint8_t lmc = requests_[i].lmc;
      const Lid lid = stored_lid(requests_[i].guid);
      if (map_.fits(lid, lmc) && map_.holder(lid, lmc) == 0) give(i, lid);
    }
  }

  void give_free(std::size_t i) {
    if (has_lid(i)) return;
    Lid lid = map_.find_free(requests_[i].lmc, true);
    if (lid == kNoLid) lid = map_.find_free(requests_[i].lmc, false);
    if (lid != kNoLid) {
      give(i, lid);
    } else {
      ++plan_.unassigned;
    }
  }

  void note_astray() {
    for (const std::size_t i : by_guid_) {
      const LidRequest& r = requests_[i];
      if (!r.armed_or_active || !keeps_stored(i) || !map_.fits(r.held, 0)) continue;
      const std::size_t owner = map_.holder(r.held, 0);
      if (owner == 0 || owner == i + 1) continue;
      const LidAssignment& owns = plan_.assigned[owner - 1];
      if (keeps_stored(owner - 1)) plan_.astray.push_back({r.port, r.guid, owns.guid});
    }
  }

  bool keeps_stored(std::size_t i) const {
    return has_lid(i) && plan_.assigned[i].lid == stored_lid(requests_[i].guid);
  }
  void give(std::size_t i, Lid lid) {
    map_.take(lid, requests_[i].lmc, i + 1);
    plan_.assigned[i].lid = lid;
  }
  bool has_lid(std::size_t i) const { return plan_.assigned[i].lid != kNoLid; }
  Lid stored_lid(Guid guid) const {
    const auto it = stored_.find(guid);
    return it == stored_.end() ? kNoLid : it->second.lid;
  }

  std::span<const LidRequest> requests_;
  const StoredLids& stored_;
  LidPlan plan_;
  LidMap map_;
  std::vector<std::size_t> by_guid_;  // indices of requests_
};

}  // namespace

LidPlan assign_lids(std::span<const LidRequest> requests, const StoredLids& stored, Lid lid_max,
                    LidMemory memory, std::span<const LidRequest> left_alone) {
  return LidAssigner(requests, stored, lid_max).run(memory, left_alone);
}

}  // namespace ib::route
