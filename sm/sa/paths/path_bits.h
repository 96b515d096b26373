// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Component-mask bits of PathRecord (IBA 15.2.5.16), by number.
#pragma once

namespace sm::sa {

namespace path_bit {
inline constexpr unsigned kServiceIdHigh = 0, kServiceIdLow = 1, kDgid = 2, kSgid = 3, kDlid = 4,
                          kSlid = 5, kRawTraffic = 6, kFlowLabel = 8, kHopLimit = 9, kTClass = 10,
                          kReversible = 11, kNumbPath = 12, kPKey = 13, kQosClass = 14, kSl = 15,
                          kMtuSelector = 16, kMtu = 17, kRateSelector = 18, kRate = 19,
                          kLifeSelector = 20, kLife = 21;
}

}  // namespace sm::sa
