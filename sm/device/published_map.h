// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PublishedMap: values by node GUID, which copies share. What a copy has stays as it is: a value is
// copied before the first change after publish(), and so is the map that leads to it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "libdiag/base/ids.h"

namespace sm::device {

template <class T>
class PublishedMap {
 public:
  /// nullptr: there is none.
  const T* find(ib::Guid node) const {
    const auto at = map_->find(node);
    return at == map_->end() ? nullptr : at->second.value.get();
  }

  /// The value to change, which `make()` makes where there is none. Until the next publish().
  template <class Make>
  T& own(ib::Guid node, Make make) {
    Entry& entry = own_map()[node];
    if (!entry.value)
      entry.value = std::make_shared<T>(make());
    else if (entry.ours_since < published_)
      entry.value = std::make_shared<T>(*entry.value);
    entry.ours_since = published_;
    return *entry.value;
  }

  /// Removes nodes of which `gone(guid)` says so; how many.
  template <class Gone>
  std::size_t erase_if(Gone gone) {
    return std::erase_if(own_map(), [&](const auto& entry) { return gone(entry.first); });
  }
  bool erase(ib::Guid node) { return find(node) != nullptr && own_map().erase(node) > 0; }
  void clear() { own_map().clear(); }

  template <class Run>
  void for_each(Run run) const {
    for (const auto& [node, entry] : *map_) run(node, *entry.value);
  }

  /// Before it is copied.
  void publish() { ++published_; }

 private:
  struct Entry {
    std::shared_ptr<T> value;
    std::uint64_t ours_since;  // published_ when only this one had it
  };
  using Map = std::unordered_map<ib::Guid, Entry>;

  Map& own_map() {
    if (map_ours_since_ < published_) {
      map_ = std::make_shared<Map>(*map_);
      map_ours_since_ = published_;
    }
    return *map_;
  }

  std::shared_ptr<Map> map_{std::make_shared<Map>()};
  std::uint64_t map_ours_since_{0}, published_{0};
};

}  // namespace sm::device
