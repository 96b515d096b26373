// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Target: the one grammar by which every tool names a port.
//
//   17, 0x11              LID (up to four hexadecimal digits)
//   0x0002c903000085d1    GUID (of a port; a node's where no port has it)
//   fe80::2:c903:0:85d1   GID
//   0,1,3                 directed route from the local port; 0, or 0, alone: the local port
//   anything else         name
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "libdiag/base/ids.h"
#include "libdiag/base/result.h"
#include "libdiag/mad/request.h"

namespace ib::tools {

struct NodeName {
  std::string text;
  friend bool operator==(const NodeName&, const NodeName&) = default;
};

using Target = std::variant<Lid, Guid, Gid, NodeName, mad::DirectedRoute>;

/// Decides by the form of the text. Only an empty text is refused, and one that starts as a
/// directed route or a hexadecimal number and does not end as one.
Result<Target> parse_target(std::string_view text);
/// "0,1,3"; the leading 0 is the local port and may be alone.
Result<mad::DirectedRoute> parse_route(std::string_view text);
/// For messages: "LID 17", "GUID 0x...", "'name'", "DR path 0,1".
std::string to_string(const Target& target);

}  // namespace ib::tools
