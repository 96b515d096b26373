// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/work.h"

namespace sm::apply {

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::SetPort:
      return "Set(PortInfo)";
    case Kind::GetPort:
      return "Get(PortInfo)";
    case Kind::SetSwitch:
      return "Set(SwitchInfo)";
    case Kind::GetSwitch:
      return "Get(SwitchInfo)";
    case Kind::SetLft:
      return "Set(LinearForwardingTable)";
    case Kind::GetLft:
      return "Get(LinearForwardingTable)";
    case Kind::SetMft:
      return "Set(MulticastForwardingTable)";
    case Kind::GetMft:
      return "Get(MulticastForwardingTable)";
    case Kind::SetLanes:
    case Kind::SetBlock:
      return "Set";
    case Kind::GetLanes:
    case Kind::GetBlock:
      return "Get";
  }
  return "";
}

}  // namespace sm::apply
