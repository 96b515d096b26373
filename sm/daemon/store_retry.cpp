// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/store_retry.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace sm::daemon {

std::optional<ib::LogEvent> StoreRetry::commit(ib::Instant now, store::Batch lids) {
  if (lids.forget_lids) {
    unwritten_.lids.clear();
    unwritten_.forget_lids = true;
  }
  if (lids.vls) unwritten_.vls = lids.vls;
  if (lids.routes) unwritten_.routes = std::move(lids.routes);
  for (const auto& [from, to, other] :
       {std::tuple(&lids.clients_asked, &unwritten_.clients_asked, &unwritten_.clients_to_ask),
        std::tuple(&lids.clients_to_ask, &unwritten_.clients_to_ask, &unwritten_.clients_asked),
        std::tuple(&lids.clients_sure, &unwritten_.clients_sure, &unwritten_.clients_in_doubt),
        std::tuple(&lids.clients_in_doubt, &unwritten_.clients_in_doubt, &unwritten_.clients_sure)})
    for (const ib::Guid guid : *from) {
      std::erase(*other, guid);
      to->push_back(guid);
    }
  unwritten_.writers.insert(unwritten_.writers.end(), lids.writers.begin(), lids.writers.end());
  // Of two claims of one GUID the later counts, so the order is kept.
  std::move(lids.lids.begin(), lids.lids.end(), std::back_inserter(unwritten_.lids));
  return attempt(now);
}

std::optional<ib::LogEvent> StoreRetry::on_time(ib::Instant now) {
  if (now < again_at_) return std::nullopt;
  return attempt(now);
}

std::optional<ib::LogEvent> StoreRetry::attempt(ib::Instant now) {
  const bool again = again_at_ != ib::kNever;
  const std::size_t count = unwritten_.lids.size();
  if (auto done = commit_(unwritten_); !done) {
    again_at_ = now + kEvery;
    return ib::LogEvent{
        ib::LogLevel::Error, "store",
        fmt::format(
            "{}; LIDs in use that may be others after a restart: {} (tried again every {} s)",
            done.error().message, count, kEvery / std::chrono::seconds(1))};
  }
  unwritten_ = {};
  again_at_ = ib::kNever;
  if (!again) return std::nullopt;
  return ib::LogEvent{ib::LogLevel::Info, "store",
                      fmt::format("LIDs that could not be written are: {}", count)};
}

}  // namespace sm::daemon
