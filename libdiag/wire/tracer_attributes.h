// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibtracer and its agent have agreed on beside SourceRoute (doc/ibtracer.md, "The protocol").
#pragma once

#include "libdiag/wire/gmp_attributes.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kMulticastRoute = 0x0011;
}  // namespace attr

/// ClassPortInfo:CapabilityMask bit of class 0x30: this agent answers a request that has a GRH with
/// a GRH.
inline constexpr std::uint16_t kTracerMirrorsGrh = 1U << 9;

/// Ports 0 to 255 of a node: port n is bit n % 8, counted from the lowest, of byte n / 8.
using PortSetBytes = std::array<std::uint8_t, 32>;
constexpr bool has_port(const PortSetBytes& set, std::uint8_t port) {
  return (set[port / 8U] >> (port % 8U) & 1U) != 0;
}
constexpr void add_port(PortSetBytes& set, std::uint8_t port) {
  set[port / 8U] = static_cast<std::uint8_t>(set[port / 8U] | 1U << (port % 8U));
}

/// MulticastRoute:Known.
inline constexpr std::uint8_t kKnowsIngress = 1U << 0, kKnowsEgress = 1U << 1;

/// ibtracer's question about a multicast group. A request says by which ports of this node the
/// group's packets come in, and by which they leave it, as the tables have it. The agent has an
/// answer for each of those ports that it serves; AttributeModifier chooses which, 0 the one of the
/// port that the request came in by.
struct MulticastRoute {
  Gid mgid{};
  Lid mlid{};
  std::uint8_t hop{};      // of the tree: 0 is its source
  std::uint8_t known{};    // answer: which of the sets the agent can judge (kKnows...)
  std::uint8_t answers{};  // answer: how many there are
  std::uint8_t answer{};   // answer: which this is, from 0
  PortNum port{};          // answer: the port that it speaks of
  Guid port_guid{};        // answer: of that port
  PortSetBytes expected_ingress{}, expected_egress{};
  PortSetBytes actual_ingress{}, actual_egress{};  // answer: what the agent knows
  friend bool operator==(const MulticastRoute&, const MulticastRoute&) = default;
};
template <>
struct LayoutOf<MulticastRoute>
    : Layout<"MulticastRoute", "doc/formats.md: MulticastRoute", 160,
             Field<&MulticastRoute::mgid, at(0), 128, "MGID", Show::Gid>,
             Field<&MulticastRoute::mlid, at(16), 16, "MLID", Show::Hex>,
             Field<&MulticastRoute::hop, at(18), 8, "HopCount">,
             Field<&MulticastRoute::known, at(19), 8, "Known", Show::Hex>,
             Field<&MulticastRoute::answers, at(20), 8, "Answers">,
             Field<&MulticastRoute::answer, at(21), 8, "Answer">,
             Field<&MulticastRoute::port, at(22), 8, "PortNum">,
             Field<&MulticastRoute::port_guid, at(24), 64, "PortGUID", Show::Guid>,
             Field<&MulticastRoute::expected_ingress, at(32), 8, "ExpectedIngress", Show::Raw>,
             Field<&MulticastRoute::expected_egress, at(64), 8, "ExpectedEgress", Show::Raw>,
             Field<&MulticastRoute::actual_ingress, at(96), 8, "ActualIngress", Show::Raw>,
             Field<&MulticastRoute::actual_egress, at(128), 8, "ActualEgress", Show::Raw>> {};

}  // namespace ib::wire
