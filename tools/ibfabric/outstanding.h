// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which requests of a port are on their way, as far as the library of one process knows: by it
// umad_send() tells the TIDs the kernel might refuse, for which the server's verdict is worth
// waiting for. It may suspect too much, where requests share a place, and forgets nothing that one
// process sends and receives. No locks, no C++ library; all zeros is empty.
#pragma once

#include <stdint.h>
#include <sys/single_threaded.h>

namespace ibfabric {

class Outstanding {
 public:
  /// Whether a request of this class and TID (low half) may be on its way.
  bool may_have(uint8_t mgmt_class, uint32_t tid) const {
    const uint64_t place = __atomic_load_n(&places_[index_of(mgmt_class, tid)], __ATOMIC_RELAXED);
    return place >= kTwo || place == (kOne | name_of(mgmt_class, tid));
  }
  void add(uint8_t mgmt_class, uint32_t tid) {
    const uint32_t name = name_of(mgmt_class, tid);
    change(index_of(mgmt_class, tid), [name](uint64_t place) { return (place + kOne) ^ name; });
  }
  /// Nothing happens if it is not there for certain: segments of one answer end it once.
  void remove(uint8_t mgmt_class, uint32_t tid) {
    const uint32_t name = name_of(mgmt_class, tid);
    change(index_of(mgmt_class, tid), [name](uint64_t place) {
      return place >= kTwo || place == (kOne | name) ? (place - kOne) ^ name : place;
    });
  }

 private:
  static constexpr uint32_t kPlaces = 65536;
  static constexpr uint64_t kOne = uint64_t{1} << 32, kTwo = 2 * kOne;

  static uint32_t index_of(uint8_t mgmt_class, uint32_t tid) {
    return (tid + mgmt_class * 1021U) % kPlaces;
  }
  static uint32_t name_of(uint8_t mgmt_class, uint32_t tid) {
    return tid ^ uint32_t { mgmt_class } * 0x9E3779B1U;
  }
  template <class Function>
  void change(uint32_t index, Function function) {
    uint64_t* place = &places_[index];
    uint64_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (__libc_single_threaded != 0) {  // it takes two to disturb each other
      __atomic_store_n(place, function(before), __ATOMIC_RELAXED);
      return;
    }
    while (!__atomic_compare_exchange_n(place, &before, function(before), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
  }

  // How many are in a place << 32 | the names of all of them, XORed: of one the name is known,
  // however many have come and gone.
  uint64_t places_[kPlaces];
};

}  // namespace ibfabric
