// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether what is stored is of the fabric that was found, by the GUIDs of ports: devices are
// replaced and added, and few of them at a time. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sm/store/store.h"

namespace sm::store {

struct Kinship {
  /// Of fewer ports nothing is concluded.
  static constexpr std::size_t kLeast = 4;
  /// One in so many of the smaller number is enough to be of one fabric.
  static constexpr std::size_t kOneIn = 20;

  std::size_t stored{};  // ports of which a LID is stored
  std::size_t here{};    // ports of the fabric, without those of our own node, which moves with us
  std::size_t known{};   // that are both

  bool is_judged() const { return stored >= kLeast && here >= kLeast; }
  bool is_foreign() const;
  /// "LIDs of 648 ports are stored, and 2 of them are among the 432 others on this fabric"
  std::string words() const;
};

/// `lids` by port GUID, as Contents has them.
Kinship kinship(const std::vector<LidClaim>& lids, const std::vector<ib::Guid>& ports);

}  // namespace sm::store
