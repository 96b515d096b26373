// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How much one port may register. Trusted requesters are bound by it too: with the default key
// anybody can be one.
#pragma once

#include <cstddef>

namespace sm::sa {

struct Quotas {
  std::size_t groups{1024};       // multicast groups that one port is a member of
  std::size_t services{32};       // service records, by the port that registered them
  std::size_t subscriptions{32};  // to notices, by subscribing port
};

}  // namespace sm::sa
