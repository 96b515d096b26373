// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/comparison.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sm::daemon {
namespace {

/// A word.
std::string host_name() {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  std::string word = name.data();
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return word.empty() ? "?" : word;
}

}  // namespace

Comparison::Comparison(std::unique_ptr<store::Board> board, Fingerprint own)
    : consistency_(host_name()), thread_(std::move(board)) {
  consistency_.set_fingerprint(std::move(own));
}

void Comparison::set_fingerprint(ib::Instant now, Fingerprint own) {
  consistency_.set_fingerprint(std::move(own));
  due_ = now;
}

std::vector<Consistency::News> Comparison::serve(ib::Instant now, ib::wire::SmState state,
                                                 std::vector<ib::LogEvent>& lines) {
  std::vector<Consistency::News> news;
  if (auto answer = thread_.take()) {
    if (*answer) {
      news = consistency_.on_postings(state, **answer);
    } else if (auto line = consistency_.on_failure(answer->error())) {
      lines.push_back(*std::move(line));
    }
  }
  // A difference counts only between a master and a standby, so a new state is posted at once.
  if (said_ != state) due_ = now;
  if (due_ > now) return news;
  due_ = now + Consistency::kEvery;
  if (thread_.post(consistency_.posting(state))) said_ = state;
  return news;
}

}  // namespace sm::daemon
