// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/sweep_request.h"

#include "libdiag/wire/smp_attributes.h"

namespace ib::discover {

mad::Cookie to_cookie(Key k) {
  return static_cast<mad::Cookie>(k.ask) << 40 | static_cast<mad::Cookie>(k.at.port) << 32 |
         k.at.node;
}
Key from_cookie(mad::Cookie c) {
  return {static_cast<Ask>((c >> 40) & 0xFF),
          {static_cast<fabric::NodeIndex>(c & 0xFFFFFFFF),
           static_cast<std::uint8_t>((c >> 32) & 0xFF)}};
}

std::uint16_t attribute_of(Ask ask) {
  switch (ask) {
    case Ask::Probe:
    case Ask::Recheck:
      return wire::attr::kNodeInfo;
    case Ask::Description:
      return wire::attr::kNodeDescription;
    case Ask::SwitchInfo:
    case Ask::ClearChange:
      return wire::attr::kSwitchInfo;
    case Ask::PortInfo:
    case Ask::PortInfoExt:
    case Ask::RecheckPort:
      return wire::attr::kPortInfo;
    case Ask::VendorPortInfo:
      return wire::attr::kMlnxExtendedPortInfo;
  }
  return 0;
}

std::string_view attribute_name(std::uint16_t attribute) {
  switch (attribute) {
    case wire::attr::kNodeInfo:
      return "NodeInfo";
    case wire::attr::kNodeDescription:
      return "NodeDescription";
    case wire::attr::kSwitchInfo:
      return "SwitchInfo";
    case wire::attr::kPortInfo:
      return "PortInfo";
    default:
      return "ExtendedPortInfo";
  }
}

}  // namespace ib::discover
