// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/tables_wait.h"

#include <algorithm>

namespace sm::sa {

bool TablesWait::concerns(const ib::mad::Packet& request) {
  namespace attr = ib::wire::attr;
  using ib::wire::Method;
  const Method method = request.mad.method();
  if (method != Method::Get && method != Method::GetTable) return false;
  switch (request.mad.attribute_id()) {
    case attr::kPKeyTableRecord:
    case attr::kSlToVlRecord:
    case attr::kVlArbitrationRecord:
    case attr::kGuidInfoRecord:
      return true;
    default:
      return false;
  }
}

bool TablesWait::add(ib::Instant now, ib::Lid who, const ib::mad::Packet& request) {
  if (waiting_.size() >= kMost) return false;
  if (std::ranges::count(waiting_, who, &Waiting::who) >= static_cast<std::ptrdiff_t>(kMostOfOne))
    return false;
  waiting_.push_back({now + kLongest, who, request});
  return true;
}

void TablesWait::on_time(ib::Instant now) {
  while (ready_ < waiting_.size() && waiting_[ready_].until <= now) ++ready_;
}

ib::Instant TablesWait::next_deadline() const {
  return ready_ < waiting_.size() ? waiting_[ready_].until : ib::kNever;
}

std::optional<ib::mad::Packet> TablesWait::next() {
  if (ready_ == 0) return std::nullopt;
  --ready_;
  auto request = std::move(waiting_.front().request);
  waiting_.pop_front();
  return request;
}

}  // namespace sm::sa
