// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortRecord: a port whose counters are kept: its totals, what they were at the end of each window
// of time, and which error counters are above their thresholds.
//
// Windows are of one length and begin at multiples of it by the wall clock. A counter is above its
// threshold as soon as a window has more than that, and below it again when a whole window had no
// more.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"
#include "libdiag/report/shapes.h"
#include "sm/managers/performance/totals.h"
#include "sm/policy/error_thresholds.h"

namespace sm::managers::performance {

struct Windows {
  ib::Duration length{std::chrono::hours(1)};
  ib::Duration wall_at_zero{0};  // the wall clock, since 1970, at Instant 0
  policy::ErrorThresholds thresholds{policy::default_error_thresholds()};

  /// When the window that holds `t` began, in seconds since 1970.
  std::int64_t began(ib::Instant t) const;
};

/// What had been counted at the last reading of a window.
struct WindowEnd {
  std::int64_t began{};  // of the window, in seconds since 1970
  ib::Instant read{};
  CounterValues totals{};
};

/// A counter of a port is above its threshold, or is not any more.
struct ErrorChange {
  bool is_above{};
  ib::report::PortShape here;  // both ends of the cable
  std::optional<ib::report::PortShape> there;
  std::string_view counter, category;
  std::uint64_t count{};  // in `seconds`
  std::int64_t seconds{};
  std::uint64_t threshold{};  // in a window
};

using PortKey = std::pair<ib::Guid, std::uint8_t>;  // node and port

/// A window of a port as it is stored: what is needed to go on from it.
struct StoredWindow {
  PortKey port;
  std::int64_t began{};
  PortTotals::State state;
};
/// Which one of them.
struct WindowKey {
  PortKey port;
  std::int64_t began{};
  friend auto operator<=>(const WindowKey&, const WindowKey&) = default;
};

/// What became of records, for who tells of it and who stores it.
struct RecordNews {
  std::vector<ErrorChange> changes;
  std::vector<WindowKey> dropped;  // windows that are not kept any more
};

struct PortRecord {
  ib::Guid node_guid{}, port_guid{};
  std::uint8_t port{};
  std::string node_name;
  ib::report::PortShape here;                  // as a document has it
  std::optional<ib::report::PortShape> there;  // the other end of the cable
  bool active{true};                           // in the subnet
  PortTotals totals;
  /// Ended windows, the oldest first; never empty once the port has been read. The first stands for
  /// all time before.
  std::vector<WindowEnd> ended;
  std::uint32_t above{0};    // bits by the number of the error counter
  bool has_new_past{false};  // `ended` is not what the store may have, but for its growth

  /// Both ends of the cable.
  std::string link() const {
    return port_text(here) + (there ? " - " + port_text(*there) : std::string());
  }
  /// As PortTotals::take(); `kept`: ended windows at most, at least 1.
  void take(ib::Instant now, const Reading& reading, const Windows& windows, std::size_t kept,
            RecordNews& news);
  /// Goes on where the windows of a port end, which ascend: nothing is told of them. Nothing is
  /// later than `now`.
  void resume(ib::Instant now, std::span<const StoredWindow> stored, const Windows& windows);
  /// The window that runs; those before it, too, where the store cannot have them.
  std::vector<StoredWindow> to_store(const Windows& windows);
  /// As PortTotals::forget(): windows begin again, too.
  void forget(ib::Instant now, const Windows& windows, RecordNews& news);
  /// Nobody counts any more: what is above its threshold is told as below.
  void give_up(const Windows& windows, RecordNews& news);

 private:
  PortKey key() const { return {node_guid, port}; }
  void judge_end(const Windows& windows, RecordNews& news);
  void judge(const Windows& windows, RecordNews& news);
};
using PortRecords = std::map<PortKey, PortRecord>;

}  // namespace sm::managers::performance
