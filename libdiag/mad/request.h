// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests and completions: the words in which machines (sweep, path walk, apply, SA client) speak
// with the Transactor.
#pragma once

#include <vector>

#include "libdiag/mad/transport.h"

namespace ib::mad {

/// A directed route from the local port: port numbers to leave by, hop by hop; empty is the local
/// port itself.
struct DirectedRoute {
  std::vector<std::uint8_t> hops;  // at most 63

  DirectedRoute extended(std::uint8_t port) const {
    DirectedRoute r = *this;
    r.hops.push_back(port);
    return r;
  }
  friend auto operator<=>(const DirectedRoute&, const DirectedRoute&) = default;
};
std::string to_string(const DirectedRoute& route);  // "0,1,3" as the stock tools print it

/// Whatever a machine wants to recognise its request by.
using Cookie = std::uint64_t;

/// One request. The Transactor fills TID; the caller everything else.
struct Request {
  Cookie cookie{};
  /// Requests with the same key share a window and a round-trip estimate: the target's node or port
  /// GUID where known, else a hash of its address.
  std::uint64_t target_key{};
  Address address;
  wire::Mad mad;
  std::vector<std::byte> more;  // kernel RMPP only
  /// Answers expected to be as slow as this at least (ClassPortInfo or PortInfo RespTimeValue); 0 =
  /// no hint.
  Duration resp_time_hint{0};
  /// Of a request whose answer is small, though the same attribute has slow ones: the first wait,
  /// which doubles up to the hint. 0 = the hint itself.
  Duration first_wait{0};
};

/// The end of a request: the answer (whatever its status), or why there is none.
struct Completion {
  Cookie cookie{};
  Result<Packet> reply;    // Error::TimedOut names attribute and target
  Duration round_trip{0};  // of the attempt that was answered
  std::uint8_t attempts{0};
};

/// Directed-route SMP request.
Request smp_request(Cookie cookie, std::uint64_t target_key, const DirectedRoute& route,
                    wire::Method method, std::uint16_t attribute, std::uint32_t modifier,
                    std::uint64_t m_key = 0);
/// LID-routed SMP request.
Request smp_request(Cookie cookie, std::uint64_t target_key, Lid lid, wire::Method method,
                    std::uint16_t attribute, std::uint32_t modifier, std::uint64_t m_key = 0);

}  // namespace ib::mad
