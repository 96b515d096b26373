// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortWatch: whether the port that ibsm works by is still of use, and by which one of the
// operator's list (-g GUID,GUID,...) to go on where it is not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"

namespace sm::daemon {

/// The first of `listed`, in their order from behind `behind` round to it, that is there with its
/// link up; `behind` itself is the last. Nothing: none is.
std::optional<ib::Guid> next_port(std::span<const ib::Guid> listed, ib::Guid behind,
                                  std::span<const ib::mad::PortFacts> ports);
/// By which of them to begin: the first whose link is up, else the first; nothing: none is listed.
std::optional<ib::Guid> first_port(std::span<const ib::Guid> listed,
                                   std::span<const ib::mad::PortFacts> ports);

class PortWatch {
 public:
  static constexpr ib::Duration kEvery = std::chrono::milliseconds(500);
  /// A link that retrains is up again within this time.
  static constexpr ib::Duration kPatience = std::chrono::seconds(3);

  bool is_due(ib::Instant now) const { return due_ <= now; }
  ib::Instant next_deadline() const { return due_; }
  /// The state of its link now. True: it has been down for long enough.
  bool look(ib::Instant now, bool is_up);

 private:
  ib::Instant due_{};
  std::optional<ib::Instant> down_since_;
};

}  // namespace sm::daemon
