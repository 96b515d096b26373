// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/records/record_source.h"

#include <algorithm>

namespace sm::sa {

RecordSource::Found RecordSource::next_among(std::byte* record, std::size_t& candidates) {
  std::size_t looked_at = 0;
  const auto what = search(record, std::min(candidates, kCandidatesMax - in_vain_), looked_at);
  candidates -= looked_at;
  in_vain_ = what == Found::Record ? 0 : in_vain_ + looked_at;
  if (what != Found::NotYet || in_vain_ < kCandidatesMax) return what;
  gave_up_ = true;
  return Found::Nothing;
}

bool RecordSource::next(std::byte* record) {
  std::size_t candidates = kCandidatesMax;
  return next_among(record, candidates) == Found::Record;
}

}  // namespace sm::sa
