// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Refusals: what is said of control packets that were refused. The first of a sender is told at
// once, what follows once a minute, with how many there were. Pure.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"

namespace sm::core {

class Refusals {
 public:
  /// One more, from this LID; what to say of it.
  std::optional<ib::LogEvent> note(ib::Instant now, ib::Lid from, std::string what) {
    if (senders_.size() >= kSendersMost && !senders_.contains(from)) {
      std::erase_if(senders_, [now](const auto& s) { return now - s.second.told >= kPause; });
      // A sender with so many LIDs counts as one.
      if (senders_.size() >= kSendersMost) from = ib::kNoLid;
    }
    const auto [at, is_first] = senders_.try_emplace(from, Sender{now, 0});
    Sender& sender = at->second;
    if (!is_first && now - sender.told < kPause) {
      ++sender.untold;
      return std::nullopt;
    }
    if (sender.untold > 0)
      what += fmt::format("; so were {} more from there since the last was told", sender.untold);
    sender = {now, 0};
    return ib::LogEvent{ib::LogLevel::Warning, "sm", std::move(what),
                        ib::LogCause{"Set(SMInfo)", from}};
  }

 private:
  static constexpr ib::Duration kPause = std::chrono::minutes(1);
  static constexpr std::size_t kSendersMost = 64;
  struct Sender {
    ib::Instant told{0};
    std::uint64_t untold{0};
  };
  std::map<ib::Lid, Sender> senders_;
};

}  // namespace sm::core
