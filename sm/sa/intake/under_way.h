// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that are being served, by what makes them the same as others. One comes and one goes
// with every answer, so they stand side by side in one table and nothing is allocated for any.
#pragma once

#include <cstdint>
#include <vector>

#include "sm/sa/intake/answer_log.h"

namespace sm::sa {

class UnderWay {
 public:
  struct Request {
    RequestKey key;
    std::uint64_t first{0}, whole{0};  // fingerprints of the first MAD and of all of the message
    std::uint64_t subject{0};          // of a write: what it is about
  };

  /// nullptr: there is none. Valid until the next change.
  const Request* find(const RequestKey& key) const;
  /// In place of one with the same key: true if there is one.
  bool put(const Request& request);
  /// Takes out what find() has found.
  void erase(const Request* found);
  void erase(const RequestKey& key) { erase(find(key)); }
  bool empty() const { return used_ == 0; }
  /// Frees places that a storm needed and nothing needs now.
  void tidy();
  std::size_t bytes() const { return places_.size() * sizeof(Place); }

 private:
  struct Place : Request {
    bool used{false};
  };
  std::size_t mask() const { return places_.size() - 1; }
  /// Where it is looked for first. Tags of counted TIDs lie side by side, in rows that would have
  /// to be walked through, so they are scattered.
  std::size_t home_of(const RequestKey& key) const {
    return static_cast<std::uint32_t>(key.tag * 0x9E3779B1U) >> shift_;
  }
  /// Where it stands or could stand. There is a place that is not used.
  std::size_t place_of(const RequestKey& key) const;
  /// A power of two, more than are used.
  void resize(std::size_t places);

  std::vector<Place> places_;
  unsigned shift_{32};  // 32 less the bits of a place's number
  std::size_t used_{0};
};

}  // namespace sm::sa
