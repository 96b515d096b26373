// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Flows between end ports of the model: what was asked for, and how fast they are.
#pragma once

#include <cstdint>
#include <string>

#include "libdiag/base/ids.h"
#include "libdiag/fabric/fabric.h"

namespace ib::sim {

struct FlowSpec {
  fabric::PortRef source, target;  // end ports
  Sl sl{0};
  double gbit{0};            // Gb/s that it wants to send, headers included; 0: as much as it can
  std::uint32_t size{4096};  // bytes of a message; longer ones go as packets of the path's MTU
};

enum class FlowLimit : std::uint8_t {
  Demand,      // it sends what it wants to
  Link,        // `port` sends as much as its link, or the share of the flow's VL, carries
  SlRate,      // `port`, its source, limits the rate of its SL
  Behind,      // at `port` its packets wait behind others whose link is full
  Congestion,  // the link of `port` is full, and congestion control slows the sender down
  NoRoute,     // it sends nothing: `problem` says why
};

struct FlowState {
  std::uint32_t id{};
  FlowSpec spec;
  double gbit{};  // Gb/s that it sends
  FlowLimit limit{FlowLimit::Demand};
  fabric::PortRef port{};  // where it is limited
  std::string problem;     // NoRoute
};

}  // namespace ib::sim
