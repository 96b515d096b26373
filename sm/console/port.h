// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The TCP port of the console.
#pragma once

#include <cstdint>
#include <string>

#include "sm/config/peers.h"
#include "sm/control/descriptor.h"

namespace sm::console {

enum class Reach { Loopback, AllAddresses };

/// A socket that listens, on 127.0.0.1 alone or on all addresses, IPv6 among them where the host
/// has it. Port 0: any.
ib::Result<control::Descriptor> listen_at(Reach reach, std::uint16_t port);
/// The port that it got; 0: it is no such socket.
std::uint16_t port_of(int listening);

/// Who is at the other end: "192.0.2.7". Empty: he has gone.
std::string peer_name(int connection);
bool is_peer_among(int connection, const config::Peers& peers);

}  // namespace sm::console
