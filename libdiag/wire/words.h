// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The words for states and types in sentences and documents. (How an element of a MAD is printed
// is its layout's: registry.h.)
#pragma once

#include <string_view>

#include "libdiag/wire/smp_attributes.h"

namespace ib::wire {

/// "DOWN", "INIT", "ARMED", "ACTIVE".
constexpr std::string_view state_word(PortState state) {
  switch (state) {
    case PortState::Down:
      return "DOWN";
    case PortState::Initialize:
      return "INIT";
    case PortState::Armed:
      return "ARMED";
    case PortState::Active:
      return "ACTIVE";
    default:
      return "in no known state";
  }
}

/// "ca", "switch", "router".
constexpr std::string_view type_word(NodeType type) {
  switch (type) {
    case NodeType::ChannelAdapter:
      return "ca";
    case NodeType::Switch:
      return "switch";
    case NodeType::Router:
      return "router";
  }
  return "unknown";
}

/// "Channel Adapter", "Switch", "Router": as the stock tools' documents have it.
constexpr std::string_view type_title(NodeType type) {
  switch (type) {
    case NodeType::ChannelAdapter:
      return "Channel Adapter";
    case NodeType::Switch:
      return "Switch";
    case NodeType::Router:
      return "Router";
  }
  return "unknown";
}

}  // namespace ib::wire
