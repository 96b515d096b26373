// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MulticastRoute as ibtracer asks it, and how an answer is read (doc/formats.md).
#pragma once

#include "libdiag/mad/request.h"
#include "libdiag/query/multicast_walk.h"
#include "libdiag/wire/tracer_attributes.h"

namespace ibtracer {

/// What an agent says of one of its ports.
struct MulticastAnswer {
  bool contradicts{};      // it knows that the packets come or go by other ports than was said
  std::uint8_t known{};    // ib::wire::kKnowsIngress, kKnowsEgress
  std::uint8_t answers{};  // how many there are to this question, this one among them
  std::uint8_t port{};     // the port that it speaks of
  ib::Guid port_guid{};
  ib::query::PortSet ingress, egress;  // as far as known
  friend bool operator==(const MulticastAnswer&, const MulticastAnswer&) = default;
};

ib::wire::PortSetBytes bytes_of(const ib::query::PortSet& ports);
ib::query::PortSet ports_of(const ib::wire::PortSetBytes& bytes);

/// Asks for answer `chosen`, from 0.
ib::mad::Request multicast_route_request(ib::mad::Cookie cookie, ib::Guid target, ib::Lid lid,
                                         ib::Sl sl, const ib::wire::MulticastRoute& route,
                                         std::uint8_t chosen);

/// Error: Refused with a status that is none of this attribute's, or Malformed when it cannot be
/// the answer to `asked`.
ib::Result<MulticastAnswer> read_multicast_answer(const ib::wire::Mad& mad,
                                                  const ib::wire::MulticastRoute& asked,
                                                  std::uint8_t chosen);

}  // namespace ibtracer
