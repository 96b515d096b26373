// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/late_sets.h"

#include <algorithm>

namespace ib::mad {
namespace {

bool is_set_of_sma(const Request& request) {
  return request.mad.method() == wire::Method::Set && wire::is_smp(request.mad.mgmt_class());
}

/// What a Set replaces as a whole.
std::uint64_t block_of(const Request& request) {
  return std::uint64_t{request.mad.attribute_id()} << 32 | request.mad.attribute_modifier();
}

}  // namespace

void LateSets::add(const Request& request, std::uint64_t sequence, Instant lost_at) {
  if (is_set_of_sma(request)) late_.push_back({sequence, block_of(request), lost_at});
}

void LateSets::on_answer(std::uint64_t sequence) {
  std::erase_if(late_, [&](const Late& late) { return late.sequence == sequence; });
}

Instant LateSets::passed(const Request& request, Instant now) {
  if (late_.empty()) return now;
  std::erase_if(late_, [&](const Late& late) { return late.lost_at <= now; });
  Instant until = now;
  if (!is_set_of_sma(request)) return until;
  for (const Late& late : late_)
    if (late.block == block_of(request)) until = std::max(until, late.lost_at);
  return until;
}

}  // namespace ib::mad
