// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Peers: hosts by their Internet addresses, as console_allow lists them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

struct sockaddr_storage;

namespace sm::config {

class Peers {
 public:
  /// Addresses and prefixes ("10.1.0.0/16", "fd00::/8", "192.0.2.7"), with commas or blanks between
  /// them. An error of kind Usage says what was expected.
  static ib::Result<Peers> read(std::string_view text);

  /// IPv4 addresses count as the same when they come by an IPv6 socket (RFC 4291 2.5.5.2).
  bool contain(const sockaddr_storage& address) const;
  bool empty() const { return prefixes_.empty(); }

 private:
  struct Prefix {
    std::array<std::byte, 16> address{};  // IPv6; IPv4 as ::ffff:a.b.c.d
    unsigned length{};                    // bits of these that count
  };
  std::vector<Prefix> prefixes_;
};

}  // namespace sm::config
