// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/port_watch.h"

#include <algorithm>

namespace sm::daemon {
namespace {

bool is_up(std::span<const ib::mad::PortFacts> ports, ib::Guid guid) {
  const auto at = std::ranges::find(ports, guid, &ib::mad::PortFacts::port_guid);
  return at != ports.end() && at->state >= ib::wire::PortState::Initialize;
}

}  // namespace

std::optional<ib::Guid> next_port(std::span<const ib::Guid> listed, ib::Guid behind,
                                  std::span<const ib::mad::PortFacts> ports) {
  const auto at = std::ranges::find(listed, behind);
  const auto from = at == listed.end() ? 0 : static_cast<std::size_t>(at - listed.begin()) + 1;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const ib::Guid guid = listed[(from + i) % listed.size()];
    if (is_up(ports, guid)) return guid;
  }
  return std::nullopt;
}

std::optional<ib::Guid> first_port(std::span<const ib::Guid> listed,
                                   std::span<const ib::mad::PortFacts> ports) {
  if (listed.empty()) return std::nullopt;
  const auto up = next_port(listed, listed.back(), ports);
  return up ? up : listed.front();
}

bool PortWatch::look(ib::Instant now, bool is_up) {
  due_ = now + kEvery;
  if (is_up) {
    down_since_.reset();
    return false;
  }
  if (!down_since_) down_since_ = now;
  return now - *down_since_ >= kPatience;
}

}  // namespace sm::daemon
