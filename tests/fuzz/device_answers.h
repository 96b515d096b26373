// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that answer a manager as the input has it, on a small subnet.
#pragma once

#include <memory>

#include "libdiag/fabric/generate.h"
#include "libdiag/mad/request.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace ib::fuzz {

inline const std::shared_ptr<sm::Snapshot>& subnet() {
  static const auto made = [] {
    fabric::FatTree tree;
    tree.radix = 4;
    return sm::sa::test::snapshot_of(*fabric::generate(tree));
  }();
  return made;
}

/// What was asked comes back, as it is, or in part as the input has it; with a status; or not.
inline mad::Completion answer(const mad::Request& request, Input& input) {
  const std::uint8_t kind = input.byte();
  if (kind % 16 == 15) return {request.cookie, fail(ErrorKind::TimedOut, "no answer"), {}, 8};
  if (kind % 16 == 14) return {request.cookie, fail(ErrorKind::Io, "no way"), {}, 0};
  mad::Packet packet{request.address, request.mad, {}};
  packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
  if (kind % 16 == 13) packet.mad.set<&wire::MadHeader::status>(input.byte());
  const std::size_t changed = kind / 16 * std::size_t{4};
  for (std::size_t i = 0; i < changed; ++i)
    packet.mad.bytes[64 + input.byte() % 192U] = static_cast<std::byte>(input.byte());
  return {request.cookie, std::move(packet), {}, 1};
}

}  // namespace ib::fuzz
