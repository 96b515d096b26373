// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where notices come from: devices, the subnet itself (ports that come into service and leave it),
// and changes to groups. What may be told goes to Reports. A machine.
#pragma once

#include <unordered_map>
#include <vector>

#include "sm/sa/reports/reports.h"

namespace sm::sa {

struct ForwardingOptions {
  ReportOptions reports;
  // What one port may have told to others: so many at once, and so many a second.
  unsigned notices_burst{64};
  unsigned notices_per_second{16};
};

struct ForwardingCounters {
  std::uint64_t implausible{};  // in another's name, about another, or from nowhere
  std::uint64_t limited{};      // one port said too much
};

class Forwarding {
 public:
  explicit Forwarding(const ForwardingOptions& options = {});

  /// Tells of ports that came into service since the last snapshot, or left it.
  void on_snapshot(const Paths& paths);
  /// A device's own.
  void on_notice(ib::Instant now, const Paths& paths, const ib::wire::Notice& notice, ib::Lid from);
  /// The subnet manager's own.
  void on_event(const Paths& paths, Event event);

  Reports reports;
  const ForwardingCounters& counters() const { return counters_; }

 private:
  bool has_room(ib::Instant now, ib::Lid from);

  ForwardingOptions options_;
  ForwardingCounters counters_;
  bool first_{true};
  std::vector<ib::Guid> in_service_;  // ascending
  struct Bucket {
    double filled;
    ib::Instant at;
  };
  std::unordered_map<ib::Lid, Bucket> buckets_;
};

}  // namespace sm::sa
