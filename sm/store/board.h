// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Board: what subnet managers that share a store tell each other of themselves. Everybody may read
// and write it, master or not; nothing on it is kept for the subnet.
#pragma once

#include <string>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::store {

struct Posting {
  std::string who;  // a word
  std::string text;
  friend bool operator==(const Posting&, const Posting&) = default;
};

/// Not thread-safe.
class Board {
 public:
  virtual ~Board() = default;
  /// Replaces our posting by `text`; what the others have posted, in the order of their names.
  virtual ib::Result<std::vector<Posting>> exchange(const std::string& text) = 0;
  /// Ours is taken down.
  virtual ib::Result<void> withdraw() = 0;
};

}  // namespace sm::store
