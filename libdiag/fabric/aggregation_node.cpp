// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/aggregation_node.h"

namespace ib::fabric {

bool is_aggregation_node(const Node& node) {
  constexpr std::uint32_t kMellanox = 0x2C9;
  constexpr std::uint16_t kQuantumAggregationNode = 0xCF09;
  if (node.type != wire::NodeType::ChannelAdapter) return false;
  if (node.vendor_id == kMellanox && node.device_id == kQuantumAggregationNode) return true;
  return node.description.find("Aggregation Node") != std::string::npos;
}

}  // namespace ib::fabric
