// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How much one port may register. Trusted requesters are bound by it too: with the default key
// anybody can be one.
#pragma once

#include <cstddef>

namespace sm::sa {

struct Quotas {
  std::size_t groups{1024};       // memberships of one port, and of others that it joined by proxy
  std::size_t services{32};       // service records, by the port that registered them
  std::size_t subscriptions{32};  // to notices, by subscribing port
};

}  // namespace sm::sa
