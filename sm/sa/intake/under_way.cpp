// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/under_way.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sm::sa {
namespace {
constexpr std::size_t kPlacesLeast = 16;
}

std::size_t UnderWay::place_of(const RequestKey& key) const {
  std::size_t i = home_of(key);
  while (places_[i].used && (places_[i].key.tag != key.tag || places_[i].key != key))
    i = (i + 1) & mask();
  return i;
}

const UnderWay::Request* UnderWay::find(const RequestKey& key) const {
  if (used_ == 0) return nullptr;
  const Place& place = places_[place_of(key)];
  return place.used ? &place : nullptr;
}

void UnderWay::resize(std::size_t places) {
  const auto before = std::exchange(places_, std::vector<Place>(places));
  shift_ = 32U - static_cast<unsigned>(std::countr_zero(places_.size()));
  for (const Place& p : before)
    if (p.used) places_[place_of(p.key)] = p;
}

void UnderWay::tidy() {
  const std::size_t enough = std::max(kPlacesLeast, std::bit_ceil(4 * used_));
  if (enough < places_.size()) resize(enough);
}

bool UnderWay::put(const Request& request) {
  if (2 * (used_ + 1) > places_.size()) resize(places_.empty() ? kPlacesLeast : 2 * places_.size());
  Place& place = places_[place_of(request.key)];
  const bool replaces = place.used;
  if (!replaces) ++used_;
  place = {request, true};
  return replaces;
}

void UnderWay::erase(const Request* found) {
  if (found == nullptr) return;
  auto hole = static_cast<std::size_t>(static_cast<const Place*>(found) - places_.data());
  --used_;
  // What was put behind for want of room moves up, so that no search ends too early.
  for (std::size_t i = (hole + 1) & mask(); places_[i].used; i = (i + 1) & mask()) {
    const std::size_t home = home_of(places_[i].key);
    if (((i - home) & mask()) < ((i - hole) & mask())) continue;
    places_[hole] = places_[i];
    hole = i;
  }
  places_[hole].used = false;
}

}  // namespace sm::sa
