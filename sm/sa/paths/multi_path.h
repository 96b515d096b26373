// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MultiPathRecord queries (IBA 15.2.5.20): paths between any of several sources and any of several
// destinations, as independent of each other as they can be where that is asked for.
#pragma once

#include "sm/sa/records/record_source.h"

namespace sm::sa {

namespace multi_path_bit {
inline constexpr unsigned kRawTraffic = 0, kFlowLabel = 2, kHopLimit = 3, kTClass = 4,
                          kReversible = 5, kNumbPath = 6, kPKey = 7, kQosClass = 8, kSl = 9,
                          kMtuSelector = 10, kMtu = 11, kRateSelector = 12, kRate = 13,
                          kLifeSelector = 14, kLife = 15, kServiceIdHigh = 16, kIndependence = 17,
                          kSgidCount = 19, kDgidCount = 20, kServiceIdLow = 21;
}

/// PathRecords. `query` is a GetMulti, its GIDs in `wanted` behind the record and on in `more`.
Opened open_multi_path_query(const World& world, const Query& query);

}  // namespace sm::sa
