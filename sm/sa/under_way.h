// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that are being served, by what makes them the same as others. One comes and one goes
// with every answer, so they stand side by side in one table and nothing is allocated for any.
#pragma once

#include <cstdint>
#include <vector>

#include "sm/sa/answer_log.h"

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
  /// In place of one with the same key.
  void put(const Request& request);
  void erase(const RequestKey& key);

 private:
  struct Place {
    Request request;
    bool used{false};
  };
  std::size_t mask() const { return places_.size() - 1; }
  /// Where it stands or could stand. There is a place that is not used.
  std::size_t place_of(const RequestKey& key) const;

  std::vector<Place> places_;
  std::size_t used_{0};
};

}  // namespace sm::sa
