// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/reports/forwarding.h"

#include <algorithm>
#include <iterator>

#include "sm/sa/registry/notices.h"

namespace sm::sa {

using ib::Gid;
using ib::Guid;
using ib::Instant;
namespace trap = ib::wire::trap;

Forwarding::Forwarding(const ForwardingOptions& options)
    : reports(options.reports), options_(options) {}

void Forwarding::on_snapshot(const Paths& paths) {
  auto now = ports_in_service(paths);
  // At the first one nothing is known of before: those who were there then are told of nobody.
  if (!std::exchange(first_, false)) {
    const auto tell = [&](std::uint16_t number, const auto& from, const auto& than) {
      std::vector<Guid> news;
      std::ranges::set_difference(from, than, std::back_inserter(news));
      for (const Guid guid : news)
        on_event(paths, gid_event(number, Gid::from(paths.snapshot().subnet_prefix, guid)));
    };
    tell(trap::kGidOutOfService, in_service_, now);
    tell(trap::kGidInService, now, in_service_);
  }
  in_service_ = std::move(now);
}

void Forwarding::on_notice(Instant now, const Paths& paths, const ib::wire::Notice& notice,
                           ib::Lid from) {
  const auto* port = paths.find(from);
  if (port == nullptr || !is_plausible(notice, from)) {
    ++counters_.implausible;
    return;
  }
  if (!has_room(now, port->lid)) {
    ++counters_.limited;
    return;
  }
  reports.notify({notice, Gid::from(paths.snapshot().subnet_prefix, port->guid), {}});
}

void Forwarding::on_event(const Paths& paths, Event event) {
  event.notice.issuer_lid = paths.snapshot().sm_lid;
  event.issuer_gid = Gid::from(paths.snapshot().subnet_prefix, paths.snapshot().sm_port_guid);
  reports.notify(event);
}

/// A leaking bucket for each port.
bool Forwarding::has_room(Instant now, ib::Lid from) {
  auto& bucket = buckets_.try_emplace(from, Bucket{0, now}).first->second;
  const double leaked = std::chrono::duration<double>(now - bucket.at).count() *
                        static_cast<double>(options_.notices_per_second);
  bucket = {std::max(0.0, bucket.filled - leaked), now};
  if (bucket.filled + 1 > static_cast<double>(options_.notices_burst)) return false;
  bucket.filled += 1;
  return true;
}

}  // namespace sm::sa
