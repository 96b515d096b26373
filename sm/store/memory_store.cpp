// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <compare>
#include <iterator>
#include <tuple>
#include <utility>

#include "sm/store/kinds.h"
#include "sm/store/store.h"

namespace sm::store {
namespace {

/// Where what has this key is in the ascending list, or would be.
template <class Kind, class List>
auto place_of(List& list, const typename Kind::Key& key) {
  return std::lower_bound(list.begin(), list.end(), key, [](const auto& value, const auto& wanted) {
    return Kind::before(Kind::key(value), wanted);
  });
}

/// Adds the value, in place of what has its key.
template <class Kind, class List>
void put(List& list, const typename Kind::Value& value) {
  const auto at = place_of<Kind>(list, Kind::key(value));
  if (at != list.end() && !Kind::before(Kind::key(value), Kind::key(*at))) {
    *at = value;
  } else {
    list.insert(at, value);
  }
}

/// Removes what has the key, if it is there.
template <class Kind, class List>
void remove(List& list, const typename Kind::Key& key) {
  const auto at = place_of<Kind>(list, key);
  if (at != list.end() && !Kind::before(key, Kind::key(*at))) list.erase(at);
}

/// What put() and remove() of each would do, in one pass over the list. The keys ascend.
template <class Kind>
void merge(std::vector<typename Kind::Value>& list,
           const std::vector<typename Kind::Value>& changed) {
  std::vector<typename Kind::Value> merged;
  merged.reserve(list.size() + changed.size());
  auto old = list.begin();
  for (const auto& value : changed) {
    while (old != list.end() && Kind::before(Kind::key(*old), Kind::key(value)))
      merged.push_back(std::move(*old++));
    const bool replaces = old != list.end() && !Kind::before(Kind::key(value), Kind::key(*old));
    if (!Kind::removes(value) && !Kind::has_row(value)) continue;
    if (replaces) ++old;
    if (!Kind::removes(value)) merged.push_back(value);
  }
  std::move(old, list.end(), std::back_inserter(merged));
  list = std::move(merged);
}

template <class Kind>
bool ascends(const std::vector<typename Kind::Value>& values) {
  return std::adjacent_find(values.begin(), values.end(), [](const auto& a, const auto& b) {
           return !Kind::before(Kind::key(a), Kind::key(b));
         }) == values.end();
}

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(Contents contents) : contents_(std::move(contents)) {}
  ib::Result<Contents> load() override { return contents_; }
  ib::Result<void> commit(const Batch& batch) override {
    apply(batch, contents_);
    return {};
  }

 private:
  Contents contents_;
};

}  // namespace

std::strong_ordering compare_keys(const Subscription& a, const Subscription& b) {
  const auto key = [](const Subscription& s) {
    const auto& i = s.inform_info;
    // A subscription by GID does not look at the LID range.
    const bool by_gid = !i.gid.is_zero();
    return std::tuple(s.to.lid, s.to.path_bits, s.to.qpn, s.to.q_key, s.to.p_key_index, s.to.sl,
                      i.gid, by_gid ? ib::Lid{} : i.lid_range_begin,
                      by_gid ? ib::Lid{} : i.lid_range_end, i.is_generic, i.type, i.trap_number,
                      i.resp_time_value, i.producer_type);
  };
  return key(a) <=> key(b);
}

void apply(const Batch& batch, Contents& contents) {
  if (batch.forget_lids) contents.lids.clear();
  for_each_kind([&](auto kind) {
    using Kind = decltype(kind);
    auto& list = contents.*Kind::kept;
    if constexpr (kHasRemovals<Kind>)
      for (const auto& key : batch.*Kind::removed) {
        remove<Kind>(list, key);
        if constexpr (std::is_same_v<Kind, GroupKind>)
          std::erase_if(contents.members, [&](const McMember& m) { return m.mgid == key; });
      }
    const auto& changed = batch.*Kind::changed;
    constexpr std::size_t kMany = 64;  // so that a place each would cost more
    if (changed.size() > kMany && ascends<Kind>(changed)) return merge<Kind>(list, changed);
    for (const auto& value : changed) {
      if (Kind::removes(value))
        remove<Kind>(list, Kind::key(value));
      else if (Kind::has_row(value))
        put<Kind>(list, value);
    }
  });
  contents.vls = batch.vls.value_or(contents.vls);
  if (batch.routes) contents.routes = *batch.routes;
}

Batch batch_of(Contents contents) {
  Batch batch;
  for_each_kind([&](auto kind) {
    using Kind = decltype(kind);
    batch.*Kind::changed = std::move(contents.*Kind::kept);
  });
  if (contents.vls != DeviceVls::Untouched) batch.vls = contents.vls;
  if (!contents.routes.empty()) batch.routes = std::move(contents.routes);
  return batch;
}

bool Batch::empty() const {
  bool empty = !forget_lids && !vls && !routes;
  for_each_kind([&](auto kind) {
    using Kind = decltype(kind);
    empty = empty && (this->*Kind::changed).empty();
    if constexpr (kHasRemovals<Kind>) empty = empty && (this->*Kind::removed).empty();
  });
  return empty;
}

std::unique_ptr<Store> make_memory_store(Contents contents) {
  return std::make_unique<MemoryStore>(std::move(contents));
}

}  // namespace sm::store
