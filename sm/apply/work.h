// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One request of an Apply to one node, and the cookie that its answer comes back with. Inside
// sm/apply only.
#pragma once

#include <cstdint>
#include <string_view>

#include "libdiag/fabric/fabric.h"
#include "libdiag/mad/request.h"

namespace sm::apply {

enum class Kind : std::uint8_t {
  SetPort = 1,
  GetPort,
  SetSwitch,
  GetSwitch,
  SetLft,
  GetLft,
  SetMft,
  GetMft,
  SetLanes,
  GetLanes,
  SetBlock,
  GetBlock,
};

/// One request to one node. `arg` is a port, an LFT block, MFT block << 4 | position, or an index
/// into the lane tables or the wanted blocks of the node.
struct Work {
  Kind kind;
  std::uint32_t arg;
};

struct Key {
  Kind kind;
  std::uint32_t arg;
  ib::fabric::NodeIndex node;
};
inline ib::mad::Cookie to_cookie(Key k) {
  return static_cast<ib::mad::Cookie>(k.kind) << 44 | static_cast<ib::mad::Cookie>(k.arg) << 24 |
         k.node;
}
inline Key from_cookie(ib::mad::Cookie c) {
  return {static_cast<Kind>((c >> 44) & 0xF), static_cast<std::uint32_t>((c >> 24) & 0xFFFFF),
          static_cast<ib::fabric::NodeIndex>(c & 0xFFFFFF)};
}

/// "Set(PortInfo)": for complaints. Where the table says what it is, the method alone.
std::string_view describe(Kind kind);

}  // namespace sm::apply
