// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers to what other nodes send to the subnet manager unasked: SMInfo requests and traps. Pure.
#pragma once

#include <optional>

#include "libdiag/mad/transport.h"

namespace sm::core {

struct SmIdentity {
  ib::Guid guid{};
  std::uint8_t priority{};
  std::uint64_t sm_key{};
  std::uint32_t act_count{};
  bool master{false};  // else still discovering
};

/// The answer to a trap: the same notice, TrapRepress, back to where it came from (IBA 14.2.5.1).
ib::mad::Packet trap_repress(const ib::mad::Packet& trap);

/// The answer to a request that reached the subnet manager's QP0, or nothing for what needs none.
/// Get(SMInfo) is answered; Set(SMInfo) asks a lone master for what it does not do and is refused
/// with "invalid field" (IBA 14.4.1.1); anything else is an attribute it does not have.
std::optional<ib::mad::Packet> answer_request(const ib::mad::Packet& request,
                                              const SmIdentity& identity);

}  // namespace sm::core
