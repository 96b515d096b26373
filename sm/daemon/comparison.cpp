// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/comparison.h"

#include <utility>

#include "sm/daemon/host_name.h"

namespace sm::daemon {

Comparison::Comparison(std::unique_ptr<store::Board> board, Fingerprint own)
    : consistency_(host_name()), thread_(std::move(board)) {
  consistency_.set_fingerprint(std::move(own));
}

void Comparison::set_fingerprint(ib::Instant now, Fingerprint own) {
  consistency_.set_fingerprint(std::move(own));
  due_ = now;
}

std::vector<Consistency::News> Comparison::serve(ib::Instant now, ib::wire::SmState state,
                                                 bool behind, std::vector<ib::LogEvent>& lines) {
  std::vector<Consistency::News> news;
  if (auto answer = thread_.take()) {
    if (*answer) {
      news = consistency_.on_postings(state, **answer);
      doubt_.on_postings(now, **answer);
    } else {
      if (auto line = consistency_.on_failure(answer->error())) lines.push_back(*std::move(line));
      doubt_.on_failure(now);
    }
  }
  // A difference counts only between a master and a standby, so a new state is posted at once.
  const std::pair says(state, behind);
  if (said_ != says) due_ = now;
  if (due_ > now) return news;
  due_ = now + Consistency::kEvery;
  if (thread_.post(consistency_.posting(state, behind))) said_ = says;
  return news;
}

}  // namespace sm::daemon
