// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/store_doubt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sm::daemon {
namespace {

/// So long a request to etcd waits before it is given up.
constexpr ib::Duration kAsked = std::chrono::seconds(2);

}  // namespace

void StoreDoubt::on_postings(ib::Instant now, std::span<const store::Posting> postings) {
  if (!read_first_) read_first_ = now;
  for (auto& [who, seen] : seen_)
    if (!seen.text.empty() &&
        std::ranges::find(postings, who, &store::Posting::who) == postings.end())
      seen = {{}, now, seen.behind};
  for (const store::Posting& posting : postings) {
    Seen& seen = seen_[posting.who];
    if (seen.text == posting.text) continue;
    const auto notice = read_notice(posting.text);
    seen = {posting.text, now, notice && notice->behind};
  }
}

void StoreDoubt::on_master_heard(const std::string& who, ib::Instant now) {
  master_ = Master{who, now};
}

std::string StoreDoubt::take() {
  if (!master_) return {};
  const Master master = *std::exchange(master_, std::nullopt);
  const auto at = seen_.find(master.who);
  if (at != seen_.end() && at->second.behind) return "it said that it could not write to etcd";
  const std::optional<ib::Instant> since =
      at == seen_.end() ? read_first_ : std::optional(at->second.since);
  if (!since) return {};  // etcd was never there: who takes it over then asks all the same
  if (failed_at_ && *failed_at_ > *since && *failed_at_ - kAsked <= master.heard)
    return "etcd did not answer while it was there, and nothing was heard of it there since";
  if (master.heard - *since > kSilentMost)
    return fmt::format("etcd did not hear of it for {} s while it was there",
                       (master.heard - *since) / std::chrono::seconds(1));
  return {};
}

}  // namespace sm::daemon
