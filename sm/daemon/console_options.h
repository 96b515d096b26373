// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the operator wants of the console.
#pragma once

#include <cstdint>

#include "sm/config/peers.h"

namespace sm::daemon {

struct ConsoleOptions {
  enum class Place { None, Terminal, Loopback, AllAddresses };
  Place place{Place::None};
  std::uint16_t port{10000};
  config::Peers allowed;  // of AllAddresses
};

}  // namespace sm::daemon
